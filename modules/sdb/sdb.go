// Package sdb is Salt's module sdb: values in external stores, addressed by URIs sdb://PROFILE/KEY
// (salt/modules/sdb.py, salt/utils/sdb.py).
//
// A profile is a dictionary in the minion's configuration, or else in its pillar. Its key driver
// selects the store. The driver env reads the environment of the minion's process. The driver yaml
// reads files of values: files names them, merge sets how they are merged (strategy, merge_lists),
// and with gpg they are decrypted. The other drivers, built in (package sdb) or users' own, have the
// functions get, set and delete.
package sdb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// Plugin returns the module sdb, which decrypts with the renderers in b.
func Plugin(b render.Brought) loader.Plugin {
	return loader.Plugin{Name: "sdb",
		New: func(env *loader.Env) (*loader.Module, error) { return newModule(env, b) }}
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

// A place is what a URI names: a profile and a key.
type place struct {
	driver, key string
	profile     *data.Map
}

// find returns the place of a URI. The error describes what is wrong with an invalid URI.
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
	return place{}, loader.Invocation(`SDB profile "%s" wasnt found in the minion configuration`,
		name)
}

// drivers returns the drivers besides env and yaml. They see the options, grains and functions that
// this module sees, which on a master are those of the minion whose pillar is compiled.
func (m *module) drivers() *loader.Registry { return m.env.Registry("sdb").With(m.env) }

// ErrNoDriver is wrapped by the error for a driver that does not exist.
var ErrNoDriver = errors.New("there is no such driver")

// unsupported returns the error for a missing driver, and for a driver that does not support an
// operation. Salt raises a KeyError for both.
func (m *module) unsupported(p place, verb string) error {
	own := m.drivers()
	if own.Provider(p.driver) != "" || p.driver == "env" || p.driver == "yaml" {
		return loader.Exception("KeyError", "%s", data.Repr(p.driver+"."+verb))
	}
	text := own.MissingText(p.driver + "." + verb)
	if _, refused := own.Refusal(p.driver + "." + verb); !refused {
		there := append(own.Modules(), "env", "yaml")
		slices.Sort(there)
		text = fmt.Sprintf("The sdb driver '%s' does not exist. Available drivers: %s", p.driver,
			strings.Join(there, ", "))
	}
	return &loader.Error{Kind: loader.KindExecution, Class: "salt.exceptions.CommandExecutionError",
		Text: text, Err: ErrNoDriver}
}

// own calls a function of a driver (salt/utils/sdb.py), which is built in or users' own. ok is false
// if there is no such driver.
func (m *module) own(
	ctx context.Context, p place, verb string, args ...any,
) (v any, ok bool, err error) {
	own := m.drivers()
	if own.Provider(p.driver) == "" {
		return nil, false, nil
	}
	fun := p.driver + "." + verb
	if !own.Has(fun) {
		return nil, true, m.unsupported(p, verb)
	}
	v, err = own.Invoke(ctx, fun, append([]any{p.key}, args...), data.NewMap("profile", p.profile))
	return v, true, err
}

type getArgs struct {
	URI    any  `name:"uri"`
	Strict bool `default:"False"`
}

// get returns the value of a URI, or None if the value does not exist. It returns an invalid URI
// unchanged.
//
// strict : False
//
//	An invalid URI or a missing profile is an error.
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
	if v, ok, err := m.own(ctx, p, "get"); ok {
		return v, err
	}
	switch p.driver {
	case "env":
		return getenv(p.key), nil
	case "yaml":
		return m.readYAML(ctx, p)
	}
	return nil, m.unsupported(p, "get")
}

type setArgs struct {
	URI   any `name:"uri"`
	Value any
}

// set sets the value of a URI, and returns False if the URI is invalid. The driver env returns the
// value that is set afterwards and does not replace an existing one. The driver yaml cannot set
// values.
//
// CLI Example:
//
//	salt '*' sdb.set sdb://mymemcached/foo bar
func (m *module) set(ctx context.Context, a setArgs) (any, error) {
	p, err := m.find(a.URI)
	if err != nil {
		return false, nil
	}
	return m.write(ctx, p, a.Value)
}

func (m *module) write(ctx context.Context, p place, v any) (any, error) {
	if v, ok, err := m.own(ctx, p, "set", v); ok {
		return v, err
	}
	switch p.driver {
	case "env":
		return setenv(p.key, v)
	case "yaml":
		return nil, loader.Exception("salt.exceptions.NotImplemented", "")
	}
	return nil, m.unsupported(p, "set")
}

type deleteArgs struct {
	URI any `name:"uri"`
}

// delete removes the value of a URI, and returns False if the URI is invalid. Neither env nor yaml
// supports it.
//
// CLI Example:
//
//	salt '*' sdb.delete sdb://mymemcached/foo
func (m *module) delete(ctx context.Context, a deleteArgs) (any, error) {
	p, err := m.find(a.URI)
	if err != nil {
		return false, nil
	}
	if v, ok, err := m.own(ctx, p, "delete"); ok {
		return v, err
	}
	return nil, m.unsupported(p, "delete")
}

type getOrSetHashArgs struct {
	URI    any    `name:"uri"`
	Length int    `default:"8"`
	Chars  string `default:"'abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)'"`
}

// mostLength is the maximum length of a generated text, in characters.
const mostLength = 1 << 20

// getOrSetHash returns the value of a URI. If the value does not exist, it stores a random text
// first.
//
// length : 8
//
//	The length of the text in characters.
//
// chars
//
//	The characters to choose from.
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
	made, err := randomText([]rune(a.Chars), a.Length)
	if err != nil {
		return nil, err
	}
	if _, err := m.write(ctx, p, made); err != nil {
		return nil, err
	}
	return made, nil
}

func randomText(from []rune, n int) (string, error) {
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
