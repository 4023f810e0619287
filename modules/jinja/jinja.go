// Package jinja is Salt's module jinja: it shows what templates would import
// (salt/modules/jinja.py).
package jinja

import (
	"context"
	"errors"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// Plugin returns the module jinja, which renders with the parts in b.
func Plugin(b render.Brought) loader.Plugin {
	return loader.Plugin{Name: "jinja",
		New: func(env *loader.Env) (*loader.Module, error) { return newModule(env, b) }}
}

type module struct {
	engine func() (*render.Engine, error)
}

func newModule(env *loader.Env, b render.Brought) (*loader.Module, error) {
	m := &module{sync.OnceValues(func() (*render.Engine, error) {
		e, _, err := render.ForEnv(env, b)
		if err != nil {
			return nil, loader.Execution("jinja: %w", err)
		}
		return e, nil
	})}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("import_json", m.importJson),
		loader.F("import_yaml", m.importYaml),
		loader.F("load_map", m.loadMap),
	}}, nil
}

// imported renders a template of two lines: a tag, and a variable as JSON.
func (m *module) imported(ctx context.Context, tag, variable string) (any, error) {
	e, err := m.engine()
	if err != nil {
		return nil, err
	}
	// In a template that is imported with context tpldir is ".", so that names built from it are
	// relative to its own directory.
	vars := map[string]any{"tplfile": "map", "tpldir": ".", "tpldot": ""}
	v, err := e.Render(ctx, render.Input{Text: "{% " + tag + " %}\n{{ " + variable +
		" | tojson }}\n", SaltEnv: "base", Vars: vars})
	var bad *render.Error
	if errors.As(err, &bad) {
		return nil, loader.Exception("salt.exceptions.SaltRenderError", "%w", err)
	}
	return plain(v), err
}

// plain converts dictionaries to Python's plain dict, which outputters sort (salt/modules/jinja.py,
// _strip_odict).
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			v[i] = plain(item)
		}
	case *data.Map:
		for key, item := range v.All() {
			v.Set(key, plain(item))
		}
		v.SetClass(data.Dict)
	}
	return v
}

type loadMapArgs struct{ Path, Value string }

// loadMap returns a variable of a template in the state tree, as seen by an SLS that imports it
// with context.
//
// CLI Example:
//
//	salt myminion jinja.load_map myformula/map.jinja myformula
func (m *module) loadMap(ctx context.Context, a loadMapArgs) (any, error) {
	return m.imported(ctx, `from "`+a.Path+`" import `+a.Value+" with context", a.Value)
}

type pathArgs struct{ Path string }

// importYaml returns the data of a YAML file in the state tree.
//
// CLI Example:
//
//	salt myminion jinja.import_yaml myformula/foo.yaml
func (m *module) importYaml(ctx context.Context, a pathArgs) (any, error) {
	return m.imported(ctx, `import_yaml "`+a.Path+`" as imported`, "imported")
}

// importJson returns the data of a JSON file in the state tree.
//
// CLI Example:
//
//	salt myminion jinja.import_json myformula/foo.json
func (m *module) importJson(ctx context.Context, a pathArgs) (any, error) {
	return m.imported(ctx, `import_json "`+a.Path+`" as imported`, "imported")
}
