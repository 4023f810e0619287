package runner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state"
	"github.com/brineproject/brine/state/change"
)

// A task is one execution of a chunk.
type task struct {
	low   state.Chunk
	ahead bool // a dry run for a prereq
	try   int

	// set by bindTask
	full string
	spec *loader.Spec
	args *data.Map
	call *change.Call
}

// newTask returns the task for a chunk. The chunk itself says whether it is only run ahead.
func newTask(low state.Chunk, try int) *task {
	return &task{low: low, ahead: isLookahead(low), try: try}
}

// call runs a chunk whose requisites are met, with retries, and returns its result (salt/state.py,
// State.call). It returns an error only if Salt does not turn the failure into a result.
func (r *Runner) call(ctx context.Context, w *walk, t *task) (*data.Map, error) {
	ret, final, err := r.callOnce(ctx, w, t)
	if err != nil || final {
		return ret, err
	}
	return r.retry(ctx, w, t.low, ret)
}

// callOnce runs a chunk once. A final result is not followed by a retry: that of a dry run, or of
// a chunk that does not verify.
func (r *Runner) callOnce(
	ctx context.Context, w *walk, t *task,
) (result *data.Map, final bool, err error) {
	low := t.low
	began, name := time.Now(), strings.TrimSpace(data.Str(low.Name()))
	r.env.Log.Infof("Running state [%s] at time %s", name, timeOfDay(began))
	wrong := r.Verify(low)
	r.prepare(low)
	if wrong != nil {
		return r.rejected(low, wrong), true, nil
	}
	if err := r.bindTask(w, t); err != nil {
		return nil, false, err
	}
	ret, err := r.attempt(ctx, w, t)
	if err != nil {
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		ret = r.exceptionResult(t, err)
	}
	result = normalizeResult(ret)
	if t.ahead {
		low.Set("__prereq__", false)
		return result, true, nil
	}
	r.warnSuspicious(t)
	result.Set("__sls__", low.SLS())
	result.Set("__run_num__", r.next())
	r.log(result)
	if err := r.refresh(ctx, low, result); err != nil {
		return nil, false, err
	}
	took := time.Since(began)
	timed(result, began, took)
	result.Set("__id__", low.ID())
	r.env.Log.Infof("Completed state [%s] at time %s (duration_in_ms=%s)", name,
		timeOfDay(time.Now()), data.Str(milliseconds(took)))
	return result, false, nil
}

// rejected returns the result of a chunk that does not verify.
func (r *Runner) rejected(low state.Chunk, wrong []string) *data.Map {
	ret := data.NewMap("result", false, "name", low.Name(), "changes", &data.Map{},
		"comment", strings.Join(wrong, "\n")+"\n", "__run_num__", r.next())
	r.log(ret)
	return ret
}

// bindTask looks up the function of a task and sets its arguments.
func (r *Runner) bindTask(w *walk, t *task) error {
	t.full = t.low.Function()
	f, ok := r.states.Func(t.full)
	if !ok {
		return fmt.Errorf("run state %s: %s", t.full, r.states.MissingText(t.full))
	}
	var err error
	t.spec = f.Spec()
	if t.args, err = bind(t.spec, t.full, t.low); err != nil {
		return err
	}
	if !t.ahead {
		r.env.Log.Infof("Executing state %s for [%s]", t.full,
			strings.TrimSpace(data.Str(t.low.Name())))
	}
	t.call = r.stateCall(w, t)
	return nil
}

// stateCall returns the description of the run that a state function receives.
func (r *Runner) stateCall(w *walk, t *task) *change.Call {
	low := t.low
	c := &change.Call{
		Test: r.test() || t.ahead, Low: low.Map, SaltEnv: low.Env(), Run: r.id,
		Orchestration: low.Text("__orchestration_jid__"), Ran: w.ran,
		Chunks: func() []*data.Map { return w.maps },
	}
	if n, ok := low.Value("__umask__").(int64); ok {
		c.Umask = fmt.Sprintf("%04o", n)
	}
	if v, ok := r.ownEnv(low, t.args); ok {
		c.SaltEnv = v
	}
	return c
}

// ownEnv returns the environment that a chunk names, unless the option lock_saltenv forbids it.
func (r *Runner) ownEnv(low state.Chunk, args *data.Map) (string, bool) {
	if data.Truth(r.env.Option("lock_saltenv")) {
		return "", false
	}
	if v, ok := low.Get("saltenv"); ok {
		return data.Str(v), true
	}
	v, ok := args.Value("env").(string)
	return v, ok
}

// ran returns a copy of the result of a tag, nil if there is none. It is safe to call from states
// that run in parallel.
func (w *walk) ran(tag string) *data.Map {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	if ret := w.result(tag); ret != nil {
		return data.Clone(ret).(*data.Map)
	}
	return nil
}

