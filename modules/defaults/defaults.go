// Package defaults is Salt's module defaults: formulas read and merge the values that they begin with (salt/modules/defaults.py).
//
// What differs from Salt: parts of what is merged do not become parts of the other dictionary in a template, but copies.
package defaults

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/yaml"
)

// Plugin returns the module defaults.
func Plugin() loader.Plugin { return loader.Plugin{Name: "defaults", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("deepcopy", m.deepcopy),
		loader.F("get", m.get),
		loader.F("merge", m.merge).Changes("dest"),
		loader.F("update", m.update).Changes("dest"),
	}}, nil
}

type getArgs struct {
	Key     string
	Default any `default:"''"`
}

// get returns a value of the file defaults.yaml, or else defaults.json, in the root of a formula; the whole file for the name of the
// formula alone.
//
// key
//
//	The name of the formula and the keys within the file, with colons between them.
//
// default
//
//	What to return when there is no such value.
//
// CLI Example:
//
//	salt '*' defaults.get core:users:root
func (m *module) get(ctx context.Context, a getArgs) (any, error) {
	formula, key, _ := strings.Cut(a.Key, ":")
	all, err := m.read(ctx, formula)
	if err != nil || key == "" {
		return all, err
	}
	if v, ok := data.Lookup(all, key, ":"); ok {
		return v, nil
	}
	return a.Default, nil
}

// read returns what the first file of a formula holds; nil where there is none.
func (m *module) read(ctx context.Context, formula string) (any, error) {
	urls := []any{"salt://" + formula + "/defaults.yaml", "salt://" + formula + "/defaults.json"}
	v, err := m.env.Call(ctx, "cp.cache_files", []any{urls, "base"}, nil)
	if err != nil {
		return nil, err
	}
	files, _ := v.([]any)
	for _, f := range files {
		if file, ok := f.(string); ok && file != "" {
			return parsed(file)
		}
	}
	return nil, nil
}

// parsed reads a file of values; one that is empty is a dictionary without any.
func parsed(file string) (any, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, loader.Execution("defaults: %w", err)
	}
	v, err := decode(file, src)
	switch {
	case err != nil:
		return nil, loader.Exception(class(err), "%w", err)
	case !data.Truth(v):
		return data.NewMap(), nil
	}
	return v, nil
}

func decode(file string, src []byte) (any, error) {
	if strings.HasSuffix(file, ".json") {
		return render.LoadJSON(string(src))
	}
	return yaml.Load(src, yaml.Options{Name: file})
}

// class is Python's name of the class of an error of JSON or YAML.
func class(err error) string {
	bad, ok := errors.AsType[*yaml.Error](err)
	switch {
	case !ok:
		return "json.decoder.JSONDecodeError"
	case bad.OfScanner():
		return "yaml.scanner.ScannerError"
	}
	return "yaml.parser.ParserError"
}

type deepcopyArgs struct{ Source any }

// deepcopy returns a copy of a value, with copies of all that it holds.
//
// CLI Example:
//
//	salt '*' defaults.deepcopy '{a: [b, c]}'
func (m *module) deepcopy(_ context.Context, a deepcopyArgs) (any, error) {
	return data.Clone(a.Source), nil
}
