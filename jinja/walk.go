package jinja

import "slices"

// A visitor visits the names and statements of a tree in the same order as Jinja's visitors.
type visitor struct {
	name  func(*nameExpr)
	ns    func(*nsRef)
	enter func(stmt) bool // reports whether to visit the contents of a statement
	// called for an expression of attributes, keys, calls, filters or tests; nil is allowed
	each func(expr)
	// called for a keyword argument that a call has more than once; nil is allowed
	twice func(arg string)
}

func (v *visitor) exprs(list ...expr) {
	for _, e := range list {
		v.expr(e)
	}
}

func (v *visitor) expr(e expr) {
	switch e := e.(type) {
	case nil, *constExpr:
	case *nameExpr:
		v.name(e)
	case *nsRef:
		if v.ns != nil {
			v.ns(e)
		}
	case *tupleExpr:
		v.exprs(e.items...)
	case *listExpr:
		v.exprs(e.items...)
	case *dictExpr:
		for i := range e.keys {
			v.exprs(e.keys[i], e.values[i])
		}
	case *binaryExpr:
		v.exprs(e.left, e.right)
	case *logicExpr:
		v.exprs(e.left, e.right)
	case *unaryExpr:
		v.expr(e.arg)
	case *notExpr:
		v.expr(e.arg)
	case *compareExpr:
		v.expr(e.first)
		v.exprs(e.rest...)
	case *concatExpr:
		v.exprs(e.parts...)
	default:
		v.postfix(e)
	}
}

func (v *visitor) postfix(e expr) {
	if f, ok := e.(*filterExpr); ok && f == nil {
		return
	}
	if v.each != nil {
		v.each(e)
	}
	switch e := e.(type) {
	case *attrExpr:
		v.expr(e.of)
	case *itemExpr:
		v.exprs(e.of, e.key)
	case *sliceExpr:
		v.exprs(e.start, e.stop, e.step)
	case *callExpr:
		v.expr(e.fn)
		v.arguments(&e.arguments)
	case *filterExpr:
		v.expr(e.of)
		v.arguments(&e.arguments)
	case *testExpr:
		v.expr(e.of)
		v.arguments(&e.arguments)
	case *condExpr:
		v.exprs(e.test, e.yes, e.no)
	}
}

func (v *visitor) arguments(a *arguments) {
	v.exprs(a.pos...)
	for i, k := range a.kw {
		if v.twice != nil && slices.ContainsFunc(a.kw[:i],
			func(e namedExpr) bool { return e.name == k.name }) {
			v.twice(k.name)
		}
		v.expr(k.value)
	}
	v.exprs(a.star, a.starStar)
}

func (v *visitor) stmts(list []stmt) {
	for _, s := range list {
		if v.enter(s) {
			v.children(s)
		}
	}
}

// children visits everything in a statement.
func (v *visitor) children(s stmt) {
	switch s := s.(type) {
	case *outputStmt:
		for _, item := range s.items {
			v.expr(item.expr)
		}
	case *setStmt:
		v.exprs(s.target, s.value)
	case *setBlockStmt:
		v.expr(s.target)
		v.postfix(s.filter)
		v.stmts(s.body.stmts)
	case *ifStmt:
		v.branch(s)
		for _, e := range s.elifs {
			v.branch(e)
		}
		v.stmts(s.orElse)
	case *forStmt:
		v.exprs(s.target, s.iter)
		v.stmts(s.body.stmts)
		if s.orElse != nil {
			v.stmts(s.orElse.stmts)
		}
		v.expr(s.test)
	case *macroStmt:
		v.macro(&s.macroDef)
	case *callStmt:
		v.expr(s.call)
		v.macro(&s.macroDef)
	case *filterStmt:
		v.stmts(s.body.stmts)
		v.postfix(s.filter)
	default:
		v.rare(s)
	}
}

func (v *visitor) branch(s *ifStmt) {
	v.expr(s.test)
	v.stmts(s.then)
}

func (v *visitor) macro(m *macroDef) {
	for _, a := range m.args {
		v.name(a)
	}
	v.exprs(m.defaults...)
	v.stmts(m.body.stmts)
}

func (v *visitor) rare(s stmt) {
	switch s := s.(type) {
	case *withStmt:
		v.exprs(s.targets...)
		v.exprs(s.values...)
		v.stmts(s.body.stmts)
	case *autoescapeStmt:
		v.expr(s.value)
		v.stmts(s.body.stmts)
	case *blockStmt:
		v.stmts(s.def.stmts)
	case *extendsStmt:
		v.expr(s.template)
	case *includeStmt:
		v.expr(s.template)
	case *importStmt:
		v.expr(s.template)
	case *fromStmt:
		v.expr(s.template)
	case *doStmt:
		v.expr(s.value)
	case *tagStmt:
		v.exprs(s.exprs...)
		for _, b := range s.bodies {
			v.stmts(b.stmts)
		}
		if s.target != nil {
			v.name(s.target)
		}
	}
}

// undeclared returns which of names are read in stmts before they are stored there. Blocks are
// ignored.
func undeclared(stmts []stmt, names ...string) map[string]bool {
	open := map[string]bool{}
	for _, n := range names {
		open[n] = true
	}
	found := map[string]bool{}
	v := &visitor{
		name: func(n *nameExpr) {
			if n.access == loads && open[n.name] {
				found[n.name] = true
			} else if n.access != loads {
				delete(open, n.name)
			}
		},
		enter: func(s stmt) bool { _, block := s.(*blockStmt); return !block },
	}
	v.stmts(stmts)
	return found
}
