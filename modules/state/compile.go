package state

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/state"
)

// A highState holds what one call needs to compile states. It has its own options and pillar, which
// templates and the functions that they call see too (salt/state.py, HighState).
type highState struct {
	env       *loader.Env
	engine    *render.Engine
	compiler  *state.Compiler
	pillar    *data.Map
	overrides *data.Map // options that override those of the master
}

// highState returns the compiler of a call. Its options come from the minion and its master; its
// pillar is compiled anew.
func (m *module) highState(ctx context.Context, opts *data.Map, over override) (*highState, error) {
	h := &highState{pillar: m.env.PillarNow()}
	if err := h.open(ctx, m, opts); err != nil {
		return nil, loader.Execution("state: %w", err)
	}
	var err error
	h.pillar, err = m.pillarOf(ctx, h, over)
	return h, err
}

// open creates the engine and the compiler.
func (h *highState) open(ctx context.Context, m *module, opts *data.Map) error {
	env := *m.env
	env.Opts, env.Functions, env.Call = opts, nil, nil
	env.Pillar = func() *data.Map { return h.pillar }
	files, err := fileclient.ForEnv(&env, m.brought.Files)
	if err != nil {
		return err
	}
	master, err := files.MasterOpts(ctx)
	if err != nil {
		return err
	}
	env.Opts = state.MasterOptions(opts, master)
	env.Opts.Update(h.overrides)
	h.env = m.env.Functions.With(&env).Env()
	if h.engine, err = render.New(render.Options{Env: h.env, Files: render.Client(files),
		Renderers: m.brought.Renderers}); err != nil {
		return err
	}
	h.compiler, err = state.New(state.Options{Engine: h.engine, Files: files})
	return err
}

// rendering returns a context for templates with an empty loader.Context. Nothing that their
// functions set there, such as a return code, reaches the call.
func rendering(ctx context.Context) context.Context {
	return loader.WithContext(ctx, &loader.Context{})
}
