package jinja

import (
	"strings"

	"github.com/brineproject/brine/data"
)

func (e *constExpr) eval(*frame) (any, error) { return e.value, nil }

func (e *nameExpr) eval(f *frame) (any, error) {
	v := f.home(e.hops).slots[e.slot]
	if isMissing(v) {
		return f.undefinedName(e.name), nil
	}
	return v, nil
}

func (e *nsRef) eval(f *frame) (any, error) { return f.get(e.ref), nil }

func evalAll(f *frame, list []expr) ([]any, error) {
	out := make([]any, len(list))
	for i, e := range list {
		v, err := e.eval(f)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// evalTruth evaluates an expression as a condition, without an intermediate value if possible.
func evalTruth(f *frame, e expr) (bool, error) {
	v, err := e.eval(f)
	if err != nil {
		return false, err
	}
	if b, ok := v.(bool); ok {
		return b, nil
	}
	return f.run.truth(v)
}

func (e *tupleExpr) eval(f *frame) (any, error) {
	items, err := evalAll(f, e.items)
	if err != nil {
		return nil, err
	}
	return data.Tuple(items), f.run.room(16 * len(items))
}

func (e *listExpr) eval(f *frame) (any, error) {
	items, err := evalAll(f, e.items)
	if err != nil {
		return nil, err
	}
	return &List{items}, f.run.room(16 * len(items))
}

func (e *dictExpr) eval(f *frame) (any, error) {
	m := &data.Map{}
	m.Grow(len(e.keys))
	for i := range e.keys {
		k, err := e.keys[i].eval(f)
		if err != nil {
			return nil, err
		}
		v, err := e.values[i].eval(f)
		if err != nil {
			return nil, err
		}
		if k, err = hashKey(k); err != nil {
			return nil, err
		}
		m.Set(k, v)
	}
	return m, f.run.room(32 * len(e.keys))
}

func (e *binaryExpr) eval(f *frame) (any, error) {
	a, err := e.left.eval(f)
	if err != nil {
		return nil, err
	}
	b, err := e.right.eval(f)
	if err != nil {
		return nil, err
	}
	return f.run.binary(e.op, a, b)
}

func (e *unaryExpr) eval(f *frame) (any, error) {
	v, err := e.arg.eval(f)
	if err != nil {
		return nil, err
	}
	return f.run.unary(e.op, v)
}

func (e *logicExpr) eval(f *frame) (any, error) {
	v, err := e.left.eval(f)
	if err != nil {
		return nil, err
	}
	ok, err := f.run.truth(v)
	if err != nil {
		return nil, err
	}
	if ok == e.or {
		return v, nil
	}
	return e.right.eval(f)
}

func (e *notExpr) eval(f *frame) (any, error) {
	ok, err := evalTruth(f, e.arg)
	return !ok, err
}

func (e *compareExpr) eval(f *frame) (any, error) {
	left, err := e.first.eval(f)
	if err != nil {
		return nil, err
	}
	for i, op := range e.ops {
		right, err := e.rest[i].eval(f)
		if err != nil {
			return nil, err
		}
		ok, err := f.run.operate(op, left, right)
		if err != nil || !ok {
			return false, err
		}
		left = right
	}
	return true, nil
}

func (r *run) operate(op tokenKind, a, b any) (bool, error) {
	switch op {
	case "==":
		return r.equal(a, b)
	case "!=":
		same, err := r.equal(a, b)
		return !same, err
	case "in":
		return r.contains(b, a)
	case "not in":
		found, err := r.contains(b, a)
		return !found, err
	}
	return r.compare(op, a, b)
}

func (e *concatExpr) eval(f *frame) (any, error) {
	values, err := evalAll(f, e.parts)
	if err != nil {
		return nil, err
	}
	if *f.cx.autoescape {
		return f.run.joinMarkup(values)
	}
	var b strings.Builder
	for _, v := range values {
		text, err := f.run.str(v)
		if err != nil {
			return nil, err
		}
		if err := f.run.room(len(text)); err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// joinMarkup joins values to text if none of them is Markup; otherwise it escapes the others.
func (r *run) joinMarkup(values []any) (any, error) {
	safe := false
	for _, v := range values {
		_, ok := v.(Markup)
		safe = safe || ok
	}
	var b strings.Builder
	for _, v := range values {
		text, err := r.str(v)
		if err != nil {
			return nil, err
		}
		if _, ok := v.(Markup); !ok && safe {
			text = escapeHTML(text)
		}
		if err := r.room(len(text)); err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	if safe {
		return Markup(b.String()), nil
	}
	return b.String(), nil
}

func (e *condExpr) eval(f *frame) (any, error) {
	ok, err := evalTruth(f, e.test)
	if err != nil {
		return nil, err
	}
	if ok {
		return e.yes.eval(f)
	}
	if e.no != nil {
		return e.no.eval(f)
	}
	// Jinja uses the plain Undefined here, so that it prints as nothing even if everything else is
	// strict.
	return &Undefined{hint: "the inline if-expression on " + e.where +
		" evaluated to false and no else section was defined.", obj: missing{}}, nil
}

func (e *attrExpr) eval(f *frame) (any, error) {
	v, err := e.of.eval(f)
	if err != nil {
		return nil, err
	}
	return f.run.getattr(v, e.name)
}

func (e *itemExpr) eval(f *frame) (any, error) {
	v, err := e.of.eval(f)
	if err != nil {
		return nil, err
	}
	if s, ok := e.key.(*sliceExpr); ok {
		return s.slice(f, v)
	}
	k, err := e.key.eval(f)
	if err != nil {
		return nil, err
	}
	return f.run.getitem(v, k)
}

// eval is called for a slice within a tuple of keys, which is always an error.
func (e *sliceExpr) eval(*frame) (any, error) {
	return nil, Raise(TypeError, "unhashable type: 'slice'")
}

func (e *sliceExpr) slice(f *frame, v any) (any, error) {
	var bounds [3]any
	for i, part := range []expr{e.start, e.stop, e.step} {
		if part == nil {
			continue
		}
		b, err := part.eval(f)
		if err != nil {
			return nil, err
		}
		bounds[i] = b
	}
	return f.run.slice(v, bounds)
}

func (e *filterExpr) eval(f *frame) (any, error) {
	v, err := e.of.eval(f)
	if err != nil {
		return nil, err
	}
	return e.call(f, v)
}

// call applies this filter alone.
func (e *filterExpr) call(f *frame, v any) (any, error) {
	fn := f.run.env.filters[e.name]
	if fn == nil {
		return nil, Raise(RuntimeError, "No filter named %s found.", quote(e.name))
	}
	c, err := e.arguments.with(f, v)
	if err != nil {
		return nil, err
	}
	if err := f.run.scanned(v); err != nil {
		return nil, err
	}
	return fn(c)
}

// apply runs a chain of filters of a block, the innermost first.
func (e *filterExpr) apply(f *frame, v any) (any, error) {
	if inner, ok := e.of.(*filterExpr); ok {
		var err error
		if v, err = inner.apply(f, v); err != nil {
			return nil, err
		}
	}
	return e.call(f, v)
}

func (e *testExpr) eval(f *frame) (any, error) {
	v, err := e.of.eval(f)
	if err != nil {
		return nil, err
	}
	switch { // the most common ones
	case len(e.pos) > 0 || e.kw != nil || e.star != nil || e.starStar != nil:
	case e.name == "defined":
		_, undefined := v.(*Undefined)
		return !undefined, nil
	case e.name == "none":
		return v == nil, nil
	}
	fn := f.run.env.tests[e.name]
	if fn == nil {
		return nil, Raise(RuntimeError, "No test named %s found.", quote(e.name))
	}
	c, err := e.arguments.with(f, v)
	if err != nil {
		return nil, err
	}
	return fn(c)
}

func (e *callExpr) eval(f *frame) (any, error) { return e.call(f) }

func (e *callExpr) call(f *frame, extra ...Keyword) (any, error) {
	if a, ok := e.fn.(*attrExpr); ok {
		return e.callMethod(f, a, extra)
	}
	fn, err := e.fn.eval(f)
	if err != nil {
		return nil, err
	}
	return e.callValue(f, fn, extra)
}

// callMethod calls a method of a built-in type without creating a value for it first.
func (e *callExpr) callMethod(f *frame, a *attrExpr, extra []Keyword) (any, error) {
	of, err := a.of.eval(f)
	if err != nil {
		return nil, err
	}
	m := methodOf(of, a.name)
	if m == nil {
		fn, err := f.run.getattr(of, a.name)
		if err != nil {
			return nil, err
		}
		return e.callValue(f, fn, extra)
	}
	c, err := e.arguments.call(f)
	if err != nil {
		return nil, err
	}
	c.Kw = append(c.Kw, extra...)
	if err := f.run.scanned(of); err != nil {
		return nil, err
	}
	return m(c, of)
}

func (e *callExpr) callValue(f *frame, fn any, extra []Keyword) (any, error) {
	c, err := e.arguments.call(f)
	if err != nil {
		return nil, err
	}
	c.Kw = append(c.Kw, extra...)
	return f.run.call(fn, c)
}

func (r *run) call(fn any, c *Call) (any, error) {
	switch fn := fn.(type) {
	case *Undefined:
		return nil, fn.fail()
	case Callable:
		return fn.Call(c)
	}
	return nil, Raise(TypeError, "'%s' object is not callable", typeName(fn))
}
