package jinja

import (
	"errors"

	"github.com/brineproject/brine/data"
)

func (s *outputStmt) exec(f *frame) error {
	if s.checked && f.rootOf().extends != nil {
		return nil
	}
	for i := range s.items {
		item := &s.items[i]
		if item.expr == nil {
			if err := f.write(item.text); err != nil {
				return err
			}
			continue
		}
		f.line = item.expr.lineno()
		v, err := item.expr.eval(f)
		if err != nil {
			return err
		}
		if err := f.print(v); err != nil {
			return err
		}
	}
	return nil
}

// rootOf returns the activation of the template, which knows the extended template.
func (f *frame) rootOf() *frame {
	for f.up != nil {
		f = f.up
	}
	return f
}

// print writes a value as {{ }} does.
func (f *frame) print(v any) error {
	if fin := f.run.env.finalize; fin != nil {
		var err error
		if v, err = fin(v); err != nil {
			return err
		}
	}
	if s, ok := v.(string); ok && !*f.cx.autoescape {
		return f.write(s)
	}
	text, err := f.run.str(v)
	if err != nil {
		return err
	}
	if _, safe := v.(Markup); !safe && *f.cx.autoescape {
		text = escapeHTML(text)
	}
	return f.write(text)
}

func (s *setStmt) exec(f *frame) error {
	f.line = s.line
	v, err := s.value.eval(f)
	if err != nil {
		return err
	}
	if err := f.assign(s.target, v); err != nil {
		return err
	}
	f.export(s.export)
	return nil
}

// assign assigns a value to a target.
func (f *frame) assign(target expr, v any) error {
	switch t := target.(type) {
	case *nameExpr:
		f.set(t.ref, v)
		return nil
	case *tupleExpr:
		return f.unpack(t.items, v)
	case *nsRef:
		ns, ok := f.get(t.ref).(*namespace)
		if !ok {
			return Raise(RuntimeError, "cannot assign attribute on non-namespace object")
		}
		ns.attrs.Set(t.attr, v)
	}
	return nil
}

func (f *frame) unpack(targets []expr, v any) error {
	var items []any
	switch v := v.(type) {
	case data.Tuple:
		items = v
	case *List:
		items = v.Items
	default:
		it, err := f.run.iterate(v)
		if isKind(err, TypeError) {
			return Raise(TypeError, "cannot unpack non-iterable %s object", typeName(v))
		}
		if err != nil {
			return err
		}
		if items, err = f.run.collectUpTo(it, len(targets)+1); err != nil {
			return err
		}
	}
	if len(items) < len(targets) {
		return Raise(ValueError, "not enough values to unpack (expected %d, got %d)",
			len(targets), len(items))
	}
	if len(items) > len(targets) {
		return Raise(ValueError, "too many values to unpack (expected %d)", len(targets))
	}
	for i, t := range targets {
		if err := f.assign(t, items[i]); err != nil {
			return err
		}
	}
	return nil
}

// markup returns text that the template itself produced: safe if autoescaping is on.
func (f *frame) markup(text string) any {
	if *f.cx.autoescape {
		return Markup(text)
	}
	return text
}

func (s *setBlockStmt) exec(f *frame) error {
	text, err := f.capture(func() error { return f.enterAndRun(&s.body) })
	if err != nil {
		return err
	}
	f.line = s.line
	v := f.markup(text)
	if s.filter != nil {
		if v, err = s.filter.apply(f, v); err != nil {
			return err
		}
		if *f.cx.autoescape {
			t, err := f.run.str(v)
			if err != nil {
				return err
			}
			v = Markup(t)
		}
	}
	if err := f.assign(s.target, v); err != nil {
		return err
	}
	f.export(s.export)
	return nil
}

func (s *ifStmt) exec(f *frame) error {
	ok, err := s.holds(f)
	if err != nil {
		return err
	}
	if ok {
		return f.exec(s.then)
	}
	for _, e := range s.elifs {
		if ok, err = e.holds(f); err != nil {
			return err
		}
		if ok {
			return f.exec(e.then)
		}
	}
	return f.exec(s.orElse)
}

func (s *ifStmt) holds(f *frame) (bool, error) {
	f.line = s.line
	return evalTruth(f, s.test)
}

func (s *doStmt) exec(f *frame) error {
	f.line = s.line
	_, err := s.value.eval(f)
	return err
}

func (s *jumpStmt) exec(*frame) error { return jump{s.again} }

func (s *filterStmt) exec(f *frame) error {
	text, err := f.capture(func() error { return f.enterAndRun(&s.body) })
	if err != nil {
		return err
	}
	f.line = s.line
	v, err := s.filter.apply(f, f.markup(text))
	if err != nil {
		return err
	}
	return f.printRaw(v)
}

// printRaw writes a value without escaping it again.
func (f *frame) printRaw(v any) error {
	text, err := f.run.str(v)
	if err != nil {
		return err
	}
	return f.write(text)
}

