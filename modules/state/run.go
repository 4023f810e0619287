package state

import (
	"context"
	"errors"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/state"
	"github.com/brineproject/brine/state/runner"
)

// codePillar is the return code of a run whose pillar fails to render.
const codePillar = 5

// A run is one call that runs states.
type run struct {
	*highState
	m      *module
	kwargs *data.Map
}

// sharedArgs holds the arguments that all functions which run states share.
type sharedArgs struct {
	test, queue, events any
	kwargs              *data.Map
	base                bool // use the environment base if the call names none
	force               bool // run even if the pillar has errors
}

// begin prepares a run. If the call cannot go on, it returns the result of the call as stopped.
func (m *module) begin(ctx context.Context, c sharedArgs) (r *run, stopped any, err error) {
	if err := misspelt(c); err != nil {
		return nil, nil, err
	}
	if stopped, err = m.conflict(ctx, c.queue, c.kwargs); stopped != nil || err != nil {
		return nil, stopped, err
	}
	opts, err := m.runOptions(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	over, err := overrideOf(c.kwargs)
	if err != nil {
		return nil, nil, err
	}
	h, err := m.highState(ctx, opts, over)
	if err != nil {
		return nil, nil, err
	}
	if errs := m.pillarErrors(h, c.kwargs); len(errs) > 0 && !c.force {
		loader.ContextOf(ctx).SetRetcode(codePillar)
		return nil, append([]any{"Pillar failed to render with the following messages:"},
			errs...), nil
	}
	return &run{highState: h, m: m, kwargs: c.kwargs}, nil, nil
}

func (m *module) runOptions(ctx context.Context, c sharedArgs) (*data.Map, error) {
	opts, err := m.options(c.kwargs)
	if err != nil {
		return nil, err
	}
	if err := m.withTest(ctx, opts, c.test, c.kwargs); err != nil {
		return nil, err
	}
	if c.base && opts.Value("saltenv") == nil {
		opts.Set("saltenv", "base")
	}
	if c.events != nil {
		opts.Set("state_events", c.events)
	}
	return opts, nil
}

// runner returns the runner of the chunks.
func (r *run) runner() (*runner.Runner, error) {
	o := runner.Options{
		Env: r.env, States: r.m.env.Registry("states").With(r.env),
		Mock:    data.Truth(r.kwargs.Value("mock")),
		Refresh: r.refresh,
	}
	if jid := r.kwargs.Value("__pub_jid"); jid != nil {
		o.JID = data.Str(jid)
	}
	return runner.New(o)
}

// refresh collects grains or compiles the pillar again for the remaining states.
func (r *run) refresh(ctx context.Context, grains, pillar bool) error {
	if collect := r.env.Host.RefreshGrains; grains && collect != nil {
		if err := collect(ctx); err != nil {
			return err
		}
	} else if grains {
		err := calls.RefreshGrains(ctx, r.env, false)
		if loader.KindOf(err) != loader.KindMissing && err != nil {
			return err
		}
	}
	if !pillar {
		return nil
	}
	over, err := overrideOf(r.kwargs)
	if err == nil {
		r.pillar, err = r.m.pillarOf(ctx, r.highState, over)
	}
	return err
}

// runHigh runs high data that is not resolved yet. It returns the results, or a list of problems.
func (r *run) runHigh(ctx context.Context, high *data.Map) (any, error) {
	for _, warning := range state.Declare(high) {
		r.env.Log.Error(warning)
	}
	if problems := r.compiler.Resolve(high); len(problems) > 0 {
		return data.Values(problems), nil
	}
	chunks := state.Low(high)
	if jid := r.kwargs.Value("orchestration_jid"); jid != nil {
		for _, chunk := range chunks {
			chunk.Set("__orchestration_jid__", jid)
		}
	}
	run, err := r.runner()
	if err != nil {
		return nil, err
	}
	results, err := run.Chunks(ctx, chunks)
	if err != nil {
		return nil, runError(err)
	}
	return results, nil
}

// runError converts an error of a run to the exception that Salt raises for it.
func runError(err error) error {
	var broken *render.Error
	if errors.As(err, &broken) {
		return saltError(err)
	}
	return err
}

// terse leaves out states that succeeded without a change, if the call or the option state_data
// asks for it.
func (r *run) terse(ctx context.Context, v any) (any, error) {
	results, ok := v.(*data.Map)
	option, err := calls.Option[any](ctx, r.m.env, "state_data", "")
	if err != nil || !ok || option != "terse" && !data.Truth(r.kwargs.Value("terse")) {
		return v, err
	}
	left := data.NewMap()
	for tag, ret := range results.All() {
		if body, ok := ret.(*data.Map); ok &&
			(!data.Truth(body.Value("result")) || data.Truth(body.Value("changes"))) {
			left.Set(tag, ret)
		}
	}
	return left, nil
}

// leaveOut adds IDs and SLS to the exclude list of high data.
func leaveOut(high *data.Map, exclude any) {
	if !data.Truth(exclude) {
		return
	}
	list, _ := high.Value("__exclude__").([]any)
	high.Set("__exclude__", slices.Concat(list, split(exclude)))
}

// cacheName returns the name of the file in which high data is cached for calls with cache=True.
func (r *run) cacheName() string {
	name := "highstate"
	if v, ok := r.kwargs.Get("cache_name"); ok {
		name = data.Str(v)
	}
	return name + cacheEnding
}

// cached returns the high data of an earlier call. It returns nil if the call does not ask for it
// or none is cached.
func (r *run) cached() *data.Map {
	if !data.Truth(r.kwargs.Value("cache")) {
		return nil
	}
	high, err := r.m.readCached(r.cacheName())
	if err != nil {
		r.env.Log.Errorf("Unable to read the high data cached for cache=True: %v", err)
	}
	return high
}

// store writes a file of the cache. A run does not fail if that fails.
func (r *run) store(name string, v any) {
	content, ok := v.(*data.Map)
	if !ok {
		return
	}
	if err := r.m.writeCached(name, content); err != nil {
		r.env.Log.Errorf("Unable to write to cache file %s. Do you have permissions? %v", name, err)
	}
}
