package postgresschema

import (
	"errors"

	"github.com/brineproject/brine/loader"
)

// Plugin returns the state postgres_schema. There is one where there is the module postgres.
func Plugin() loader.Plugin { return loader.Plugin{Name: "postgres_schema", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if !env.Functions.Has("postgres.schema_exists") {
		return nil, errors.New("Unable to load postgres module.  Make sure `postgres.bins_dir` is set.") //nolint:staticcheck // Salt's text
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent).Secret("db_password"),
		loader.F("present", m.present).Secret("db_password"),
	}}, nil
}
