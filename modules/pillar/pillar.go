// Package pillar is Salt's module pillar: it reads the pillar in the minion's memory and requests a
// fresh one (salt/modules/pillar.py).
//
// get.go looks up values in the pillar in memory. items.go shows a fresh pillar, compiled by the
// master, or by the minion if it has no master.
//
// Some behaviour is odd but the same as Salt's. pillar.items and similar functions request the
// environment of the option pillarenv, but ignore the option saltenv. If they are given names they
// work as pillar.item, whose other arguments are ignored. pillar.file_exists searches the minion's
// own option pillar_roots. Differences: values are copies, so a template that changes one does not
// change the pillar; and a pillar template that requests a fresh pillar gets an error, where Salt
// recurses without end.
package pillar

import (
	"context"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// notSet is the default for "not set", in the form in which sys.argspec shows it.
const notSet = "<Constant.NOT_SET>"

// Plugin returns the module pillar, which decrypts with the renderers in b.
func Plugin(b render.Brought) loader.Plugin {
	return loader.Plugin{Name: "pillar",
		New: func(env *loader.Env) (*loader.Module, error) { return newModule(env, b) }}
}

type module struct {
	env    *loader.Env
	engine func() (*render.Engine, error) // decrypts
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

// of returns the pillar in memory, or a fresh one if an environment is given.
func (m *module) of(ctx context.Context, pillarenv, saltenv any) (*data.Map, error) {
	if pillarenv == nil && saltenv == nil {
		return m.env.PillarNow(), nil
	}
	return m.fresh(ctx, data.NewMap("pillarenv", pillarenv, "saltenv", saltenv))
}
