package match

import (
	"errors"
	"fmt"
)

// A parser parses the words of a compound target: not binds tightest, then and, then or.
//
//	or      = and { "or" and }
//	and     = not { "and" not | "not" … }       an `and` may be left out before `not`
//	not     = [ "not" ] primary
//	primary = "(" or ")" | word
//
// Two `not` in a row are an error, as in Salt. The master closes brackets that are left open at the
// end; the minion does not. On the minion, `( )` is a condition that nobody meets; on the master it
// is an error.
type parser struct {
	*compiler
	words []string
	at    int
	depth int
}

func (p *parser) next() string {
	if p.at < len(p.words) {
		return p.words[p.at]
	}
	return ""
}

func (p *parser) ended() bool { return p.at >= len(p.words) }

func (p *parser) take(w string) bool {
	if !p.ended() && p.next() == w {
		p.at++
		return true
	}
	return false
}

func (p *parser) or() (node, error) {
	var all orNode
	for {
		n, err := p.and()
		if err != nil {
			return nil, err
		}
		if all = append(all, n); !p.take("or") {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

func (p *parser) and() (node, error) {
	var all andNode
	for {
		n, err := p.not()
		if err != nil {
			return nil, err
		}
		all = append(all, n)
		if !p.take("and") && p.next() != "not" {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

func (p *parser) not() (node, error) {
	if !p.take("not") {
		return p.primary(false)
	}
	n, err := p.primary(true)
	if err != nil {
		return nil, err
	}
	return notNode{n}, nil
}

// primary parses a bracket or a word; negated means that `not` precedes it.
func (p *parser) primary(negated bool) (node, error) {
	if p.ended() {
		return nil, fmt.Errorf("%w: it ends where a condition is expected", ErrMalformed)
	}
	if p.take("(") {
		return p.bracket()
	}
	w := p.next()
	if isOperator(w) {
		return nil, fmt.Errorf("%w: %q found where a condition is expected", ErrMalformed, w)
	}
	p.at++
	return p.condition(w, negated)
}

func (p *parser) bracket() (node, error) {
	if p.depth++; p.depth > MaxDepth {
		return nil, fmt.Errorf("%w: more than %d open brackets", ErrTooBig, MaxDepth)
	}
	if p.next() == ")" && !p.master {
		p.at++
		p.depth--
		return noneNode{}, nil
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if !p.take(")") && !(p.master && p.ended()) {
		return nil, fmt.Errorf("%w: a bracket is not closed", ErrMalformed)
	}
	p.depth--
	return n, nil
}

// condition compiles one word.
func (p *parser) condition(text string, negated bool) (node, error) {
	w := ParseWord(text)
	if w.Engine == "" {
		return p.leaf("glob", text, "")
	}
	kind := engines[w.Engine]
	if p.exact && (w.Engine == "I" || w.Engine == "J") {
		kind = "pillar_exact"
	}
	n, err := p.leaf(kind, w.Pattern, w.Delimiter)
	switch {
	case w.Engine == "S" && errors.Is(err, ErrMalformed):
		return noneNode{}, nil
	case err != nil:
		return nil, err
	}
	if list, ok := n.(*listNode); ok && !negated {
		p.lists = append(p.lists, list)
	}
	return n, nil
}
