package yaml

import (
	"iter"
	"strings"

	"github.com/brineproject/brine/data"
)

type kind int

const (
	scalarKind kind = iota
	sequenceKind
	mappingKind
)

// String returns PyYAML's id of the kind.
func (k kind) String() string { return [...]string{"scalar", "sequence", "mapping"}[k] }

// The tags that the resolver returns.
const (
	tagPrefix    = "tag:yaml.org,2002:"
	nullTag      = tagPrefix + "null"
	boolTag      = tagPrefix + "bool"
	intTag       = tagPrefix + "int"
	floatTag     = tagPrefix + "float"
	strTag       = tagPrefix + "str"
	binaryTag    = tagPrefix + "binary"
	timestampTag = tagPrefix + "timestamp"
	mergeTag     = tagPrefix + "merge"
	valueTag     = tagPrefix + "value"
	seqTag       = tagPrefix + "seq"
	mapTag       = tagPrefix + "map"
	setTag       = tagPrefix + "set"
	omapTag      = tagPrefix + "omap"
	pairsTag     = tagPrefix + "pairs"
	unicodeTag   = tagPrefix + "python/unicode"
)

// A node is a part of a document whose tag is resolved. An alias is the node that it refers to.
type node struct {
	kind  kind
	tag   string // in full
	value string // of a scalar
	items []*node
	pairs []pair
	mark  Mark
}

type pair struct {
	key, value *node
}

func (n *node) children() iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for _, i := range n.items {
			if !yield(i) {
				return
			}
		}
		for _, p := range n.pairs {
			if !yield(p.key) || !yield(p.value) {
				return
			}
		}
	}
}

// key returns the index of the pair whose key is written as text, or -1.
func (n *node) key(text string) int {
	for i, p := range n.pairs {
		if p.key.kind == scalarKind && p.key.value == text {
			return i
		}
	}
	return -1
}

// reprLimit limits the text of a node in a message.
const reprLimit = 2000

// repr returns the value of a collection as Python prints PyYAML's nodes in a message.
func (n *node) repr() string {
	var b strings.Builder
	n.reprValue(&b)
	if b.Len() > reprLimit {
		return b.String()[:reprLimit] + "..."
	}
	return b.String()
}

func (n *node) reprValue(b *strings.Builder) {
	if n.kind == scalarKind {
		b.WriteString(data.Repr(n.value))
		return
	}
	b.WriteByte('[')
	for i, item := range n.items {
		comma(b, i)
		item.reprNode(b)
	}
	for i, p := range n.pairs {
		comma(b, i)
		b.WriteByte('(')
		p.key.reprNode(b)
		b.WriteString(", ")
		p.value.reprNode(b)
		b.WriteByte(')')
	}
	b.WriteByte(']')
}

func (n *node) reprNode(b *strings.Builder) {
	if b.Len() > reprLimit {
		return
	}
	b.WriteString([...]string{"ScalarNode", "SequenceNode", "MappingNode"}[n.kind])
	b.WriteString("(tag=")
	b.WriteString(data.Repr(n.tag))
	b.WriteString(", value=")
	n.reprValue(b)
	b.WriteByte(')')
}

func comma(b *strings.Builder, i int) {
	if i > 0 {
		b.WriteString(", ")
	}
}
