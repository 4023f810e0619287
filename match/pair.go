package match

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
)

// maxWalk limits the steps of one key:value match. Data that needs more, nested deeper than real
// data, does not match.
const maxWalk = 200_000

type compareKind uint8

const (
	byGlob compareKind = iota
	byRegexp
	byValue
)

// A pairKind selects the data of a key:value target and how values are compared.
type pairKind struct {
	pillar  bool
	compare compareKind
}

var pairKinds = map[string]pairKind{
	"grain":        {},
	"grain_pcre":   {compare: byRegexp},
	"pillar":       {pillar: true},
	"pillar_pcre":  {pillar: true, compare: byRegexp},
	"pillar_exact": {pillar: true, compare: byValue},
}

// A pairNode is a key:value target on grains or pillar.
type pairNode struct {
	pillar bool
	expr   *pairExpr
}

func (n *pairNode) match(s *subject) bool {
	if named, done := s.decided(); done {
		return named
	}
	s.steps = 0
	if n.pillar {
		return n.expr.match(s, s.pillar)
	}
	return n.expr.match(s, s.grains)
}

// A pairExpr is a target split at its delimiters in every way, the longest key path first
// (salt/utils/data.py, subdict_match).
type pairExpr struct {
	splits []split
}

type split struct {
	all   bool   // the key path is *: the whole data
	path  string // key path
	delim string
	keys  []any // parts of the path
	plain bool  // every part of the path can only be read as text
	value *pattern
}

// A pattern is the part after the key path. It is compiled when it is first needed.
type pattern struct {
	text    string
	compare compareKind
	once    sync.Once
	test    func(lower string) bool

	inner *pattern  // the pattern without a leading "*:"
	sub   *pairExpr // the pattern as a key:value target of its own
}

// newPair compiles a key:value target. A target without a delimiter matches no minion with known
// data.
func newPair(text, delim string, k pairKind) (node, error) {
	if delim == "" {
		delim = ":"
	}
	if strings.Count(text, delim)+strings.Count(text, ":") > 2*MaxDepth {
		return nil, fmt.Errorf("target %q: %w: more than %d delimiters", clip(text),
			ErrTooBig, 2*MaxDepth)
	}
	b := pairBuilder{compare: k.compare, patterns: map[string]*pattern{},
		exprs: map[[2]string]*pairExpr{}}
	n := &pairNode{pillar: k.pillar, expr: b.expr(text, delim)}
	if k.compare != byRegexp || len(n.expr.splits) == 0 {
		return n, nil
	}
	last := n.expr.splits[len(n.expr.splits)-1]
	if _, err := CompileRegexp(strings.ToLower(last.value.text)); unsupported(err) {
		return nil, fmt.Errorf("target %q: %w", clip(text), err)
	}
	return n, nil
}

// A pairBuilder compiles each distinct part of a target once.
type pairBuilder struct {
	compare  compareKind
	patterns map[string]*pattern
	exprs    map[[2]string]*pairExpr
}

func (b *pairBuilder) expr(text, delim string) *pairExpr {
	key := [2]string{text, delim}
	if e, ok := b.exprs[key]; ok {
		return e
	}
	e := &pairExpr{}
	b.exprs[key] = e
	var keys []any
	plain, begin := true, 0
	for {
		n := strings.Index(text[begin:], delim)
		if n < 0 {
			break
		}
		part := text[begin : begin+n]
		keys = append(keys, part)
		plain = plain && plainKey(part)
		s := split{path: text[:begin+n], delim: delim, keys: keys, plain: plain}
		begin += n + len(delim)
		if s.all = s.path == "*"; s.all {
			s.value = b.pattern(text)
		} else {
			s.value = b.pattern(text[begin:])
		}
		e.splits = append(e.splits, s)
	}
	slices.Reverse(e.splits)
	return e
}

func (b *pairBuilder) pattern(text string) *pattern {
	if p, ok := b.patterns[text]; ok {
		return p
	}
	p := &pattern{text: text, compare: b.compare}
	b.patterns[text] = p
	if rest, ok := strings.CutPrefix(text, "*:"); ok {
		p.inner = b.pattern(rest)
	}
	p.sub = b.expr(text, ":") // Salt ignores the delimiter here
	return p
}

var plainWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`)

// plainKey reports whether YAML also reads a key as the same text. If a key is missing, data.Lookup
// tries the value that YAML reads.
func plainKey(s string) bool {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "none", "y", "n":
		return false
	}
	return plainWord.MatchString(s)
}

func (e *pairExpr) match(s *subject, m *data.Map) bool {
	for i := range e.splits {
		sp := &e.splits[i]
		if s.steps++; s.steps > maxWalk {
			return false
		}
		if v, ok := sp.find(m); ok && sp.value.matchAny(s, v) {
			return true
		}
	}
	return false
}

// find follows the key path.
func (sp *split) find(m *data.Map) (any, bool) {
	if sp.all {
		return m, true
	}
	var v any = m
	for _, k := range sp.keys {
		d, ok := v.(*data.Map)
		if !ok {
			return data.Lookup(m, sp.path, sp.delim)
		}
		if v, ok = d.Get(k); !ok {
			if sp.plain {
				return nil, false
			}
			return data.Lookup(m, sp.path, sp.delim)
		}
	}
	return v, true
}

// matchAny compares the value at the end of a key path.
func (p *pattern) matchAny(s *subject, v any) bool {
	switch v := v.(type) {
	case *data.Map:
		return v.Len() > 0 && p.matchMap(s, v)
	case []any:
		return p.matchMembers(s, v)
	case data.Tuple:
		return p.matchMembers(s, v)
	}
	return p.matchText(s, v)
}

func (p *pattern) matchMembers(s *subject, list []any) bool {
	for _, v := range list {
		if m, ok := v.(*data.Map); ok && p.matchMap(s, m) {
			return true
		}
		if p.matchText(s, v) {
			return true
		}
	}
	return false
}

// matchMap matches a map. The pattern is a key, or a target on the map, or with a leading "*:" a
// target on its values.
func (p *pattern) matchMap(s *subject, m *data.Map) bool {
	if s.steps++; s.steps > maxWalk {
		return false
	}
	body := p
	if p.inner != nil {
		body = p.inner
	}
	if body.text == "*" || m.Has(body.text) || body.sub.match(s, m) {
		return true
	}
	return p.inner != nil && body.matchValues(s, m)
}

func (p *pattern) matchValues(s *subject, m *data.Map) bool {
	for _, v := range m.All() {
		switch v := v.(type) {
		case *data.Map:
			if p.matchMap(s, v) {
				return true
			}
		case []any:
			for _, item := range v {
				if p.matchText(s, item) {
					return true
				}
			}
		default:
			if p.matchText(s, v) {
				return true
			}
		}
	}
	return false
}

// matchText compares one value, as text in lower case.
func (p *pattern) matchText(s *subject, v any) bool {
	if s.steps++; s.steps > maxWalk {
		return false
	}
	text, ok := v.(string)
	if !ok {
		text = data.Str(v)
	}
	p.once.Do(p.compile)
	return p.test(strings.ToLower(text))
}

// compile prepares the comparison. An invalid regular expression matches nothing: it may be the end
// of a valid one that contains the delimiter.
func (p *pattern) compile() {
	lower := strings.ToLower(p.text)
	switch p.compare {
	case byValue:
		p.test = func(s string) bool { return s == lower }
	case byRegexp:
		re, err := CompileRegexp(lower)
		if err != nil {
			p.test = func(string) bool { return false }
			return
		}
		p.test = re.Match
	default:
		p.test = CompileGlob(lower).Match
	}
}
