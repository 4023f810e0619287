package jinja

import "strings"

// tupleRules determine how an expression list without required brackets is parsed.
type tupleRules struct {
	simple   bool // names and literals only
	condexpr bool // with inline ifs
	brackets bool // it is in round brackets, so it may be empty
}

func (p *parser) tuple(r tupleRules) expr {
	line := p.cur.line
	var items []expr
	isTuple := false
	for {
		if len(items) > 0 {
			p.expect(",")
		}
		if p.tupleEnds() {
			break
		}
		items = append(items, p.tupleItem(r))
		if p.cur.kind != "," {
			break
		}
		isTuple = true
		line = p.cur.line
	}
	if isTuple {
		return &tupleExpr{at{line: line}, items}
	}
	if len(items) > 0 {
		return items[0]
	}
	if !r.brackets {
		p.failHere("Expected an expression, got %s", quote(p.cur.describe()))
	}
	return &tupleExpr{at{line: line}, nil}
}

func (p *parser) tupleItem(r tupleRules) expr {
	switch {
	case r.simple:
		return p.primary()
	case r.condexpr:
		return p.expression()
	}
	defer func() { p.depth-- }()
	p.deeper()
	return p.or()
}

func (p *parser) tupleEnds() bool {
	switch p.cur.kind {
	case tokVarEnd, tokBlockEnd, ")":
		return true
	}
	return p.err != nil
}

func (p *parser) expression() expr {
	defer func() { p.depth-- }()
	if !p.deeper() {
		return &constExpr{}
	}
	line := p.cur.line
	e := p.or()
	for p.skipName("if") {
		c := &condExpr{at: p.over(line, e), yes: e, test: p.or()}
		if p.skipName("else") {
			c.no = p.expression()
		} else {
			c.where = p.place(line)
		}
		e = c
		line = p.cur.line
	}
	return e
}

func (p *parser) or() expr {
	line := p.cur.line
	e := p.and()
	for p.skipName("or") {
		e = &logicExpr{p.over(line, e), true, e, p.and()}
		line = p.cur.line
	}
	return e
}

func (p *parser) and() expr {
	line := p.cur.line
	e := p.not()
	for p.skipName("and") {
		e = &logicExpr{p.over(line, e), false, e, p.not()}
		line = p.cur.line
	}
	return e
}

func (p *parser) not() expr {
	if !p.cur.isName("not") {
		return p.compare()
	}
	defer func() { p.depth-- }()
	p.deeper()
	line := p.next().line
	return &notExpr{at{line: line}, p.not()}
}

func (p *parser) compare() expr {
	line := p.cur.line
	first := p.sum()
	var ops []tokenKind
	var rest []expr
	for {
		op := p.compareOp()
		if op == "" {
			break
		}
		ops = append(ops, op)
		rest = append(rest, p.sum())
		line = p.cur.line
	}
	if ops == nil {
		return first
	}
	return &compareExpr{at{line: line}, first, ops, rest}
}

func (p *parser) compareOp() tokenKind {
	switch k := p.cur.kind; k {
	case "==", "!=", "<", "<=", ">", ">=":
		p.next()
		return k
	}
	if p.skipName("in") {
		return "in"
	}
	if p.cur.isName("not") && p.look().isName("in") {
		p.next()
		p.next()
		return "not in"
	}
	return ""
}

func (p *parser) sum() expr {
	line := p.cur.line
	e := p.concat()
	for p.cur.kind == "+" || p.cur.kind == "-" {
		op := p.next().kind
		e = &binaryExpr{p.over(line, e), op, e, p.concat()}
		line = p.cur.line
	}
	return e
}

// maxHeight limits trees that grow to the left, as chains of operators and filters do.
const maxHeight = 2_000

// over returns the position and height of a node whose left part is below.
func (p *parser) over(line int, below expr) at {
	high := below.height() + 1
	if high > maxHeight {
		p.failHere("more than %d operators, filters and calls in a row", maxHeight)
	}
	return at{line, high}
}

