// Package match says which minions a target names, on the minion's side and on the master's.
//
// A target is what an operator types before the function: salt -G 'os:Debian' test.ping has the target
// os:Debian of the kind grain. A minion asks an [Expression] whether it is meant itself:
//
//	e, err := match.Compile(load.Target, load.TargetType, load.Delimiter, match.Options{})
//	if err == nil && e.Match(&match.Minion{ID: id, Grains: grains, Pillar: pillar}) { … }
//
// The master asks a [Fleet] for a list of ids, from which it knows whose returns to wait for. It decides by the
// grains and pillar in its cache, and a minion of which nothing is cached counts as named (7.4 of the protocol
// is called greedy). The list is an expectation only: who runs the job is decided by the minions.
//
// Both sides use one tree of conditions. On the master's side `not` means "all accepted minions but", which is
// the same thing for one minion. Where the two sides of Salt differ in what they let pass (an open bracket that
// is never closed), so do these.
//
// Globs are Python's fnmatch, regular expressions are Python's re as far as they can be matched in linear time:
// everything but back-references, conditionals, atomic groups and possessive quantifiers, which are refused with
// ErrUnsupported. Look-ahead and look-behind work and stay linear. No target can make a match slow: lengths,
// depths and the steps of one match are bounded.
//
// Odd, and as in Salt: keys and values of grains and pillar are compared in lower case, and so is the pattern,
// even where that changes a regular expression (\D becomes \d); `os:(?:a|b)` works although it holds the
// delimiter; a node group that does not exist vanishes from a compound target.
package match

import (
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
)

// Bounds of a target. What exceeds them is refused by Compile with ErrTooBig.
const (
	MaxLength = 64 << 10 // bytes of a target, all its words together
	MaxDepth  = 64       // brackets in brackets, node groups in node groups, parts of a key:value target
	maxWords  = 1 << 17  // words of a compound target after node groups were put in
)

var (
	// ErrUnknownType is wrapped when the kind of target is none that can be matched.
	ErrUnknownType = errors.New("unknown target type")
	// ErrUnsupported is wrapped when a regular expression needs what cannot be matched in linear time.
	ErrUnsupported = errors.New("not supported in regular expressions")
	// ErrMalformed is wrapped when a target makes no sense: an operator without operand, a bad address.
	ErrMalformed = errors.New("malformed target")
	// ErrTooBig is wrapped when a target is longer or deeper than the bounds.
	ErrTooBig = errors.New("target is too long or too deep")
	// ErrNoRange is wrapped for range targets: they need a range server, which is not supported.
	ErrNoRange = errors.New("range targets need a range server, and none is set")
)

// Minion is what one minion is matched by.
type Minion struct {
	ID             string
	Grains, Pillar *data.Map
}

// Options tune Compile.
type Options struct {
	Nodegroups *data.Map // option `nodegroups`; nil means none
}

// An Expression is a compiled target. Several goroutines may use it.
type Expression struct {
	root node
}

// Compile reads a target as a minion does. The kind is Salt's `tgt_type`: glob, pcre, list, grain, grain_pcre,
// pillar, pillar_pcre, pillar_exact, ipcidr, compound or nodegroup; delim "" means ":".
//
// An error means that the target names nobody: it wraps one of this package's errors, or says what is wrong with
// a regular expression. compound_pillar_exact has no matcher on minions and is an unknown type here, as in Salt.
func Compile(tgt any, kind, delim string, o Options) (*Expression, error) {
	if kind == "compound_pillar_exact" {
		return nil, fmt.Errorf("%w: %q", ErrUnknownType, kind)
	}
	c := compiler{nodegroups: o.Nodegroups}
	root, err := c.target(tgt, kind, delim)
	if err != nil {
		return nil, err
	}
	return &Expression{root: root}, nil
}

// Match reports whether the target names m.
func (e *Expression) Match(m *Minion) bool {
	s := subject{id: m.ID, accepted: true, known: true, looked: true, grains: m.Grains, pillar: m.Pillar}
	return e.root.match(&s)
}

// PublicationDelimiter returns the delimiter by which a minion reads the target of a publication. Salt's minion
// hands the load's delimiter to the matchers of grain, grain_pcre and pillar only (salt/minion.py, _target_load).
func PublicationDelimiter(kind, delim string) string {
	switch kind {
	case "grain", "grain_pcre", "pillar":
		return delim
	}
	return ""
}

// A compiler turns targets of one role into nodes.
type compiler struct {
	nodegroups *data.Map
	master     bool        // read compound targets as the master does
	exact      bool        // I@ and J@ compare whole values
	lists      []*listNode // those whose items are reported when they are not accepted
}

// target compiles one target of any kind.
func (c *compiler) target(tgt any, kind, delim string) (node, error) {
	if err := checkLength(tgt); err != nil {
		return nil, err
	}
	switch kind {
	case "list":
		return newList(tgt)
	case "compound":
		return c.compound(tgt)
	case "compound_pillar_exact":
		c.exact = true
		return c.compound(tgt)
	}
	text, ok := tgt.(string)
	if !ok {
		return nil, fmt.Errorf("%w: a %s target must be text, not %T", ErrMalformed, kind, tgt)
	}
	if kind == "nodegroup" {
		return c.nodegroup(text)
	}
	return leaf(kind, text, delim)
}

// leaf compiles a target that is one condition.
func leaf(kind, text, delim string) (node, error) {
	switch kind {
	case "glob":
		return globNode{CompileGlob(text)}, nil
	case "pcre":
		re, err := CompileRegexp(text)
		if err != nil {
			return nil, fmt.Errorf("target %q: %w", clip(text), err)
		}
		return regexpNode{re}, nil
	case "list":
		return newList(text)
	case "ipcidr":
		return newSubnet(text)
	case "range":
		return nil, fmt.Errorf("target %q: %w", clip(text), ErrNoRange)
	}
	if p, ok := pairKinds[kind]; ok {
		return newPair(text, delim, p)
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownType, clip(kind))
}

func (c *compiler) nodegroup(name string) (node, error) {
	words, err := ExpandNodegroup(name, c.nodegroups)
	if err != nil {
		return nil, err
	}
	n, err := c.words(words)
	if circle := CheckCircular([]string{"N@" + name}, c.nodegroups); err != nil && circle != nil {
		err = fmt.Errorf("%w: %w", circle, err)
	}
	return n, err
}

func checkLength(tgt any) error {
	n := 0
	switch t := tgt.(type) {
	case string:
		n = len(t)
	case []any:
		n = len(t)
		for _, e := range t {
			s, _ := e.(string)
			n += len(s)
		}
	}
	if n > MaxLength {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrTooBig, n, MaxLength)
	}
	return nil
}

// clip shortens a text for an error.
func clip(s string) string {
	if len(s) <= 100 {
		return s
	}
	return strings.ToValidUTF8(s[:100], "") + "…"
}
