package jinja

import "slices"

// A use is a filter or test that a template uses outside of conditions.
type use struct {
	test bool
	name string
	line int
}

// uses records the required filters and tests of an expression.
func (r *resolver) uses(e expr, soft bool) {
	if soft || e == nil {
		return
	}
	switch e := e.(type) {
	case *filterExpr:
		if e == nil {
			return
		}
		r.use(use{false, e.name, e.line})
		r.uses(e.of, soft)
		r.usesOf(&e.arguments)
	case *testExpr:
		r.use(use{true, e.name, e.line})
		r.uses(e.of, soft)
		r.usesOf(&e.arguments)
	case *condExpr, *constExpr, *nameExpr:
	case *attrExpr:
		r.uses(e.of, soft)
	case *callExpr:
		r.uses(e.fn, soft)
		r.usesOf(&e.arguments)
	default:
		r.usesWithin(e)
	}
}

func (r *resolver) use(u use) {
	if !slices.Contains(r.prog.uses, u) {
		r.prog.uses = append(r.prog.uses, u)
	}
}

func (r *resolver) usesOf(a *arguments) {
	for _, e := range a.pos {
		r.uses(e, false)
	}
	for _, k := range a.kw {
		r.uses(k.value, false)
	}
	r.uses(a.star, false)
	r.uses(a.starStar, false)
}

func (r *resolver) usesWithin(e expr) {
	list := func(list ...expr) {
		for _, e := range list {
			r.uses(e, false)
		}
	}
	switch e := e.(type) {
	case *tupleExpr:
		list(e.items...)
	case *listExpr:
		list(e.items...)
	case *dictExpr:
		list(e.keys...)
		list(e.values...)
	case *binaryExpr:
		list(e.left, e.right)
	case *logicExpr:
		list(e.left, e.right)
	case *unaryExpr:
		list(e.arg)
	case *notExpr:
		list(e.arg)
	case *compareExpr:
		list(e.first)
		list(e.rest...)
	case *concatExpr:
		list(e.parts...)
	case *itemExpr:
		list(e.of, e.key)
	case *sliceExpr:
		list(e.start, e.stop, e.step)
	}
}
