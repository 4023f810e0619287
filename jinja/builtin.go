package jinja

import (
	"strings"

	"github.com/brineproject/brine/data"
)

// A builtin is a function of the language.
type builtin struct {
	name string
	fn   Func
}

func (b *builtin) Call(c *Call) (any, error) { return b.fn(c) }
func (b *builtin) TypeName() string          { return "function" }
func (b *builtin) Text() string              { return "<function " + b.name + ">" }

// Call makes a Func a value that templates can call.
func (fn Func) Call(c *Call) (any, error) { return fn(c) }

// TypeName implements Namer.
func (fn Func) TypeName() string { return "function" }

// Text implements Texter.
func (fn Func) Text() string { return "<function>" }

// A class is a type that templates can call, such as dict.
type class struct {
	name string
	fn   Func
}

func (b *class) Call(c *Call) (any, error) { return b.fn(c) }
func (b *class) TypeName() string          { return "type" }
func (b *class) Text() string              { return "<class '" + b.name + "'>" }

// A boundMethod is a method with its value.
type boundMethod struct {
	self any
	name string
	fn   method
}

// Call implements Callable.
func (m *boundMethod) Call(c *Call) (any, error) {
	if err := c.f.run.scanned(m.self); err != nil {
		return nil, err
	}
	return m.fn(c, m.self)
}

// TypeName implements Namer. The sandbox replaces format by a function of its own.
func (m *boundMethod) TypeName() string {
	if strings.HasPrefix(m.name, "format") {
		return "function"
	}
	return "builtin_function_or_method"
}

func (m *boundMethod) Text() string {
	return "<built-in method " + m.name + " of " + typeName(m.self) + " object>"
}

// A namespace holds attributes that set can change (jinja2.utils.Namespace).
type namespace struct{ attrs *data.Map }

func (n *namespace) Attr(name string) (any, bool, error) {
	v, ok := n.attrs.Get(name)
	return v, ok, nil
}
func (n *namespace) TypeName() string { return "jinja2.utils.Namespace" }
func (n *namespace) repr(p *printer) {
	if p.inside(n) {
		p.add("<Namespace ...>")
		return
	}
	p.add("<Namespace ")
	p.dict(n.attrs)
	p.add(">")
	p.leave()
}

// A cycler cycles through its items (jinja2.utils.Cycler).
type cycler struct {
	items []any
	pos   int
}

func (cy *cycler) TypeName() string { return "jinja2.utils.Cycler" }
func (cy *cycler) Text() string     { return "<jinja2.utils.Cycler object>" }

func (cy *cycler) Attr(name string) (any, bool, error) {
	switch name {
	case "current":
		return cy.items[cy.pos], true, nil
	case "next":
		return &builtin{"next", func(c *Call) (any, error) {
			v := cy.items[cy.pos]
			cy.pos = (cy.pos + 1) % len(cy.items)
			return v, nil
		}}, true, nil
	case "reset":
		return &builtin{"reset", func(*Call) (any, error) {
			cy.pos = 0
			return nil, nil
		}}, true, nil
	case "pos":
		return int64(cy.pos), true, nil
	case "items":
		return data.Tuple(cy.items), true, nil
	}
	return nil, false, nil
}

// A joiner returns nothing the first time and its text from then on (jinja2.utils.Joiner).
type joiner struct {
	sep  any
	used bool
}

func (j *joiner) TypeName() string { return "jinja2.utils.Joiner" }
func (j *joiner) Text() string     { return "<jinja2.utils.Joiner object>" }
func (j *joiner) Call(c *Call) (any, error) {
	if _, err := c.bind(signature{name: "Joiner.__call__", hidden: 1}); err != nil {
		return nil, err
	}
	if !j.used {
		j.used = true
		return "", nil
	}
	return j.sep, nil
}
func (j *joiner) Attr(name string) (any, bool, error) {
	switch name {
	case "sep":
		return j.sep, true, nil
	case "used":
		return j.used, true, nil
	}
	return nil, false, nil
}

// A module is an imported template (jinja2.environment.TemplateModule).
type module struct {
	name  string
	text  string
	names map[string]any
}

func (m *module) TypeName() string { return "jinja2.environment.TemplateModule" }
func (m *module) Text() string     { return "<TemplateModule " + quote(m.name) + ">" }
func (m *module) Attr(name string) (any, bool, error) {
	v, ok := m.names[name]
	return v, ok, nil
}

// A selfRef is the variable self (jinja2.runtime.TemplateReference).
type selfRef struct {
	run *run
	cx  *scope
}

func (s *selfRef) TypeName() string { return "jinja2.runtime.TemplateReference" }
func (s *selfRef) Text() string     { return "<TemplateReference " + s.cx.name + ">" }
func (s *selfRef) Item(key any) (any, bool, error) {
	name, _ := textOf(key)
	stack, ok := s.cx.blocks[name]
	if !ok {
		return nil, false, nil
	}
	return &blockRef{s.run, s.cx, stack, 0}, true, nil
}

// A blockRef is a block that can be called (jinja2.runtime.BlockReference).
type blockRef struct {
	run   *run
	cx    *scope
	stack []*blockDef
	depth int
}

func (b *blockRef) TypeName() string { return "jinja2.runtime.BlockReference" }
func (b *blockRef) Text() string     { return "<jinja2.runtime.BlockReference object>" }
func (b *blockRef) Call(c *Call) (any, error) {
	out := b.run.newBuffer()
	err := b.run.block(b.stack[b.depth], b.cx, out)
	text, full := b.run.release(out)
	if err == nil {
		err = full
	}
	if *b.cx.autoescape {
		return Markup(text), err
	}
	return text, err
}
func (b *blockRef) Attr(name string) (any, bool, error) {
	switch name {
	case "super":
		if b.depth+1 < len(b.stack) {
			return &blockRef{b.run, b.cx, b.stack, b.depth + 1}, true, nil
		}
		return b.run.hint("there is no parent block called " + quote(b.stack[0].name) +
			"."), true, nil
	case "name":
		return b.stack[0].name, true, nil
	}
	return nil, false, nil
}
