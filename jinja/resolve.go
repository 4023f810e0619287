package jinja

import (
	"fmt"
	"slices"
	"strings"
)

// A program is a parsed and resolved template; it is immutable.
type program struct {
	name   string
	source string
	named  bool // by a loader, so that messages of the language itself may contain the name
	stmts  []stmt
	body   body
	slots  int
	self   int // slot of self; -1 if the template does not use it
	blocks map[string]*blockDef
	order  []string // names of blocks in the order of the source
	uses   []use    // required filters and tests
}

// compile parses and resolves a source.
func compile(src string, key cacheKey, tags map[string]Tag, limits Limits) (*program, error) {
	name := key.name
	p := &program{name: name, source: src, named: key.loader != fromText, self: -1,
		blocks: map[string]*blockDef{}}
	if len(src) > limits.Source {
		return nil, p.locate(&Error{Kind: LimitError,
			Message: fmt.Sprintf("source of %d bytes is larger than %d", len(src), limits.Source)})
	}
	stmts, err := parse(src, key, tags, limits)
	if err != nil {
		return nil, p.locate(err)
	}
	p.stmts = stmts
	r := &resolver{prog: p}
	if r.template(); r.err != nil {
		return nil, p.locate(r.err)
	}
	return p, nil
}

func (p *program) locate(e *Error) *Error {
	e.Template, e.Source = p.name, p.source
	return e
}

// A resolver assigns a slot to each name.
type resolver struct {
	prog    *program
	extends bool
	loop    bool // the template uses the name loop somewhere
	marked  int  // the last line recorded for a statement; statements without a line use it
	err     *Error
}

// A place is the context of a statement.
type place struct {
	sym      *symbols
	toplevel bool // its variables are exported
	root     bool // within the function of the template, where output may be dropped
	soft     bool // within a condition: filters are looked up when they run
	inLoop   bool
	block    bool
}

func (at place) inner(sym *symbols) place {
	at.sym, at.toplevel, at.soft, at.block = sym, false, false, false
	return at
}

func (r *resolver) fail(line int, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{Kind: AssertionError, Message: fmt.Sprintf(format, args...), Line: line}
	}
}

func (r *resolver) template() {
	p := r.prog
	r.collect(p.stmts)
	sym := newSymbols(&function{}, nil)
	if undeclared(p.stmts, "self")["self"] {
		p.self = sym.param("self")
	}
	r.declare(sym, p.stmts)
	r.stmts(p.stmts, place{sym: sym, toplevel: true, root: r.extends})
	p.body = body{p.stmts, sym.entries()}
	p.slots = sym.fn.slots
	for _, name := range p.order {
		r.block(p.blocks[name])
	}
}

// collect finds the blocks, and whether the template extends another one.
func (r *resolver) collect(stmts []stmt) {
	v := &visitor{name: func(n *nameExpr) { r.loop = r.loop || n.name == "loop" }}
	v.enter = func(s stmt) bool {
		switch s := s.(type) {
		case *extendsStmt:
			r.extends = true
		case *blockStmt:
			if r.prog.blocks[s.name] != nil {
				r.fail(s.line, "block %s defined twice", quote(s.name))
			}
			s.def.prog = r.prog
			r.prog.blocks[s.name] = s.def
			r.prog.order = append(r.prog.order, s.name)
			r.loop = r.loop || s.scoped
		}
		return true
	}
	v.stmts(stmts)
}

func (r *resolver) block(b *blockDef) {
	sym := newSymbols(&function{}, nil)
	b.self, b.super = -1, -1
	found := undeclared(b.stmts, "self", "super")
	if found["self"] {
		b.self = sym.param("self")
	}
	if found["super"] {
		b.super = sym.param("super")
	}
	r.declare(sym, b.stmts)
	r.stmts(b.stmts, place{sym: sym, block: true})
	b.body = body{b.stmts, sym.entries()}
	b.slots = sym.fn.slots
}

// declare finds the names of a frame; nested frames declare their own.
func (r *resolver) declare(sym *symbols, stmts []stmt) {
	d := &declarer{sym: sym}
	d.v = visitor{name: d.name, ns: func(n *nsRef) { sym.load(n.name) }, enter: d.enter}
	d.v.stmts(stmts)
}

type declarer struct {
	sym *symbols
	v   visitor
}

