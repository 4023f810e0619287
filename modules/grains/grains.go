// Package grains is Salt's module grains: it reads the minion's grains, and sets those in the
// grains file (salt/modules/grains.py).
//
// The grains file is beside the minion's configuration. It is replaced atomically, so that a crash
// leaves either the old or the new file. The functions of this module see a new value at once. All
// others see it after the grains have been refreshed, for which saltutil.refresh_grains is called
// as in Salt.
//
// As in Salt, a grain set here does not override one in the option grains; grains.delval leaves the
// grain with the value None; and grains.append and similar functions report problems in their
// result instead of failing. Unlike in Salt, a grains file that cannot be written is an error; Salt
// logs it and reports success.
package grains

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/loader/facts"
)

const delimiter = ":" // salt/defaults: DEFAULT_TARGET_DELIM

// Plugin returns the module grains.
func Plugin() loader.Plugin { return loader.Plugin{Name: "grains", New: newModule} }

type module struct {
	env *loader.Env

	mu      sync.Mutex // serializes changes
	base    *data.Map  // the grains that changed is based on
	changed *data.Map  // base with the values set since; nil if none were set
}

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env: env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get", m.get),
		loader.F("fetch", m.get).Def("get"),
		loader.F("has_value", m.hasValue),
		loader.F("items", m.items).Out("nested"),
		loader.F("item", m.item).Out("nested"),
		loader.F("ls", m.ls),
		loader.F("equals", m.equals),
		loader.F("filter_by", m.filterBy),
		loader.F("setvals", m.setvals),
		loader.F("setval", m.setval).Out("nested"),
		loader.F("append", m.append),
		loader.F("remove", m.remove),
		loader.F("set", m.set),
		loader.F("delkey", m.delkey),
		loader.F("delval", m.delval),
	}}, nil
}

// now returns the grains with the values set since they were collected. The result must not be
// modified. The caller holds m.mu.
func (m *module) now() *data.Map {
	g := m.env.GrainsNow()
	if g != m.base {
		m.base, m.changed = g, nil
	}
	if m.changed != nil {
		return m.changed
	}
	return g
}

// grains is like now, but locks m.mu.
func (m *module) grains() *data.Map {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now()
}

type getArgs struct {
	Key       any
	Default   any    `default:"''"`
	Delimiter string `default:"':'"`
	Ordered   any    `default:"True"`
}

// get returns the value of a grain. Colons descend into dictionaries and lists: pkg:apache is the
// key apache of the grain pkg. For a missing grain it returns the default, an empty string.
//
// delimiter
//
//	Separates the keys instead of the colon, for keys that contain colons.
//
// ordered
//
//	Keep the order of dictionaries. Default: True.
//
// CLI Example:
//
//	salt '*' grains.get pkg:apache
//	salt '*' grains.get abc::def|ghi delimiter='|'
func (m *module) get(_ context.Context, a getArgs) (any, error) {
	v, ok, err := facts.Lookup(m.grains(), a.Key, a.Delimiter)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return a.Default, nil
	case a.Ordered == true:
		return v, nil
	}
	return asJSON(v), nil
}

// asJSON returns v as it would be after a round trip through JSON: without tuples.
func asJSON(v any) any {
	switch v := v.(type) {
	case data.Tuple:
		return asJSON([]any(v))
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = asJSON(e)
		}
		return list
	case *data.Map:
		m := data.NewMap()
		for k, e := range v.All() {
			m.Set(k, asJSON(e))
		}
		return m
	}
	return v
}

type keyArgs struct{ Key any }

// hasValue returns whether a grain exists. Colons descend into dictionaries and lists as in
// grains.get.
//
// CLI Example:
//
//	salt '*' grains.has_value pkg:apache
func (m *module) hasValue(_ context.Context, a keyArgs) (any, error) {
	_, ok, err := facts.Lookup(m.grains(), a.Key, delimiter)
	return ok, err
}

type itemsArgs struct {
	Sanitize any `default:"False"`
}

// items returns all grains. sanitize=True hides the names of the host and part of its serial
// number.
//
// CLI Example:
//
//	salt '*' grains.items
//	salt '*' grains.items sanitize=True
func (m *module) items(_ context.Context, a itemsArgs) (any, error) {
	return sanitized(m.grains().Clone(), a.Sanitize), nil
}

type itemArgs struct {
	Names   []any     `args:"args"`
	Options *data.Map `kwargs:"kwargs"`
}

// item returns the grains with the given names; missing ones have the default, an empty string.
//
// CLI Example:
//
//	salt '*' grains.item os
//	salt '*' grains.item os osrelease oscodename
//	salt '*' grains.item host sanitize=True
func (m *module) item(_ context.Context, a itemArgs) (any, error) {
	delim, fallback := delimiter, any("")
	if v, ok := a.Options.Get("delimiter"); ok {
		delim = data.Str(v)
	}
	if v, ok := a.Options.Get("default"); ok {
		fallback = v
	}
	g, found := m.grains(), data.NewMap()
	for _, name := range a.Names {
		if !data.Hashable(name) {
			return nil, loader.TypeError("unhashable type: '%s'", loader.TypeName(name))
		}
		v, ok, err := facts.Lookup(g, name, delim)
		if err != nil {
			return nil, err
		}
		if !ok {
			v = fallback
		}
		found.Set(name, v)
	}
	return sanitized(found, a.Options.Value("sanitize")), nil
}

// sanitized hides the values in m that identify the host, if sanitize is true.
func sanitized(m *data.Map, sanitize any) *data.Map {
	if !isTrue(sanitize) {
		return m
	}
	if v, ok := m.Get("serialnumber"); ok {
		text := []rune(data.Str(v))
		kept := len(text) * 3 / 4
		m.Set("serialnumber", string(text[:kept])+strings.Repeat("X", len(text)-kept))
	}
	for _, name := range [][2]string{
		{"domain", "DOMAINNAME"}, {"fqdn", "MINION.DOMAINNAME"}, {"id", "MINION.DOMAINNAME"},
		{"host", "MINION"}, {"localhost", "MINION"}, {"nodename", "MINION"},
	} {
		if m.Has(name[0]) {
			m.Set(name[0], name[1])
		}
	}
	return m
}

// isTrue is salt.utils.data.is_true: true for numbers above zero, the string true, and other values
// that Python treats as true.
func isTrue(v any) bool {
	switch v := v.(type) {
	case int64:
		return v > 0
	case float64:
		return v > 0
	case string:
		return strings.EqualFold(v, "true")
	}
	return data.Truth(v)
}

// ls returns the names of all grains, sorted.
//
// CLI Example:
//
//	salt '*' grains.ls
func (m *module) ls(context.Context, loader.NoArgs) (any, error) {
	names := m.grains().Keys()
	slices.SortFunc(names, func(a, b any) int { return strings.Compare(data.Str(a), data.Str(b)) })
	return names, nil
}

type equalsArgs struct {
	Key   any
	Value any
}

// equals returns whether a grain has the given value; both are compared as strings.
//
// CLI Example:
//
//	salt '*' grains.equals fqdn <expected_fqdn>
//	salt '*' grains.equals systemd:version 219
func (m *module) equals(_ context.Context, a equalsArgs) (any, error) {
	v, ok, err := facts.Lookup(m.grains(), a.Key, delimiter)
	if err != nil {
		return nil, err
	}
	if !ok {
		v = ""
	}
	return data.Str(a.Value) == data.Str(v), nil
}
