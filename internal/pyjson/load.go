package pyjson

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// maxLoadDepth limits the nesting of a JSON document; Python's own limit is about the same.
const maxLoadDepth = 900

// Load parses a JSON document as Python's json.loads does: NaN and Infinity are numbers, the
// last value of a repeated key counts, and errors have its texts. A document may nest 900 deep.
func Load(text string) (any, error) {
	p := &parser{src: text}
	if strings.HasPrefix(text, "\ufeff") {
		return nil, p.fail(0, "Unexpected UTF-8 BOM (decode using utf-8-sig)")
	}
	p.space()
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.pos < len(p.src) {
		return nil, p.fail(p.pos, "Extra data")
	}
	return v, nil
}

// A SyntaxError reports where a JSON document is invalid (json.JSONDecodeError).
type SyntaxError struct {
	Problem      string
	Line, Column int // from 1, in characters
	Position     int // from 0, in characters
}

// Error returns Python's text.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s: line %d column %d (char %d)", e.Problem, e.Line, e.Column, e.Position)
}

type parser struct {
	src string
	pos int
}

func (p *parser) fail(at int, problem string) error {
	before := p.src[:min(at, len(p.src))]
	start := strings.LastIndexByte(before, '\n') + 1
	return &SyntaxError{problem, strings.Count(before, "\n") + 1,
		utf8.RuneCountInString(before[start:]) + 1, utf8.RuneCountInString(before)}
}

func (p *parser) space() {
	for p.pos < len(p.src) && strings.IndexByte(" \t\n\r", p.src[p.pos]) >= 0 {
		p.pos++
	}
}

// at reports whether c comes next.
func (p *parser) at(c byte) bool { return p.pos < len(p.src) && p.src[p.pos] == c }

func (p *parser) value(depth int) (any, error) {
	if depth > maxLoadDepth {
		return nil, p.fail(p.pos, "maximum recursion depth exceeded while decoding a JSON document")
	}
	switch {
	case p.at('{'):
		return p.object(depth)
	case p.at('['):
		return p.array(depth)
	case p.at('"'):
		return p.text()
	}
	for _, w := range []struct {
		word  string
		value any
	}{{"null", nil}, {"true", true}, {"false", false}, {"NaN", math.NaN()},
		{"Infinity", math.Inf(1)}, {"-Infinity", math.Inf(-1)}} {
		if strings.HasPrefix(p.src[p.pos:], w.word) {
			p.pos += len(w.word)
			return w.value, nil
		}
	}
	return p.number()
}

func (p *parser) object(depth int) (any, error) {
	m := data.NewMap()
	p.pos++
	if p.space(); p.at('}') {
		p.pos++
		return m, nil
	}
	for {
		if !p.at('"') {
			return nil, p.fail(p.pos, "Expecting property name enclosed in double quotes")
		}
		key, err := p.text()
		if err != nil {
			return nil, err
		}
		if p.space(); !p.at(':') {
			return nil, p.fail(p.pos, "Expecting ':' delimiter")
		}
		p.pos++
		p.space()
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		m.Set(key, v)
		if done, err := p.next('}'); done || err != nil {
			return m, err
		}
	}
}

func (p *parser) array(depth int) (any, error) {
	list := []any{}
	p.pos++
	if p.space(); p.at(']') {
		p.pos++
		return list, nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if done, err := p.next(']'); done || err != nil {
			return list, err
		}
	}
}

// next skips the separator between two elements and reports whether the end came instead.
func (p *parser) next(end byte) (bool, error) {
	p.space()
	switch {
	case p.at(end):
		p.pos++
		return true, nil
	case !p.at(','):
		return false, p.fail(p.pos, "Expecting ',' delimiter")
	}
	p.pos++
	p.space()
	return false, nil
}

func (p *parser) number() (any, error) {
	start, end := p.pos, p.pos
	digits := func() bool {
		from := end
		for end < len(p.src) && p.src[end] >= '0' && p.src[end] <= '9' {
			end++
		}
		return end > from
	}
	if p.at('-') {
		end++
	}
	if strings.HasPrefix(p.src[end:], "0") {
		end++
	} else if !digits() {
		return nil, p.fail(start, "Expecting value")
	}
	whole := end
	if strings.HasPrefix(p.src[end:], ".") {
		if end++; !digits() {
			end = whole
		}
	}
	mantissa := end
	if end < len(p.src) && (p.src[end] == 'e' || p.src[end] == 'E') {
		if end++; end < len(p.src) && (p.src[end] == '+' || p.src[end] == '-') {
			end++
		}
		if !digits() {
			end = mantissa
		}
	}
	p.pos = end
	return numberOf(p.src[start:end], end == whole), nil
}

func numberOf(text string, whole bool) any {
	if !whole {
		f, _ := strconv.ParseFloat(text, 64) // too large numbers are infinite, as in Python
		return f
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	n, _ := new(big.Int).SetString(text, 10)
	return n
}

// text parses a string; half of a surrogate pair becomes U+FFFD.
func (p *parser) text() (string, error) {
	begin := p.pos
	var b strings.Builder
	for p.pos++; p.pos < len(p.src); {
		c := p.src[p.pos]
		switch {
		case c == '"':
			p.pos++
			return b.String(), nil
		case c < ' ':
			return "", p.fail(p.pos, "Invalid control character at")
		case c == '\\':
			if err := p.escape(&b, begin); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
			p.pos++
		}
	}
	return "", p.fail(begin, "Unterminated string starting at")
}

func (p *parser) escape(b *strings.Builder, begin int) error {
	if p.pos+1 >= len(p.src) {
		return p.fail(begin, "Unterminated string starting at")
	}
	c := p.src[p.pos+1]
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		b.WriteByte("\"\\/\b\f\n\r\t"[i])
		p.pos += 2
		return nil
	}
	if c != 'u' {
		return p.fail(p.pos, "Invalid \\escape")
	}
	r, err := p.hex()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(r) && strings.HasPrefix(p.src[p.pos:], `\u`) {
		at := p.pos
		low, err := p.hex()
		if err != nil {
			return err
		}
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			r = pair
		} else {
			p.pos = at
		}
	}
	b.WriteRune(r)
	return nil
}

// hex parses \uXXXX.
func (p *parser) hex() (rune, error) {
	if p.pos+6 <= len(p.src) {
		if n, err := strconv.ParseUint(p.src[p.pos+2:p.pos+6], 16, 32); err == nil {
			p.pos += 6
			return rune(n), nil
		}
	}
	return 0, p.fail(p.pos+1, "Invalid \\uXXXX escape")
}
