// Package ret is Salt's module ret: it looks up what returners have kept (salt/modules/ret.py). Which returners can do that depends on
// the build: those of SQL databases and redis.
package ret

import (
	"context"

	"github.com/brineproject/brine/loader"
)

// Plugin returns the module ret.
func Plugin() loader.Plugin { return loader.Plugin{Name: "ret", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get_fun", m.getFun),
		loader.F("get_jid", m.getJid),
		loader.F("get_jids", m.getJids),
		loader.F("get_minions", m.getMinions),
	}}, nil
}

// call calls a function of a returner. Where there is none, the error names it; Salt raises the KeyError of a dictionary.
func (m *module) call(ctx context.Context, returner, name string, args ...any) (any, error) {
	fun := returner + "." + name
	if shelf := m.env.Shelf("returners"); shelf.Has(fun) {
		return shelf.Invoke(ctx, fun, args, nil)
	}
	return nil, loader.Execution("'%s' is not available: no such returner, or it keeps nothing that can be looked up", fun)
}

type jidArgs struct {
	Returner string
	Jid      string
}

// getJid returns what minions returned for a job.
//
// CLI Example:
//
//	salt '*' ret.get_jid redis 20421104181954700505
func (m *module) getJid(ctx context.Context, a jidArgs) (any, error) {
	return m.call(ctx, a.Returner, "get_jid", a.Jid)
}

type funArgs struct {
	Returner string
	Fun      string
}

// getFun returns what each minion returned last for a function.
//
// CLI Example:
//
//	salt '*' ret.get_fun mysql network.interfaces
func (m *module) getFun(ctx context.Context, a funArgs) (any, error) {
	return m.call(ctx, a.Returner, "get_fun", a.Fun)
}

type returnerArgs struct{ Returner string }

// getJids returns the jobs that a returner keeps, by their ids.
//
// CLI Example:
//
//	salt '*' ret.get_jids mysql
func (m *module) getJids(ctx context.Context, a returnerArgs) (any, error) {
	return m.call(ctx, a.Returner, "get_jids")
}

// getMinions returns the minions that have returned something to a returner.
//
// CLI Example:
//
//	salt '*' ret.get_minions mysql
func (m *module) getMinions(ctx context.Context, a returnerArgs) (any, error) {
	return m.call(ctx, a.Returner, "get_minions")
}
