// Package defaults is Salt's module defaults: formulas use it to read and merge their default
// values (salt/modules/defaults.py).
//
// Unlike in Salt, merged parts are copied, so that the two dictionaries in a template share
// nothing.
package defaults

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
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

// get returns a value of the file defaults.yaml, or else defaults.json, in the root directory of a
// formula. For just the name of the formula it returns the whole file.
//
// key
//
//	The name of the formula and the keys within the file, separated by colons.
//
// default
//
//	The result if there is no such value.
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

// read returns the content of the first file of a formula, or nil if there is none.
func (m *module) read(ctx context.Context, formula string) (any, error) {
	urls := []any{"salt://" + formula + "/defaults.yaml", "salt://" + formula + "/defaults.json"}
	files, err := loader.CallAs[[]any](ctx, m.env, "cp.cache_files", []any{urls, "base"}, nil)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if file, ok := f.(string); ok && file != "" {
			return parsed(file)
		}
	}
	return nil, nil
}

// parsed reads a file of values; an empty file is an empty dictionary.
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
		return pyjson.Load(string(src))
	}
	return yaml.Load(src, yaml.Options{Name: file})
}

// class returns the name of the Python class of a JSON or YAML error.
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

// deepcopy returns a deep copy of a value.
//
// CLI Example:
//
//	salt '*' defaults.deepcopy '{a: [b, c]}'
func (m *module) deepcopy(_ context.Context, a deepcopyArgs) (any, error) {
	return data.Clone(a.Source), nil
}
