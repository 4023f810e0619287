package data

import (
	"iter"
	"slices"
)

// indexFrom is the size from which a Map has an index; below it a scan is faster.
const indexFrom = 12

// A Map is a dictionary that keeps the order in which its keys were first set, as Python's dict
// does.
//
// Keys are the scalar values of the package table; 1, 1.0 and true are the same key, text and bytes
// are not. The zero value is an empty Map. A Map is not safe for concurrent use while a goroutine
// changes it.
type Map struct {
	entries []entry
	index   map[any]int // normalised key → position in entries; nil while the Map is small
	class   Class       // see Ordered
}

type entry struct {
	key, value any
}

// NewMap returns a Map of the given pairs: key, value, key, value. It panics if the count is odd.
func NewMap(pairs ...any) *Map {
	if len(pairs)%2 != 0 {
		panic("data: NewMap needs pairs")
	}
	m := &Map{}
	for i := 0; i < len(pairs); i += 2 {
		m.Set(pairs[i], pairs[i+1])
	}
	return m
}

// Grow makes room for n more keys.
func (m *Map) Grow(n int) { m.entries = slices.Grow(m.entries, n) }

// Len returns the number of keys. A nil Map has none.
func (m *Map) Len() int {
	if m == nil {
		return 0
	}
	return len(m.entries)
}

// Get returns the value of key and whether it exists. A nil Map is empty.
func (m *Map) Get(key any) (value any, ok bool) {
	if m == nil {
		return nil, false
	}
	if i := m.find(key); i >= 0 {
		return m.entries[i].value, true
	}
	return nil, false
}

// Value returns the value of key, or nil if the key is missing.
func (m *Map) Value(key any) any {
	v, _ := m.Get(key)
	return v
}

// Has reports whether key exists.
func (m *Map) Has(key any) bool {
	_, ok := m.Get(key)
	return ok
}

// Text returns the value of key if it is text, and "" otherwise.
func (m *Map) Text(key any) string {
	s, _ := m.Value(key).(string)
	return s
}

// Set sets the value of key. A new key goes last; an existing one keeps its position and its
// spelling. It panics if key cannot be a key (a list or a map), as Python raises TypeError: see
// Hashable.
func (m *Map) Set(key, value any) {
	if i := m.find(key); i >= 0 {
		m.entries[i].value = value
		return
	}
	m.entries = append(m.entries, entry{key, value})
	switch n := len(m.entries); {
	case m.index != nil:
		m.index[normalise(key)] = n - 1
	case n >= indexFrom:
		m.reindex()
	}
}

// Delete removes key and reports whether it existed.
func (m *Map) Delete(key any) bool {
	if m.Len() == 0 {
		return false
	}
	i := m.find(key)
	if i < 0 {
		return false
	}
	last := i == len(m.entries)-1
	m.entries = slices.Delete(m.entries, i, i+1)
	switch {
	case m.index != nil && last:
		delete(m.index, normalise(key))
	case m.index != nil:
		m.reindex()
	}
	return true
}

// All yields the pairs in order. Meanwhile the Map must not be changed, except by setting existing
// keys.
func (m *Map) All() iter.Seq2[any, any] {
	return func(yield func(any, any) bool) {
		if m == nil {
			return
		}
		for i := range m.entries {
			if !yield(m.entries[i].key, m.entries[i].value) {
				return
			}
		}
	}
}

// Keys returns the keys in order.
func (m *Map) Keys() []any {
	keys := make([]any, 0, m.Len())
	for k := range m.All() {
		keys = append(keys, k)
	}
	return keys
}

// Clone returns a copy of m that shares its values. It is Ordered if m is.
func (m *Map) Clone() *Map {
	c := &Map{}
	if m == nil {
		return c
	}
	c.entries, c.class = slices.Clone(m.entries), m.class
	if m.index != nil {
		c.reindex()
	}
	return c
}

// Update sets every pair of from in m, in order.
func (m *Map) Update(from *Map) {
	for k, v := range from.All() {
		m.Set(k, v)
	}
}

func (m *Map) find(key any) int {
	if m.index != nil {
		if i, ok := m.index[normalise(key)]; ok {
			return i
		}
		return -1
	}
	if s, ok := key.(string); ok {
		return m.scanText(s)
	}
	norm := normalise(key)
	for i := range m.entries {
		if normalise(m.entries[i].key) == norm {
			return i
		}
	}
	return -1
}

func (m *Map) scanText(key string) int {
	for i := range m.entries {
		if s, ok := m.entries[i].key.(string); ok && s == key {
			return i
		}
	}
	return -1
}

func (m *Map) reindex() {
	m.index = make(map[any]int, max(len(m.entries), cap(m.entries)))
	for i := range m.entries {
		m.index[normalise(m.entries[i].key)] = i
	}
}

// At returns the pair at position i, from 0, in order.
func (m *Map) At(i int) (key, value any) { return m.entries[i].key, m.entries[i].value }

// Ordered reports whether m represents Python's OrderedDict. YAML filters and outputters keep its
// order, but sort a dict. A Map received from another host is never Ordered.
func (m *Map) Ordered() bool { return m.Class() != Dict }

// SetOrdered makes m represent Python's OrderedDict, and returns m.
func (m *Map) SetOrdered() *Map { return m.SetClass(OrderedDict) }

// A Class is the class of Python's dictionaries that a Map represents. It is visible in some
// output: the outputter pprint prints its name.
type Class uint8

// The classes that Salt's functions return. All but Dict are Ordered.
const (
	Dict Class = iota
	OrderedDict
	HashableOrderedDict // of Salt: high data
	DefaultOrderedDict  // of Salt: the matches of the top file
)

// String returns the name of a class.
func (c Class) String() string {
	switch c {
	case OrderedDict:
		return "OrderedDict"
	case HashableOrderedDict:
		return "HashableOrderedDict"
	case DefaultOrderedDict:
		return "DefaultOrderedDict"
	}
	return "dict"
}

// Class returns the class that m represents; a nil Map is a Dict.
func (m *Map) Class() Class {
	if m == nil {
		return Dict
	}
	return m.class
}

// SetClass makes m represent a dictionary of a class, and returns m.
func (m *Map) SetClass(c Class) *Map {
	m.class = c
	return m
}

// Clear removes all pairs.
func (m *Map) Clear() { m.entries, m.index = nil, nil }
