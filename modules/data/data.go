// Package data is Salt's module data: a persistent dictionary of the minion (salt/modules/data.py).
// It is stored as MessagePack in the file datastore in the minion's cachedir.
//
// Differences from Salt: the file is replaced atomically, and a value that cannot be stored is an
// error. A file that cannot be read is an error too; Salt fails with an exception.
package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

// Plugin returns the module data.
func Plugin() loader.Plugin { return loader.Plugin{Name: "data", New: newModule} }

type module struct {
	env *loader.Env
	mu  sync.Mutex // held during each read-modify-write cycle
}

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env: env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("clear", m.clear),
		loader.F("load", m.load),
		loader.F("dump", m.dump),
		loader.F("update", m.update),
		loader.F("cas", m.cas),
		loader.F("pop", m.pop),
		loader.F("get", m.get),
		loader.F("keys", m.keys),
		loader.F("values", m.values),
		loader.F("items", m.items),
		loader.F("has_key", m.hasKey),
	}}, nil
}

func (m *module) file() string { return filepath.Join(m.env.Opts.Text("cachedir"), "datastore") }

// maxStore is the maximum size of the file, in bytes.
const maxStore = 100 << 20

// read returns the store. A missing file is an empty store.
func (m *module) read() (*data.Map, error) {
	info, err := os.Lstat(m.file())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return data.NewMap(), nil
	case err != nil:
		return nil, fmt.Errorf("read the datastore: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxStore:
		return nil, fmt.Errorf("read the datastore: %s is not a file of at most %d bytes",
			m.file(), maxStore)
	}
	raw, err := os.ReadFile(m.file())
	if err != nil {
		return nil, fmt.Errorf("read the datastore: %w", err)
	}
	v, err := payload.Unmarshal(raw, payload.WireLimits())
	if err != nil {
		return nil, fmt.Errorf("read the datastore %s: %w", m.file(), err)
	}
	store, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("read the datastore: %s is not a dictionary", m.file())
	}
	return store, nil
}

// write replaces the store. It may contain secrets, so only the minion's user can read it.
func (m *module) write(store *data.Map) error {
	raw, err := payload.MarshalBin(store)
	if err != nil {
		return fmt.Errorf("write the datastore: %w", err)
	}
	if err := atomicfile.Write(m.file(), raw,
		atomicfile.Options{Prefix: ".datastore-"}); err != nil {
		return fmt.Errorf("write the datastore: %w", err)
	}
	return nil
}

// change reads the store, calls do to change it, and writes it if do returns true.
func (m *module) change(do func(store *data.Map) (result any, write bool)) (any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	store, err := m.read()
	if err != nil {
		return nil, err
	}
	result, write := do(store)
	if !write {
		return result, nil
	}
	return result, m.write(store)
}

// clear removes everything from the minion's datastore.
//
// CLI Example:
//
//	salt '*' data.clear
func (m *module) clear(context.Context, loader.NoArgs) (any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := os.Remove(m.file()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.env.Log.WithError(err).Warn("Unable to remove the datastore")
	}
	return true, nil
}

// load returns everything in the minion's datastore.
//
// CLI Example:
//
//	salt '*' data.load
func (m *module) load(context.Context, loader.NoArgs) (any, error) { return m.read() }

type dumpArgs struct{ NewData any }