func (p *parser) concat() expr {
	line := p.cur.line
	e := p.product()
	if p.cur.kind != "~" {
		return e
	}
	parts := []expr{e}
	for p.skip("~") {
		parts = append(parts, p.product())
	}
	return &concatExpr{at{line: line}, parts}
}

func (p *parser) product() expr {
	line := p.cur.line
	e := p.power()
	for {
		switch op := p.cur.kind; op {
		case "*", "/", "//", "%":
			p.next()
			e = &binaryExpr{p.over(line, e), op, e, p.power()}
			line = p.cur.line
		default:
			return e
		}
	}
}

func (p *parser) power() expr {
	line := p.cur.line
	e := p.unary(true)
	for p.skip("**") {
		e = &binaryExpr{p.over(line, e), "**", e, p.unary(true)}
		line = p.cur.line
	}
	return e
}

func (p *parser) unary(filters bool) expr {
	var e expr
	switch k := p.cur.kind; k {
	case "-", "+":
		p.deeper()
		line := p.next().line
		e = &unaryExpr{at{line: line}, k, p.unary(false)}
		p.depth--
	default:
		e = p.primary()
	}
	e = p.postfix(e)
	if filters {
		e = p.filterExprs(e)
	}
	return e
}

func (p *parser) primary() expr {
	t := *p.cur
	switch t.kind {
	case tokName:
		p.next()
		return namedValue(t)
	case tokString:
		return p.textLiteral()
	case tokInteger, tokFloat:
		p.next()
		return &constExpr{at{line: t.line}, t.value}
	case "(":
		p.next()
		p.deeper()
		e := p.tuple(tupleRules{condexpr: true, brackets: true})
		p.depth--
		p.expect(")")
		return e
	case "[":
		return p.list()
	case "{":
		return p.dict()
	}
	p.fail(t.line, "unexpected %s", quote(t.describe()))
	return &constExpr{}
}

func namedValue(t token) expr {
	switch t.text {
	case "true", "True":
		return &constExpr{at{line: t.line}, true}
	case "false", "False":
		return &constExpr{at{line: t.line}, false}
	case "none", "None":
		return &constExpr{at{line: t.line}, nil}
	}
	return &nameExpr{at: at{line: t.line}, name: t.text}
}

// textLiteral joins adjacent literals.
func (p *parser) textLiteral() expr {
	t := p.next()
	if p.cur.kind != tokString {
		return &constExpr{at{line: t.line}, t.text}
	}
	var b strings.Builder
	b.WriteString(t.text)
	for p.cur.kind == tokString {
		b.WriteString(p.next().text)
	}
	return &constExpr{at{line: t.line}, b.String()}
}

func (p *parser) list() expr {
	e := &listExpr{at: at{line: p.next().line}}
	for p.more("]") {
		if len(e.items) > 0 {
			p.expect(",")
		}
		if p.cur.kind == "]" {
			break
		}
		e.items = append(e.items, p.expression())
	}
	p.expect("]")
	return e
}

func (p *parser) dict() expr {
	e := &dictExpr{at: at{line: p.next().line}}
	for p.more("}") {
		if len(e.keys) > 0 {
			p.expect(",")
		}
		if p.cur.kind == "}" {
			break
		}
		e.keys = append(e.keys, p.expression())
		p.expect(":")
		e.values = append(e.values, p.expression())
	}
	p.expect("}")
	return e
}

func (p *parser) postfix(e expr) expr {
	for p.err == nil {
		switch p.cur.kind {
		case ".":
			e = p.attribute(e)
		case "[":
			e = p.item(e)
		case "(":
			e = p.call(e)
		default:
			return e
		}
	}
	return e
}

func (p *parser) filterExprs(e expr) expr {
	for p.err == nil {
		switch {
		case p.cur.kind == "|":
			e = p.filters(e, false)
		case p.cur.isName("is"):
			e = p.test(e)
		case p.cur.kind == "(":
			e = p.call(e)
		default:
			return e
		}
	}
	return e
}

