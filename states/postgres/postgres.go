package postgresdatabase

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the state postgres_database. There is one where there is the module postgres.
func Plugin() loader.Plugin { return loader.Plugin{Name: "postgres_database", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if !env.Functions.Has("postgres.user_exists") {
		return nil, errors.New("Unable to load postgres module.  Make sure `postgres.bins_dir` is set.") //nolint:staticcheck // Salt's text
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent).Secret("db_password"),
		loader.F("present", m.present).Secret("db_password"),
	}}, nil
}

// call calls a function of the module postgres on a server.
func (m *module) call(ctx context.Context, fun string, server, kwargs *data.Map, args ...any) (any, error) {
	all := &data.Map{}
	all.Update(server)
	all.Update(kwargs)
	return m.env.Call(ctx, "postgres."+fun, args, all)
}
