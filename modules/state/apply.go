package state

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state"
)

type applyArgs struct {
	Mods   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// apply runs the states of some SLS, or those that the top file assigns to the minion if mods is
// not given. It calls state.sls or state.highstate with the same arguments.
//
// mods
//
//	The SLS to run: a list, or names separated by commas.
//
// test
//
//	True changes nothing and reports what would change.
//
// CLI Example:
//
//	salt '*' state.apply
//	salt '*' state.apply core,edit.vim
//	salt '*' state.apply core test=True pillar='{foo: bar}'
func (m *module) apply(ctx context.Context, a applyArgs) (any, error) {
	words := a.Kwargs.Clone()
	fun := "state.highstate"
	var args []any
	if data.Truth(a.Mods) {
		fun, args = "state.sls", []any{a.Mods}
	}
	return m.env.Call(ctx, fun, args, words)
}

type testArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// test runs state.apply with test=True.
//
// CLI Example:
//
//	salt '*' state.test core
func (m *module) test(ctx context.Context, a testArgs) (any, error) {
	words := a.Kwargs.Clone()
	words.Set("test", true)
	return m.env.Call(ctx, "state.apply", a.Args, words)
}

type runSLSArgs struct {
	Mods        any
	Test        any       `default:"None"`
	Exclude     any       `default:"None"`
	Queue       any       `default:"None"`
	SyncMods    any       `default:"None"`
	StateEvents any       `default:"None"`
	Kwargs      *data.Map `kwargs:"kwargs"`
}

// sls runs the states of some SLS. The arguments queue, saltenv, pillarenv, pillar, pillar_enc,
// localconfig, concurrent and force are those of state.show_sls.
//
// mods
//
//	The SLS to run: a list, or names separated by commas. Globs are allowed.
//
// test
//
//	True changes nothing and reports what would change. False runs the states even if the option
//	test is set.
//
// exclude
//
//	The IDs and SLS to leave out.
//
// sync_mods
//
//	The kinds of modules to fetch first, as saltutil.sync_… does. True fetches all kinds.
//
// state_events
//
//	True sends an event to the master after each state. Default: the option state_events.
//
// cache, cache_name
//
//	cache=True runs the states of the last run again without compiling them. cache_name is the
//	name of the file that holds them.
//
// terse
//
//	True leaves out states that succeeded without a change.
//
// mock
//
//	True runs nothing and reports every state as successful.
//
// CLI Example:
//
//	salt '*' state.sls core,edit.vim
//	salt '*' state.sls core exclude="[{'id': 'id_to_exclude'}, {'sls': 'sls_to_exclude'}]"
//	salt '*' state.sls myslsfile pillar='{foo: "Foo!", bar: "Bar!"}'
func (m *module) sls(ctx context.Context, a runSLSArgs) (any, error) {
	if off, err := m.forbidden(ctx, listOf(a.Mods)); err != nil || off != nil {
		return off, err
	}
	r, stopped, err := m.begin(ctx, sharedArgs{test: a.Test, queue: a.Queue, events: a.StateEvents,
		kwargs: a.Kwargs, base: true})
	if r == nil {
		return stopped, err
	}
	if err := r.syncMods(ctx, a.SyncMods); err != nil {
		return nil, err
	}
	if high := r.cached(); high != nil {
		return r.runHigh(ctx, high)
	}
	matches := data.NewMap(r.env.Opts.Text("saltenv"), split(a.Mods))
	high, problems, err := r.compiler.Render(rendering(ctx), matches)
	if err != nil {
		return nil, saltError(err)
	}
	if len(problems) > 0 {
		return problemResult(ctx, problems)
	}
	leaveOut(high, a.Exclude)
	result, err := r.runHigh(ctx, high)
	if err != nil {
		return nil, err
	}
	if result, err = r.terse(ctx, result); err != nil {
		return nil, err
	}
	r.store("sls.p", result)
	judgeRun(ctx, result, high)
	r.store(r.cacheName(), high)
	return result, nil
}

func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// syncMods fetches modules before a run, which uses them.
func (r *run) syncMods(ctx context.Context, kinds any) error {
	if kinds == nil {
		return nil
	}
	list := []any{"all"}
	if kinds != true {
		list = split(kinds)
	}
	for _, kind := range list {
		fun := "saltutil.sync_" + data.Str(kind)
		if !r.m.env.Functions.Has(fun) {
			r.env.Log.Warnf("Invalid custom module type '%s', ignoring", data.Str(kind))
			continue
		}
		saltenv := data.NewMap("saltenv", r.env.Option("saltenv"))
		if _, err := r.m.env.Call(ctx, fun, nil, saltenv); err != nil {
			return err
		}
	}
	r.reloadAll()
	return nil
}

type slsIDArgs struct {
	ID          any `name:"id_"`
	Mods        any
	Test        any       `default:"None"`
	Queue       any       `default:"None"`
	StateEvents any       `default:"None"`
	Kwargs      *data.Map `kwargs:"kwargs"`
}

// slsID runs the state with an ID in some SLS, and what it requires. Its other arguments are those
// of state.sls.
//
// id
//
//	The ID.
//
// CLI Example:
//
//	salt '*' state.sls_id my_state my_module
//	salt '*' state.sls_id my_state my_module,a_common_module
func (m *module) slsID(ctx context.Context, a slsIDArgs) (any, error) {
	r, stopped, err := m.begin(ctx, sharedArgs{test: a.Test, queue: a.Queue, events: a.StateEvents,
		kwargs: a.Kwargs, base: true})
	if r == nil {
		return stopped, err
	}
	saltenv := r.env.Opts.Text("saltenv")
	high, problems, err := r.compiler.Render(rendering(ctx), data.NewMap(saltenv, split(a.Mods)))
	if err != nil {
		return nil, saltError(err)
	}
	if problems = append(problems, r.compiler.Resolve(high)...); len(problems) > 0 {
		return problemResult(ctx, problems)
	}
	run, err := r.runner()
	if err != nil {
		return nil, err
	}
	results, err := run.Only(ctx, state.Low(high), data.Str(a.ID))
	if err != nil {
		return nil, runError(err)
	}
	judgeRun(ctx, results, high)
	if results.Len() == 0 {
		return nil, loader.Invocation("No matches for ID '%s' found in SLS '%s' within saltenv '%s'", data.Str(a.ID), data.Str(a.Mods), saltenv)
	}
	return results, nil
}

type singleArgs struct {
	Fun    any
	Name   any
	Test   any       `default:"None"`
	Queue  any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// single runs one state. The arguments after fun and name are passed to it.
//
// fun
//
//	The state function.
//
// name
//
//	The name of the state.
//
// CLI Example:
//
//	salt '*' state.single pkg.installed name=vim
func (m *module) single(ctx context.Context, a singleArgs) (any, error) {
	kind, fun, ok := cutFunction(a.Fun)
	if !ok {
		if stopped, err := m.conflict(ctx, a.Queue, a.Kwargs); stopped != nil || err != nil {
			return stopped, err
		}
		loader.ContextOf(ctx).SetRetcode(codeCompiler)
		return "Invalid function passed", nil
	}
	r, stopped, err := m.begin(ctx,
		sharedArgs{test: a.Test, queue: a.Queue, kwargs: a.Kwargs, force: true})
	if r == nil {
		return stopped, err
	}
	low := state.Chunk{Map: a.Kwargs.Clone()}
	low.Update(data.NewMap("state", kind, "fun", fun, "__id__", a.Name, "name", a.Name))
	run, err := r.runner()
	if err != nil {
		return nil, err
	}
	if problems := run.Verify(low); problems != nil {
		return problemResult(ctx, problems)
	}
	ret, err := run.Call(ctx, low)
	if err != nil {
		return nil, runError(err)
	}
	result := data.NewMap(low.Tag(), ret)
	judge(ctx, result)
	return result, nil
}

type highArgs struct {
	Data   any
	Test   any       `default:"None"`
	Queue  any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// high runs high data. It is meant for tests and other programs.
//
// CLI Example:
//
//	salt '*' state.high '{"vim": {"pkg": ["installed"]}}'
func (m *module) high(ctx context.Context, a highArgs) (any, error) {
	r, stopped, err := m.begin(ctx,
		sharedArgs{test: a.Test, queue: a.Queue, kwargs: a.Kwargs, force: true})
	if r == nil {
		return stopped, err
	}
	high, ok := a.Data.(*data.Map)
	if !ok {
		return nil, loader.TypeError("high data must be a dictionary, not %s",
			loader.TypeName(a.Data))
	}
	result, err := r.runHigh(ctx, high)
	if err == nil {
		judgeRun(ctx, result, high)
	}
	return result, err
}

type lowArgs struct {
	Data   any
	Queue  any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// low runs one low chunk. It is meant for tests and other programs.
//
// CLI Example:
//
//	salt '*' state.low '{"state": "pkg", "fun": "installed", "name": "vi"}'
func (m *module) low(ctx context.Context, a lowArgs) (any, error) {
	r, stopped, err := m.begin(ctx,
		sharedArgs{test: m.env.Option("test"), queue: a.Queue, kwargs: a.Kwargs, force: true})
	if r == nil {
		return stopped, err
	}
	chunk, ok := a.Data.(*data.Map)
	if !ok {
		return nil, loader.TypeError("the chunk must be a dictionary, not %s",
			loader.TypeName(a.Data))
	}
	low := state.Chunk{Map: chunk}
	if !low.Has("__id__") {
		low = low.Clone()
		low.Set("__id__", low.Name())
	}
	run, err := r.runner()
	if err != nil {
		return nil, err
	}
	if problems := run.Verify(low); problems != nil {
		return problemResult(ctx, problems)
	}
	ret, err := run.Call(ctx, low)
	return ret, runError(err)
}

// cutFunction splits the name of a state function at its dot. It drops anything after a second dot.
func cutFunction(v any) (kind, fun string, ok bool) {
	parts := strings.Split(data.Str(v), ".")
	if len(parts) < 2 {
		return "", "", false
	}
	return parts[0], parts[1], true
}