func (d *declarer) name(n *nameExpr) {
	switch n.access {
	case loads:
		d.sym.load(n.name)
	case stores:
		d.sym.store(n.name)
	case params:
		d.sym.param(n.name)
	}
}

func (d *declarer) enter(s stmt) bool {
	switch s := s.(type) {
	case *ifStmt:
		d.ifStmt(s)
	case *setStmt:
		d.v.exprs(s.value, s.target)
	case *forStmt:
		d.v.expr(s.iter)
	case *macroStmt:
		d.sym.store(s.name)
	case *callStmt:
		d.v.expr(s.call)
	case *filterStmt:
		d.v.postfix(s.filter)
	case *withStmt:
		d.v.exprs(s.values...)
	case *setBlockStmt:
		d.v.expr(s.target)
	case *blockStmt, *autoescapeStmt:
	case *importStmt:
		d.v.expr(s.template)
		d.sym.store(s.target)
	case *fromStmt:
		d.v.expr(s.template)
		for _, n := range s.names {
			d.sym.store(n.alias)
		}
	case *tagStmt:
		d.tag(s)
	default:
		return true
	}
	return false
}

func (d *declarer) ifStmt(s *ifStmt) {
	d.v.expr(s.test)
	d.sym.branches(
		func() { d.v.stmts(s.then) },
		func() {
			for _, e := range s.elifs {
				d.ifStmt(e)
			}
		},
		func() { d.v.stmts(s.orElse) },
	)
}

func (d *declarer) tag(s *tagStmt) {
	d.v.exprs(s.exprs...)
	for _, b := range s.bodies {
		if b.plain {
			d.v.stmts(b.stmts)
		}
	}
	if s.target != nil {
		d.name(s.target)
	}
}

// exprs assigns slots to the names in expressions.
func (r *resolver) exprs(at place, list ...expr) {
	for _, e := range list {
		r.expr(at, e)
	}
}

func (r *resolver) expr(at place, e expr) {
	if e == nil {
		return
	}
	v := &visitor{
		name:  func(n *nameExpr) { n.ref, _ = at.sym.find(n.name) },
		ns:    func(n *nsRef) { n.ref, _ = at.sym.find(n.name) },
		twice: func(arg string) { r.python(e.lineno(), "keyword argument repeated: "+arg) },
	}
	v.expr(e)
	r.uses(e, at.soft)
}

func (r *resolver) stmts(list []stmt, at place) {
	for _, s := range list {
		r.stmt(s, at)
	}
}

func (r *resolver) stmt(s stmt, at place) {
	r.mark(s)
	switch s := s.(type) {
	case *outputStmt:
		s.checked = at.root
		for _, item := range s.items {
			if _, constant := item.expr.(*constExpr); item.expr != nil && !constant {
				r.marked = item.expr.lineno()
			}
			r.expr(at, item.expr)
		}
	case *setStmt:
		r.exprs(at, s.target, s.value)
		s.export = exports(at, s.target)
	case *ifStmt:
		r.ifStmt(s, at)
	case *forStmt:
		r.forStmt(s, at)
	case *doStmt:
		r.expr(at, s.value)
	case *macroStmt:
		r.macro(&s.macroDef, at)
		s.ref, _ = at.sym.find(s.name)
		s.export = exports(at, &nameExpr{name: s.name})
	case *callStmt:
		r.macro(&s.macroDef, at)
		r.expr(at, s.call)
	case *setBlockStmt:
		r.setBlock(s, at)
	case *filterStmt:
		sym := at.sym.inner()
		r.declare(sym, s.body.stmts)
		(&declarer{sym: sym}).all(s.filter)
		inner := at.inner(sym)
		r.stmts(s.body.stmts, inner)
		r.expr(inner, s.filter)
		s.body.entry = sym.entries()
	case *withStmt:
		r.with(s, at)
	default:
		r.rare(s, at)
	}
}

// mark records the line of a statement at its beginning.
func (r *resolver) mark(s stmt) {
	switch s := s.(type) {
	case *outputStmt, *withStmt, *filterStmt, *setBlockStmt, *autoescapeStmt:
	case interface{ lineno() int }:
		r.marked = s.lineno()
	}
}

// all declares the names of one expression.
func (d *declarer) all(e expr) {
	v := visitor{name: d.name, ns: func(n *nsRef) { d.sym.load(n.name) }}
	v.expr(e)
}

