package yaml

import (
	"cmp"
	"errors"
)

// Options limit and name the source of Load. The zero value suits the files of Salt.
type Options struct {
	// of the source in messages; "" is "<unicode string>", PyYAML's name of a text in memory
	Name  string
	Size  int // maximum bytes of source; 0 means 32 MiB
	Depth int // maximum nesting, with aliases followed; 0 means 256
	// maximum scalars and collections, with aliases and merges followed; 0 means 1,000,000
	Nodes  int
	Cycles bool // let an anchor contain itself, as PyYAML does; otherwise that is an error

	Ordered bool // mappings represent Python's OrderedDict, as in Salt's renderer yaml
}

func (o Options) filled() Options {
	o.Size = cmp.Or(o.Size, 32<<20)
	o.Depth = cmp.Or(o.Depth, 256)
	o.Nodes = cmp.Or(o.Nodes, 1_000_000)
	return o
}

// Load reads one YAML document into a dynamic value of package data; an empty document is nil. Its
// errors are of type *Error.
func Load(src []byte, o Options) (any, error) {
	v, _, err := LoadPositions(src, o)
	return v, err
}

// LoadPositions is Load that also returns the positions of keys and entries.
func LoadPositions(src []byte, o Options) (any, *Positions, error) {
	o = o.filled()
	root, err := compose(src, o)
	if err != nil {
		return nil, nil, named(err, o)
	}
	if root == nil {
		return nil, &Positions{}, nil
	}
	if err := measure(root, o); err != nil {
		return nil, nil, named(err, o)
	}
	b := &builder{made: map[*node]any{}, nodes: o.Nodes, ordered: o.Ordered}
	v, err := b.document(root)
	if err != nil {
		return nil, nil, named(err, o)
	}
	return v, &Positions{root: root}, nil
}

func named(err error, o Options) error {
	var e *Error
	if errors.As(err, &e) {
		e.Name = o.Name
	}
	return err
}

// Positions holds the positions of the keys and entries of a document. Its zero value contains
// none.
type Positions struct {
	root *node
}

// Of returns the position of the key or entry at the end of path; for a key, where it begins. A
// step is a text, the key of a mapping as it is written, or an int, the index of a list.
func (p *Positions) Of(path ...any) (Mark, bool) {
	if p == nil || p.root == nil {
		return Mark{}, false
	}
	n, mark := p.root, p.root.mark
	for _, step := range path {
		switch step := step.(type) {
		case string:
			i := n.key(step)
			if i < 0 {
				return Mark{}, false
			}
			mark, n = n.pairs[i].key.mark, n.pairs[i].value
		case int:
			if step < 0 || step >= len(n.items) {
				return Mark{}, false
			}
			n = n.items[step]
			mark = n.mark
		default:
			return Mark{}, false
		}
	}
	return mark, true
}

// measure follows aliases and checks the whole of root against the limits.
func measure(root *node, o Options) error {
	m := &meter{limits: o, known: map[*node]extent{}}
	_, err := m.of(root)
	return err
}

// An extent is the size of a node if aliases were copies.
type extent struct {
	nodes, depth int
}

type meter struct {
	limits Options
	known  map[*node]extent // nodes -1: being measured
}

func (m *meter) of(n *node) (extent, error) {
	if n.kind == scalarKind {
		return extent{1, 1}, nil
	}
	if e, ok := m.known[n]; ok {
		return m.again(n, e)
	}
	m.known[n] = extent{nodes: -1}
	sum := extent{1, 1}
	for child := range n.children() {
		e, err := m.of(child)
		if err != nil {
			return sum, err
		}
		sum.nodes += e.nodes
		sum.depth = max(sum.depth, e.depth+1)
		if err := m.check(n, sum); err != nil {
			return sum, err
		}
	}
	m.known[n] = sum
	return sum, nil
}

func (m *meter) again(n *node, e extent) (extent, error) {
	if e.nodes >= 0 {
		return e, nil
	}
	if !m.limits.Cycles {
		return e, fault(n.mark, "found unconstructable recursive node")
	}
	return extent{1, 1}, nil
}

func (m *meter) check(n *node, e extent) error {
	switch {
	case e.nodes > m.limits.Nodes:
		return fault(n.mark, "found more than %d nodes, aliases followed", m.limits.Nodes)
	case e.depth > m.limits.Depth:
		return fault(n.mark, "found more than %d levels of nesting", m.limits.Depth)
	}
	return nil
}
