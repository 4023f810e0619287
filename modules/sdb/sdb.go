// Package sdb is Salt's module sdb: values that lie elsewhere, by URIs sdb://PROFILE/KEY (salt/modules/sdb.py, salt/utils/sdb.py).
//
// A profile is a dictionary in the minion's configuration, or else in its pillar, whose key driver says where the values are. Drivers
// are env, the environment of the minion's process, and yaml, files of values: files names them, merge how they are merged
// (strategy, merge_lists), and with gpg set they are decrypted.
package sdb

import (
	"context"
	"crypto/rand"
	"math/big"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// Plugin returns the module sdb, which decrypts with what b has.
func Plugin(b render.Brought) loader.Plugin {
	return loader.Plugin{Name: "sdb", New: func(env *loader.Env) (*loader.Module, error) { return newModule(env, b) }}
}

type module struct {
	env    *loader.Env
	engine func() (*render.Engine, error)
}

func newModule(env *loader.Env, b render.Brought) (*loader.Module, error) {
	m := &module{env, sync.OnceValues(func() (*render.Engine, error) {
		return render.New(render.Options{Env: env, Renderers: b.Renderers})
	})}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("delete", m.delete),
		loader.F("get", m.get).SecretResult(loader.SecretAll),
		loader.F("get_or_set_hash", m.getOrSetHash).SecretResult(loader.SecretAll),
		loader.F("set", m.set).Def("set_").Secret("value").SecretResult(loader.SecretAll),
	}}, nil
}

// A place is what a URI names: a key of a profile.
type place struct {
	driver, key string
	profile     *data.Map
}

// find returns the place of a URI. What is wrong with one that has none is in the error.
func (m *module) find(uri any) (place, error) {
	text, ok := uri.(string)
	rest, isSDB := strings.CutPrefix(text, "sdb://")
	if !ok || !isSDB {
		return place{}, loader.Invocation(`SDB uri must start with "sdb://"`)
	}
	name, key, _ := strings.Cut(rest, "/")
	if key == "" {
		return place{}, loader.Invocation("SDB uri must have a profile name as a first part of the uri before the /")
	}
	for _, in := range []*data.Map{m.env.Opts, m.env.PillarNow()} {
		profile, ok := in.Value(name).(*data.Map)
		if ok && profile.Len() > 0 {
			if !profile.Has("driver") {
				break
			}
			return place{data.Str(profile.Value("driver")), key, profile}, nil
		}
	}
	return place{}, loader.Invocation(`SDB profile "%s" wasnt found in the minion configuration`, name)
}

// absent is the error for what a driver cannot do, and for a driver that is not there, where Salt has a KeyError for both.
func (m *module) absent(p place, verb string) error {
	if p.driver != "env" && p.driver != "yaml" {
		return loader.Execution("There is no driver '%s' of sdb here, only: env, yaml", p.driver)
	}
	return loader.Exception("KeyError", "%s", data.Repr(p.driver+"."+verb))
}

type getArgs struct {
	URI    any  `name:"uri"`
	Strict bool `default:"False"`
}

// get returns the value of a URI, None where there is no such value. What is no such URI is returned as it is.
//
// strict : False
//
//	What is no such URI, or of no profile, is an error.
//
// CLI Example:
//
//	salt '*' sdb.get sdb://mymemcached/foo strict=True
func (m *module) get(ctx context.Context, a getArgs) (any, error) {
	p, err := m.find(a.URI)
	switch {
	case err != nil && a.Strict:
		return nil, err
	case err != nil:
		return a.URI, nil
	}
	return m.read(ctx, p)
}

func (m *module) read(ctx context.Context, p place) (any, error) {
	switch p.driver {
	case "env":
		return getenv(p.key), nil
	case "yaml":
		return m.readYAML(ctx, p)
	}
	return nil, m.absent(p, "get")
}

type setArgs struct {
	URI   any `name:"uri"`
	Value any
}

// set sets the value of a URI, and returns False for what is none. The driver env returns the value that is then set, and does not
// replace one; yaml cannot set values.
//
// CLI Example:
//
//	salt '*' sdb.set sdb://mymemcached/foo bar
func (m *module) set(_ context.Context, a setArgs) (any, error) {
	p, err := m.find(a.URI)
	if err != nil {
		return false, nil
	}
	return m.write(p, a.Value)
}

func (m *module) write(p place, v any) (any, error) {
	switch p.driver {
	case "env":
		return setenv(p.key, v)
	case "yaml":
		return nil, loader.Exception("salt.exceptions.NotImplemented", "")
	}
	return nil, m.absent(p, "set")
}

type deleteArgs struct {
	URI any `name:"uri"`
}

// delete removes the value of a URI, and returns False for what is none. Neither env nor yaml can do it.
//
// CLI Example:
//
//	salt '*' sdb.delete sdb://mymemcached/foo
func (m *module) delete(_ context.Context, a deleteArgs) (any, error) {
	p, err := m.find(a.URI)
	if err != nil {
		return false, nil
	}
	return nil, m.absent(p, "delete")
}

type getOrSetHashArgs struct {
	URI    any    `name:"uri"`
	Length int    `default:"8"`
	Chars  string `default:"'abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)'"`
}

// mostLength is the longest text that is made, in characters.
const mostLength = 1 << 20

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
//	salt '*' sdb.get_or_set_hash 'sdb://mymemcached/SECRET_KEY' 50
func (m *module) getOrSetHash(ctx context.Context, a getOrSetHashArgs) (any, error) {
	if text, ok := a.URI.(string); !ok || !strings.HasPrefix(text, "sdb://") {
		return false, nil
	}
	p, err := m.find(a.URI)
	if err != nil {
		return a.URI, nil
	}
	v, err := m.read(ctx, p)
	if err != nil || v != nil {
		return v, err
	}
	made, err := byChance([]rune(a.Chars), a.Length)
	if err != nil {
		return nil, err
	}
	if _, err := m.write(p, made); err != nil {
		return nil, err
	}
	return made, nil
}

func byChance(from []rune, n int) (string, error) {
	switch {
	case n > mostLength:
		return "", loader.Invocation("a text has at most %d characters", mostLength)
	case n > 0 && len(from) == 0:
		return "", loader.Exception("IndexError", "Cannot choose from an empty sequence")
	}
	var b strings.Builder
	for range n {
		i, err := rand.Int(rand.Reader, big.NewInt(int64(len(from))))
		if err != nil {
			return "", err
		}
		b.WriteRune(from[i.Int64()])
	}
	return b.String(), nil
}
