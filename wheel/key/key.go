// Package key is Salt's wheel module key, with which operators and programs manage minions' keys
// (salt/wheel/key.py). Like the program salt-key it uses package keyring.
package key

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/keyring"
)

// Plugin returns the wheel module key for a master's keys.
func Plugin(tree *pki.Dir) loader.Plugin {
	return loader.Plugin{Name: "key", New: func(env *loader.Env) (*loader.Module, error) {
		if tree == nil {
			return nil, errors.New("no key store is configured")
		}
		m := &module{env, tree}
		return &loader.Module{Funcs: append(m.looks(), append(m.changes(), m.pairs()...)...)}, nil
	}}
}

type module struct {
	env  *loader.Env
	tree *pki.Dir
}

// ring returns the keys with the current options. Each change fires an event on the bus.
func (m *module) ring(ctx context.Context) *keyring.Ring {
	return keyring.New(keyring.Options{Tree: m.tree, CacheDir: m.env.Opts.Text("cachedir"),
		PreserveCaches:   data.Truth(m.env.Option("preserve_minion_cache")),
		PreserveAccepted: m.env.Option("preserve_minions") == true,
		Rotate:           data.Truth(m.env.Option("rotate_aes_key")),
		Changed: func(act, id string) {
			fire := m.env.Host.FireMaster
			if fire == nil {
				return
			}
			if err := fire(ctx, eventbus.Tagify("key"),
				data.NewMap("result", true, "act", act, "id", id)); err != nil {
				m.env.Log.WithError(err).Debugf("fire the event of key %s", id)
			}
		}})
}

func (m *module) looks() []loader.Func {
	return []loader.Func{
		loader.F("finger", m.finger),
		loader.F("finger_master", m.fingerMaster),
		loader.F("key_str", m.keyStr),
		loader.F("list", m.list).Def("list_"),
		loader.F("list_all", m.listAll),
		loader.F("master_key_str", m.masterKeyStr),
		loader.F("name_match", m.nameMatch),
		loader.F("glob_match", m.nameMatch),
		loader.F("print", m.keyStr).Def("key_str"),
	}
}

type listArgs struct{ Match string }

// list returns the keys in a state: one that begins with acc, pre or un, rej, den; or all.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.list accepted
func (m *module) list(ctx context.Context, a listArgs) (any, error) {
	s := keyring.StateOf(a.Match)
	switch {
	case s != pki.Unknown:
		ids, err := m.tree.List(s)
		return keyring.Shown([]keyring.Shelf{{State: s, IDs: ids}}), err
	case len(a.Match) >= 3 && a.Match[:3] == "all":
		return m.listAll(ctx, loader.NoArgs{})
	}
	return data.NewMap(), nil
}

// listAll returns all keys by their state, including the master's own.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.list_all
func (m *module) listAll(ctx context.Context, _ loader.NoArgs) (any, error) {
	all, err := m.ring(ctx).All()
	return keyring.Shown(all), err
}

type matchArgs struct{ Match any }

// nameMatch returns the keys of minions that match a glob, or several as a list or comma-separated.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.name_match 'web*'
func (m *module) nameMatch(ctx context.Context, a matchArgs) (any, error) {
	found, err := m.match(ctx, a.Match, false)
	return keyring.Shown(found), err
}

// match returns the keys that match globs; if full is true also those of the master.
func (m *module) match(ctx context.Context, globs any, full bool) ([]keyring.Shelf, error) {
	var patterns []string
	if list, ok := globs.([]any); ok {
		for _, g := range list {
			patterns = append(patterns, data.Str(g))
		}
	} else {
		patterns = loader.SplitInput(data.Str(globs))
	}
	get := m.ring(ctx).Managed
	if full {
		get = m.ring(ctx).All
	}
	all, err := get()
	return keyring.Matching(all, patterns...), err
}

// keyStr returns the keys that match a glob, as text.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.print minion1
func (m *module) keyStr(ctx context.Context, a matchArgs) (any, error) {
	found, err := m.match(ctx, a.Match, false)
	if err != nil {
		return nil, err
	}
	return m.ring(ctx).Each(found,
		func(pem string) (string, error) { return keyring.LineFeeds(pem), nil })
}

// masterKeyStr returns the master's public key.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.master_key_str
func (m *module) masterKeyStr(context.Context, loader.NoArgs) (any, error) {
	return m.own(func(pem string) (string, error) { return pem, nil })
}

// own returns the result of a function for the master's public key, in the form of the other
// functions.
func (m *module) own(do func(pem string) (string, error)) (any, error) {
	const name = "master.pub"
	pem, err := m.tree.ReadText(name)
	if err != nil {
		return nil, err
	}
	text, err := do(pem)
	if err != nil {
		return nil, err
	}
	return data.NewMap("local", data.NewMap(name, text)), nil
}

type fingerArgs struct {
	Match    any
	HashType any `default:"None"`
}

// finger returns the fingerprints of the keys that match a glob, including the master's own.
//
// hash_type
//
//	The hash, instead of the option of that name.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.finger minion1
func (m *module) finger(ctx context.Context, a fingerArgs) (any, error) {
	found, err := m.match(ctx, a.Match, true)
	if err != nil {
		return nil, err
	}
	return m.ring(ctx).Each(found, keyring.Finger(m.hash(a.HashType)))
}

type fingerMasterArgs struct {
	HashType any `default:"None"`
}

// fingerMaster returns the fingerprint of the master's key.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.finger_master
func (m *module) fingerMaster(_ context.Context, a fingerMasterArgs) (any, error) {
	return m.own(keyring.Finger(m.hash(a.HashType)))
}

func (m *module) hash(asked any) string {
	if name, ok := asked.(string); ok {
		return name
	}
	return m.env.Opts.Text("hash_type")
}
