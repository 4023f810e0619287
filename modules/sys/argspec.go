package sys

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func (m *module) argspecs() []loader.Func {
	return []loader.Func{
		loader.F("argspec", m.argspec),
		loader.F("state_argspec", m.stateArgspec),
		loader.F("runner_argspec", m.runnerArgspec),
		loader.F("returner_argspec", m.returnerArgspec),
		loader.F("state_schema", m.stateSchema),
	}
}

type argspecArgs struct {
	Module any `default:"''"`
}

// argspec returns the parameters of functions: their names, their defaults, and whether they accept
// any number of arguments and keyword arguments. Without a name it returns none.
//
// CLI Example:
//
//	salt '*' sys.argspec pkg.install
//	salt '*' sys.argspec sys
//	salt '*' sys.argspec 'pkg.*'
func (m *module) argspec(_ context.Context, a argspecArgs) (any, error) {
	return argspec(m.env.Functions, a.Module)
}

// stateArgspec returns the parameters of state functions, as sys.argspec does for modules.
//
// CLI Example:
//
//	salt '*' sys.state_argspec pkg.installed
//	salt '*' sys.state_argspec file
//	salt '*' sys.state_argspec 'pkg.*'
func (m *module) stateArgspec(_ context.Context, a argspecArgs) (any, error) {
	return argspec(m.env.Registry("states"), a.Module)
}

// runnerArgspec returns the parameters of runner functions, as sys.argspec does for modules.
//
// CLI Example:
//
//	salt '*' sys.runner_argspec state
//	salt '*' sys.runner_argspec 'winrepo.*'
func (m *module) runnerArgspec(_ context.Context, a argspecArgs) (any, error) {
	return argspec(m.env.Registry("runners"), a.Module)
}

// returnerArgspec returns the parameters of returner functions, as sys.argspec does for modules.
//
// CLI Example:
//
//	salt '*' sys.returner_argspec smtp
//	salt '*' sys.returner_argspec 'sqlite3.*'
func (m *module) returnerArgspec(_ context.Context, a argspecArgs) (any, error) {
	return argspec(m.env.Registry("returners"), a.Module)
}

func argspec(r *loader.Registry, module any) (any, error) {
	words, err := texts([]any{module})
	if err != nil {
		return nil, err
	}
	return r.Argspec(words[0]), nil
}

// stateSchema returns a JSON schema for each state function that matches a name or glob.
//
// CLI Example:
//
//	salt '*' sys.state_schema
//	salt '*' sys.state_schema pkg.installed
func (m *module) stateSchema(_ context.Context, a argspecArgs) (any, error) {
	words, err := texts([]any{a.Module})
	if err != nil {
		return nil, err
	}
	schemas := []any{}
	states := m.env.Registry("states")
	for _, fun := range states.Select(words[0]) {
		if f, ok := states.Func(fun); ok {
			schemas = append(schemas, schema(fun, f.Spec().Params))
		}
	}
	return schemas, nil
}

// schema is _argspec_to_schema of salt/modules/sysmod.py: every parameter may be a boolean, a
// number or a text.
func schema(fun string, params []loader.Param) *data.Map {
	properties, order := &data.Map{}, []any{}
	for _, p := range params {
		var kinds []any
		for _, kind := range []string{"boolean", "integer", "number", "string"} {
			item := data.NewMap("type", kind, "title", p.Name, "description", p.Name)
			if p.Default != nil {
				item.Set("default", p.Default)
			}
			kinds = append(kinds, item)
		}
		properties.Set(p.Name, data.NewMap("oneOf", kinds))
		order = append(order, p.Name)
	}
	return data.NewMap("$schema", "http://json-schema.org/draft-04/schema#", "title", fun,
		"description", fun, "type", "object", "properties", properties, "x-ordering", order,
		"additionalProperties", false)
}
