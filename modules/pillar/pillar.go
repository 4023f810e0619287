// Package pillar is Salt's module pillar: it reads the pillar that the minion has, and asks for a fresh one
// (salt/modules/pillar.py).
//
// get.go looks things up in the pillar in memory; items.go shows fresh pillar, which the master compiles, or the minion
// itself where it has none.
//
// What is odd, and as in Salt: pillar.items and its like ask for the environment of the option pillarenv, but without the
// option saltenv; names given to them make them pillar.item, whose other arguments are ignored; pillar.file_exists looks into
// the directories of the minion's own option pillar_roots. What differs: values are copies, so that a template that changes one does not
// change the pillar; and a template of pillar that asks for fresh pillar gets an error, where Salt calls itself without end.
package pillar

import (
	"context"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// notSet is the default that stands for none, as sys.argspec shows it.
const notSet = "<Constant.NOT_SET>"

// Plugin returns the module pillar, which decrypts with what b has.
func Plugin(b render.Brought) loader.Plugin {
	return loader.Plugin{Name: "pillar", New: func(env *loader.Env) (*loader.Module, error) { return newModule(env, b) }}
}

type module struct {
	env    *loader.Env
	engine func() (*render.Engine, error) // to decrypt with
}

func newModule(env *loader.Env, b render.Brought) (*loader.Module, error) {
	m := &module{env: env}
	m.engine = sync.OnceValues(func() (*render.Engine, error) {
		return render.New(render.Options{Env: env, Renderers: b.Renderers})
	})
	items := loader.F("items", m.items)
	return &loader.Module{Funcs: []loader.Func{
		items.Alias("data"),
		loader.F("ext", m.ext),
		loader.F("fetch", m.get).Def("get"),
		loader.F("file_exists", m.fileExists),
		loader.F("filter_by", m.filterBy),
		loader.F("get", m.get),
		loader.F("item", m.item),
		items,
		loader.F("keys", m.keys),
		loader.F("ls", m.ls),
		loader.F("obfuscate", m.obfuscate),
		loader.F("raw", m.raw),
	}}, nil
}

// of returns the pillar in memory, or with an environment that is not None a fresh one of it.
func (m *module) of(ctx context.Context, pillarenv, saltenv any) (*data.Map, error) {
	if pillarenv == nil && saltenv == nil {
		return m.env.PillarNow(), nil
	}
	return m.fresh(ctx, data.NewMap("pillarenv", pillarenv, "saltenv", saltenv))
}