// attempt runs a chunk if its conditions allow it, and applies check_cmd to the result.
func (r *Runner) attempt(ctx context.Context, w *walk, t *task) (any, error) {
	ctx = r.stateContext(ctx, t)
	defer r.context.Delete("runas_password")
	defer r.context.Delete("runas")
	low := t.low
	if (low.Has("unless") || low.Has("onlyif") || low.Has("creates")) &&
		!r.states.Has(low.State()+".mod_run_check") {
		ret, err := r.conditions(ctx, low)
		if err != nil {
			return nil, err
		}
		if data.Truth(ret.Value("result")) {
			return r.checkCmd(ctx, t, ret)
		}
	}
	ret, err := r.execute(ctx, w, t)
	if err != nil {
		return nil, err
	}
	return r.checkCmd(ctx, t, ret)
}

// stateContext returns the context for a state function. It carries the data that the states of the
// run share, and the user that commands run as.
func (r *Runner) stateContext(ctx context.Context, t *task) context.Context {
	left := r.context
	if t.isParallel() {
		left = &loader.Context{}
	}
	left.Set("runas", t.low.Value("runas"))
	password := t.low.Value("runas_password")
	if v, ok := t.low.Get("password"); ok && t.low.State() == "cmd" {
		password = v
	}
	left.Set("runas_password", password)
	return loader.WithContext(change.WithCall(ctx, t.call), left)
}

// isParallel reports whether the chunk runs in parallel.
func (t *task) isParallel() bool { return !t.ahead && data.Truth(t.low.Value("parallel")) }

func (r *Runner) execute(ctx context.Context, w *walk, t *task) (any, error) {
	name := t.low.Name()
	if r.o.Mock {
		return data.NewMap("name", name, "comment", "Not called, mocked", "changes", &data.Map{},
			"result", true), nil
	}
	allowed, err := r.allowed(ctx, t.full, t.low)
	switch {
	case err != nil:
		return nil, err
	case !allowed:
		r.env.Log.Infof("Failed to meet global state conditions. State '%s' not called.",
			data.Str(name))
		return data.NewMap("name", name, "comment",
			"Failed to meet global state conditions. State not called.",
			"changes", &data.Map{}, "result", nil), nil
	case t.isParallel():
		return w.start(ctx, t), nil
	}
	return r.invoke(ctx, t)
}

// invoke calls the state function.
func (r *Runner) invoke(ctx context.Context, t *task) (any, error) {
	args, err := r.slots(ctx, t.args)
	if err != nil {
		return nil, err
	}
	return r.states.Invoke(ctx, t.full, nil, args)
}

// exceptionResult returns the result of a state that ended with an error.
func (r *Runner) exceptionResult(t *task, err error) *data.Map {
	name := t.firstRequired()
	if !data.Truth(name) {
		name = t.args.Value("name")
	}
	if !data.Truth(name) {
		name = t.low.Name()
	}
	return data.NewMap("result", false, "name", name, "changes", &data.Map{},
		"comment", "An exception occurred in this state: "+loader.Traceback(err))
}

// firstRequired returns the first argument that has no default, which is mostly the name. Salt
// takes it for the name in the result of an error (salt/state.py, State.call).
func (t *task) firstRequired() any {
	for _, p := range t.spec.Params {
		if p.Required {
			return t.args.Value(p.Name)
		}
	}
	return nil
}

// log logs a result (salt/state.py, format_log).
func (r *Runner) log(ret *data.Map) {
	msg := data.Str(ret.Value("comment"))
	changes, _ := ret.Value("changes").(*data.Map)
	switch {
	case changes.Len() > 0:
		msg = changesText(changes)
	case msg == "":
		msg = "No changes made for " + data.Str(ret.Value("name"))
	}
	if ret.Value("result") == false {
		r.env.Log.Error(msg)
	} else {
		r.env.Log.Info(msg)
	}
}

func changesText(changes *data.Map) string {
	var b strings.Builder
	for key, v := range changes.All() {
		pair, _ := v.(*data.Map)
		if !pair.Has("old") || !pair.Has("new") {
			if diff, ok := changes.Value("diff").(string); ok {
				return "File changed:\n" + diff
			}
			return data.Str(changes)
		}
		fmt.Fprintf(&b, "'%s' changed from '%s' to '%s'\n", data.Str(key),
			orAbsent(pair.Value("old")), orAbsent(pair.Value("new")))
	}
	return "Made the following changes:\n" + b.String()
}

func orAbsent(v any) string {
	if v == nil || v == false || data.Truth(v) {
		return data.Str(v)
	}
	return "absent"
}