func (r *resolver) rare(s stmt, at place) {
	switch s := s.(type) {
	case *autoescapeStmt:
		sym := at.sym.inner()
		(&declarer{sym: sym}).all(s.value)
		r.declare(sym, s.body.stmts)
		r.expr(at.inner(sym), s.value)
		r.stmts(s.body.stmts, at.inner(sym))
		s.body.entry = sym.entries()
	case *blockStmt:
		s.toplevel = at.toplevel
		if s.scoped {
			s.locals = at.sym.locals()
		}
	case *extendsStmt:
		if !at.toplevel {
			r.fail(s.line, "cannot use extend from a non top-level scope")
		}
		r.expr(at, s.template)
	case *includeStmt:
		r.expr(at, s.template)
		if s.withContext {
			s.locals = at.sym.locals()
		}
	case *importStmt:
		r.importStmt(s, at)
	case *fromStmt:
		r.fromStmt(s, at)
	case *jumpStmt:
		r.jump(s, at)
	case *tagStmt:
		r.tag(s, at)
	}
}

func (r *resolver) jump(s *jumpStmt, at place) {
	switch {
	case at.inLoop:
	case s.again:
		r.python(s.line, "'continue' not properly in loop")
	default:
		r.python(s.line, "'break' outside loop")
	}
}

// python reports code that Python would reject in the Python code that Jinja generates.
func (r *resolver) python(line int, message string) {
	if r.err == nil {
		r.err = &Error{Kind: PythonSyntaxError, Message: message, Line: line}
	}
}

// exports lists the names of a target that the template exports.
func exports(at place, target expr) []export {
	if !at.toplevel {
		return nil
	}
	var out []export
	eachName(target, func(n *nameExpr) {
		where, _ := at.sym.find(n.name)
		out = append(out, export{n.name, where, strings.HasPrefix(n.name, "_")})
	})
	return out
}

func (r *resolver) ifStmt(s *ifStmt, at place) {
	at.soft = true
	r.expr(at, s.test)
	r.stmts(s.then, at)
	for _, e := range s.elifs {
		r.expr(at, e.test)
		r.stmts(e.then, at)
	}
	r.stmts(s.orElse, at)
}

func (r *resolver) setBlock(s *setBlockStmt, at place) {
	sym := at.sym.inner()
	r.declare(sym, s.body.stmts)
	if s.filter != nil {
		(&declarer{sym: sym}).all(s.filter)
	}
	inner := at.inner(sym)
	inner.root = false
	r.stmts(s.body.stmts, inner)
	if s.filter != nil {
		r.expr(inner, s.filter)
	}
	r.expr(at, s.target)
	s.export = exports(at, s.target)
	s.body.entry = sym.entries()
}

func (r *resolver) with(s *withStmt, at place) {
	s.line = max(r.marked, 1)
	sym := at.sym.inner()
	for _, t := range s.targets {
		(&declarer{sym: sym}).all(t)
	}
	r.declare(sym, s.body.stmts)
	inner := at.inner(sym)
	r.exprs(inner, s.targets...)
	r.exprs(at, s.values...)
	r.stmts(s.body.stmts, inner)
	s.body.entry = sym.entries()
}

func (r *resolver) importStmt(s *importStmt, at place) {
	r.expr(at, s.template)
	s.ref, _ = at.sym.find(s.target)
	s.toplevel = at.toplevel
	if s.withContext {
		s.locals = at.sym.locals()
	}
}

func (r *resolver) fromStmt(s *fromStmt, at place) {
	r.expr(at, s.template)
	for i := range s.names {
		s.names[i].ref, _ = at.sym.find(s.names[i].alias)
	}
	s.toplevel = at.toplevel
	if s.withContext {
		s.locals = at.sym.locals()
	}
}

func (r *resolver) tag(s *tagStmt, at place) {
	r.exprs(at, s.exprs...)
	for _, b := range s.bodies {
		inner := at
		if !b.plain {
			sym := at.sym.inner()
			r.declare(sym, b.stmts)
			inner = at.inner(sym)
			inner.root = false
			defer func() { b.entry = sym.entries() }()
		}
		r.stmts(b.stmts, inner)
	}
	if s.target != nil {
		r.expr(at, s.target)
		s.export = exports(at, s.target)
	}
	s.locals = at.sym.locals()
}

