package data

import (
	"bytes"
	"math/big"
	"slices"
	"time"
)

// Equal reports whether a and b are equal as in Python's ==: 1, 1.0 and true are equal, the order
// of a map's keys does not count, and a list never equals a tuple. NaN equals nothing.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case Tuple:
		b, ok := b.(Tuple)
		return ok && slices.EqualFunc(a, b, Equal)
	case Set:
		b, ok := b.(Set)
		return ok && len(a) == len(b) && !slices.ContainsFunc(a, func(v any) bool {
			return !slices.ContainsFunc(b, func(w any) bool { return Equal(v, w) })
		})
	case *Map:
		b, ok := b.(*Map)
		return ok && equalMaps(a, b)
	case Raw:
		b, ok := b.(Raw)
		return ok && bytes.Equal(a, b)
	case Const:
		b, ok := b.(Const)
		return ok && a.Name == b.Name && Equal(a.Value, b.Value)
	}
	switch b.(type) {
	case []any, Tuple, Set, *Map, Raw, Const:
		return false
	}
	return normalise(a) == normalise(b)
}

func equalMaps(a, b *Map) bool {
	if a.Len() != b.Len() {
		return false
	}
	for k, v := range a.All() {
		if w, ok := b.Get(k); !ok || !Equal(v, w) {
			return false
		}
	}
	return true
}

// Truth reports whether v counts as true in Python: not None, false, zero or empty.
func Truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []byte:
		return len(v) > 0
	case []any:
		return len(v) > 0
	case Tuple:
		return len(v) > 0
	case Set:
		return len(v) > 0
	case *Map:
		return v.Len() > 0
	}
	return nonZero(v)
}

func nonZero(v any) bool {
	switch v := v.(type) {
	case int64:
		return v != 0
	case int:
		return v != 0
	case float64:
		return v != 0
	case *big.Int:
		return v.Sign() != 0
	}
	return true
}

// Clone returns a deep copy of v.
func Clone(v any) any {
	switch v := v.(type) {
	case []byte:
		return bytes.Clone(v)
	case Raw:
		return Raw(bytes.Clone(v))
	case []any:
		return cloneItems(v)
	case Tuple:
		return Tuple(cloneItems(v))
	case Set:
		return Set(cloneItems(v))
	case *Map:
		return cloneMap(v)
	case *big.Int:
		return new(big.Int).Set(v)
	case Const:
		return Const{v.Name, Clone(v.Value)}
	case Ext:
		return Ext{v.Code, bytes.Clone(v.Data)}
	}
	return v
}

func cloneItems(items []any) []any {
	c := make([]any, len(items))
	for i, e := range items {
		c[i] = Clone(e)
	}
	return c
}

func cloneMap(m *Map) *Map {
	if m == nil {
		return nil
	}
	c := m.Clone()
	for i := range c.entries {
		c.entries[i].value = Clone(c.entries[i].value)
	}
	return c
}

// Plain reports whether v has one of the types of a dynamic value; it does not check the elements
// of lists and maps.
func Plain(v any) bool {
	switch v.(type) {
	case nil, bool, int, int64, *big.Int, float64, string, []byte, []any, Tuple, *Map, time.Time,
		Const, Timestamp, Ext, Raw:
		return true
	}
	return false
}
