package jinja

import (
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

type iteratorFunc func() (any, bool, error)

func (f iteratorFunc) Next() (any, bool, error) { return f() }

type sliceIterator struct {
	items []any
	at    int
}

func (i *sliceIterator) Next() (any, bool, error) {
	if i.at >= len(i.items) {
		return nil, false, nil
	}
	i.at++
	return i.items[i.at-1], true, nil
}

// listIterator follows a list that may change meanwhile, as Python's does.
type listIterator struct {
	list *List
	at   int
}

func (i *listIterator) Next() (any, bool, error) {
	if i.at >= len(i.list.Items) {
		return nil, false, nil
	}
	i.at++
	return i.list.Items[i.at-1], true, nil
}

// dictIterator yields the result of pick for each pair; it fails if the dict has grown or shrunk.
type dictIterator struct {
	m    *data.Map
	size int
	at   int
	pick func(k, v any) any
}

func (i *dictIterator) Next() (any, bool, error) {
	if i.m.Len() != i.size {
		return nil, false, Raise(PythonError, "dictionary changed size during iteration")
	}
	if i.at >= i.size {
		return nil, false, nil
	}
	k, v := i.m.At(i.at)
	i.at++
	return i.pick(k, v), true, nil
}

func pickKey(k, _ any) any   { return k }
func pickValue(_, v any) any { return v }
func pickPair(k, v any) any  { return data.Tuple{k, v} }

// textIterator yields characters.
type textIterator struct {
	text string
}

func (i *textIterator) Next() (any, bool, error) {
	if i.text == "" {
		return nil, false, nil
	}
	_, n := utf8.DecodeRuneInString(i.text)
	c := i.text[:n]
	i.text = i.text[n:]
	return c, true, nil
}

// iterate is Python's iter().
func (r *run) iterate(v any) (Iterator, error) {
	switch v := v.(type) {
	case *List:
		return &listIterator{list: v}, nil
	case *data.Map:
		return &dictIterator{m: v, size: v.Len(), pick: pickKey}, nil
	case data.Tuple:
		return &sliceIterator{items: v}, nil
	case string:
		return &textIterator{text: v}, nil
	case Markup:
		return &textIterator{text: string(v)}, nil
	case Iterator:
		return v, nil
	case Iterable:
		return v.Iterate(), nil
	case *Undefined:
		return &sliceIterator{}, v.strict()
	case []byte:
		items := make([]any, len(v))
		for i, b := range v {
			items[i] = int64(b)
		}
		return &sliceIterator{items: items}, nil
	}
	return nil, Raise(TypeError, "'%s' object is not iterable", typeName(v))
}

// drain collects the remaining elements.
func (r *run) drain(it Iterator) ([]any, error) {
	out := []any{}
	for {
		v, ok, err := it.Next()
		if err != nil || !ok {
			return out, err
		}
		if err := r.step(); err != nil {
			return nil, err
		}
		if len(out)&1023 == 0 {
			if err := r.room(16 * 1024); err != nil {
				return nil, err
			}
		}
		out = append(out, v)
	}
}

// list collects the elements of a value into a new slice.
func (r *run) list(v any) ([]any, error) {
	it, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	return r.drain(it)
}

// collectUpTo reads at most n elements.
func (r *run) collectUpTo(it Iterator, n int) ([]any, error) {
	var out []any
	for len(out) < n {
		v, ok, err := it.Next()
		if err != nil || !ok {
			return out, err
		}
		out = append(out, v)
	}
	return out, nil
}
