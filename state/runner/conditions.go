package runner

import (
	"context"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state"
)

// commandArgs are the arguments of a chunk that are passed on to the commands of its conditions.
var commandArgs = [...]string{"cwd", "root", "runas", "env", "prepend_path", "umask", "timeout",
	"success_retcodes"}

// A verdict is the outcome of one kind of condition. If skip is true, the chunk is not run.
type verdict struct {
	skip      bool
	comment   any // nil if no condition was evaluated
	skipWatch bool
}

// conditions evaluates onlyif, unless and creates of a chunk and returns the result for a skipped
// chunk. The field result is false if the chunk is to run (salt/state.py, _run_check).
func (r *Runner) conditions(ctx context.Context, low state.Chunk) (*data.Map, error) {
	var comments []any
	skip, skipWatch := false, false
	for _, c := range []struct {
		key      string
		evaluate func(context.Context, state.Chunk) (verdict, error)
	}{{"onlyif", r.onlyif}, {"unless", r.unless}, {"creates", r.creates}} {
		if !low.Has(c.key) {
			continue
		}
		v, err := c.evaluate(ctx, low)
		if err != nil {
			return nil, err
		}
		if v.comment == nil {
			return nil, loader.Exception("KeyError", "'comment'")
		}
		comments, skip, skipWatch = append(comments, v.comment), skip ||
			v.skip, skipWatch || v.skipWatch
	}
	ret := data.NewMap("result", skip, "name", low.Name(), "changes", &data.Map{},
		"comment", comments, "__sls__", low.SLS(), "__id__", low.ID())
	if skipWatch {
		ret.Set("skip_watch", true)
	}
	return ret, nil
}

// onlyif allows a chunk to run if all conditions hold.
func (r *Runner) onlyif(ctx context.Context, low state.Chunk) (verdict, error) {
	v := verdict{}
	for _, entry := range data.ListOf(nilAsList(low.Value("onlyif"))) {
		holds, how, err := r.evaluate(ctx, low, entry, 100)
		switch {
		case err != nil:
			return v, err
		case how == badType:
			return verdict{comment: "onlyif execution failed, bad type passed"}, nil
		case how == noFunction:
			v.comment = "no `fun` argument in onlyif: " + data.Str(entry)
			r.env.Log.Warn(v.comment)
			return v, nil
		case !holds:
			return verdict{skip: true, comment: "onlyif condition is false", skipWatch: true}, nil
		}
		v.comment = "onlyif condition is true"
	}
	return v, nil
}

// unless skips a chunk if all conditions hold.
func (r *Runner) unless(ctx context.Context, low state.Chunk) (verdict, error) {
	v := verdict{}
	for _, entry := range data.ListOf(nilAsList(low.Value("unless"))) {
		holds, how, err := r.evaluate(ctx, low, entry, 0)
		switch {
		case err != nil:
			return v, err
		case how == badType:
			v.skip, v.comment = false, "unless condition is false, bad type passed"
			continue
		case how == noFunction:
			v.comment = "no `fun` argument in unless: " + data.Str(entry)
			r.env.Log.Warn(v.comment)
			return v, nil
		case !holds:
			return verdict{comment: "unless condition is false"}, nil
		}
		v = verdict{skip: true, comment: "unless condition is true", skipWatch: true}
	}
	return v, nil
}

// nilAsList turns a nil condition into a list with one nil entry, which counts as an entry of a bad
// type.
func nilAsList(v any) any {
	if v == nil {
		return []any{nil}
	}
	return v
}

// An evaluation tells whether an entry of a condition could be evaluated.
type evaluation int

const (
	evaluated evaluation = iota
	badType
	noFunction
)

// evaluate runs a command or function and reports whether it succeeded. If a command cannot be run,
// its return code is taken to be broken.
func (r *Runner) evaluate(
	ctx context.Context, low state.Chunk, entry any, broken int,
) (holds bool, how evaluation, err error) {
	switch entry := entry.(type) {
	case string:
		code, err := r.retcode(ctx, entry, r.commandOptions(low))
		if loader.KindOf(err) == loader.KindExecution {
			code, err = broken, nil
		}
		return code == 0, evaluated, err
	case *data.Map:
		if !entry.Has("fun") {
			return false, noFunction, nil
		}
		holds, err := r.evaluateFunction(ctx, entry.Clone())
		return holds, evaluated, err
	}
	return false, badType, nil
}

func (r *Runner) evaluateFunction(ctx context.Context, entry *data.Map) (bool, error) {
	fun, path, args := data.Str(entry.Value("fun")), entry.Value("get_return"),
		data.ListOf(entry.Value("args"))
	for _, key := range []string{"fun", "get_return", "args"} {
		entry.Delete(key)
	}
	words, err := r.slots(ctx, entry)
	if err != nil {
		return false, err
	}
	args, err = r.slotList(ctx, args)
	if err != nil {
		return false, err
	}
	left := &loader.Context{}
	result, err := r.env.Call(loader.WithContext(ctx, left), fun, args, words)
	if err != nil {
		return false, err
	}
	if data.Truth(path) {
		found, ok := data.Lookup(result, data.Str(path), ":")
		if result = found; !ok {
			result = nil
		}
	}
	if code, _ := left.Get("retcode"); data.Truth(code) {
		return false, nil
	}
	return data.Truth(result), nil
}

