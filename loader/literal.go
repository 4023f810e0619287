package loader

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// Literal parses a Python literal like ast.literal_eval. The error is Python's.
func Literal(s string) (any, error) {
	v, err := literal(strings.TrimSpace(s))
	if err != nil {
		return nil, Exception("ValueError", "malformed node or string: %s", s)
	}
	return v, nil
}

// literal parses a Python literal: None, True, False, numbers, quoted strings, and lists, tuples
// and dictionaries of them.
func literal(s string) (any, error) {
	p := &literalParser{rest: s}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if p.blank(); p.rest != "" {
		return nil, fmt.Errorf("unexpected %q", p.rest)
	}
	return v, nil
}

type literalParser struct{ rest string }

func (p *literalParser) blank() { p.rest = strings.TrimLeft(p.rest, " ") }

// take removes c from the front of the rest and reports whether it was there.
func (p *literalParser) take(c string) bool {
	p.blank()
	rest, ok := strings.CutPrefix(p.rest, c)
	p.rest = rest
	return ok
}

func (p *literalParser) value() (any, error) {
	switch {
	case p.take("["):
		return p.list("]")
	case p.take("("):
		l, err := p.list(")")
		return data.Tuple(l), err
	case p.take("{"):
		return p.dict()
	case p.take("'"):
		return p.text("'")
	case p.take(`"`):
		return p.text(`"`)
	}
	return p.word()
}

func (p *literalParser) text(quote string) (any, error) {
	s, rest, ok := strings.Cut(p.rest, quote)
	if !ok {
		return nil, errors.New("text without end")
	}
	p.rest = rest
	return s, nil
}

func (p *literalParser) list(end string) ([]any, error) {
	list := []any{}
	for !p.take(end) {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if !p.take(",") && !strings.HasPrefix(p.rest, end) {
			return nil, fmt.Errorf("no %s", end)
		}
	}
	return list, nil
}

func (p *literalParser) dict() (any, error) {
	m := &data.Map{}
	for !p.take("}") {
		k, err := p.value()
		if err != nil {
			return nil, err
		}
		if !p.take(":") || !data.Hashable(k) {
			return nil, errors.New("bad dictionary")
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		m.Set(k, v)
		if !p.take(",") && !strings.HasPrefix(p.rest, "}") {
			return nil, errors.New("no }")
		}
	}
	return m, nil
}

func (p *literalParser) word() (any, error) {
	end := strings.IndexAny(p.rest, " ,:]})")
	if end < 0 {
		end = len(p.rest)
	}
	w := p.rest[:end]
	p.rest = p.rest[end:]
	switch w {
	case "None":
		return nil, nil
	case "True":
		return true, nil
	case "False":
		return false, nil
	}
	if n, err := strconv.ParseInt(w, 0, 64); err == nil {
		return n, nil
	}
	if f, err := strconv.ParseFloat(w, 64); err == nil {
		return f, nil
	}
	return nil, fmt.Errorf("%q is not a Python literal; strings need quotes", w)
}
