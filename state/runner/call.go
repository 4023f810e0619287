package runner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// A task is one chunk that is run.
type task struct {
	low  *data.Map
	full string
	spec *loader.Spec
	args *data.Map
	call *change.Call
	try  int
}

// call runs a chunk whose requisites are met and returns its result (salt/state.py, State.call). An error is one that Salt does not
// turn into a result.
func (r *Runner) call(ctx context.Context, w *walk, low *data.Map, try int) (*data.Map, error) {
	began, name := time.Now(), strings.TrimSpace(data.Str(low.Value("name")))
	r.env.Log.Infof("Running state [%s] at time %s", name, timeOfDay(began))
	if wrong := r.Verify(low); wrong != nil {
		return r.refused(low, wrong), nil
	}
	t, err := r.task(w, low, try)
	if err != nil {
		return nil, err
	}
	ret, err := r.attempt(ctx, w, t)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		ret = r.raised(t, err)
	}
	result := unify(ret)
	if ahead(low) {
		low.Set("__prereq__", false)
		return result, nil
	}
	r.doubt(t)
	result.Set("__sls__", low.Value("__sls__"))
	result.Set("__run_num__", r.next())
	r.log(result)
	if err := r.refresh(ctx, low, result); err != nil {
		return nil, err
	}
	took := time.Since(began)
	timed(result, began, took)
	result.Set("__id__", low.Value("__id__"))
	r.env.Log.Infof("Completed state [%s] at time %s (duration_in_ms=%s)", name, timeOfDay(time.Now()), data.Str(milliseconds(took)))
	return r.retry(ctx, w, t, result)
}

// refused returns the result of a chunk that does not verify.
func (r *Runner) refused(low *data.Map, wrong []string) *data.Map {
	ret := data.NewMap("result", false, "name", low.Value("name"), "changes", &data.Map{},
		"comment", strings.Join(wrong, "\n")+"\n", "__run_num__", r.next())
	r.log(ret)
	return ret
}

func (r *Runner) task(w *walk, low *data.Map, try int) (*task, error) {
	full := function(low)
	f, ok := r.states.Func(full)
	if !ok {
		return nil, fmt.Errorf("run state %s: %s", full, r.states.MissingText(full))
	}
	args, err := bind(f.Spec(), full, low)
	if err != nil {
		return nil, err
	}
	if !ahead(low) {
		r.env.Log.Infof("Executing state %s for [%s]", full, strings.TrimSpace(data.Str(low.Value("name"))))
	}
	return &task{low: low, full: full, spec: f.Spec(), args: args, call: r.stateCall(w, low, args), try: try}, nil
}

// stateCall tells a state function of the run.
func (r *Runner) stateCall(w *walk, low, args *data.Map) *change.Call {
	c := &change.Call{
		Test: r.test() || ahead(low), Low: low, SaltEnv: "base", Run: r.id,
		Orchestration: low.Text("__orchestration_jid__"), Ran: w.ran,
		Chunks: func() []*data.Map { return w.chunks },
	}
	if n, ok := low.Value("__umask__").(int64); ok {
		c.Umask = fmt.Sprintf("%04o", n)
	}
	if v, ok := low.Get("__env__"); ok {
		c.SaltEnv = data.Str(v)
	}
	if v, ok := r.ownEnv(low, args); ok {
		c.SaltEnv = v
	}
	return c
}

// ownEnv returns the environment that a chunk names, unless it may not.
func (r *Runner) ownEnv(low, args *data.Map) (string, bool) {
	if data.Truth(r.env.Option("lock_saltenv")) {
		return "", false
	}
	if v, ok := low.Get("saltenv"); ok {
		return data.Str(v), true
	}
	v, ok := args.Value("env").(string)
	return v, ok
}

// ran returns a copy of the result of a tag; states in parallel may ask.
func (w *walk) ran(tag string) *data.Map {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	if ret := w.result(tag); ret != nil {
		return data.Clone(ret).(*data.Map)
	}
	return nil
}

// attempt runs a chunk unless its conditions say no, and lets check_cmd judge.
func (r *Runner) attempt(ctx context.Context, w *walk, t *task) (any, error) {
	ctx = r.stateContext(ctx, t)
	defer r.context.Delete("runas_password")
	defer r.context.Delete("runas")
	low := t.low
	if (low.Has("unless") || low.Has("onlyif") || low.Has("creates")) && !r.states.Has(low.Text("state")+".mod_run_check") {
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

// stateContext returns the context of a state function: what states leave for one another, and the user whom commands run as.
func (r *Runner) stateContext(ctx context.Context, t *task) context.Context {
	left := r.context
	if t.aside() {
		left = &loader.Context{}
	}
	left.Set("runas", t.low.Value("runas"))
	password := t.low.Value("runas_password")
	if v, ok := t.low.Get("password"); ok && t.low.Value("state") == "cmd" {
		password = v
	}
	left.Set("runas_password", password)
	return loader.WithContext(change.WithCall(ctx, t.call), left)
}

// aside reports whether the chunk runs in parallel.
func (t *task) aside() bool { return !ahead(t.low) && data.Truth(t.low.Value("parallel")) }

func (r *Runner) execute(ctx context.Context, w *walk, t *task) (any, error) {
	name := t.low.Value("name")
	if r.o.Mock {
		return data.NewMap("name", name, "comment", "Not called, mocked", "changes", &data.Map{}, "result", true), nil
	}
	allowed, err := r.allowed(ctx, t.full, t.low)
	switch {
	case err != nil:
		return nil, err
	case !allowed:
		r.env.Log.Infof("Failed to meet global state conditions. State '%s' not called.", data.Str(name))
		return data.NewMap("name", name, "comment", "Failed to meet global state conditions. State not called.",
			"changes", &data.Map{}, "result", nil), nil
	case t.aside():
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

// raised returns the result of a state that ended with an error.
func (r *Runner) raised(t *task, err error) *data.Map {
	name := t.args.Value("name")
	if !data.Truth(name) {
		name = t.low.Value("name")
	}
	return data.NewMap("result", false, "name", name, "changes", &data.Map{},
		"comment", "An exception occurred in this state: "+loader.Traceback(err))
}

// log writes a result to the log (salt/state.py, format_log).
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
		fmt.Fprintf(&b, "'%s' changed from '%s' to '%s'\n", data.Str(key), orAbsent(pair.Value("old")), orAbsent(pair.Value("new")))
	}
	return "Made the following changes:\n" + b.String()
}

func orAbsent(v any) string {
	if v == nil || v == false || data.Truth(v) {
		return data.Str(v)
	}
	return "absent"
}
