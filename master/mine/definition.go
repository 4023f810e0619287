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

// Wrap returns a value that only the minions inside of a target may read. kind is the kind of the target; nil means glob.
func Wrap(value, target, kind any) *data.Map {
	m := data.NewMap(wrapped, value, marker, int64(1))
	for _, f := range [][2]any{{allowTarget, target}, {allowKind, kind}} {
		if data.Truth(target) && data.Truth(f[1]) {
			m.Set(f[0], f[1])
		}
	}
	return m
}

// Unwrap returns the value that an entry of a mine holds, wrapped or not.
func Unwrap(entry any) any {
	if m, ok := entry.(*data.Map); ok && m.Has(marker) && m.Has(wrapped) {
		return m.Value(wrapped)
	}
	return entry
}

// unwrap returns the value of an entry, nil for one that is wrapped and holds none, and the target of who may read it where
// there is one.
func unwrap(raw data.Raw) (value data.Raw, target any, kind string, limited bool) {
	fields, err := payload.ParseFields(raw, limits())
	if err != nil || !fields.Has(marker) {
		return raw, nil, "", false
	}
	kind, _ = fields.Text(allowKind)
	return fields.Raw(wrapped), fields.Value(allowTarget), kind, fields.Has(allowTarget)
}

// A Definition is an entry of mine_functions: which function to call with what, and who may read the result.
type Definition struct {
	Fun    string // the function; "" means that the entry is named as its function is
	Args   []any
	Kwargs *data.Map
	Target any // allow_tgt, nil for everybody
	Kind   any // allow_tgt_type, nil where it is not given
}

// ParseDefinition reads an entry of mine_functions: a dictionary of keyword arguments, or a list of arguments and such
// dictionaries, in both of which mine_function, allow_tgt and allow_tgt_type are set apart. Anything else is no arguments
// (salt/utils/mine.py, parse_function_definition). The entry is not changed, as it is in Salt.
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

// Entry returns what is kept in the mine of a function's result.
func (d Definition) Entry(result any) any {
	if d.Target == nil {
		return result
	}
	return Wrap(result, d.Target, d.Kind)
}
