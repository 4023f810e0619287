package saltjinja

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/match"
)

// regexFilters returns the filters that use regular expressions of Python's re
// (salt/utils/jinja.py).
func regexFilters() map[string]jinja.Func {
	return map[string]jinja.Func{
		"regex_escape": textFilter("regex_escape", regexEscape), "regex_replace": regexReplace,
		"regex_search": func(c *jinja.Call) (any, error) { return regexGroups(c, "regex_search", false) },
		"regex_match":  func(c *jinja.Call) (any, error) { return regexGroups(c, "regex_match", true) },
	}
}

// regexEscape is re.escape.
func regexEscape(s string) (any, error) {
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf && strings.ContainsRune("()[]{}?*+-|^$\\.&~# \t\n\r\v\f", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String(), nil
}

// regex compiles argument i with the flags of the arguments after it.
func (p *params) regex(i, flags int, atStart bool) *match.Groups {
	expr := p.text(i)
	fold, lines := p.truth(flags), p.truth(flags+1)
	if p.err != nil {
		return nil
	}
	compile := match.CompileGroups
	if atStart {
		compile = match.CompileAtStart
	}
	re, err := compile(expr, fold, lines)
	if err != nil {
		p.err = jinja.Raise("error", "%s", cmp.Or(errors.Unwrap(err), err))
	}
	return re
}

func regexGroups(c *jinja.Call, name string, atStart bool) (any, error) {
	p := bind(c, name, "txt", "rgx", "ignorecase=", "multiline=")
	text, re := p.text(0), p.regex(1, 2, atStart)
	if p.err != nil {
		return nil, p.err
	}
	m, err := re.Find(text)
	if err != nil || m == nil {
		return nil, searchError(err)
	}
	groups := make(data.Tuple, 0, len(m)/2-1)
	for i := 2; i < len(m); i += 2 {
		if m[i] < 0 {
			groups = append(groups, nil)
			continue
		}
		groups = append(groups, text[m[i]:m[i+1]])
	}
	return groups, nil
}

// searchError converts the error of a search that took too long.
func searchError(err error) error {
	if err == nil {
		return nil
	}
	return jinja.Raise("error", "%s", err)
}

func testMatch(c *jinja.Call) (any, error) {
	p := bind(c, "test_match", "txt", "rgx", "ignorecase=", "multiline=")
	text, re := p.text(0), p.regex(1, 2, true)
	if p.err != nil {
		return nil, p.err
	}
	found, err := re.Match(text)
	return found, searchError(err)
}

func regexReplace(c *jinja.Call) (any, error) {
	p := bind(c, "regex_replace", "txt", "rgx", "val", "ignorecase=", "multiline=")
	text, re, value := p.text(0), p.regex(1, 3, false), p.text(2)
	if p.err != nil {
		return nil, p.err
	}
	parts, err := replacement(value, re)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	last := 0
	found, err := re.FindAll(text, 0)
	if err != nil {
		return nil, searchError(err)
	}
	for _, m := range found {
		b.WriteString(text[last:m[0]])
		for _, part := range parts {
			part.write(&b, text, m)
		}
		last = m[1]
		if b.Len() > 32<<20 {
			return nil, c.Room(b.Len())
		}
	}
	b.WriteString(text[last:])
	return b.String(), c.Room(b.Len())
}

// A part of a replacement is text, or the group of that number.
type part struct {
	text  string
	group int // -1: text
}

func (p part) write(b *strings.Builder, text string, m []int) {
	if p.group < 0 {
		b.WriteString(p.text)
	} else if at := 2 * p.group; m[at] >= 0 {
		b.WriteString(text[m[at]:m[at+1]])
	}
}

// replacement parses the text that replaces a match: \1, \g<1>, \g<name>, \n and the like (re.sub).
func replacement(s string, re *match.Groups) ([]part, error) {
	var parts []part
	for s != "" {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			if i >= 0 {
				return nil, jinja.Raise("error", "bad escape (end of pattern)")
			}
			return append(parts, part{s, -1}), nil
		}
		p, size, err := escaped(s[i:], re)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{s[:i], -1}, p)
		s = s[i+size:]
	}
	return parts, nil
}

func escaped(s string, re *match.Groups) (part, int, error) {
	c := s[1]
	if i := strings.IndexByte(`abfnrtv\`, c); i >= 0 {
		return part{"\a\b\f\n\r\t\v\\"[i : i+1], -1}, 2, nil
	}
	switch {
	case c == 'g':
		name, _, ok := strings.Cut(strings.TrimPrefix(s, `\g<`), ">")
		if !ok || !strings.HasPrefix(s, `\g<`) {
			return part{}, 0, jinja.Raise("error", "missing group name")
		}
		p, err := groupPart(name, re)
		return p, len(name) + 4, err
	case c == '0':
		return part{"\x00", -1}, 2, nil
	case c >= '1' && c <= '9':
		end := 2
		if len(s) > 2 && s[2] >= '0' && s[2] <= '9' {
			end = 3
		}
		p, err := groupPart(s[1:end], re)
		return p, end, err
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return part{}, 0, jinja.Raise("error", "bad escape \\%c at position 0", c)
	}
	return part{`\` + string(c), -1}, 2, nil
}

func groupPart(name string, re *match.Groups) (part, error) {
	n, err := strconv.Atoi(name)
	if err != nil {
		if n = re.SubexpIndex(name); n < 0 {
			return part{}, jinja.Raise(jinja.IndexError, "unknown group name %s", data.Repr(name))
		}
	}
	if n < 0 || n > re.NumSubexp() {
		return part{}, jinja.Raise("error", "invalid group reference %d at position 1", n)
	}
	return part{"", n}, nil
}
