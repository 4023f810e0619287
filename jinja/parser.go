package jinja

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// A parser converts tokens to a tree (jinja2/parser.py). The first error ends the tokens; anything
// parsed after it is dropped.
type parser struct {
	lex      *lexer
	pos      int // in the available tokens
	cur      *token
	name     string // for messages; "" for a template without a loader
	tags     map[string]Tag
	tagStack []string
	endStack [][]string // the names that end each open block
	depth    int
	nesting  int
	err      *Error
	end      token
}

func parse(src string, key cacheKey, tags map[string]Tag, limits Limits) ([]stmt, *Error) {
	p := &parser{lex: newLexer(src, key.syntax), tags: tags, nesting: limits.Nesting}
	if key.loader != fromText {
		p.name = key.name
	}
	p.arrive()
	stmts := p.subparse(nil)
	return stmts, p.err
}

// arrive makes the token at pos the current one.
func (p *parser) arrive() {
	if p.err != nil {
		return
	}
	if p.pos >= len(p.lex.tokens) {
		p.lex.tokens, p.pos = p.lex.tokens[:0], 0
		p.lex.more()
	}
	p.cur = &p.lex.tokens[p.pos]
	if p.cur.kind == tokError {
		e := p.cur.value.(*Error)
		p.stop(e)
	}
}

// next advances and returns the token that was current.
func (p *parser) next() token {
	was := *p.cur
	if p.err == nil && p.cur.kind != tokEOF {
		p.pos++
		p.arrive()
	}
	return was
}

// look returns the token after the current one; an error there is reported at once.
func (p *parser) look() token {
	if p.err != nil || p.cur.kind == tokEOF {
		return *p.cur
	}
	if p.pos+1 >= len(p.lex.tokens) {
		p.lex.more()
		p.cur = &p.lex.tokens[p.pos]
	}
	t := p.lex.tokens[p.pos+1]
	if t.kind == tokError {
		p.stop(t.value.(*Error))
		return *p.cur
	}
	return t
}

func (p *parser) stop(e *Error) {
	if p.err == nil {
		p.err = e
		p.end = token{kind: tokEOF, line: e.Line}
	}
	p.cur = &p.end
}

func (p *parser) fail(line int, format string, args ...any) {
	p.stop(&Error{Kind: SyntaxError, Message: fmt.Sprintf(format, args...), Line: line})
}

func (p *parser) failHere(format string, args ...any) { p.fail(p.cur.line, format, args...) }

// more reports whether a list continues, that is, whether the current token is not its end.
func (p *parser) more(end tokenKind) bool { return p.err == nil && p.cur.kind != end }

func (p *parser) skip(kind tokenKind) bool {
	if p.cur.kind == kind {
		p.next()
		return true
	}
	return false
}