// dump replaces the minion's datastore with a dictionary.
//
// CLI Example:
//
//	salt '*' data.dump '{'eggs': 'spam'}'
func (m *module) dump(_ context.Context, a dumpArgs) (any, error) {
	store, ok := a.NewData.(*data.Map)
	if text, isText := a.NewData.(string); isText {
		v, err := loader.Literal(text)
		if err != nil {
			return nil, err
		}
		store, ok = v.(*data.Map)
	}
	if !ok {
		return false, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.write(store)
	return err == nil, err
}

type pairArgs struct{ Key, Value any }

// update sets a key in the minion's datastore.
//
// CLI Example:
//
//	salt '*' data.update <key> <value>
func (m *module) update(_ context.Context, a pairArgs) (any, error) {
	if err := hashable(a.Key); err != nil {
		return nil, err
	}
	return m.change(func(store *data.Map) (any, bool) {
		old, ok := store.Get(a.Key)
		store.Set(a.Key, a.Value)
		return true, !ok || !data.Equal(old, a.Value) ||
			loader.TypeName(old) != loader.TypeName(a.Value)
	})
}

func hashable(key any) error {
	if data.Hashable(key) {
		return nil
	}
	return loader.TypeError("unhashable type: '%s'", loader.TypeName(key))
}

type casArgs struct{ Key, Value, OldValue any }

// cas sets a key in the minion's datastore if the key exists and has the given old value. It
// returns whether it set the key.
//
// CLI Example:
//
//	salt '*' data.cas <key> <value> <old_value>
func (m *module) cas(_ context.Context, a casArgs) (any, error) {
	if err := hashable(a.Key); err != nil {
		return nil, err
	}
	return m.change(func(store *data.Map) (any, bool) {
		old, ok := store.Get(a.Key)
		if !ok || !data.Equal(old, a.OldValue) {
			return false, false
		}
		store.Set(a.Key, a.Value)
		return true, true
	})
}

type defaultArgs struct {
	Key     any
	Default any `default:"None"`
}

// pop removes a key from the minion's datastore. It returns its value, or default if there is no
// such key.
//
// CLI Example:
//
//	salt '*' data.pop <key> "there was no val"
func (m *module) pop(_ context.Context, a defaultArgs) (any, error) {
	if err := hashable(a.Key); err != nil {
		return nil, err
	}
	return m.change(func(store *data.Map) (any, bool) {
		v, ok := store.Get(a.Key)
		if !ok {
			return a.Default, false
		}
		store.Delete(a.Key)
		return v, true
	})
}

// get returns the value of a key in the minion's datastore, or a list of the values of several
// keys. For missing keys it returns default; without a default, a list leaves them out.
//
// CLI Example:
//
//	salt '*' data.get key
//	salt '*' data.get '["key1", "key2"]'
func (m *module) get(_ context.Context, a defaultArgs) (any, error) {
	store, err := m.read()
	if err != nil {
		return nil, err
	}
	keys, ok := a.Key.([]any)
	if !ok {
		if err := hashable(a.Key); err != nil {
			return nil, err
		}
		if v, ok := store.Get(a.Key); ok {
			return v, nil
		}
		return a.Default, nil
	}
	found := []any{}
	for _, k := range keys {
		if err := hashable(k); err != nil {
			return nil, err
		}
		v, ok := store.Get(k)
		if ok {
			found = append(found, v)
		} else if a.Default != nil {
			found = append(found, a.Default)
		}
	}
	return found, nil
}

// keys returns the keys of the minion's datastore.
//
// CLI Example:
//
//	salt '*' data.keys
func (m *module) keys(context.Context, loader.NoArgs) (any, error) {
	store, err := m.read()
	if err != nil {
		return nil, err
	}
	return append([]any{}, store.Keys()...), nil
}

// values returns the values of the minion's datastore.
//
// CLI Example:
//
//	salt '*' data.values
func (m *module) values(context.Context, loader.NoArgs) (any, error) {
	store, err := m.read()
	if err != nil {
		return nil, err
	}
	all := []any{}
	for _, v := range store.All() {
		all = append(all, v)
	}
	return all, nil
}

// items returns everything in the minion's datastore.
//
// CLI Example:
//
//	salt '*' data.items
func (m *module) items(context.Context, loader.NoArgs) (any, error) { return m.read() }

type keyArgs struct{ Key any }

// hasKey returns whether a key is in the minion's datastore.
//
// CLI Example:
//
//	salt '*' data.has_key <mykey>
func (m *module) hasKey(_ context.Context, a keyArgs) (any, error) {
	if err := hashable(a.Key); err != nil {
		return nil, err
	}
	store, err := m.read()
	if err != nil {
		return nil, err
	}
	return store.Has(a.Key), nil
}
