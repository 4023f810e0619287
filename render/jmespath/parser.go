package jmespath

import (
	"github.com/brineproject/brine/internal/pyjson"

	"fmt"
	"strconv"
	"strings"
)

// A parser parses an expression by the binding power of its signs, as jmespath/parser.py does.
type parser struct {
	tokens []token
	pos    int
	depth  int
	err    error
}

const (
	maxDepth  = 100
	stopPower = 10 // signs of less power end a projection
)

func power(kind string) int {
	switch kind {
	case "|":
		return 1
	case "||":
		return 2
	case "&&":
		return 3
	case "==", "!=", "<", "<=", ">", ">=":
		return 5
	case "[]":
		return 9
	case "*":
		return 20
	case "[?":
		return 21
	case ".":
		return 40
	case "[":
		return 55
	}
	return 0
}

func parse(src string) (node, error) {
	tokens, err := lex(src)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	n := p.expression(0)
	if p.err == nil && p.peek() != "end" {
		p.fail()
	}
	return n, p.err
}

func (p *parser) peek() string  { return p.tokens[min(p.pos, len(p.tokens)-1)].kind }
func (p *parser) ahead() string { return p.tokens[min(p.pos+1, len(p.tokens)-1)].kind }

func (p *parser) take() token {
	t := p.tokens[min(p.pos, len(p.tokens)-1)]
	p.pos++
	return t
}

func (p *parser) need(kind string) token {
	if p.peek() != kind {
		p.fail()
	}
	return p.take()
}

func (p *parser) fail() {
	t := p.tokens[min(p.pos, len(p.tokens)-1)]
	if p.err == nil {
		p.err = fmt.Errorf("invalid token: parse error at column %d, token %q (%s)", t.pos,
			t.text, t.kind)
	}
}

// expression parses as long as signs bind tighter than least.
func (p *parser) expression(least int) node {
	if p.depth++; p.depth > maxDepth && p.err == nil {
		p.err = fmt.Errorf("jmespath expression nests deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	if p.err != nil {
		return current{}
	}
	left := p.prefix(p.take())
	for p.err == nil && power(p.peek()) > least {
		left = p.infix(left, p.take())
	}
	return left
}

// prefix parses an expression that begins with t.
func (p *parser) prefix(t token) node {
	switch t.kind {
	case "name":
		if p.peek() == "(" {
			return p.call(t.text)
		}
		return field(t.text)
	case "quoted":
		v, err := pyjson.Load(`"` + t.text + `"`)
		name, _ := v.(string)
		if err != nil || p.peek() == "(" {
			p.fail()
		}
		return field(name)
	case "raw":
		return literal{strings.ReplaceAll(t.text, `\'`, `'`)}
	case "literal":
		return p.literal(t.text)
	case "@":
		return current{}
	case "&":
		return reference{p.expression(0)}
	case "!":
		return not{p.expression(45)}
	case "(":
		n := p.expression(0)
		p.need(")")
		return n
	case "*":
		return project{left: values{current{}}, right: p.projection(20)}
	case "[]":
		return project{left: flat{current{}}, right: p.projection(9)}
	case "[?":
		return p.filter(current{})
	case "{":
		return p.hash()
	case "[":
		return p.bracket()
	}
	p.pos--
	p.fail()
	return current{}
}

func (p *parser) literal(text string) node {
	text = strings.TrimLeft(strings.ReplaceAll(text, "\\`", "`"), " \t\n\r")
	v, err := pyjson.Load(text)
	if err != nil {
		v, err = pyjson.Load(`"` + text + `"`) // a bare word, as in old expressions
	}
	if err != nil {
		p.fail()
	}
	return literal{v}
}

func (p *parser) bracket() node {
	switch {
	case p.peek() == "number" || p.peek() == ":":
		return p.index(current{})
	case p.peek() == "*" && p.ahead() == "]":
		p.pos += 2
		return project{left: current{}, right: p.projection(20)}
	}
	return p.list()
}

func (p *parser) infix(left node, t token) node {
	switch t.kind {
	case "|":
		return pipe{left, p.expression(1)}
	case "||":
		return either{left, p.expression(2)}
	case "&&":
		return both{left, p.expression(3)}
	case "==", "!=", "<", "<=", ">", ">=":
		return compare{t.kind, left, p.expression(5)}
	case "[]":
		return project{left: flat{left}, right: p.projection(9)}
	case "[?":
		return p.filter(left)
	case ".":
		if p.peek() == "*" {
			p.take()
			return project{left: values{left}, right: p.projection(20)}
		}
		return pipe{left, p.afterDot(40)}
	case "[":
		if p.peek() == "*" && p.ahead() == "]" {
			p.pos += 2
			return project{left: left, right: p.projection(20)}
		}
		if p.peek() == "number" || p.peek() == ":" {
			return p.index(left)
		}
	}
	p.pos--
	p.fail()
	p.pos++
	return left
}

// afterDot parses what may follow a dot.
func (p *parser) afterDot(least int) node {
	switch p.peek() {
	case "quoted", "name", "*":
		return p.expression(least)
	case "[":
		p.take()
		return p.list()
	case "{":
		p.take()
		return p.hash()
	}
	p.fail()
	return current{}
}

// projection parses the expression that is applied to each element.
func (p *parser) projection(least int) node {
	switch kind := p.peek(); {
	case power(kind) < stopPower:
		return current{}
	case kind == "[" || kind == "[?":
		return p.expression(least)
	case kind == ".":
		p.take()
		return p.afterDot(least)
	}
	p.fail()
	return current{}
}

func (p *parser) filter(left node) node {
	condition := p.expression(0)
	p.need("]")
	if p.peek() == "[]" {
		return project{left: left, right: current{}, filter: condition}
	}
	return project{left: left, right: p.projection(21), filter: condition}
}

// index parses [0] or [1:2:3] after its bracket.
func (p *parser) index(left node) node {
	var parts [3]*int
	at, colons := 0, 0
	for p.err == nil && p.peek() != "]" {
		switch p.peek() {
		case ":":
			p.take()
			colons++
			if at++; at > 2 {
				p.fail()
				return left
			}
		case "number":
			n, err := strconv.Atoi(p.take().text)
			if err != nil || parts[at] != nil {
				p.pos--
				p.fail()
			}
			parts[at] = &n
		default:
			p.fail()
		}
	}
	p.need("]")
	if colons == 0 {
		if parts[0] == nil {
			p.fail()
			return left
		}
		return index{left, *parts[0]}
	}
	return project{left: slice{left, parts}, right: p.projection(20)}
}

func (p *parser) list() node {
	var items multiList
	for p.err == nil {
		items = append(items, p.expression(0))
		if p.peek() == "]" {
			break
		}
		p.need(",")
	}
	p.need("]")
	return items
}

func (p *parser) hash() node {
	var pairs multiHash
	for p.err == nil {
		t := p.take()
		name := t.text
		switch t.kind {
		case "quoted":
			v, _ := pyjson.Load(`"` + t.text + `"`)
			name, _ = v.(string)
		case "name":
		default:
			p.pos--
			p.fail()
			return pairs
		}
		p.need(":")
		pairs = append(pairs, pair{name, p.expression(0)})
		if p.peek() == "}" {
			break
		}
		p.need(",")
	}
	p.need("}")
	return pairs
}

func (p *parser) call(name string) node {
	p.take()
	var args []node
	for p.err == nil && p.peek() != ")" {
		args = append(args, p.expression(0))
		if p.peek() == ")" {
			break
		}
		p.need(",")
		if p.peek() == ")" {
			p.fail()
		}
	}
	p.need(")")
	return function{name, args}
}
