// Package slsutil is Salt's module slsutil: helpers for SLS files and templates
// (salt/modules/slsutil.py).
//
// merge.go merges dictionaries, renderer.go renders files and texts, banner.go writes comments for
// managed files, and tree.go finds files in the state tree. Package serializers implements
// serialize and deserialize.
//
// Differences from Salt: an unknown renderer is an error, where Salt returns an empty dictionary.
// In a template, update copies parts of upd into dest; it does not share them. For differences of
// formats see package serializers.
package slsutil

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/serializers"
)

// Plugin returns the module slsutil, which renders with the parts in b.
func Plugin(b render.Brought) loader.Plugin {
	return loader.Plugin{Name: "slsutil",
		New: func(env *loader.Env) (*loader.Module, error) { return newModule(env, b) }}
}

type module struct {
	env    *loader.Env
	engine func() (*render.Engine, error)
}

func newModule(env *loader.Env, b render.Brought) (*loader.Module, error) {
	m := &module{env: env, engine: lazyEngine(env, b)}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("banner", m.banner),
		loader.F("boolstr", m.boolstr),
		loader.F("deserialize", m.deserialize),
		loader.F("dir_exists", m.dirExists),
		loader.F("file_exists", m.fileExists),
		loader.F("findup", m.findup),
		loader.F("merge", m.merge).Changes("obj_a"),
		loader.F("merge_all", m.mergeAll),
		loader.F("path_exists", m.pathExists),
		loader.F("renderer", m.renderer),
		loader.F("serialize", m.serialize),
		loader.F("update", m.update).Changes("dest"),
	}}, nil
}

type boolstrArgs struct {
	Value any
	True  any `default:"'true'"`
	False any `default:"'false'"`
}

// boolstr returns the argument true if value counts as true, else the argument false. It converts
// truth values to the words of a file.
//
// CLI Example:
//
//	salt '*' slsutil.boolstr True yes no
func (m *module) boolstr(_ context.Context, a boolstrArgs) (any, error) {
	if data.Truth(a.Value) {
		return a.True, nil
	}
	return a.False, nil
}

type serializeArgs struct {
	Serializer string
	Obj        any
	ModKwargs  *data.Map `kwargs:"mod_kwargs"`
}

// serialize writes a value in a format: json, yaml, toml, msgpack, configparser, keyvalue or
// python. Further arguments are options of the format, such as indent for json and
// default_flow_style for yaml.
//
// CLI Example:
//
//	salt '*' --no-parse=obj slsutil.serialize 'json' obj="{'foo': 'Foo!'}"
func (m *module) serialize(ctx context.Context, a serializeArgs) (any, error) {
	return serializers.Serialize(ctx, m.env, a.Serializer, a.Obj, clean(a.ModKwargs))
}

type deserializeArgs struct {
	Serializer     string
	StreamOrString any
	ModKwargs      *data.Map `kwargs:"mod_kwargs"`
}

// deserialize parses a text in a format: json, yaml, toml, msgpack, configparser or keyvalue.
// Further arguments are options of the format.
//
// CLI Example:
//
//	salt '*' slsutil.deserialize 'json' '{"foo": "Foo!"}'
//	salt '*' --no-parse=stream_or_string slsutil.deserialize 'json' stream_or_string='{"foo": "Foo!"}'
func (m *module) deserialize(ctx context.Context, a deserializeArgs) (any, error) {
	return serializers.Deserialize(ctx, m.env, a.Serializer, a.StreamOrString, clean(a.ModKwargs))
}

// clean returns keyword arguments without the fields of the publication (salt/utils/args.py,
// clean_kwargs).
func clean(kwargs *data.Map) *data.Map {
	out := data.NewMap()
	for k, v := range kwargs.All() {
		if name, ok := k.(string); !ok || !strings.HasPrefix(name, "__") {
			out.Set(k, v)
		}
	}
	return out
}
