package sqltree

import (
	"errors"
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
)

// A Tree builds a pillar from rows. Its zero value is not usable: see NewTree.
type Tree struct {
	Result *data.Map
	focus  *data.Map
	query  Query
	names  []string
	depth  int

	listed map[*data.Map][]any // dictionaries with keys whose values become lists
	order  []*data.Map
}

// NewTree returns an empty tree.
func NewTree() *Tree {
	m := data.NewMap()
	return &Tree{Result: m, focus: m}
}

// Begin prepares the tree for the rows of a query with these column names.
func (t *Tree) Begin(q Query, names []string) {
	t.query, t.names, t.depth = q, names, q.Depth
	if t.depth == 0 || t.depth >= len(names) {
		t.depth = len(names) - 1
	}
	t.focus = t.Result
	if q.Root != nil {
		t.focus = data.NewMap()
		t.Result.Set(q.Root, t.focus)
	}
	t.listed, t.order = map[*data.Map][]any{}, nil
}

// lists reports whether a column, counted from 1, is in with_lists.
func (t *Tree) lists(column int) bool { return slices.Contains(t.query.WithLists, column) }

// note marks a key whose value becomes a list at the end.
func (t *Tree) note(m *data.Map, key any) {
	keys, ok := t.listed[m]
	if !ok {
		t.order = append(t.order, m)
	}
	if !slices.ContainsFunc(keys, func(k any) bool { return data.Equal(k, key) }) {
		t.listed[m] = append(keys, key)
	}
}

// Row adds one row.
func (t *Tree) Row(row []any) error {
	if len(row) == 0 || len(row) != len(t.names) {
		return errors.New("a row has other columns than the query")
	}
	if t.query.AsJSON && len(row) == 1 {
		return t.document(row[0])
	}
	for _, key := range row[:max(t.depth, 1)] {
		if !data.Hashable(key) {
			return fmt.Errorf("unhashable type: '%s'", loader.TypeName(key))
		}
	}
	at := t.focus
	for i := range t.depth - 1 {
		if t.lists(i + 1) {
			t.note(at, row[i])
		}
		at = t.descend(at, row[i])
	}
	if t.depth == len(row)-1 {
		t.leaf(at, row)
		return nil
	}
	return t.fields(at, row)
}

// document merges a column that is a dictionary in JSON.
func (t *Tree) document(v any) error {
	if s, ok := v.(string); ok {
		var err error
		if v, err = pyjson.Load(s); err != nil {
			return errors.New("a row is not JSON")
		}
	}
	m, ok := v.(*data.Map)
	if !ok {
		return errors.New("Cannot update using non-dict types in dictupdate.update()") //nolint:staticcheck // Salt's text
	}
	data.Merge(t.focus, m, t.query.AsList)
	return nil
}

// descend returns the dictionary under a key.
func (t *Tree) descend(at *data.Map, key any) *data.Map {
	below := data.NewMap()
	switch have, ok := at.Get(key); v := have.(type) {
	case *data.Map:
		return v
	case []any:
		at.Set(key, append(v, below))
	default:
		if ok && t.query.AsList {
			at.Set(key, []any{have, below})
		} else {
			at.Set(key, below)
		}
	}
	return below
}

// leaf adds the last column under the one before it.
func (t *Tree) leaf(at *data.Map, row []any) {
	last := len(row) - 1
	key, value := row[max(last-1, 0)], row[last]
	have, has := at.Get(key)
	switch {
	case t.query.AsList && has || t.lists(last):
		list, ok := have.([]any)
		if has && !ok {
			list = []any{have}
		}
		at.Set(key, append(list, value))
	case !t.query.IgnoreNull || value != nil:
		at.Set(key, value)
	}
}

// fields adds the remaining columns by name.
func (t *Tree) fields(at *data.Map, row []any) error {
	key := row[t.depth-1]
	if !at.Has(key) {
		at.Set(key, data.NewMap())
	}
	if t.lists(t.depth) {
		t.note(at, key)
	}
	below, ok := at.Value(key).(*data.Map)
	if !ok {
		return fmt.Errorf("'%s' object does not support item assignment",
			loader.TypeName(at.Value(key)))
	}
	for i := t.depth; i < len(row); i++ {
		name := t.names[i]
		if t.lists(i + 1) {
			t.note(below, name)
		}
		t.field(below, name, row[i])
	}
	return nil
}

func (t *Tree) field(at *data.Map, name string, value any) {
	have, has := at.Get(name)
	switch list, ok := have.([]any); {
	case t.query.AsList && has && ok:
		at.Set(name, append(list, value))
	case t.query.AsList && has:
		at.Set(name, []any{have, value})
	case !t.query.IgnoreNull || value != nil:
		at.Set(name, value)
	}
}

// End converts the values in with_lists to lists, the innermost first.
func (t *Tree) End() error {
	for _, m := range slices.Backward(t.order) {
		for _, key := range t.listed[m] {
			switch v := m.Value(key).(type) {
			case *data.Map:
				values := []any{}
				for _, x := range v.All() {
					values = append(values, x)
				}
				m.Set(key, values)
			case []any:
				m.Set(key, []any{v})
			default:
				if !m.Has(key) {
					return errors.New(data.Repr(key)) // a KeyError
				}
			}
		}
	}
	return nil
}
