// Package sdb is Salt's runner sdb: values that lie elsewhere, by URIs sdb://PROFILE/KEY, whose profiles are in the master's
// configuration (salt/runners/sdb.py). It calls the execution module sdb with the master's options.
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

func (m *module) call(ctx context.Context, fun string, args ...any) (any, error) {
	return m.env.Shelf("modules").Invoke(ctx, fun, args, nil)
}

type uriArgs struct {
	URI any `name:"uri"`
}

// get returns the value of a URI, None where there is no such value. What is no such URI is returned as it is.
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

// set sets the value of a URI, and returns False for what is no such URI.
//
// CLI Example:
//
//	salt-run sdb.set sdb://mymemcached/foo bar
func (m *module) set(ctx context.Context, a setArgs) (any, error) {
	return m.call(ctx, "sdb.set", a.URI, a.Value)
}

// delete removes the value of a URI, and returns False for what is no such URI.
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

// getOrSetHash returns the value of a URI; where there is none, it sets a text by chance first.
//
// length : 8
//
//	How many characters the text has.
//
// chars
//
//	The characters it is of.
//
// CLI Example:
//
//	salt-run sdb.get_or_set_hash 'sdb://mymemcached/SECRET_KEY' 50
func (m *module) getOrSetHash(ctx context.Context, a getOrSetHashArgs) (any, error) {
	return m.call(ctx, "sdb.get_or_set_hash", a.URI, a.Length, a.Chars)
}
