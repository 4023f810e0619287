package match

import "errors"

// Own are users' own matchers (salt/matchers). Each replaces a kind of target, or adds one.
type Own interface {
	// Has reports whether there is a matcher for a kind of target.
	Has(kind string) bool
	// Match reports whether a target matches the minion with an id. delim is "" if the target has
	// none of its own.
	Match(kind string, tgt any, delim, id string) (bool, error)
}

// An ownNode is a condition that one of users' own matchers decides.
type ownNode struct {
	own   Own
	kind  string
	tgt   any
	delim string
}

func (n *ownNode) match(s *subject) bool {
	if !s.accepted {
		return false
	}
	named, err := n.own.Match(n.kind, n.tgt, n.delim, s.id)
	if err != nil {
		s.err = errors.Join(s.err, err)
		return false
	}
	return named
}
