package state

import (
	"context"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/runners"
)

// functions returns the execution modules for orchestrations: those of a minion with the master's
// id. Its options are the master's over a minion's, and its files and pillar are the master's own
// (salt/minion.py, MasterMinion).
func (m *module) functions(ctx context.Context) (*loader.Registry, error) {
	registry := m.env.Registry("modules")
	if registry == nil || m.env.Registry("states") == nil {
		return nil, &runners.UnableError{Text: "There are no states here that could be run."}
	}
	env := *registry.Env()
	env.Opts, env.Functions, env.Call, env.Pillar = m.options(ctx), nil, nil, nil
	env.Host.CompilePillar = m.pillarOf(&env)
	return registry.With(&env), nil
}

// options returns the options of an orchestration.
func (m *module) options(ctx context.Context) *data.Map {
	opts := config.DefaultMinion().Map()
	opts.Update(m.env.Opts)
	opts.Update(data.NewMap("file_client", "local", "__role", "master"))
	if user := runners.RunOf(ctx).User; user != "" {
		opts.Set("user", user)
	}
	return opts
}

// pillarOf returns the function that compiles the pillar of the master's id; nil without a
// compiler.
func (m *module) pillarOf(
	env *loader.Env,
) func(context.Context, loader.PillarQuery) (*data.Map, error) {
	if m.compiler == nil {
		return nil
	}
	id := env.Opts.Text("id")
	return func(ctx context.Context, q loader.PillarQuery) (*data.Map, error) {
		return m.compiler.Compile(ctx,
			pillar.Request{ID: id, Grains: env.GrainsNow(), SaltEnv: q.SaltEnv,
				PillarEnv: q.PillarEnv, Override: q.Override, Demand: q.External})
	}
}

// invoke calls one of these functions. Its side data for other functions, such as a return code, do
// not affect the runner's.
func (m *module) invoke(ctx context.Context, fun string, args []any, words *data.Map) (any, error) {
	functions, err := m.functions(ctx)
	if err != nil {
		return nil, err
	}
	return functions.Invoke(loader.WithContext(ctx, &loader.Context{}), fun, args, words)
}

// mine returns a result as that of the master's id.
func (m *module) mine(v any) *data.Map { return data.NewMap(m.env.Opts.Text("id"), v) }