// retcode runs a command of a condition and returns its return code.
func (r *Runner) retcode(ctx context.Context, command string, options *data.Map) (int, error) {
	run := calls.Run{Line: command, Shell: calls.InShell, IgnoreRetcode: true, More: options}
	return calls.Retcode(ctx, r.env, run)
}

// commandOptions returns the arguments of a chunk that are passed on to the commands of its
// conditions, except those in cmd_opts_exclude.
func (r *Runner) commandOptions(low state.Chunk) *data.Map {
	options := &data.Map{}
	exclude := data.ListOf(low.Value("cmd_opts_exclude"))
	for _, key := range commandArgs {
		if !listed(exclude, key) {
			options.Set(key, low.Value(key))
		}
	}
	if shell, ok := low.Get("shell"); ok && !listed(exclude, "shell") {
		options.Set("shell", shell)
	} else {
		options.Update(r.shell())
	}
	return options
}

func listed(list []any, name string) bool {
	for _, v := range list {
		if v == name {
			return true
		}
	}
	return false
}

// shell returns the argument shell from the grain of that name.
func (r *Runner) shell() *data.Map {
	if shell, ok := r.env.GrainsNow().Get("shell"); ok {
		return data.NewMap("shell", shell)
	}
	return &data.Map{}
}

// creates skips a chunk if all the files that it names exist.
func (r *Runner) creates(_ context.Context, low state.Chunk) (verdict, error) {
	switch files := low.Value("creates").(type) {
	case string:
		if r.exists(files) {
			return verdict{skip: true, comment: files + " exists", skipWatch: true}, nil
		}
	case []any:
		for _, file := range files {
			if !r.exists(data.Str(file)) {
				return verdict{comment: "Creates files not found"}, nil
			}
		}
		return verdict{skip: true, comment: "All files in creates exist", skipWatch: true}, nil
	}
	return verdict{comment: "Creates files not found"}, nil
}

func (r *Runner) exists(file string) bool {
	if filepath.IsAbs(file) {
		file = filepath.Join(r.env.Root, file)
	}
	_, err := os.Stat(file)
	return err == nil
}

// checkCmd runs the commands of check_cmd to decide whether the chunk succeeded. It leaves the
// result alone if the function takes check_cmd itself and its module has mod_run_check_cmd
// (salt/state.py, _run_check_cmd).
func (r *Runner) checkCmd(ctx context.Context, t *task, v any) (any, error) {
	ret, ok := v.(*data.Map)
	if !ok || !t.low.Has("check_cmd") || r.states.Has(t.low.State()+".mod_run_check_cmd") &&
		t.spec.Has("check_cmd") {
		return v, nil
	}
	good, comment := false, ""
	for _, command := range data.ListOf(t.low.Value("check_cmd")) {
		code, err := r.retcode(ctx, data.Str(command), r.shell())
		if err != nil {
			return nil, err
		}
		good, comment = code == 0, "check_cmd determined the state succeeded"
		if !good {
			comment = "check_cmd determined the state failed"
			break
		}
	}
	setIdentity(ret, t.low)
	ret.Set("result", good)
	if comment != "" {
		ret.Set("comment", comment)
	}
	return ret, nil
}

// allowed reports whether the option global_state_conditions allows a function to run on this
// minion (salt/state.py, _match_global_state_conditions).
func (r *Runner) allowed(ctx context.Context, full string, low state.Chunk) (bool, error) {
	if r.globalConditions == nil {
		v, err := r.option(ctx, "global_state_conditions")
		if err != nil {
			return false, err
		}
		r.globalConditions, err = calls.FoundIn[*data.Map]("global_state_conditions", v)
		if err != nil {
			return false, err
		}
		if r.globalConditions == nil {
			r.globalConditions = &data.Map{}
		}
	}
	asked := false
	for key, conditions := range r.globalConditions.All() {
		if key != "*" && key != full && key != low.State() {
			continue
		}
		for _, condition := range data.ListOf(conditions) {
			ok, err := calls.MatchCompound(ctx, r.env, condition)
			if err != nil || ok {
				return err == nil, err
			}
			asked = true
		}
	}
	return !asked, nil
}

// option returns an option as config.option does, which also searches grains and pillar.
func (r *Runner) option(ctx context.Context, name string) (any, error) {
	if !r.env.Functions.Has("config.option") {
		return r.env.Option(name), nil
	}
	return calls.Option[any](ctx, r.env, name)
}
