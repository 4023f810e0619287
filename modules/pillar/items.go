package pillar

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/yaml"
)

// items compiles a fresh pillar and returns it. See pillar.raw for the one in memory. With names it
// works like pillar.item.
//
// pillar
//
//	A dictionary that the pillar files see and that overrides the pillar.
//
// pillar_enc
//
//	The renderer that decrypts pillar first, on the minion: one of the option
//	decrypt_pillar_renderers.
//
// pillarenv
//
//	The environment to compile. Default: the option pillarenv, or else all environments.
//
// saltenv
//
//	Used as pillarenv if the option pillarenv_from_saltenv is set.
//
// CLI Example:
//
//	salt '*' pillar.items
//	salt '*' pillar.items pillar='{role: web}'
func (m *module) items(ctx context.Context, a itemArgs) (any, error) {
	if len(a.Keys) > 0 {
		return m.item(ctx, itemArgs{Keys: a.Keys})
	}
	return m.fresh(ctx, a.More)
}

type lsArgs struct {
	Keys []any `args:"args"`
}

// ls compiles a fresh pillar and returns its keys.
//
// CLI Example:
//
//	salt '*' pillar.ls
func (m *module) ls(ctx context.Context, a lsArgs) (any, error) {
	v, err := m.items(ctx, itemArgs{Keys: a.Keys})
	if err != nil {
		return nil, err
	}
	return v.(*data.Map).Keys(), nil
}

// obfuscate is pillar.items with the type of each value in place of the value.
//
// CLI Example:
//
//	salt '*' pillar.obfuscate
func (m *module) obfuscate(ctx context.Context, a itemArgs) (any, error) {
	v, err := m.items(ctx, a)
	if err != nil {
		return nil, err
	}
	return types(v), nil
}

// types returns a value with everything except dictionaries and lists replaced by its type.
func types(v any) any {
	switch v := v.(type) {
	case *data.Map:
		out := data.NewMap()
		for k, e := range v.All() {
			out.Set(k, types(e))
		}
		return out
	case []any:
		return typesOf(v)
	case data.Tuple:
		return data.Tuple(typesOf(v))
	}
	return "<" + loader.TypeName(v) + ">"
}

func typesOf(list []any) []any {
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = types(e)
	}
	return out
}

type extArgs struct {
	External any
	Pillar   any `default:"None"`
}

// ext compiles a fresh pillar with one more external pillar and returns it. The master's option
// on_demand_ext_pillar must allow that external pillar.
//
// external
//
//	An entry in the form of the option ext_pillar.
//
// pillar
//
//	A dictionary that the pillar files see and that overrides the pillar.
//
// CLI Example:
//
//	salt '*' pillar.ext '{libvirt: _}'
func (m *module) ext(ctx context.Context, a extArgs) (any, error) {
	if text, ok := a.External.(string); ok {
		doc, err := yaml.Load([]byte(text), yaml.Options{})
		if err != nil {
			return nil, loader.Exception("yaml.YAMLError", "%w", err)
		}
		a.External = doc
	}
	q := loader.PillarQuery{SaltEnv: m.text("saltenv"), PillarEnv: m.text("pillarenv"),
		Override: m.dictionary(a.Pillar)}
	external, ok := a.External.(*data.Map)
	if !ok && data.Truth(a.External) {
		m.env.Log.Errorf("On-demand pillar %s is not formatted as a dictionary",
			data.Str(a.External))
	}
	q.External = external
	return m.compile(ctx, q)
}

// fresh compiles a pillar with the arguments of pillar.items.
func (m *module) fresh(ctx context.Context, kwargs *data.Map) (*data.Map, error) {
	over := kwargs.Value("pillar")
	if enc := kwargs.Value("pillar_enc"); data.Truth(over) && data.Truth(enc) {
		clear, err := m.decrypt(ctx, over, data.Str(enc))
		if err != nil {
			return nil, loader.Execution("Failed to decrypt pillar override: %w", err)
		}
		over = clear
	}
	return m.compile(ctx, loader.PillarQuery{PillarEnv: m.pillarEnv(kwargs),
		Override: m.dictionary(over)})
}

func (m *module) pillarEnv(kwargs *data.Map) string {
	if v := kwargs.Value("pillarenv"); v != nil {
		return data.Str(v)
	}
	if !data.Truth(m.env.Option("pillarenv_from_saltenv")) {
		return m.text("pillarenv")
	}
	if v := kwargs.Value("saltenv"); data.Truth(v) {
		return data.Str(v)
	}
	return m.text("saltenv")
}

// text returns a text option, "" if it is not set.
func (m *module) text(option string) string {
	if v := m.env.Option(option); v != nil {
		return data.Str(v)
	}
	return ""
}

// dictionary returns the pillar data that a call passes. It returns nil and logs an error if that
// is no dictionary.
func (m *module) dictionary(v any) *data.Map {
	over, ok := v.(*data.Map)
	if !ok && data.Truth(v) {
		m.env.Log.Error("Pillar data must be a dictionary")
	}
	return over
}

func (m *module) compile(ctx context.Context, q loader.PillarQuery) (*data.Map, error) {
	if m.env.Host.CompilePillar == nil {
		return nil, loader.Execution("a fresh pillar cannot be compiled here")
	}
	p, err := m.env.Host.CompilePillar(ctx, q)
	switch {
	case err == nil:
		return data.Clone(p).(*data.Map), nil
	case ctx.Err() == nil:
		err = loader.Execution("Exception getting pillar: %w", err)
	}
	return nil, err
}

// decrypt runs a value through the named renderer, which must be allowed to decrypt.
func (m *module) decrypt(ctx context.Context, v any, name string) (any, error) {
	e, err := m.engine()
	if err != nil {
		return nil, err
	}
	return e.Decrypt(ctx, v, render.Input{Default: name, TranslateNewlines: true})
}
