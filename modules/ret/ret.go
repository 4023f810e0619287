// Package ret is Salt's module ret: it looks up results that returners stored
// (salt/modules/ret.py). Returners of SQL databases and redis support that; which exist depends on
// the build.
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

// call calls a function of a returner. If the returner or the function is missing, the error names
// it; Salt raises a KeyError.
func (m *module) call(ctx context.Context, returner, name string, args ...any) (any, error) {
	fun := returner + "." + name
	if registry := m.env.Registry("returners"); registry.Has(fun) {
		return registry.Invoke(ctx, fun, args, nil)
	}
	return nil, loader.Execution("'%s' is not available: the returner does not exist or does not support lookups", fun)
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

// getFun returns the last result of each minion for a function.
//
// CLI Example:
//
//	salt '*' ret.get_fun mysql network.interfaces
func (m *module) getFun(ctx context.Context, a funArgs) (any, error) {
	return m.call(ctx, a.Returner, "get_fun", a.Fun)
}

type returnerArgs struct{ Returner string }

// getJids returns the jobs that a returner has stored, by job ID.
//
// CLI Example:
//
//	salt '*' ret.get_jids mysql
func (m *module) getJids(ctx context.Context, a returnerArgs) (any, error) {
	return m.call(ctx, a.Returner, "get_jids")
}

// getMinions returns the minions whose results a returner has stored.
//
// CLI Example:
//
//	salt '*' ret.get_minions mysql
func (m *module) getMinions(ctx context.Context, a returnerArgs) (any, error) {
	return m.call(ctx, a.Returner, "get_minions")
}
