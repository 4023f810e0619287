// Package sdb is Salt's runner sdb: it accesses external values by URIs sdb://PROFILE/KEY, whose
// profiles are in the master's configuration (salt/runners/sdb.py). It calls the execution module
// sdb with the master's options.
package sdb

import (
	"context"

	"github.com/brineproject/brine/loader"
)

// Plugin returns the runner sdb.
func Plugin() loader.Plugin { return loader.Plugin{Name: "sdb", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("delete", m.delete),
		loader.F("get", m.get).SecretResult(loader.SecretAll),
		loader.F("get_or_set_hash", m.getOrSetHash).SecretResult(loader.SecretAll),
		loader.F("set", m.set).Def("set_").Secret("value").SecretResult(loader.SecretAll),
	}}, nil
}

// call calls a function of the execution module. As in Salt it sees no grains: the driver vault then
// uses the master's own login, and not a token of a minion.
func (m *module) call(ctx context.Context, fun string, args ...any) (any, error) {
	env := *m.env
	env.Functions, env.Call, env.Grains = nil, nil, nil
	return m.env.Registry("modules").With(&env).Invoke(ctx, fun, args, nil)
}

type uriArgs struct {
	URI any `name:"uri"`
}

// get returns the value of a URI, None if it has no value. Any other text is returned unchanged.
//
// CLI Example:
//
//	salt-run sdb.get sdb://mymemcached/foo
func (m *module) get(ctx context.Context, a uriArgs) (any, error) {
	return m.call(ctx, "sdb.get", a.URI)
}

type setArgs struct {
	URI   any `name:"uri"`
	Value any
}

// set sets the value of a URI, and returns False for any other text.
//
// CLI Example:
//
//	salt-run sdb.set sdb://mymemcached/foo bar
func (m *module) set(ctx context.Context, a setArgs) (any, error) {
	return m.call(ctx, "sdb.set", a.URI, a.Value)
}

// delete removes the value of a URI, and returns False for any other text.
//
// CLI Example:
//
//	salt-run sdb.delete sdb://mymemcached/foo
func (m *module) delete(ctx context.Context, a uriArgs) (any, error) {
	return m.call(ctx, "sdb.delete", a.URI)
}

type getOrSetHashArgs struct {
	URI    any `name:"uri"`
	Length any `default:"8"`
	Chars  any `default:"'abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)'"`
}

// getOrSetHash returns the value of a URI; if it has none, it sets a random text first.
//
// length : 8
//
//	The length of the text.
//
// chars
//
//	The characters to choose from.
//
// CLI Example:
//
//	salt-run sdb.get_or_set_hash 'sdb://mymemcached/SECRET_KEY' 50
func (m *module) getOrSetHash(ctx context.Context, a getOrSetHashArgs) (any, error) {
	return m.call(ctx, "sdb.get_or_set_hash", a.URI, a.Length, a.Chars)
}
