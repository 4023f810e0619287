package yaml

import (
	"slices"

	"github.com/brineproject/brine/data"
)

// An Aggregate is a value that a document marks with !aggregate: a map or a list that is joined
// with another of its kind.
type Aggregate struct{ Value any }

// LoadYAMLEX reads one document of YAMLEX, Salt's form of YAML in which a key may occur several
// times. Its values are joined if both are marked with !aggregate; otherwise, and for a key marked
// with !reset, the last one counts. Marked values are of type Aggregate, within maps and lists too;
// see Plain (salt/serializers/yamlex.py). It differs from Salt in two points: dates stay text, and
// an unmarked list replaces the earlier value of its key, where Salt leaves an empty list.
func LoadYAMLEX(src []byte, o Options) (any, error) {
	o = o.filled()
	root, err := compose(src, o)
	if err != nil {
		return nil, named(err, o)
	}
	if root == nil {
		return nil, nil
	}
	if err := measure(root, o); err != nil {
		return nil, named(err, o)
	}
	x := &extended{builder{made: map[*node]any{}, nodes: o.Nodes}}
	v, err := x.value(root)
	if err != nil {
		return nil, named(err, o)
	}
	if a, ok := v.(Aggregate); ok {
		v = a.Value
	}
	return v, nil
}

// Plain returns a value without its marks, including those within maps and lists.
func Plain(v any) any {
	switch v := v.(type) {
	case Aggregate:
		return Plain(v.Value)
	case *data.Map:
		for k, x := range v.All() {
			if p := Plain(x); isMarked(x) {
				v.Set(k, p)
			}
		}
	case []any:
		for i, x := range v {
			if p := Plain(x); isMarked(x) {
				v[i] = p
			}
		}
	}
	return v
}

func isMarked(v any) bool {
	_, ok := v.(Aggregate)
	return ok
}

const (
	aggregateTag = "!aggregate"
	resetTag     = "!reset"
)

// An extended builder makes values of a document of YAMLEX.
type extended struct{ builder }

// value makes the value of a node.
func (x *extended) value(n *node) (any, error) {
	tag := n.tag
	if tag != aggregateTag && tag != resetTag {
		return x.plain(n, tag)
	}
	v, err := x.plain(n, implied(n))
	if err != nil || tag == resetTag {
		return v, err
	}
	switch v.(type) {
	case *data.Map, []any:
		return Aggregate{v}, nil
	case nil:
		return Aggregate{[]any{}}, nil
	}
	return Aggregate{[]any{v}}, nil
}

// implied returns the default tag of a node.
func implied(n *node) string {
	switch n.kind {
	case mappingKind:
		return mapTag
	case sequenceKind:
		return seqTag
	}
	return resolve(n.value)
}

func (x *extended) plain(n *node, tag string) (any, error) {
	switch {
	case n.kind == mappingKind && tag == mapTag:
		return x.mapping(n)
	case n.kind == sequenceKind && tag == seqTag:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			var err error
			if list[i], err = x.value(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	as := *n
	as.tag = tag
	return scalar(&as)
}

func (x *extended) mapping(n *node) (any, error) {
	as := *n
	as.pairs = slices.Clone(n.pairs)
	if err := x.flatten(&as); err != nil {
		return nil, err
	}
	m := &data.Map{}
	for _, p := range as.pairs {
		key, err := x.key(n, keyOf(p.key))
		if err != nil {
			return nil, err
		}
		value, err := x.value(p.value)
		if err != nil {
			return nil, err
		}
		if before, twice := m.Get(key); twice && p.key.tag != resetTag {
			value = Join(before, value)
		}
		m.Set(key, value)
	}
	return m, nil
}

// keyOf returns a key without a mark.
func keyOf(n *node) *node {
	if n.tag != resetTag && n.tag != aggregateTag {
		return n
	}
	as := *n
	as.tag = implied(n)
	return &as
}

// Join returns b merged into a. Lists that are both marked are joined without duplicates, and
// values of keys that two maps share are joined in turn; otherwise b counts
// (salt/utils/aggregation.py, aggregate). Neither is changed.
func Join(a, b any) any {
	left, both := a.(Aggregate)
	right, marked := b.(Aggregate)
	both = both && marked
	if !marked {
		right.Value = b
	}
	if _, ok := a.(Aggregate); !ok {
		left.Value = a
	}
	var joined any
	switch over := right.Value.(type) {
	case *data.Map:
		below, ok := left.Value.(*data.Map)
		if !ok {
			return b
		}
		out := over.Clone()
		if both {
			out = below.Clone()
		}
		for k, v := range over.All() {
			if have, shared := below.Get(k); shared {
				v = Join(have, v)
			}
			out.Set(k, v)
		}
		joined = out
	case []any:
		below, ok := left.Value.([]any)
		if !ok || !both {
			return b
		}
		out := slices.Clone(below)
		for _, v := range over {
			if !slices.ContainsFunc(below, func(x any) bool { return data.Equal(x, v) }) {
				out = append(out, v)
			}
		}
		joined = out
	default:
		return b
	}
	if marked {
		return Aggregate{joined}
	}
	return joined
}
