package runner

import (
	"context"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// commandArgs are the arguments of a chunk that the commands of its conditions get, too.
var commandArgs = [...]string{"cwd", "root", "runas", "env", "prepend_path", "umask", "timeout", "success_retcodes"}

// A verdict is what one condition says: skip has the chunk not run.
type verdict struct {
	skip      bool
	comment   any // nil where nothing was asked
	skipWatch bool
}

// conditions returns the result of a chunk that onlyif, unless or creates keep from running; where they do not, its result is
// false (salt/state.py, _run_check).
func (r *Runner) conditions(ctx context.Context, low *data.Map) (*data.Map, error) {
	var comments []any
	skip, skipWatch := false, false
	for _, c := range []struct {
		key string
		ask func(context.Context, *data.Map) (verdict, error)
	}{{"onlyif", r.onlyif}, {"unless", r.unless}, {"creates", r.creates}} {
		if !low.Has(c.key) {
			continue
		}
		v, err := c.ask(ctx, low)
		if err != nil {
			return nil, err
		}
		if v.comment == nil {
			return nil, loader.Exception("KeyError", "'comment'")
		}
		comments, skip, skipWatch = append(comments, v.comment), skip || v.skip, skipWatch || v.skipWatch
	}
	ret := data.NewMap("result", skip, "name", low.Value("name"), "changes", &data.Map{}, "comment", comments,
		"__sls__", low.Value("__sls__"), "__id__", low.Value("__id__"))
	if skipWatch {
		ret.Set("skip_watch", true)
	}
	return ret, nil
}

// onlyif lets a chunk run when all that it asks is so.
func (r *Runner) onlyif(ctx context.Context, low *data.Map) (verdict, error) {
	v := verdict{}
	for _, entry := range listOf(orNone(low.Value("onlyif"))) {
		holds, known, err := r.ask(ctx, low, entry, 100)
		switch {
		case err != nil:
			return v, err
		case known == badType:
			return verdict{comment: "onlyif execution failed, bad type passed"}, nil
		case known == noFunction:
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

// unless keeps a chunk from running when all that it asks is so.
func (r *Runner) unless(ctx context.Context, low *data.Map) (verdict, error) {
	v := verdict{}
	for _, entry := range listOf(orNone(low.Value("unless"))) {
		holds, known, err := r.ask(ctx, low, entry, 0)
		switch {
		case err != nil:
			return v, err
		case known == badType:
			v.skip, v.comment = false, "unless condition is false, bad type passed"
			continue
		case known == noFunction:
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

// orNone makes a condition that is nothing one that asks nothing understood.
func orNone(v any) any {
	if v == nil {
		return []any{nil}
	}
	return v
}

// What is known of an entry of a condition.
const (
	asked = iota
	badType
	noFunction
)

// ask runs a command or function and reports whether it succeeded. A command that cannot be run counts as one that returned broken.
func (r *Runner) ask(ctx context.Context, low *data.Map, entry any, broken int) (holds bool, known int, err error) {
	switch entry := entry.(type) {
	case string:
		code, err := r.retcode(ctx, entry, r.commandOptions(low))
		if loader.KindOf(err) == loader.KindExecution {
			code, err = broken, nil
		}
		return code == 0, asked, err
	case *data.Map:
		if !entry.Has("fun") {
			return false, noFunction, nil
		}
		holds, err := r.askFunction(ctx, entry.Clone())
		return holds, asked, err
	}
	return false, badType, nil
}

func (r *Runner) askFunction(ctx context.Context, entry *data.Map) (bool, error) {
	fun, path, args := data.Str(entry.Value("fun")), entry.Value("get_return"), listOf(entry.Value("args"))
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

// retcode returns what a command of a condition returns.
func (r *Runner) retcode(ctx context.Context, command string, options *data.Map) (int, error) {
	run := calls.Run{Line: command, Shell: calls.InShell, IgnoreRetcode: true, More: options}
	return calls.Retcode(ctx, r.env, run)
}

// commandOptions are the arguments of a chunk that the commands of its conditions get, but for those of cmd_opts_exclude.
func (r *Runner) commandOptions(low *data.Map) *data.Map {
	options := &data.Map{}
	exclude := listOf(low.Value("cmd_opts_exclude"))
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

// shell returns the argument shell as the grain has it.
func (r *Runner) shell() *data.Map {
	if shell, ok := r.env.GrainsNow().Get("shell"); ok {
		return data.NewMap("shell", shell)
	}
	return &data.Map{}
}

// creates keeps a chunk from running when all files are there that it names.
func (r *Runner) creates(_ context.Context, low *data.Map) (verdict, error) {
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

// checkCmd lets the commands of check_cmd decide whether the chunk succeeded; functions that take check_cmd see to it themselves
// where their module says so (salt/state.py, _run_check_cmd).
func (r *Runner) checkCmd(ctx context.Context, t *task, v any) (any, error) {
	ret, ok := v.(*data.Map)
	if !ok || !t.low.Has("check_cmd") || r.states.Has(t.low.Text("state")+".mod_run_check_cmd") && t.spec.Has("check_cmd") {
		return v, nil
	}
	good, comment := false, ""
	for _, command := range listOf(t.low.Value("check_cmd")) {
		code, err := r.retcode(ctx, data.Str(command), r.shell())
		if err != nil {
			return nil, err
		}
		if good, comment = code == 0, "check_cmd determined the state succeeded"; !good {
			comment = "check_cmd determined the state failed"
			break
		}
	}
	identify(ret, t.low)
	ret.Set("result", good)
	if comment != "" {
		ret.Set("comment", comment)
	}
	return ret, nil
}

// allowed reports whether the option global_state_conditions lets a function run on this minion
// (salt/state.py, _match_global_state_conditions).
func (r *Runner) allowed(ctx context.Context, full string, low *data.Map) (bool, error) {
	if r.conds == nil {
		v, err := r.option(ctx, "global_state_conditions")
		if err != nil {
			return false, err
		}
		if r.conds, _ = v.(*data.Map); r.conds == nil {
			r.conds = &data.Map{}
		}
	}
	asked := false
	for key, conditions := range r.conds.All() {
		if key != "*" && key != full && key != low.Value("state") {
			continue
		}
		for _, condition := range listOf(conditions) {
			v, err := r.env.Call(ctx, "match.compound", []any{condition}, nil)
			if err != nil || data.Truth(v) {
				return err == nil, err
			}
			asked = true
		}
	}
	return !asked, nil
}

// option returns an option as config.option does, which looks into grains and pillar, too.
func (r *Runner) option(ctx context.Context, name string) (any, error) {
	if !r.env.Functions.Has("config.option") {
		return r.env.Option(name), nil
	}
	return r.env.Call(ctx, "config.option", []any{name}, nil)
}
