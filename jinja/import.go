package jinja

import (
	"math/big"
	"reflect"
	"slices"

	"github.com/brineproject/brine/data"
)

// Import returns a copy of a value of package data in the form of templates: lists become *List. Go
// maps with text as keys become dicts in the order of their keys. Other values, and a *List, are
// returned as they are. A list or Map that occurs twice is also shared in the copy.
func Import(v any) any { return (&importer{}).value(v) }

// An importer holds the values made of collections by their identity, so that what is one object
// stays one.
type importer struct{ made map[any]any }

type listID struct {
	first *any
	len   int
}

func (i *importer) value(v any) any {
	switch v := v.(type) {
	case int, int8, int16, int32, uint8, uint16, uint32:
		return reflect.ValueOf(v).Convert(reflect.TypeFor[int64]()).Interface()
	case uint, uint64:
		return normal(new(big.Int).SetUint64(reflect.ValueOf(v).Uint()))
	case float32:
		return float64(v)
	case *big.Int:
		return normal(v)
	case []any:
		return i.list(v)
	case []string:
		l := &List{Items: make([]any, len(v))}
		for i, s := range v {
			l.Items[i] = s
		}
		return l
	case data.Tuple:
		return data.Tuple(i.items(v))
	case *data.Map:
		return i.mapping(v)
	case map[string]any:
		m := &data.Map{}
		for _, k := range sortedKeys(v) {
			m.Set(k, i.value(v[k]))
		}
		return m
	}
	return v
}

func (i *importer) list(v []any) any {
	if len(v) == 0 {
		return &List{[]any{}}
	}
	id := listID{&v[0], len(v)}
	if made, ok := i.made[id]; ok {
		return made
	}
	l := &List{}
	i.keep(id, l)
	l.Items = i.items(v)
	return l
}

func (i *importer) items(items []any) []any {
	out := make([]any, len(items))
	for at, v := range items {
		out[at] = i.value(v)
	}
	return out
}

func (i *importer) keep(id, made any) {
	if i.made == nil {
		i.made = map[any]any{}
	}
	i.made[id] = made
}

func (i *importer) mapping(m *data.Map) any {
	if m == nil {
		return nil
	}
	if made, ok := i.made[m]; ok {
		return made
	}
	out := m.Clone()
	i.keep(m, out)
	for k, v := range m.All() {
		switch v.(type) {
		case string, bool, nil, int64, float64:
		default:
			out.Set(k, i.value(v))
		}
	}
	return out
}

// Export returns a copy of a template's value as package data: a *List becomes []any, Markup
// becomes text, and views, ranges, sets and iterators become lists. A list or dict that occurs
// twice is also shared in the copy. A value that contains itself and one without such a form (a
// macro, an undefined value) are errors.
func Export(v any) (any, error) {
	e := &exporter{done: map[any]any{}, left: 10_000_000}
	return e.value(v, 0)
}

// ExportOr is Export, but replaces parts that have no form in package data by otherwise.
func ExportOr(v, otherwise any) (any, error) {
	e := &exporter{done: map[any]any{}, left: 10_000_000, replaces: true, otherwise: otherwise}
	return e.value(v, 0)
}

type exporter struct {
	done map[any]any
	left int

	replaces  bool
	otherwise any
}

// busy marks a value that is being copied.
type busy struct{}

func (e *exporter) value(v any, depth int) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, []byte, *big.Int:
		return v, nil
	case Markup:
		return string(v), nil
	case *Undefined:
		if e.replaces {
			return e.otherwise, nil
		}
		return nil, v.fail()
	}
	if depth > maxDepth {
		return nil, Raise(ValueError, "value nests deeper than %d levels", maxDepth)
	}
	if e.left--; e.left < 0 {
		return nil, Raise(LimitError, "value of more than 10000000 parts")
	}
	switch v := v.(type) {
	case *List:
		return e.shared(v, func() (any, error) { return e.items(v.Items, depth) })
	case data.Tuple:
		items, err := e.items(v, depth)
		return data.Tuple(items), err
	case *data.Map:
		return e.shared(v, func() (any, error) { return e.dict(v, depth) })
	case *set:
		return e.items(v.m.Keys(), depth)
	}
	return e.other(v, depth)
}

func (e *exporter) other(v any, depth int) (any, error) {
	switch v := v.(type) {
	case *rangeValue, *dictView, Iterator:
		r := &run{env: &Environment{}, limits: Limits{}.filled()}
		items, err := r.list(v)
		if err != nil {
			return nil, err
		}
		return e.items(items, depth)
	}
	if data.Plain(v) {
		return v, nil
	}
	if e.replaces {
		return e.otherwise, nil
	}
	return nil, Raise(TypeError, "a value of type %s has no meaning outside of templates",
		typeName(v))
}

func (e *exporter) shared(key any, make func() (any, error)) (any, error) {
	if was, ok := e.done[key]; ok {
		if _, inside := was.(busy); inside {
			return nil, Raise(ValueError, "value holds itself")
		}
		return was, nil
	}
	e.done[key] = busy{}
	v, err := make()
	e.done[key] = v
	return v, err
}

func (e *exporter) items(items []any, depth int) ([]any, error) {
	out := make([]any, len(items))
	for i, v := range items {
		var err error
		if out[i], err = e.value(v, depth+1); err != nil {
			return nil, err
		}
	}
	return slices.Clip(out), nil
}

func (e *exporter) dict(m *data.Map, depth int) (any, error) {
	out := &data.Map{}
	out.SetClass(m.Class())
	out.Grow(m.Len())
	for k, v := range m.All() {
		value, err := e.value(v, depth+1)
		if err != nil {
			return nil, err
		}
		key, err := e.value(k, depth+1)
		if err != nil {
			return nil, err
		}
		out.Set(key, value)
	}
	return out, nil
}