func (s *withStmt) exec(f *frame) error {
	f.line = s.line
	values := make([]any, len(s.values))
	for i, e := range s.values {
		v, err := e.eval(f)
		if err != nil {
			return err
		}
		values[i] = v
	}
	f.enter(s.body.entry)
	for i, t := range s.targets {
		if err := f.assign(t, values[i]); err != nil {
			return err
		}
	}
	return f.exec(s.body.stmts)
}

func (s *autoescapeStmt) exec(f *frame) error {
	f.enter(s.body.entry)
	on, err := evalTruth(f, s.value)
	if err != nil {
		return err
	}
	was := *f.cx.autoescape
	*f.cx.autoescape = on
	err = f.exec(s.body.stmts)
	*f.cx.autoescape = was
	return err
}

func (s *macroStmt) exec(f *frame) error {
	f.set(s.ref, &macro{def: &s.macroDef, f: f})
	f.export(s.export)
	return nil
}

func (s *callStmt) exec(f *frame) error {
	f.line = s.line
	caller := &macro{def: &s.macroDef, f: f}
	v, err := s.call.call(f, Keyword{"caller", caller})
	if err != nil {
		return err
	}
	return f.printRaw(v)
}

func (s *blockStmt) exec(f *frame) error {
	if s.toplevel && f.extends != nil {
		return nil
	}
	f.line = s.line
	stack := f.cx.blocks[s.name]
	if s.required && len(stack) <= 1 {
		return Raise(RuntimeError, "Required block %s not found", quote(s.name))
	}
	cx := f.cx
	if s.scoped {
		names, err := f.locals(s.locals)
		if err != nil {
			return err
		}
		cx = cx.derived(names)
	}
	return f.run.block(stack[0], cx, f.out)
}

// block runs one block.
func (r *run) block(b *blockDef, cx *scope, out *buffer) error {
	f := r.newFrame(b.slots, cx, b.prog, out)
	f.block = b.name
	if b.self >= 0 {
		f.slots[b.self] = &selfRef{r, cx}
	}
	if b.super >= 0 {
		f.slots[b.super] = f.super(b)
	}
	return f.invoke(&b.body)
}

// super returns the block that b replaces.
func (f *frame) super(b *blockDef) any {
	stack := f.cx.blocks[b.name]
	for i := range stack {
		if stack[i] == b && i+1 < len(stack) {
			return &blockRef{f.run, f.cx, stack, i + 1}
		}
	}
	return f.undefined(Undefined{hint: "there is no parent block called " + quote(b.name) +
		".", name: "super", obj: missing{}})
}

func (s *extendsStmt) exec(f *frame) error {
	f.line = s.line
	if f.extends != nil {
		return Raise(RuntimeError, "extended multiple times")
	}
	name, err := s.template.eval(f)
	if err != nil {
		return err
	}
	parent, err := f.fetch(name)
	if err != nil {
		return err
	}
	f.extends = parent
	for _, n := range parent.order {
		f.cx.blocks[n] = append(f.cx.blocks[n], parent.blocks[n])
	}
	return nil
}

func (s *includeStmt) exec(f *frame) error {
	f.line = s.line
	name, err := s.template.eval(f)
	if err != nil {
		return err
	}
	prog, err := f.fetchAny(name)
	if s.ignoreMissing && isKind(err, NotFound, NoneFound) && !compiled(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !s.withContext {
		m, err := f.run.defaultModule(prog)
		if err != nil {
			return err
		}
		return f.write(m.text)
	}
	names, err := f.locals(s.locals)
	if err != nil {
		return err
	}
	cx := f.run.newScope(prog, f.cx.all(names))
	return f.run.root(prog, cx, f.out)
}

// compiled reports whether an error is in a template and not in the search for one.
func compiled(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Template != ""
}

// moduleOf returns the module that an expression names.
func (f *frame) moduleOf(template expr, withContext bool, locals *localNames) (*module, error) {
	name, err := template.eval(f)
	if err != nil {
		return nil, err
	}
	return f.importModule(name, withContext, locals)
}

func (s *importStmt) exec(f *frame) error {
	f.line = s.line
	m, err := f.moduleOf(s.template, s.withContext, s.locals)
	if err != nil {
		return err
	}
	f.set(s.ref, m)
	if s.toplevel {
		f.cx.setVar(export{name: s.target, hidden: true}, m)
		delete(f.cx.exported, s.target)
	}
	return nil
}

func (s *fromStmt) exec(f *frame) error {
	f.line = s.line
	m, err := f.moduleOf(s.template, s.withContext, s.locals)
	if err != nil {
		return err
	}
	for _, n := range s.names {
		v, ok := m.names[n.name]
		if !ok {
			v = f.undefined(Undefined{name: n.name, obj: missing{}, hint: "the template " +
				quote(m.name) + " (imported on " + s.where +
				") does not export the requested name " + quote(n.name)})
		}
		f.set(n.ref, v)
		if s.toplevel {
			f.cx.setVar(export{name: n.alias, hidden: true}, v)
			delete(f.cx.exported, n.alias)
		}
	}
	return nil
}