func (r *resolver) forStmt(s *forStmt, at place) {
	// A recursive loop is a function of its own.
	sym := at.sym.inner()
	if s.recursive {
		sym = at.sym.function()
	}
	if s.recursive || r.loop && r.extended(s) {
		s.loop = sym.param("loop")
	}
	eachName(s.target, func(n *nameExpr) { sym.param(n.name) })
	r.keepLoop(s)
	r.declare(sym, s.body.stmts)
	r.loopTest(s, at, sym)
	r.expr(at, s.iter)
	inner := at.inner(sym)
	inner.inLoop = true
	r.expr(inner, s.target)
	r.stmts(s.body.stmts, inner)
	s.body.entry = sym.entries()
	if s.orElse != nil {
		r.loopElse(s, at, sym)
	}
	s.slots = sym.fn.slots
}

// keepLoop rejects loops that assign to the loop variable.
func (r *resolver) keepLoop(s *forStmt) {
	if !r.loop {
		return
	}
	v := &visitor{enter: func(stmt) bool { return true }}
	v.name = func(n *nameExpr) {
		if n.access == stores && n.name == "loop" {
			r.fail(n.line, "Can't assign to special loop variable in for-loop target")
		}
	}
	v.children(s)
}

// extended reports whether the body of a loop uses the loop variable.
func (r *resolver) extended(s *forStmt) bool {
	if undeclared(s.body.stmts, "loop")["loop"] {
		return true
	}
	found := false
	v := &visitor{name: func(*nameExpr) {}}
	v.enter = func(s stmt) bool {
		b, ok := s.(*blockStmt)
		found = found || ok && b.scoped
		return true
	}
	v.stmts(s.body.stmts)
	return found
}

func (r *resolver) loopTest(s *forStmt, at place, loop *symbols) {
	if s.test == nil {
		return
	}
	sym := newSymbols(loop.fn, at.sym)
	eachName(s.target, func(n *nameExpr) { sym.param(n.name) })
	(&declarer{sym: sym}).all(s.test)
	inner := at.inner(sym)
	s.testGoal = copyTarget(s.target)
	r.exprs(inner, s.testGoal, s.test)
	s.testEntry = sym.entries()
}

func copyTarget(e expr) expr {
	switch e := e.(type) {
	case *nameExpr:
		c := *e
		return &c
	case *tupleExpr:
		c := &tupleExpr{at: e.at}
		for _, item := range e.items {
			c.items = append(c.items, copyTarget(item))
		}
		return c
	}
	return e
}

func (r *resolver) loopElse(s *forStmt, at place, loop *symbols) {
	sym := newSymbols(loop.fn, at.sym)
	r.declare(sym, s.orElse.stmts)
	r.stmts(s.orElse.stmts, at.inner(sym))
	s.orElse.entry = sym.entries()
}

func (r *resolver) macro(m *macroDef, at place) {
	sym := at.sym.function()
	for i, a := range m.args {
		if slices.ContainsFunc(m.args[:i], func(b *nameExpr) bool { return b.name == a.name }) {
			r.python(m.line, "duplicate argument '"+a.name+"' in function definition")
		}
		sym.param(a.name)
		if a.name == "caller" {
			m.explicit = true
			if i < len(m.args)-len(m.defaults) && undeclared(m.body.stmts, "caller")["caller"] {
				r.fail(m.line, "When defining macros or call blocks the special \"caller\" argument must be omitted or be given a default.")
			}
		}
	}
	found := undeclared(m.body.stmts, "caller", "kwargs", "varargs")
	has := func(name string) bool {
		return slices.ContainsFunc(m.args, func(a *nameExpr) bool { return a.name == name })
	}
	if found["caller"] && !m.explicit {
		m.caller = sym.param("caller")
	}
	if found["kwargs"] && !has("kwargs") {
		m.kwargs = sym.param("kwargs")
	}
	if found["varargs"] && !has("varargs") {
		m.varargs = sym.param("varargs")
	}
	for _, d := range m.defaults {
		(&declarer{sym: sym}).all(d)
	}
	r.declare(sym, m.body.stmts)
	inner := at.inner(sym)
	inner.root, inner.inLoop = false, false
	for _, a := range m.args {
		a.ref, _ = sym.find(a.name)
	}
	r.exprs(inner, m.defaults...)
	r.stmts(m.body.stmts, inner)
	m.body.entry = sym.entries()
	m.slots = sym.fn.slots
}
