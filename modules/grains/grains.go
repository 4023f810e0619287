// Package grains is Salt's module grains: it reads the minion's grains, and sets those in the grains file
// (salt/modules/grains.py).
//
// The grains file lies beside the minion's configuration. It is replaced as a whole, so that a crash leaves the old file or the
// new one. What a function sets is seen by the functions of this module at once, and by all others when the grains have been
// collected anew, for which saltutil.refresh_grains is called as in Salt.
//
// What is odd, and as in Salt: a grain that is set here does not override one of the option grains; grains.delval leaves the
// grain with the value None, and grains.append and the like report trouble in their result, not by failing. What differs: a
// grains file that cannot be written is an error, where Salt logs it and claims success.
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

	mu      sync.Mutex // one change at a time
	base    *data.Map  // the grains that changed was made of
	changed *data.Map  // base with what was set since; nil for nothing
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

// now returns the grains with what was set since they were collected. It must not be changed. m.mu is held.
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

// grains is now for readers.
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

// get returns the value of a grain. Colons lead into dictionaries and lists: pkg:apache is the key apache of the grain pkg. A
// grain that is not there gives the default, which is an empty string.
//
// delimiter
//
//	Separates the keys in place of the colon, for keys that hold colons.
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

// asJSON returns v as it comes back from JSON: without tuples.
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

// hasValue tells whether a grain is there. Colons lead into dictionaries and lists as in grains.get.
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

// items returns all grains. sanitize=True hides the names of the host and a part of its serial number.
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

// item returns the grains with the given names; those that are not there have the default, an empty string.
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

// sanitized hides in m what tells which host it is, when the parameter sanitize says so.
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

// isTrue is salt.utils.data.is_true: numbers above zero, the text true, and what else Python takes for true.
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

// equals tells whether a grain has the given value; both are compared as text.
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