func (p *parser) skipName(name string) bool {
	if p.cur.isName(name) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(kind tokenKind) token {
	if p.cur.kind != kind {
		p.unexpected(kind.describe())
		return *p.cur
	}
	return p.next()
}

func (p *parser) expectName(name string) token {
	if !p.cur.isName(name) {
		p.unexpected(name)
		return *p.cur
	}
	return p.next()
}

func (p *parser) unexpected(want string) {
	if p.cur.kind == tokEOF {
		p.failHere("unexpected end of template, expected %s.", quote(want))
		return
	}
	p.failHere("expected token %s, got %s", quote(want), quote(p.cur.describe()))
}

// quote is Python's repr of a text.
func quote(s string) string { return data.Repr(s) }

// deeper guards the recursion of the parser and of code that walks its tree; p.depth-- undoes it.
func (p *parser) deeper() bool {
	p.depth++
	if p.depth > p.nesting {
		p.failHere("more than %d levels of nesting", p.nesting)
		return false
	}
	return true
}

// unknownTag reports a misplaced tag or, without a name, the end of the template.
func (p *parser) unknownTag(name string, atEnd bool, line int) {
	var parts []string
	if atEnd {
		parts = append(parts, "Unexpected end of template.")
	} else {
		parts = append(parts, fmt.Sprintf("Encountered unknown tag %s.", quote(name)))
	}
	if n := len(p.endStack); n > 0 {
		var quoted []string
		for _, e := range p.endStack[n-1] {
			quoted = append(quoted, quote(e))
		}
		looking := strings.Join(quoted, " or ")
		expected := slices.ContainsFunc(p.endStack,
			func(ends []string) bool { return slices.Contains(ends, name) })
		if !atEnd && expected {
			parts = append(parts, "You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for "+looking+".")
		} else {
			parts = append(parts, "Jinja was looking for the following tags: "+looking+".")
		}
	}
	if n := len(p.tagStack); n > 0 {
		parts = append(parts, fmt.Sprintf("The innermost block that needs to be closed is %s.",
			quote(p.tagStack[n-1])))
	}
	p.fail(line, "%s", strings.Join(parts, " "))
}

// subparse parses statements up to a tag in ends, which becomes the current token, or to the end of
// the template.
func (p *parser) subparse(ends []string) []stmt {
	if ends != nil {
		p.endStack = append(p.endStack, ends)
		defer func() { p.endStack = p.endStack[:len(p.endStack)-1] }()
	}
	defer func() { p.depth-- }()
	if !p.deeper() {
		return nil
	}
	var out []stmt
	var text []outputItem
	flush := func() {
		if len(text) > 0 {
			out = append(out, &outputStmt{items: text})
			text = nil
		}
	}
	for p.cur.kind != tokEOF {
		switch p.cur.kind {
		case tokData:
			text = append(text, outputItem{text: p.next().text})
		case tokVarBegin:
			p.next()
			text = append(text, outputItem{expr: p.tuple(tupleRules{condexpr: true})})
			p.expect(tokVarEnd)
		default:
			flush()
			p.next()
			if ends != nil && p.cur.kind == tokName && slices.Contains(ends, p.cur.text) {
				return out
			}
			out = append(out, p.statement()...)
			p.expect(tokBlockEnd)
		}
	}
	flush()
	return out
}

// statements parses the body of a block, from the end of its first tag to a tag in ends.
func (p *parser) statements(drop bool, ends ...string) []stmt {
	p.skip(":")
	p.expect(tokBlockEnd)
	out := p.subparse(ends)
	if p.cur.kind == tokEOF && p.err == nil {
		p.endStack = append(p.endStack, ends)
		p.unknownTag("", true, p.cur.line)
		p.endStack = p.endStack[:len(p.endStack)-1]
	}
	if drop {
		p.next()
	}
	return out
}

func (p *parser) statement() []stmt {
	t := *p.cur
	if t.kind != tokName {
		p.fail(t.line, "tag name expected")
		return nil
	}
	p.tagStack = append(p.tagStack, t.text)
	depth := len(p.tagStack)
	defer func() { p.tagStack = p.tagStack[:min(depth-1, len(p.tagStack))] }()
	if s := p.builtin(t.text); s != nil {
		return []stmt{s}
	}
	if p.err != nil {
		return nil
	}
	if tag, ok := p.tags[t.text]; ok {
		return p.custom(t, tag)
	}
	p.tagStack = p.tagStack[:depth-1]
	p.unknownTag(t.text, false, t.line)
	return nil
}

// builtin parses the statement of a tag of the language, or returns nil.
func (p *parser) builtin(tag string) stmt {
	switch tag {
	case "for":
		return p.parseFor()
	case "if":
		return p.parseIf()
	case "set":
		return p.parseSet()
	case "do":
		line := p.next().line
		return &doStmt{at{line: line}, p.tuple(tupleRules{condexpr: true})}
	case "from":
		return p.parseFrom()
	case "import":
		return p.parseImport()
	case "include":
		return p.parseInclude()
	case "macro":
		return p.parseMacro()
	case "call":
		return p.parseCall()
	case "filter":
		return p.parseFilterBlock()
	case "with":
		return p.parseWith()
	}
	return p.rareBuiltin(tag)
}

func (p *parser) rareBuiltin(tag string) stmt {
	switch tag {
	case "print":
		return p.parsePrint()
	case "block":
		return p.parseBlock()
	case "extends":
		line := p.next().line
		return &extendsStmt{at{line: line}, p.expression()}
	case "autoescape":
		line := p.next().line
		value := p.expression()
		return &autoescapeStmt{at{line: line}, value,
			body{stmts: p.statements(true, "endautoescape")}}
	case "break":
		return &jumpStmt{at{line: p.next().line}, false}
	case "continue":
		return &jumpStmt{at{line: p.next().line}, true}
	}
	return nil
}

func (p *parser) parseFor() stmt {
	s := &forStmt{at: at{line: p.next().line}, loop: -1}
	s.target = p.target(targetRules{tuple: true})
	p.expectName("in")
	s.iter = p.tuple(tupleRules{})
	if p.skipName("if") {
		s.test = p.expression()
	}
	s.recursive = p.skipName("recursive")
	s.body.stmts = p.statements(false, "endfor", "else")
	if p.next().text != "endfor" {
		s.orElse = &body{stmts: p.statements(true, "endfor")}
	}
	return s
}

func (p *parser) parseIf() stmt {
	s := &ifStmt{at: at{line: p.next().line}}
	for node := s; ; {
		node.test = p.tuple(tupleRules{})
		node.then = p.statements(false, "elif", "else", "endif")
		end := p.next()
		if end.isName("elif") {
			node = &ifStmt{at: at{line: p.cur.line}}
			s.elifs = append(s.elifs, node)
			continue
		}
		if end.isName("else") {
			s.orElse = p.statements(true, "endif")
		}
		return s
	}
}

func (p *parser) parseSet() stmt {
	line := p.next().line
	target := p.target(targetRules{tuple: true, namespace: true})
	if p.skip("=") {
		return &setStmt{at: at{line: line}, target: target,
			value: p.tuple(tupleRules{condexpr: true})}
	}
	var filter *filterExpr
	if e := p.filters(nil, false); e != nil {
		filter = e.(*filterExpr)
	}
	return &setBlockStmt{at: at{line: line}, target: target, filter: filter,
		body: body{stmts: p.statements(true, "endset")}}
}

func (p *parser) parseWith() stmt {
	s := &withStmt{at: at{line: p.next().line}}
	for p.more(tokBlockEnd) {
		if len(s.targets) > 0 {
			p.expect(",")
		}
		target := p.target(targetRules{tuple: true})
		eachName(target, func(n *nameExpr) { n.access = params })
		s.targets = append(s.targets, target)
		p.expect("=")
		s.values = append(s.values, p.expression())
	}
	s.body.stmts = p.statements(true, "endwith")
	return s
}

func (p *parser) parseBlock() stmt {
	s := &blockStmt{at: at{line: p.next().line}}
	s.name = p.expect(tokName).text
	s.scoped = p.skipName("scoped")
	s.required = p.skipName("required")
	if p.cur.kind == "-" {
		p.failHere("Block names in Jinja have to be valid Python identifiers and may not contain hyphens, use an underscore instead.")
	}
	stmts := p.statements(true, "endblock")
	if s.required && !blank(stmts) {
		p.failHere("Required blocks can only contain comments or whitespace")
	}
	s.def = &blockDef{name: s.name, stmts: stmts}
	p.skipName(s.name)
	return s
}

// blank reports whether statements are only white space.
func blank(stmts []stmt) bool {
	for _, s := range stmts {
		out, ok := s.(*outputStmt)
		if !ok {
			return false
		}
		for _, item := range out.items {
			if item.expr != nil || strings.TrimFunc(item.text, isSpace) != "" {
				return false
			}
		}
	}
	return true
}

// withContext parses "with context" and "without context".
func (p *parser) withContext(otherwise bool) (with, given bool) {
	if (p.cur.isName("with") || p.cur.isName("without")) && p.look().isName("context") {
		with = p.next().text == "with"
		p.next()
		return with, true
	}
	return otherwise, false
}

func (p *parser) parseInclude() stmt {
	s := &includeStmt{at: at{line: p.next().line}}
	s.template = p.expression()
	if p.cur.isName("ignore") && p.look().isName("missing") {
		s.ignoreMissing = true
		p.next()
		p.next()
	}
	s.withContext, _ = p.withContext(true)
	return s
}

func (p *parser) parseImport() stmt {
	s := &importStmt{at: at{line: p.next().line}}
	s.template = p.expression()
	p.expectName("as")
	s.target = p.storeName().name
	s.withContext, _ = p.withContext(false)
	return s
}

func (p *parser) parseFrom() stmt {
	s := &fromStmt{at: at{line: p.next().line}}
	s.template = p.expression()
	p.expectName("import")
	for p.err == nil {
		if len(s.names) > 0 {
			p.expect(",")
		}
		if p.cur.kind != tokName {
			p.expect(tokName)
			break
		}
		var given bool
		if s.withContext, given = p.withContext(false); given {
			break
		}
		s.names = append(s.names, p.importedName())
		if s.withContext, given = p.withContext(false); given || p.cur.kind != "," {
			break
		}
	}
	s.where = p.place(s.line)
	return s
}

// place describes a line in messages of the language itself.
func (p *parser) place(line int) string {
	if p.name == "" {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("line %d in %s", line, quote(p.name))
}

func (p *parser) importedName() importedName {
	n := p.storeName()
	if strings.HasPrefix(n.name, "_") {
		p.stop(&Error{Kind: AssertionError,
			Message: "names starting with an underline can not be imported", Line: n.line})
	}
	if p.skipName("as") {
		return importedName{name: n.name, alias: p.storeName().name}
	}
	return importedName{name: n.name, alias: n.name}
}

// signature parses the parameters of a macro or call block.
func (p *parser) signature(m *macroDef) {
	p.expect("(")
	for p.more(")") {
		if len(m.args) > 0 {
			p.expect(",")
		}
		arg := p.storeName()
		arg.access = params
		if p.skip("=") {
			m.defaults = append(m.defaults, p.expression())
		} else if len(m.defaults) > 0 {
			p.failHere("non-default argument follows default argument")
		}
		m.args = append(m.args, arg)
	}
	p.expect(")")
}

func newMacro(line int) macroDef {
	return macroDef{at: at{line: line}, caller: -1, kwargs: -1, varargs: -1}
}

func (p *parser) parseMacro() stmt {
	s := &macroStmt{macroDef: newMacro(p.next().line)}
	s.name = p.storeName().name
	p.signature(&s.macroDef)
	s.body.stmts = p.statements(true, "endmacro")
	return s
}

func (p *parser) parseCall() stmt {
	s := &callStmt{macroDef: newMacro(p.next().line)}
	if p.cur.kind == "(" {
		p.signature(&s.macroDef)
	}
	call, ok := p.expression().(*callExpr)
	if !ok {
		p.fail(s.line, "expected call")
		return s
	}
	s.call = call
	s.body.stmts = p.statements(true, "endcall")
	return s
}

func (p *parser) parseFilterBlock() stmt {
	s := &filterStmt{at: at{line: p.next().line}}
	s.filter, _ = p.filters(nil, true).(*filterExpr)
	s.body.stmts = p.statements(true, "endfilter")
	return s
}

func (p *parser) parsePrint() stmt {
	p.next()
	s := &outputStmt{}
	for p.more(tokBlockEnd) {
		if len(s.items) > 0 {
			p.expect(",")
		}
		s.items = append(s.items, outputItem{expr: p.expression()})
	}
	return s
}

type targetRules struct {
	tuple     bool
	namespace bool
}

func (p *parser) storeName() *nameExpr {
	t := p.expect(tokName)
	n := &nameExpr{at: at{line: t.line}, name: t.text, access: stores}
	switch n.name {
	case "true", "false", "none", "True", "False", "None":
		p.fail(t.line, "can't assign to 'name'")
	}
	return n
}

// target parses an assignment target.
func (p *parser) target(r targetRules) expr {
	if r.namespace && p.look().kind == "." {
		name := p.expect(tokName)
		p.next()
		attr := p.expect(tokName)
		return &nsRef{at: at{line: name.line}, name: name.text, attr: attr.text}
	}
	e := p.tuple(tupleRules{simple: true})
	if kind, line := assignable(e); kind != "" && p.err == nil {
		p.fail(line, "can't assign to '%s'", kind)
	}
	eachName(e, func(n *nameExpr) { n.access = stores })
	return e
}

// assignable returns the kind of e if it is not a valid assignment target.
func assignable(e expr) (kind string, line int) {
	switch e := e.(type) {
	case *nameExpr:
		return "", 0
	case *tupleExpr:
		for _, item := range e.items {
			if kind, _ := assignable(item); kind != "" {
				return "tuple", e.line
			}
		}
		return "", 0
	case nil:
		return "", 0
	case *constExpr:
		return "const", e.line
	case *listExpr:
		return "list", e.line
	case *dictExpr:
		return "dict", e.line
	}
	return "expr", e.lineno()
}

// eachName visits the names of a target.
func eachName(target expr, visit func(*nameExpr)) {
	switch e := target.(type) {
	case *nameExpr:
		visit(e)
	case *tupleExpr:
		for _, item := range e.items {
			eachName(item, visit)
		}
	}
}
