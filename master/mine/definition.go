package mine

import (
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// Fields of a wrapped value (salt/utils/mine.py, MINE_ITEM_ACL_ID).
const (
	wrapped     = "__data__"
	marker      = "__saltmine_acl__"
	allowTarget = "allow_tgt"
	allowKind   = "allow_tgt_type"
)

// Wrap returns a value that only the minions inside a target may read. kind is the kind of the
// target; nil means glob.
func Wrap(value, target, kind any) *data.Map {
	m := data.NewMap(wrapped, value, marker, int64(1))
	for _, f := range [][2]any{{allowTarget, target}, {allowKind, kind}} {
		if data.Truth(target) && data.Truth(f[1]) {
			m.Set(f[0], f[1])
		}
	}
	return m
}

// Unwrap returns the value of a mine entry, whether or not it is wrapped.
func Unwrap(entry any) any {
	if m, ok := entry.(*data.Map); ok && m.Has(marker) && m.Has(wrapped) {
		return m.Value(wrapped)
	}
	return entry
}

// unwrap returns the value of an entry, or nil if it is wrapped and has none. If limited is set,
// only the minions inside target may read it.
func unwrap(raw data.Raw) (value data.Raw, target any, kind string, limited bool) {
	fields, err := payload.ParseFields(raw, limits())
	if err != nil || !fields.Has(marker) {
		return raw, nil, "", false
	}
	kind, _ = fields.Text(allowKind)
	return fields.Raw(wrapped), fields.Value(allowTarget), kind, fields.Has(allowTarget)
}

// A Definition is an entry of mine_functions: the function with its arguments, and who may read its
// result.
type Definition struct {
	Fun    string // the function; "" means the name of the entry
	Args   []any
	Kwargs *data.Map
	Target any // allow_tgt; nil means everybody
	Kind   any // allow_tgt_type, or nil
}

// ParseDefinition parses an entry of mine_functions: a dictionary of keyword arguments, or a list
// of arguments and such dictionaries. In both, mine_function, allow_tgt and allow_tgt_type are
// separated from the arguments. Any other value means no arguments (salt/utils/mine.py,
// parse_function_definition). Unlike in Salt, v is not changed.
func ParseDefinition(v any) Definition {
	d := Definition{Args: []any{}, Kwargs: data.NewMap()}
	switch v := v.(type) {
	case *data.Map:
		d.Kwargs.Update(v)
	case []any:
		for _, item := range v {
			if m, ok := item.(*data.Map); ok {
				d.Kwargs.Update(m)
			} else {
				d.Args = append(d.Args, item)
			}
		}
	}
	if fun := take(d.Kwargs, "mine_function"); data.Truth(fun) {
		d.Fun = data.Str(fun)
	}
	d.Target, d.Kind = truthful(take(d.Kwargs, allowTarget)), truthful(take(d.Kwargs, allowKind))
	return d
}

func take(m *data.Map, name string) any {
	v := m.Value(name)
	m.Delete(name)
	return v
}

func truthful(v any) any {
	if data.Truth(v) {
		return v
	}
	return nil
}

// Entry returns the mine entry for a result of the function.
func (d Definition) Entry(result any) any {
	if d.Target == nil {
		return result
	}
	return Wrap(result, d.Target, d.Kind)
}
