package jinja

import "github.com/brineproject/brine/data"

// A macro is a macro or the body of a call block, with the enclosing frame (jinja2.runtime.Macro).
type macro struct {
	def *macroDef
	f   *frame
}

// TypeName implements Namer.
func (m *macro) TypeName() string { return "jinja2.runtime.Macro" }

// Text implements Texter.
func (m *macro) Text() string {
	if m.def.name == "" {
		return "<Macro anonymous>"
	}
	return "<Macro " + quote(m.def.name) + ">"
}

// Attr implements Attributer.
func (m *macro) Attr(name string) (any, bool, error) {
	d := m.def
	switch name {
	case "name":
		if d.name == "" {
			return nil, true, nil
		}
		return d.name, true, nil
	case "arguments":
		args := make(data.Tuple, len(d.args))
		for i, a := range d.args {
			args[i] = a.name
		}
		return args, true, nil
	case "catch_kwargs":
		return d.kwargs >= 0, true, nil
	case "catch_varargs":
		return d.varargs >= 0, true, nil
	case "caller":
		return d.caller >= 0, true, nil
	case "explicit_caller":
		return d.explicit, true, nil
	}
	return nil, false, nil
}

// Call runs the macro and returns its output.
func (m *macro) Call(c *Call) (any, error) {
	out := m.f.run.newBuffer()
	f := m.f.within(m.def.slots, out)
	f.line = m.def.line
	err := m.bind(f, c)
	if err == nil {
		err = m.invoke(f)
	}
	text, full := f.run.release(out)
	if err != nil {
		return nil, err
	}
	if *c.f.cx.autoescape {
		return Markup(text), full
	}
	return text, full
}

func (m *macro) invoke(f *frame) error {
	if err := f.run.deeper(); err != nil {
		return f.leave(err)
	}
	defer func() { f.run.depth-- }()
	f.enter(m.def.body.entry)
	if err := m.defaults(f); err != nil {
		return f.leave(err)
	}
	return f.leave(f.exec(m.def.body.stmts))
}

// bind assigns the arguments to the slots of the parameters; left out ones stay missing.
func (m *macro) bind(f *frame, c *Call) error {
	d := m.def
	n := min(len(c.Args), len(d.args))
	for i := range n {
		f.slots[d.args[i].slot] = c.Args[i]
	}
	rest := append([]Keyword(nil), c.Kw...)
	takeNamed := func(name string) (any, bool) {
		for i, k := range rest {
			if k.Name == name {
				rest = append(rest[:i], rest[i+1:]...)
				return k.Value, true
			}
		}
		return nil, false
	}
	for _, a := range d.args[n:] {
		if v, ok := takeNamed(a.name); ok {
			f.slots[a.slot] = v
		}
	}
	if d.caller >= 0 {
		v, ok := takeNamed("caller")
		if !ok || v == nil {
			v = f.undefined(Undefined{hint: "No caller defined", name: "caller", obj: missing{}})
		}
		f.slots[d.caller] = v
	}
	return m.extras(f, c, rest)
}

// extras handles the arguments without a parameter.
func (m *macro) extras(f *frame, c *Call, rest []Keyword) error {
	d := m.def
	if d.kwargs >= 0 {
		kwargs := &data.Map{}
		for _, k := range rest {
			kwargs.Set(k.Name, k.Value)
		}
		f.slots[d.kwargs] = kwargs
	} else if len(rest) > 0 {
		return m.unknownKeyword(rest)
	}
	over := c.Args[min(len(c.Args), len(d.args)):]
	if d.varargs >= 0 {
		f.slots[d.varargs] = data.Tuple(append([]any{}, over...))
	} else if len(over) > 0 {
		return Raise(TypeError, "macro %s takes not more than %d argument(s)",
			m.quoted(), len(d.args))
	}
	return nil
}

func (m *macro) quoted() string {
	if m.def.name == "" {
		return "None"
	}
	return quote(m.def.name)
}

func (m *macro) unknownKeyword(rest []Keyword) error {
	for _, k := range rest {
		if k.Name == "caller" {
			return Raise(TypeError, "macro %s was invoked with two values for the special caller argument. This is most likely a bug.", m.quoted())
		}
	}
	return Raise(TypeError, "macro %s takes no keyword argument %s", m.quoted(),
		quote(rest[0].Name))
}

// defaults fills the parameters that were left out, in order.
func (m *macro) defaults(f *frame) error {
	d := m.def
	first := len(d.args) - len(d.defaults)
	for i, a := range d.args {
		if !isMissing(f.slots[a.slot]) {
			continue
		}
		if i < first {
			f.slots[a.slot] = f.undefined(Undefined{hint: "parameter " + quote(a.name) +
				" was not provided", name: a.name, obj: missing{}})
			continue
		}
		v, err := d.defaults[i-first].eval(f)
		if err != nil {
			return err
		}
		f.slots[a.slot] = v
	}
	return nil
}