func (p *parser) attribute(of expr) expr {
	line := p.next().line
	t := p.next()
	switch t.kind {
	case tokName:
		return &attrExpr{p.over(line, of), of, t.text}
	case tokInteger:
		return &itemExpr{p.over(line, of), of, &constExpr{at{line: t.line}, t.value}}
	}
	p.fail(t.line, "expected name or number")
	return of
}

func (p *parser) item(of expr) expr {
	line := p.next().line
	var args []expr
	for p.more("]") {
		if len(args) > 0 {
			p.expect(",")
		}
		args = append(args, p.subscript())
	}
	p.expect("]")
	if len(args) == 1 {
		return &itemExpr{p.over(line, of), of, args[0]}
	}
	return &itemExpr{p.over(line, of), of, &tupleExpr{at{line: line}, args}}
}

// subscript parses a key or a slice.
func (p *parser) subscript() expr {
	s := &sliceExpr{at: at{line: p.cur.line}}
	if p.cur.kind != ":" {
		s.start = p.expression()
		if p.cur.kind != ":" {
			return s.start
		}
	}
	p.next()
	s.stop = p.slicePart()
	if p.skip(":") {
		s.step = p.slicePart()
	}
	return s
}

func (p *parser) slicePart() expr {
	switch p.cur.kind {
	case ":", "]", ",":
		return nil
	}
	return p.expression()
}

func (p *parser) call(fn expr) expr {
	line := p.cur.line
	return &callExpr{p.over(line, fn), fn, p.arguments()}
}

func (p *parser) arguments() arguments {
	var a arguments
	line := p.expect("(").line
	for comma := false; p.more(")"); comma = true {
		if comma {
			p.expect(",")
			if p.cur.kind == ")" {
				break
			}
		}
		if !p.argument(&a) {
			p.fail(line, "invalid syntax for function call expression")
		}
	}
	p.expect(")")
	return a
}

// argument parses one argument and reports whether it is allowed at its position.
func (p *parser) argument(a *arguments) bool {
	switch {
	case p.cur.kind == "*":
		if a.star != nil || a.starStar != nil {
			return false
		}
		p.next()
		a.star = p.expression()
	case p.cur.kind == "**":
		if a.starStar != nil {
			return false
		}
		p.next()
		a.starStar = p.expression()
	case p.cur.kind == tokName && p.look().kind == "=":
		if a.starStar != nil {
			return false
		}
		name := p.next().text
		p.next()
		a.kw = append(a.kw, namedExpr{name, p.expression()})
	default:
		if a.star != nil || a.starStar != nil || a.kw != nil {
			return false
		}
		a.pos = append(a.pos, p.expression())
	}
	return true
}

// dotted parses a name that may contain dots.
func (p *parser) dotted() (name string, line int) {
	t := p.expect(tokName)
	name = t.text
	for p.skip(".") {
		name += "." + p.expect(tokName).text
	}
	return name, t.line
}

func (p *parser) filters(e expr, inline bool) expr {
	for p.err == nil && (inline || p.cur.kind == "|") {
		if !inline {
			p.next()
		}
		inline = false
		f := &filterExpr{of: e}
		f.name, f.line = p.dotted()
		if e != nil {
			f.at = p.over(f.line, e)
		}
		if p.cur.kind == "(" {
			f.arguments = p.arguments()
		}
		e = f
	}
	return e
}

func (p *parser) test(of expr) expr {
	line := p.next().line
	negated := p.skipName("not")
	t := &testExpr{at: p.over(line, of), of: of}
	t.name, _ = p.dotted()
	switch {
	case p.cur.kind == "(":
		t.arguments = p.arguments()
	case p.testArgument():
		if p.cur.isName("is") {
			p.failHere("You cannot chain multiple tests with is")
		}
		t.pos = []expr{p.postfix(p.primary())}
	}
	if negated {
		return &notExpr{p.over(line, t), t}
	}
	return t
}

// testArgument reports whether the argument of a test follows without brackets.
func (p *parser) testArgument() bool {
	switch p.cur.kind {
	case tokName:
		return !p.cur.isName("else") && !p.cur.isName("or") && !p.cur.isName("and")
	case tokString, tokInteger, tokFloat, "[", "{":
		return true
	}
	return false
}
