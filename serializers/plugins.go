package serializers

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugins returns the serializers as plug-ins NAME.serialize and NAME.deserialize.
func Plugins() []loader.Plugin {
	var list []loader.Plugin
	for _, name := range []string{"configparser", "json", "keyvalue", "msgpack", "plist", "python",
		"toml", "yaml"} {
		p := loader.Plugin{Name: name,
			New: func(*loader.Env) (*loader.Module, error) { return module(name), nil }}
		if name == "toml" {
			p.File = "tomlmod"
		}
		list = append(list, p)
	}
	return list
}

type serializeArgs struct {
	Obj     any
	Options *data.Map `kwargs:"options"`
}

type deserializeArgs struct {
	StreamOrString any
	Options        *data.Map `kwargs:"options"`
}

func module(name string) *loader.Module {
	write := loader.F("serialize", func(_ context.Context, a serializeArgs) (any, error) {
		return Write(name, a.Obj, a.Options)
	}).Document("Return a value as text.")
	read := loader.F("deserialize", func(_ context.Context, a deserializeArgs) (any, error) {
		return Read(name, a.StreamOrString, a.Options)
	}).Document("Return the value of a text.")
	return &loader.Module{Funcs: []loader.Func{write, read}}
}

// Serialize is like Write, with the serializers of a minion: users' own before those of this package.
func Serialize(
	ctx context.Context, env *loader.Env, name string, v any, opts *data.Map,
) (any, error) {
	own := env.Registry("serializers")
	switch {
	case own.Provider(name) == "":
		return Write(name, v, opts)
	case !own.Has(name + ".serialize"):
		return nil, missing("Serializer '%s' does not implement serialize.", name)
	}
	return own.Invoke(ctx, name+".serialize", []any{v}, opts)
}

// Deserialize is like Read, with the serializers of a minion.
func Deserialize(
	ctx context.Context, env *loader.Env, name string, text any, opts *data.Map,
) (any, error) {
	own := env.Registry("serializers")
	switch {
	case own.Provider(name) == "":
		return Read(name, text, opts)
	case !own.Has(name + ".deserialize"):
		return nil, missing("Serializer '%s' does not implement deserialize.", name)
	}
	return own.Invoke(ctx, name+".deserialize", []any{text}, opts)
}
