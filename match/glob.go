package match

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A Glob is a pattern of Python's fnmatch.fnmatchcase: * matches any text, ? one character, [seq]
// and [!seq] one character of a set. It matches the whole text. The time is at most proportional to
// length of text × length of pattern. It is safe for concurrent use.
type Glob struct {
	parts  []globPart
	prefix string // literal text before the first other part
	exact  bool   // the pattern is only the prefix
}

type globKind uint8

const (
	literal globKind = iota
	anyText
	oneChar
	charSet
)

type globPart struct {
	kind   globKind
	char   rune
	negate bool
	ranges []runeRange
}

type runeRange struct{ lo, hi rune }

// CompileGlob compiles a pattern. Every text is valid: a bracket that is never closed matches
// itself.
func CompileGlob(pattern string) *Glob {
	g := &Glob{}
	src := []rune(pattern)
	for i := 0; i < len(src); {
		switch r := src[i]; {
		case r == '*':
			if n := len(g.parts); n == 0 || g.parts[n-1].kind != anyText {
				g.parts = append(g.parts, globPart{kind: anyText})
			}
			i++
		case r == '?':
			g.parts = append(g.parts, globPart{kind: oneChar})
			i++
		case r == '[' && setEnd(src, i) > 0:
			end := setEnd(src, i)
			g.parts = append(g.parts, newSet(src[i+1:end]))
			i = end + 1
		default:
			g.parts = append(g.parts, globPart{kind: literal, char: r})
			i++
		}
	}
	g.takePrefix()
	return g
}

// takePrefix moves the literal start of the pattern to a string, which is compared at once.
func (g *Glob) takePrefix() {
	n := slices.IndexFunc(g.parts, func(p globPart) bool { return p.kind != literal })
	if n < 0 {
		n, g.exact = len(g.parts), true
	}
	var b strings.Builder
	for _, p := range g.parts[:n] {
		b.WriteRune(p.char)
	}
	g.prefix, g.parts = b.String(), g.parts[n:]
}

// setEnd returns the position of the bracket that closes the set opened at i, or 0.
func setEnd(src []rune, i int) int {
	j := i + 1
	if j < len(src) && src[j] == '!' {
		j++
	}
	if j < len(src) && src[j] == ']' {
		j++
	}
	if n := slices.Index(src[min(j, len(src)):], ']'); n >= 0 {
		return j + n
	}
	return 0
}

// newSet parses the text between the brackets. A hyphen makes a range only between two characters;
// a backwards range is empty (CPython Lib/fnmatch.py, translate).
func newSet(src []rune) globPart {
	p := globPart{kind: charSet}
	if src[0] == '!' {
		p.negate, src = true, src[1:]
	}
	for i := 0; i < len(src); {
		if i+2 < len(src) && src[i+1] == '-' {
			if src[i] <= src[i+2] {
				p.ranges = append(p.ranges, runeRange{src[i], src[i+2]})
			}
			i += 3
			continue
		}
		p.ranges = append(p.ranges, runeRange{src[i], src[i]})
		i++
	}
	return p
}

// Match reports whether the whole of s matches.
func (g *Glob) Match(s string) bool {
	if g.exact {
		return s == g.prefix
	}
	rest, ok := strings.CutPrefix(s, g.prefix)
	if !ok {
		return false
	}
	if len(g.parts) == 1 && g.parts[0].kind == anyText {
		return true
	}
	return matchParts(g.parts, rest)
}

// matchParts backtracks only to the last *: the text matched by an earlier one never needs to
// change.
func matchParts(parts []globPart, s string) bool {
	at, star, starAt := 0, -1, 0
	for i := 0; i < len(s) || at < len(parts); {
		if at < len(parts) && parts[at].kind == anyText {
			star, starAt = at, i
			at++
			continue
		}
		if i < len(s) && at < len(parts) {
			r, size := utf8.DecodeRuneInString(s[i:])
			if parts[at].has(r) {
				i += size
				at++
				continue
			}
		}
		if star < 0 || starAt >= len(s) {
			return false
		}
		_, size := utf8.DecodeRuneInString(s[starAt:])
		starAt += size
		i, at = starAt, star+1
	}
	return true
}

func (p *globPart) has(r rune) bool {
	switch p.kind {
	case literal:
		return p.char == r
	case oneChar:
		return true
	}
	in := slices.ContainsFunc(p.ranges, func(x runeRange) bool { return x.lo <= r && r <= x.hi })
	return in != p.negate
}
