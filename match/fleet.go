package match

import (
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
)

// A Cache holds the master's cached data about its minions.
type Cache interface {
	// Minion returns the last known grains and pillar of a minion, and whether there are any.
	Minion(id string) (grains, pillar *data.Map, ok bool)
	// IDs returns the ids of all minions with cached data, whether accepted or not.
	IDs() []string
}

// A Fleet is the master's data for resolving a target to minions.
type Fleet struct {
	Accepted   []string // ids with an accepted key, in the order in which they are reported
	Cache      Cache    // nil means that nothing is cached
	DataCache  bool     // option `minion_data_cache`
	Greedy     bool     // minions without cached data count as matching
	Nodegroups *data.Map
}

// Resolve returns the ids that a target names, in the order of Accepted, and the ids that it lists
// but that have no accepted key (salt/utils/minions.py, CkMinions.check_minions). A list target
// keeps its own order and duplicates. Without a data cache, every compound target and every target
// on grains or pillar names all accepted minions.
//
// With an error both lists are empty; the error is the reason why the target names nobody.
func (f *Fleet) Resolve(tgt any, kind, delim string) (ids, missing []string, err error) {
	if tgt == nil {
		tgt = ""
	}
	if !f.DataCache && usesCache(kind) {
		return f.resolveUncached(tgt, kind)
	}
	c := compiler{nodegroups: f.Nodegroups, master: true}
	root, err := c.target(tgt, kind, delim)
	if err != nil {
		return nil, nil, err
	}
	if list, ok := root.(*listNode); ok && kind == "list" {
		ids, missing = f.split(list.items)
		return ids, missing, nil
	}
	for _, list := range c.lists {
		_, gone := f.split(list.items)
		missing = append(missing, gone...)
	}
	return f.filter(root, kind), missing, nil
}

// AsksForPillar reports whether a target has conditions on pillar: its own, or those of the node groups
// that it names. Whoever sees which minions such a target names can find values of pillar by trying.
func (f *Fleet) AsksForPillar(tgt any, kind, delim string) bool {
	c := compiler{nodegroups: f.Nodegroups, master: true}
	_, _ = c.target(tgt, kind, delim) // what is wrong with a target does not matter here
	return c.pillar
}

// usesCache reports whether a kind of target is resolved by the data cache.
func usesCache(kind string) bool {
	switch kind {
	case "ipcidr", "compound", "compound_pillar_exact", "nodegroup":
		return true
	}
	_, pair := pairKinds[kind]
	return pair
}

// resolveUncached is Resolve without a data cache.
func (f *Fleet) resolveUncached(tgt any, kind string) (ids, missing []string, err error) {
	switch kind {
	case "compound", "compound_pillar_exact", "nodegroup":
		switch tgt.(type) {
		case string, []any, data.Tuple:
			return slices.Clone(f.Accepted), nil, nil
		}
		return nil, nil, fmt.Errorf("%w: a %s target must be text or a list, not %T",
			ErrMalformed, kind, tgt)
	}
	if f.Greedy {
		return slices.Clone(f.Accepted), nil, nil
	}
	return nil, nil, nil
}

// split divides ids into accepted and unaccepted ones.
func (f *Fleet) split(items []string) (accepted, missing []string) {
	found := make(map[string]bool, len(items))
	for _, id := range items {
		found[id] = false
	}
	for _, id := range f.Accepted {
		if _, ok := found[id]; ok {
			found[id] = true
		}
	}
	for _, id := range items {
		if found[id] {
			accepted = append(accepted, id)
		} else {
			missing = append(missing, id)
		}
	}
	return accepted, missing
}

// filter returns the minions that meet a condition. If it is not greedy, minions with cached data
// count even if their key is not accepted, as in Salt.
func (f *Fleet) filter(root node, kind string) []string {
	var ids []string
	var s subject
	for _, id := range f.Accepted {
		s = subject{id: id, accepted: true, greedy: f.Greedy, cache: f.Cache}
		if root.match(&s) {
			ids = append(ids, id)
		}
	}
	if f.Greedy || f.Cache == nil || !usesCache(kind) {
		return ids
	}
	for _, id := range f.unaccepted() {
		s = subject{id: id, cache: f.Cache}
		if root.match(&s) {
			ids = append(ids, id)
		}
	}
	return ids
}

// unaccepted returns the ids in the cache that have no accepted key.
func (f *Fleet) unaccepted() []string {
	accepted := make(map[string]bool, len(f.Accepted))
	for _, id := range f.Accepted {
		accepted[id] = true
	}
	var ids []string
	for _, id := range f.Cache.IDs() {
		if !accepted[id] {
			ids = append(ids, id)
		}
	}
	return ids
}
