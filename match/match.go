// Package match decides which minions a target names, on the minion's side and on the master's.
//
// A target is what an operator types before the function: salt -G 'os:Debian' test.ping has the
// target os:Debian of the kind grain. A minion asks an [Expression] whether the target names it:
//
//	e, err := match.Compile(load.Target, load.TargetType, load.Delimiter, match.Options{})
//	if err == nil && e.Match(&match.Minion{ID: id, Grains: grains, Pillar: pillar}) { … }
//
// The master asks a [Fleet] for the ids whose returns it should wait for. The Fleet uses the cached
// grains and pillar, and counts a minion without cached data as matching (section 7.4 of the
// protocol calls this greedy). The list is only an expectation: the minions decide which of them
// run the job.
//
// Both sides use one tree of conditions. On the master's side `not` means "all accepted minions
// but", which is equivalent for a single minion. If the two sides of Salt differ in what they
// accept (an open bracket that is never closed), so do these.
//
// Globs are those of Python's fnmatch. Regular expressions are those of Python's re as far as they
// can be matched in linear time. Back-references, conditionals, atomic groups and possessive
// quantifiers are rejected with ErrUnsupported. Look-ahead and look-behind work and stay linear. No
// target can make a match slow: lengths, depths and the steps of one match are limited.
//
// Users' own matchers ([Own]) replace the kinds of targets that a minion knows, and add new ones.
//
// Some behaviour is odd, but the same as in Salt. Keys and values of grains and pillar are compared
// in lower case, and so is the pattern, even if that changes a regular expression (\D becomes \d).
// `os:(?:a|b)` works although it contains the delimiter. An unknown node group vanishes from a
// compound target.
package match

import (
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
)

// Limits of a target. Compile rejects larger targets with ErrTooBig.
const (
	MaxLength = 64 << 10 // bytes of a target, all its words together
	MaxList   = 16 << 20 // bytes of a list of ids
	MaxDepth  = 64       // nested brackets, nested node groups, parts of a key:value target
	maxWords  = 1 << 17  // words of a compound target after node groups were expanded
)

var (
	// ErrUnknownType is wrapped if the kind of target is unknown.
	ErrUnknownType = errors.New("unknown target type")
	// ErrUnsupported is wrapped if a regular expression cannot be matched in linear time.
	ErrUnsupported = errors.New("not supported in regular expressions")
	// ErrMalformed is wrapped if a target is invalid: an operator without operand, a bad address.
	ErrMalformed = errors.New("malformed target")
	// ErrTooBig is wrapped if a target exceeds a limit of length or depth.
	ErrTooBig = errors.New("target is too long or too deep")
	// ErrNoRange is wrapped for range targets: they need a range server, which is not supported.
	ErrNoRange = errors.New("range targets need a range server, and none is set")
)

// Minion is the data that one minion is matched by.
type Minion struct {
	ID             string
	Grains, Pillar *data.Map
}

// Options tune Compile.
type Options struct {
	Nodegroups *data.Map // option `nodegroups`; nil means none
	Own        Own       // users' own matchers; nil means none
}

// An Expression is a compiled target. It is safe for concurrent use.
type Expression struct {
	root node
}

// Compile compiles a target as a minion does. The kind is Salt's `tgt_type`: glob, pcre, list,
// grain, grain_pcre, pillar, pillar_pcre, pillar_exact, ipcidr, compound or nodegroup; delim ""
// means ":".
//
// An error means that the target names nobody. It wraps one of this package's errors, or describes
// a faulty regular expression. Minions have no matcher for compound_pillar_exact, so it is an
// unknown type here, as in Salt.
func Compile(tgt any, kind, delim string, o Options) (*Expression, error) {
	if kind == "compound_pillar_exact" {
		return nil, fmt.Errorf("%w: %q", ErrUnknownType, kind)
	}
	c := compiler{nodegroups: o.Nodegroups, own: o.Own}
	root, err := c.target(tgt, kind, delim)
	if err != nil {
		return nil, err
	}
	return &Expression{root: root}, nil
}

// Match reports whether the target names m. It does not if one of users' own matchers fails.
func (e *Expression) Match(m *Minion) bool {
	named, err := e.Check(m)
	return named && err == nil
}

// Check reports whether the target names m. The error is that of users' own matchers.
func (e *Expression) Check(m *Minion) (bool, error) {
	s := subject{id: m.ID, accepted: true, known: true, looked: true, grains: m.Grains,
		pillar: m.Pillar}
	named := e.root.match(&s)
	return named, s.err
}

// PublicationDelimiter returns the delimiter that a minion uses for the target of a publication.
// Salt's minion passes the load's delimiter only to the matchers of grain, grain_pcre and pillar
// (salt/minion.py, _target_load).
func PublicationDelimiter(kind, delim string) string {
	switch kind {
	case "grain", "grain_pcre", "pillar":
		return delim
	}
	return ""
}

// A compiler turns targets into nodes, for the minion or the master.
type compiler struct {
	nodegroups *data.Map
	own        Own
	master     bool        // parse compound targets as the master does
	exact      bool        // I@ and J@ compare whole values
	pillar     bool        // a condition on pillar has been compiled
	lists      []*listNode // lists whose unaccepted items are reported
}

// target compiles one target of any kind.
func (c *compiler) target(tgt any, kind, delim string) (node, error) {
	if err := checkLength(tgt, kind); err != nil {
		return nil, err
	}
	if c.own != nil && c.own.Has(kind) {
		return &ownNode{c.own, kind, tgt, delim}, nil
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
	return c.leaf(kind, text, delim)
}

// leaf compiles one condition: a whole target, or a word of a compound target.
func (c *compiler) leaf(kind, text, delim string) (node, error) {
	c.pillar = c.pillar || pairKinds[kind].pillar
	if c.own != nil && c.own.Has(kind) {
		return &ownNode{c.own, kind, text, delim}, nil
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

// checkLength returns an error for a target that exceeds the limit of its kind.
func checkLength(tgt any, kind string) error {
	most := MaxLength
	if kind == "list" {
		most = MaxList
	}
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
	if n > most {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrTooBig, n, most)
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
