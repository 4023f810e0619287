package yaml

import (
	"github.com/brineproject/brine/data"
)

const inMapping = "while constructing a mapping"

// A builder makes values from nodes. It first makes collections empty and then fills them level by
// level, as PyYAML does, so that of several errors in a document it reports the same one.
type builder struct {
	made  map[*node]any // collections, so that aliases share them
	level []func() error
	nodes int // limit of nodes that merges may still copy

	ordered bool // see Options.Ordered
}

func (b *builder) document(root *node) (any, error) {
	holder := []any{nil}
	if err := b.object(root, &holder[0]); err != nil {
		return nil, err
	}
	for len(b.level) > 0 {
		level := b.level
		b.level = nil
		for _, fill := range level {
			if err := fill(); err != nil {
				return nil, err
			}
		}
	}
	return holder[0], nil
}

// object stores the value of n in dst, at once or when its level comes: a list is complete only
// when it is filled.
func (b *builder) object(n *node, dst *any) error {
	switch n.tag {
	case seqTag, setTag, omapTag, pairsTag:
		return b.later(n, dst)
	case mapTag:
		*dst = b.mapOf(n)
		return nil
	}
	v, err := scalar(n)
	*dst = v
	return err
}

// mapOf returns the Map of n, which is filled with its level.
func (b *builder) mapOf(n *node) any {
	if m, ok := b.made[n]; ok {
		return m
	}
	m := &data.Map{}
	if b.ordered {
		m.SetOrdered()
	}
	b.made[n] = m
	b.level = append(b.level, func() error { return b.fillMap(n, m) })
	return m
}

// later makes the list of n. The list has its final length from the start, so that all references
// share it.
func (b *builder) later(n *node, dst *any) error {
	if list, ok := b.made[n]; ok {
		*dst = list
		return nil
	}
	if n.tag == setTag {
		return b.set(n, dst)
	}
	list := make([]any, len(n.items))
	b.made[n], *dst = list, list
	b.level = append(b.level, func() error { return b.fillList(n, list) })
	return nil
}

func (b *builder) fillList(n *node, list []any) error {
	switch {
	case n.tag == omapTag:
		return b.fillPairs(n, list, "while constructing an ordered map")
	case n.tag == pairsTag:
		return b.fillPairs(n, list, "while constructing pairs")
	case n.kind != sequenceKind:
		return fault(n.mark, "expected a sequence node, but found %s", n.kind)
	}
	for i, item := range n.items {
		if err := b.object(item, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// fillPairs reads !!omap and !!pairs: a list of tuples of two.
func (b *builder) fillPairs(n *node, list []any, context string) error {
	if n.kind != sequenceKind {
		return faultIn(context, n.mark, n.mark, "expected a sequence, but found %s", n.kind)
	}
	for i, item := range n.items {
		if item.kind != mappingKind {
			return faultIn(context, n.mark, item.mark,
				"expected a mapping of length 1, but found %s", item.kind)
		}
		if len(item.pairs) != 1 {
			return faultIn(context, n.mark, item.mark,
				"expected a single mapping item, but found %d items", len(item.pairs))
		}
		tuple := make(data.Tuple, 2)
		list[i] = tuple
		if err := b.object(item.pairs[0].key, &tuple[0]); err != nil {
			return err
		}
		if err := b.object(item.pairs[0].value, &tuple[1]); err != nil {
			return err
		}
	}
	return nil
}

// set reads !!set, which becomes a list: the dynamic values have no sets.
func (b *builder) set(n *node, dst *any) error {
	if n.kind != mappingKind {
		return fault(n.mark, "expected a mapping node, but found %s", n.kind)
	}
	unique := &data.Map{}
	for _, p := range n.pairs {
		key, err := b.key(n, p.key)
		if err != nil {
			return err
		}
		unique.Set(key, nil)
	}
	*dst = unique.Keys()
	b.made[n] = *dst
	return nil
}

func (b *builder) fillMap(n *node, m *data.Map) error {
	if n.kind != mappingKind {
		return fault(n.mark, "expected a mapping node, but found %s", n.kind)
	}
	if err := b.flatten(n); err != nil {
		return err
	}
	for _, p := range n.pairs {
		key, err := b.key(n, p.key)
		if err != nil {
			return err
		}
		var value any
		if err := b.object(p.value, &value); err != nil {
			return err
		}
		if m.Has(key) {
			return faultIn(inMapping, n.mark, p.key.mark, "found conflicting ID '%s'",
				data.Str(key))
		}
		m.Set(key, value)
	}
	return nil
}

func (b *builder) key(in, n *node) (any, error) {
	if n.kind == scalarKind {
		return scalar(n)
	}
	switch n.tag {
	case seqTag, mapTag, setTag, omapTag, pairsTag:
		return nil, faultIn(inMapping, in.mark, n.mark, "found unacceptable key %s", n.repr())
	}
	return scalar(n)
}

// flatten merges the merge keys of n into its pairs (SaltYamlSafeLoader.flatten_mapping). Merged
// pairs come first, and a key that n has itself is not merged.
func (b *builder) flatten(n *node) error {
	var merged, own []pair
	rest := n.pairs
	n.pairs = nil // a mapping that merges itself finds nothing to merge
	for _, p := range rest {
		if p.key.tag != mergeTag {
			if p.key.tag == valueTag {
				p.key.tag = strTag
			}
			own = append(own, p)
			continue
		}
		more, err := b.mergeable(n, p.value)
		if err != nil {
			return err
		}
		merged = append(merged, more...)
		if b.nodes -= len(more); b.nodes < 0 {
			return fault(n.mark, "found too many merged keys")
		}
	}
	n.pairs = own
	if len(merged) > 0 {
		n.pairs = append(withoutKeys(merged, own), own...)
	}
	return nil
}

func withoutKeys(merged, own []pair) []pair {
	names := make(map[string]bool, len(own))
	for _, p := range own {
		if p.key.kind == scalarKind {
			names[p.key.value] = true
		}
	}
	var kept []pair
	for _, p := range merged {
		if p.key.kind != scalarKind || !names[p.key.value] {
			kept = append(kept, p)
		}
	}
	return kept
}

// mergeable returns the pairs of the value of a merge key of n; in a list the last mapping comes
// first.
func (b *builder) mergeable(n, value *node) ([]pair, error) {
	switch value.kind {
	case mappingKind:
		err := b.flatten(value)
		return value.pairs, err
	case sequenceKind:
		return b.mergeableList(n, value)
	}
	return nil, faultIn(inMapping, n.mark, value.mark,
		"expected a mapping or list of mappings for merging, but found %s", value.kind)
}

func (b *builder) mergeableList(n, list *node) ([]pair, error) {
	for _, item := range list.items {
		if item.kind != mappingKind {
			return nil, faultIn(inMapping, n.mark, item.mark,
				"expected a mapping for merging, but found %s", item.kind)
		}
		if err := b.flatten(item); err != nil {
			return nil, err
		}
	}
	var all []pair
	for i := len(list.items) - 1; i >= 0; i-- {
		all = append(all, list.items[i].pairs...)
		if len(all) > b.nodes {
			return nil, fault(n.mark, "found too many merged keys")
		}
	}
	return all, nil
}
