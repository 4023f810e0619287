package match

import (
	"fmt"
	"regexp/syntax"
	"unicode/utf8"
)

// maxSteps limits the work of one match of an expression with assertions. Only long texts reach it,
// and then the expression does not match.
const maxSteps = 5_000_000

// A program runs an expression with assertions. It keeps the set of reached states and advances it
// one character at a time, so that nothing is tried twice. Each assertion is evaluated once per
// position.
type program struct {
	prog    *syntax.Prog
	asserts []check
}

// A check is a compiled assertion.
type check struct {
	*program
	behind, negate bool
	width          int // characters before the position where a look-behind starts
}

func newProgram(tree *syntax.Regexp, asserts []assertion) (*program, error) {
	p := &program{}
	for _, a := range asserts {
		c, err := newCheck(a)
		if err != nil {
			return nil, err
		}
		p.asserts = append(p.asserts, c)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, syntaxError(err)
	}
	p.prog = prog
	return p, nil
}

func newCheck(a assertion) (check, error) {
	tree, err := parseBounded(a.body.text)
	if err != nil {
		return check{}, err
	}
	c := check{behind: a.behind, negate: a.negate}
	if a.behind {
		if c.width, err = fixedWidth(tree); err != nil {
			return check{}, err
		}
	}
	c.program, err = newProgram(tree, a.body.asserts)
	return c, err
}

// fixedWidth returns how many characters a tree matches, or an error if that varies.
func fixedWidth(re *syntax.Regexp) (int, error) {
	switch re.Op {
	case syntax.OpLiteral:
		if len(re.Rune) == 1 && isMark(re.Rune[0]) {
			return 0, nil
		}
		return len(re.Rune), nil
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1, nil
	case syntax.OpCapture, syntax.OpConcat:
		return sumWidths(re.Sub)
	case syntax.OpAlternate:
		return sameWidth(re.Sub)
	case syntax.OpRepeat:
		n, err := fixedWidth(re.Sub[0])
		if err == nil && n > 0 && re.Min != re.Max {
			err = errWidth
		}
		return n * re.Min, err
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		if n, err := fixedWidth(re.Sub[0]); err != nil || n > 0 {
			return 0, errWidth
		}
	}
	return 0, nil
}

var errWidth = fmt.Errorf("look-behind requires fixed-width pattern")

func sumWidths(subs []*syntax.Regexp) (int, error) {
	sum := 0
	for _, sub := range subs {
		n, err := fixedWidth(sub)
		if err != nil {
			return 0, err
		}
		if sum += n; sum > MaxLength {
			return 0, fmt.Errorf("look-behind: %w", ErrTooBig)
		}
	}
	return sum, nil
}

func sameWidth(subs []*syntax.Regexp) (int, error) {
	want := -1
	for _, sub := range subs {
		n, err := fixedWidth(sub)
		if err != nil || want >= 0 && n != want {
			return 0, errWidth
		}
		want = n
	}
	return max(want, 0), nil
}

// match reports whether the program matches at the start of s.
func (p *program) match(s string) bool {
	if utf8.RuneCountInString(s) > maxSteps {
		return false
	}
	r := run{text: []rune(s), steps: maxSteps, memo: map[memoKey]bool{}}
	for i, c := range r.text {
		if isMark(c) {
			r.text[i] = utf8.RuneError // must not be mistaken for an assertion
		}
	}
	return r.from(p, 0, -1) && r.steps > 0
}

// A run is one match.
type run struct {
	text  []rune
	steps int
	memo  map[memoKey]bool
}

type memoKey struct {
	check *check
	at    int
}

// states is a set of program counters, in order of arrival.
type states struct {
	list []uint32
	has  []bool
}

func (s *states) add(pc uint32) bool {
	if s.has[pc] {
		return false
	}
	s.has[pc] = true
	s.list = append(s.list, pc)
	return true
}

func (s *states) clear() {
	for _, pc := range s.list {
		s.has[pc] = false
	}
	s.list = s.list[:0]
}

// from runs p from a position in the text; end ≥ 0 is the position where the match has to end.
func (r *run) from(p *program, at, end int) bool {
	n := len(p.prog.Inst)
	now, next := &states{has: make([]bool, n)}, &states{has: make([]bool, n)}
	r.steps -= n / 8
	if r.reach(p, now, uint32(p.prog.Start), at, end) {
		return true
	}
	for ; at < len(r.text) && len(now.list) > 0 && r.steps > 0; at++ {
		for _, pc := range now.list {
			r.steps--
			inst := &p.prog.Inst[pc]
			if consumes(inst) && inst.MatchRune(r.text[at]) &&
				r.reach(p, next, inst.Out, at+1, end) {
				return true
			}
		}
		now, next = next, now
		next.clear()
	}
	return false
}

func consumes(i *syntax.Inst) bool {
	switch i.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// reach adds pc and all states that follow it without consuming a character. It reports whether the
// match is complete.
func (r *run) reach(p *program, set *states, pc uint32, at, end int) bool {
	for stack := []uint32{pc}; len(stack) > 0 && r.steps > 0; {
		pc, stack = stack[len(stack)-1], stack[:len(stack)-1]
		if !set.add(pc) {
			continue
		}
		r.steps--
		switch inst := &p.prog.Inst[pc]; inst.Op {
		case syntax.InstMatch:
			if end < 0 || at == end {
				return true
			}
		case syntax.InstAlt, syntax.InstAltMatch:
			stack = append(stack, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			stack = append(stack, inst.Out)
		case syntax.InstEmptyWidth:
			if inst.MatchEmptyWidth(r.rune(at-1), r.rune(at)) {
				stack = append(stack, inst.Out)
			}
		case syntax.InstRune, syntax.InstRune1:
			if c := p.mark(inst); c != nil && r.holds(c, at) {
				stack = append(stack, inst.Out)
			}
		}
	}
	return false
}

// mark returns the assertion that an instruction stands for.
func (p *program) mark(i *syntax.Inst) *check {
	if len(i.Rune) != 1 || !isMark(i.Rune[0]) || int(i.Rune[0]-marks) >= len(p.asserts) {
		return nil
	}
	return &p.asserts[i.Rune[0]-marks]
}

func (r *run) holds(c *check, at int) bool {
	key := memoKey{c, at}
	if known, ok := r.memo[key]; ok {
		return known
	}
	found := false
	switch {
	case !c.behind:
		found = r.from(c.program, at, -1)
	case at >= c.width:
		found = r.from(c.program, at-c.width, at)
	}
	r.memo[key] = found != c.negate
	return r.memo[key]
}

func (r *run) rune(at int) rune {
	if at < 0 || at >= len(r.text) {
		return -1
	}
	return r.text[at]
}
