package state

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state"
)

type highstateArgs struct {
	Test        any       `default:"None"`
	Queue       any       `default:"None"`
	StateEvents any       `default:"None"`
	Kwargs      *data.Map `kwargs:"kwargs"`
}

// highstate runs the states that the top file assigns to the minion. Its arguments are those of
// state.sls, and these:
//
// exclude
//
//	The IDs and SLS to leave out.
//
// whitelist
//
//	Of the SLS in the top file, run only these.
//
// CLI Example:
//
//	salt '*' state.highstate
//	salt '*' state.highstate whitelist=sls1_to_run,sls2_to_run
//	salt '*' state.highstate exclude=sls_to_exclude
//	salt '*' state.highstate pillar="{foo: 'Foo!', bar: 'Bar!'}"
func (m *module) highstate(ctx context.Context, a highstateArgs) (any, error) {
	off, err := m.forbidden(ctx, []any{"highstate"})
	if err != nil || off != nil {
		loader.ContextOf(ctx).SetRetcode(codeOK)
		return data.NewMap("name", "Salt highstate run is disabled. To re-enable, run state.enable highstate", "result", "False",
			"comment", "Disabled"), err
	}
	r, stopped, err := m.begin(ctx,
		sharedArgs{test: a.Test, queue: a.Queue, events: a.StateEvents, kwargs: a.Kwargs})
	if r == nil {
		return stopped, err
	}
	result, high, err := r.runTop(ctx)
	if err != nil {
		return nil, err
	}
	if result, err = r.terse(ctx, result); err != nil {
		return nil, err
	}
	judgeRun(ctx, result, high)
	return result, nil
}

type runTopArgs struct {
	Topfn  any
	Test   any       `default:"None"`
	Queue  any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// top runs the states that another top file assigns to the minion. Its other arguments are those of
// state.highstate.
//
// topfn
//
//	The top file.
//
// CLI Example:
//
//	salt '*' state.top reverse_top.sls
//	salt '*' state.top reverse_top.sls exclude=sls_to_exclude
func (m *module) top(ctx context.Context, a runTopArgs) (any, error) {
	c := sharedArgs{test: a.Test, queue: a.Queue, kwargs: a.Kwargs}
	if stopped, err := m.conflict(ctx, c.queue, c.kwargs); stopped != nil || err != nil {
		return stopped, err
	}
	r, stopped, err := m.begin(ctx, c)
	if r == nil {
		return stopped, err
	}
	r.overrides = data.NewMap("state_top", data.Str(a.Topfn))
	if saltenv, ok := a.Kwargs.Get("saltenv"); ok {
		r.overrides.Set("state_top_saltenv", saltenv)
	}
	pillar := r.pillar
	if err := r.open(ctx, m, r.env.Opts.Clone()); err != nil {
		return nil, err
	}
	r.pillar = pillar
	result, high, err := r.runTop(ctx)
	if err != nil {
		return nil, err
	}
	judgeRun(ctx, result, high)
	return result, nil
}

// runTop runs what the top file assigns to the minion. It returns the high data and the results, or
// a list of problems in place of the results (salt/state.py, call_highstate).
func (r *run) runTop(ctx context.Context) (result any, high *data.Map, err error) {
	if high := r.cached(); high != nil {
		result, err = r.runHigh(ctx, high)
		return result, high, err
	}
	top, problems, err := r.compiler.Top(rendering(ctx))
	if errors.Is(err, state.ErrTop) {
		return noStates("Unable to render top file: " + state.ErrTop.Error()), nil, nil
	}
	if err != nil {
		return nil, nil, saltError(err)
	}
	matches, err := r.compiler.Matches(rendering(ctx), top)
	if err != nil {
		return nil, nil, saltError(err)
	}
	if matches.Len() == 0 {
		return noStates("No Top file or master_tops data matches found. Please see master log for details."), nil, nil
	}
	matches = whitelisted(matches, r.kwargs.Value("whitelist"))
	if err := r.loadDynamic(ctx, matches); err != nil {
		return nil, nil, err
	}
	high, more, err := r.compiler.Render(rendering(ctx), matches)
	if err != nil {
		return nil, nil, saltError(err)
	}
	leaveOut(high, r.kwargs.Value("exclude"))
	if problems = append(problems, more...); len(problems) > 0 {
		return data.Values(problems), high, nil
	}
	if high.Len() == 0 {
		return noStates("No states found for this minion"), high, nil
	}
	r.store(r.cacheName(), data.Clone(high))
	result, err = r.runHigh(ctx, high)
	return result, high, err
}

// noStates returns the result of a run without states.
func noStates(comment string) *data.Map {
	return data.NewMap("no_|-states_|-states_|-None",
		data.NewMap("result", false, "comment", comment, "name", "No States",
			"changes", data.NewMap(), "__run_num__", int64(0)))
}

// whitelisted returns the matches of the top file, reduced to the SLS of a whitelist.
func whitelisted(matches *data.Map, whitelist any) *data.Map {
	if !data.Truth(whitelist) {
		return matches
	}
	names, ok := whitelist.([]any)
	if !ok {
		names = data.Values(strings.Split(data.Str(whitelist), ","))
	}
	left := data.NewMap()
	for saltenv, v := range matches.All() {
		list, _ := v.([]any)
		kept := slices.DeleteFunc(slices.Clone(list),
			func(sls any) bool { return !contains(names, sls) })
		if len(kept) > 0 {
			left.Set(saltenv, kept)
		}
	}
	return left
}

// forbidden returns a text for each SLS in names that state.disable disabled, and sets the return
// code. It returns nil if there is none (salt/modules/state.py, _disabled).
func (m *module) forbidden(ctx context.Context, names []any) (any, error) {
	off, err := m.disabled(ctx)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, v := range names {
		name := data.Str(v)
		for _, v := range off {
			pattern := data.Str(v)
			family, _, all := strings.Cut(pattern, ".*")
			switch {
			case all && strings.HasPrefix(name, strings.Split(family, ".")[0]+"."):
				texts = append(texts, "The state file \""+name+"\" is currently disabled by \""+
					pattern+"\", to re-enable, run state.enable "+pattern+".")
			case !all && pattern == name:
				texts = append(texts, "The state file \""+name+
					"\" is currently disabled, to re-enable, run state.enable "+name+".")
			}
		}
	}
	if texts == nil {
		return nil, nil
	}
	return problemResult(ctx, texts)
}
