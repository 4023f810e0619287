// Package cache is Salt's sdb driver cache: values in the cache of a minion or master
// (salt/sdb/cache.py).
//
//	mycache:
//	  driver: cache
//	  bank: cloud/active
//	  cachedir: /var/cache/salt   # default: the option cachedir
//	public: sdb://mycache/public_ips?bank=other
//
// bank and cachedir may follow the key. As in Salt the result for a key that is not there is an empty
// dictionary. Values are in files, as with the option cache: localfs.
package cache

import (
	"context"
	"errors"
	"os"
	"strings"

	store "github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

// Plugin returns the driver cache.
func Plugin() loader.Plugin { return loader.Plugin{Name: "cache", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("delete", m.delete),
		loader.F("get", m.get).SecretResult(loader.SecretAll),
		loader.F("set", m.set).Def("set_").Secret("value").SecretResult(loader.SecretAll),
	}}, nil
}

// A place is a key in a bank of a directory.
type place struct{ dir, bank, key string }

// place returns the place that a key and a profile name.
func (m *module) place(key string, profile *data.Map) (place, error) {
	p := place{dir: m.env.Opts.Text("cachedir"), bank: profile.Text("bank")}
	if dir := profile.Text("cachedir"); dir != "" {
		p.dir = dir
	}
	name, query, has := strings.Cut(key, "?")
	p.key = name
	for pair := range strings.SplitSeq(query, "&") {
		if !has {
			break
		}
		switch k, v, _ := strings.Cut(pair, "="); k {
		case "bank":
			p.bank = v
		case "cachedir":
			p.dir = v
		default:
			return p, loader.Execution("sdb cache: there is no option %s", k)
		}
	}
	if p.bank == "" || p.key == "" {
		return p, loader.Execution("sdb cache: an address needs a bank, in the profile or as ?bank=BANK, and a key")
	}
	return p, nil
}

// open opens the cache of a place. The caller closes it.
func (p place) open() (*localfs.Cache, error) {
	err := os.MkdirAll(p.dir, 0o750)
	if err != nil {
		return nil, failed(err)
	}
	c, err := localfs.Open(p.dir)
	return c, failed(err)
}

func failed(err error) error {
	if err == nil {
		return nil
	}
	return loader.Execution("sdb cache: %w", err)
}

type getArgs struct {
	Key     string
	Profile *data.Map
}

// get returns a value.
func (m *module) get(_ context.Context, a getArgs) (any, error) {
	p, err := m.place(a.Key, a.Profile)
	if err != nil {
		return nil, err
	}
	return p.get()
}

func (p place) get() (any, error) {
	c, err := p.open()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	raw, err := c.Fetch(p.bank, p.key)
	if errors.Is(err, store.ErrNotFound) {
		return data.NewMap(), nil
	}
	if err != nil {
		return nil, failed(err)
	}
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	if err != nil {
		return nil, loader.Execution("sdb cache: read %s in %s: %w", p.key, p.bank, err)
	}
	return v, nil
}

type setArgs struct {
	Key     string
	Value   any
	Profile *data.Map
}

// set sets a value and returns it.
func (m *module) set(_ context.Context, a setArgs) (any, error) {
	p, err := m.place(a.Key, a.Profile)
	if err != nil {
		return nil, err
	}
	c, err := p.open()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	raw, err := payload.MarshalBin(a.Value)
	if err == nil {
		err = c.Store(p.bank, p.key, raw)
	}
	if err != nil {
		return nil, failed(err)
	}
	return p.get()
}

// delete removes a value and returns True, also if there is none.
func (m *module) delete(_ context.Context, a getArgs) (any, error) {
	p, err := m.place(a.Key, a.Profile)
	if err != nil {
		return nil, err
	}
	c, err := p.open()
	if err == nil {
		defer c.Close()
		err = c.Flush(p.bank, p.key)
	}
	if err != nil {
		m.env.Log.WithError(err).Errorf("sdb cache: delete %s in %s", p.key, p.bank)
	}
	return err == nil, nil
}
