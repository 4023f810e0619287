package match

import (
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
)

// A subject is one minion while it is matched.
type subject struct {
	id       string
	accepted bool // its key is accepted; always true on the minion's own side
	greedy   bool // counts as matching if that cannot be decided

	cache          Cache // source of grains and pillar while looked is false
	looked         bool
	known          bool // there are grains and pillar to match
	grains, pillar *data.Map
	steps          int   // spent on walking through grains and pillar
	err            error // of users' own matchers
}

// look fetches grains and pillar once.
func (s *subject) look() {
	if s.looked {
		return
	}
	s.looked = true
	if s.cache != nil {
		s.grains, s.pillar, s.known = s.cache.Minion(s.id)
	}
}

// decided returns the result of a condition on cached data as far as it does not depend on that
// data. If greedy, all accepted minions match but those known not to; otherwise only minions known
// to match do (salt/utils/minions.py, _check_cache_minions). done is false if the data decides.
func (s *subject) decided() (named, done bool) {
	if s.greedy && !s.accepted {
		return false, true
	}
	s.look()
	return s.greedy, !s.known
}

// A node is a condition on a minion.
type node interface{ match(*subject) bool }

type (
	andNode    []node
	orNode     []node
	notNode    struct{ x node }
	noneNode   struct{} // matches nobody
	globNode   struct{ *Glob }
	regexpNode struct{ *Regexp }
	listNode   struct {
		items []string // in order, with duplicates
		set   map[string]struct{}
	}
)

func (n andNode) match(s *subject) bool {
	for _, x := range n {
		if !x.match(s) {
			return false
		}
	}
	return true
}

func (n orNode) match(s *subject) bool {
	for _, x := range n {
		if x.match(s) {
			return true
		}
	}
	return false
}

func (n notNode) match(s *subject) bool    { return s.accepted && !n.x.match(s) }
func (noneNode) match(*subject) bool       { return false }
func (n globNode) match(s *subject) bool   { return s.accepted && n.Match(s.id) }
func (n regexpNode) match(s *subject) bool { return s.accepted && n.Match(s.id) }

func (n *listNode) match(s *subject) bool {
	_, ok := n.set[s.id]
	return ok && s.accepted
}

// newList parses a list target: text with commas, or a list. Empty items of a text are dropped.
func newList(tgt any) (*listNode, error) {
	n := &listNode{set: map[string]struct{}{}}
	switch t := tgt.(type) {
	case string:
		for item := range strings.SplitSeq(t, ",") {
			if item != "" {
				n.add(item)
			}
		}
	case []any:
		for _, item := range t {
			n.add(word(item))
		}
	case data.Tuple:
		return newList([]any(t))
	default:
		return nil, fmt.Errorf("%w: a list target must be text or a list, not %T",
			ErrMalformed, tgt)
	}
	return n, nil
}

func (n *listNode) add(item string) {
	n.items = append(n.items, item)
	n.set[item] = struct{}{}
}

// word returns an element of a list target as text.
func word(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return data.Str(v)
}
