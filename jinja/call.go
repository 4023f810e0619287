package jinja

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
)

// A Call is one call of a function, filter or test: its arguments and its caller.
type Call struct {
	Args []any // by position; for a filter or test the first is the value
	Kw   []Keyword

	f *frame
}

// Context returns the context of the Render.
func (c *Call) Context() context.Context { return c.f.run.ctx }

// Template returns the name of the calling template.
func (c *Call) Template() string { return c.f.prog.name }

// Line returns the line of the calling statement.
func (c *Call) Line() int { return c.f.line }

// Lookup returns the value of a name as visible at the top level of the template.
func (c *Call) Lookup(name string) (any, bool) { return c.f.cx.lookup(name) }

// Names returns a dict of all names visible at the top level of the template.
func (c *Call) Names() *data.Map {
	var layers []*layer
	for l := c.f.cx.parent; l != nil; l = l.up {
		layers = append(layers, l)
	}
	m := &data.Map{}
	for i := len(layers) - 1; i >= 0; i-- {
		for _, name := range append(sortedKeys(layers[i].host), sortedKeys(layers[i].values)...) {
			if v, ok := layers[i].get(name); ok {
				m.Set(name, v)
			}
		}
	}
	for _, name := range sortedKeys(c.f.cx.vars) {
		m.Set(name, c.f.cx.vars[name])
	}
	return m
}

// Str returns a value as Python's str() prints it.
func (c *Call) Str(v any) (string, error) { return c.f.run.str(v) }

// Truth reports whether a value counts as true.
func (c *Call) Truth(v any) (bool, error) { return c.f.run.truth(v) }

// Equal is Python's ==.
func (c *Call) Equal(a, b any) (bool, error) { return c.f.run.equal(a, b) }

// Items returns the elements of an iterable value.
func (c *Call) Items(v any) ([]any, error) { return c.f.run.list(v) }

// Item is value[key] as in a template: the item, the attribute, or an undefined value.
func (c *Call) Item(v, key any) (any, error) { return c.f.run.getitem(v, key) }

// Invoke calls a value as a template would.
func (c *Call) Invoke(fn any, args []any, kw []Keyword) (any, error) {
	return c.f.run.call(fn, &Call{Args: args, Kw: kw, f: c.f})
}

// Undefined returns the value of a function that finds nothing; hint is its message.
func (c *Call) Undefined(hint string) any { return c.f.hint("%s", hint) }

// Room reserves bytes of memory before they are used, and fails beyond Limits.
func (c *Call) Room(bytes int) error { return c.f.run.room(bytes) }

// Bind assigns the arguments to named parameters, as Python does. A parameter whose name ends in
// "=" may be left out; Given is then false for its value. The argument function is the name for
// messages.
func (c *Call) Bind(function string, names ...string) ([]any, error) {
	s := signature{name: function}
	for _, n := range names {
		if name, ok := strings.CutSuffix(n, "="); ok {
			s.params = append(s.params, param{name, missing{}})
		} else {
			s.params = append(s.params, need(n))
		}
	}
	return c.bind(s)
}

// Given reports whether an argument that Bind returned was passed.
func Given(v any) bool { return !isMissing(v) }

// A signature is the parameters of a Python function.
type signature struct {
	name   string
	hidden int // arguments that the caller of a filter does not see, but that messages count
	params []param
}

type param struct {
	name  string
	value any // its default; required if there is none
}

type required struct{}

func need(name string) param { return param{name, required{}} }

func opt(name string, value any) param { return param{name, value} }

func (c *Call) bind(s signature) ([]any, error) {
	if len(c.Args) > len(s.params) {
		return nil, s.tooMany(len(c.Args))
	}
	out := make([]any, len(s.params))
	n := copy(out, c.Args)
	for i := n; i < len(out); i++ {
		out[i] = missing{}
	}
	if err := s.keywords(out, n, c.Kw); err != nil {
		return nil, err
	}
	var absent []string
	for i := n; i < len(out); i++ {
		if !isMissing(out[i]) {
			continue
		}
		if out[i] = s.params[i].value; out[i] == (required{}) {
			absent = append(absent, quote(s.params[i].name))
		}
	}
	if absent != nil {
		return nil, Raise(TypeError, "%s() missing %d required positional argument%s: %s", s.name,
			len(absent), plural(len(absent)), enumerate(absent))
	}
	return out, nil
}

func (s *signature) keywords(out []any, positional int, kw []Keyword) error {
next:
	for _, k := range kw {
		for i := range s.params {
			if s.params[i].name != k.Name {
				continue
			}
			if i < positional || !isMissing(out[i]) {
				return Raise(TypeError, "%s() got multiple values for argument %s", s.name,
					quote(k.Name))
			}
			out[i] = k.Value
			continue next
		}
		return Raise(TypeError, "%s() got an unexpected keyword argument %s", s.name, quote(k.Name))
	}
	return nil
}

func (s *signature) tooMany(given int) error {
	least, most := s.hidden, s.hidden+len(s.params)
	for _, p := range s.params {
		if p.value == (required{}) {
			least++
		}
	}
	given += s.hidden
	takes := fmt.Sprintf("%d positional argument%s", most, plural(most))
	if least != most {
		takes = fmt.Sprintf("from %d to %d positional arguments", least, most)
	}
	verb := "were"
	if given == 1 {
		verb = "was"
	}
	return Raise(TypeError, "%s() takes %s but %d %s given", s.name, takes, given, verb)
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// enumerate joins words as Python's messages do: a; a and b; a, b, and c.
func enumerate(words []string) string {
	switch n := len(words); n {
	case 1:
		return words[0]
	case 2:
		return words[0] + " and " + words[1]
	default:
		return strings.Join(words[:n-1], ", ") + ", and " + words[n-1]
	}
}

// call evaluates arguments.
func (a *arguments) call(f *frame) (*Call, error) { return a.make(f, make([]any, 0, len(a.pos))) }

// with evaluates arguments after a first one.
func (a *arguments) with(f *frame, first any) (*Call, error) {
	return a.make(f, append(make([]any, 0, len(a.pos)+1), first))
}

func (a *arguments) make(f *frame, args []any) (*Call, error) {
	c := &Call{f: f, Args: args}
	for _, e := range a.pos {
		v, err := e.eval(f)
		if err != nil {
			return nil, err
		}
		c.Args = append(c.Args, v)
	}
	if a.star != nil {
		if err := a.spread(f, c); err != nil {
			return nil, err
		}
	}
	for _, k := range a.kw {
		v, err := k.value.eval(f)
		if err != nil {
			return nil, err
		}
		c.Kw = append(c.Kw, Keyword{k.name, v})
	}
	if a.starStar != nil {
		return c, a.spreadNamed(f, c)
	}
	return c, nil
}

func (a *arguments) spread(f *frame, c *Call) error {
	v, err := a.star.eval(f)
	if err != nil {
		return err
	}
	items, err := f.run.list(v)
	if isKind(err, TypeError) {
		return Raise(TypeError, "Value after * must be an iterable, not %s", typeName(v))
	}
	c.Args = append(c.Args, items...)
	return err
}

func (a *arguments) spreadNamed(f *frame, c *Call) error {
	v, err := a.starStar.eval(f)
	if err != nil {
		return err
	}
	if u, ok := v.(*Undefined); ok {
		return u.fail()
	}
	m, ok := v.(*data.Map)
	if !ok {
		return Raise(TypeError, "jinja2.sandbox.SandboxedEnvironment.call() argument after ** must be a mapping, not %s", typeName(v))
	}
	for k, v := range m.All() {
		name, ok := textOf(k)
		if !ok {
			return Raise(TypeError, "keywords must be strings")
		}
		for _, have := range c.Kw {
			if have.Name == name {
				return Raise(TypeError, "jinja2.sandbox.SandboxedEnvironment.call() got multiple values for keyword argument %s", quote(name))
			}
		}
		c.Kw = append(c.Kw, Keyword{name, v})
	}
	return nil
}

// noKeywords rejects keyword arguments, like Python functions written in C.
func (c *Call) noKeywords(function string) error {
	if len(c.Kw) > 0 {
		return Raise(TypeError, "%s() takes no keyword arguments", function)
	}
	return nil
}

// none checks the call of a method without arguments.
func (c *Call) none(function string) error {
	if err := c.noKeywords(function); err != nil {
		return err
	}
	if n := len(c.Args); n > 0 {
		return Raise(TypeError, "%s() takes no arguments (%d given)", function, n)
	}
	return nil
}

// one checks the call of a method with one argument, and returns the argument.
func (c *Call) one(function string) (any, error) {
	if err := c.noKeywords(function); err != nil {
		return nil, err
	}
	if n := len(c.Args); n != 1 {
		return nil, Raise(TypeError, "%s() takes exactly one argument (%d given)", function, n)
	}
	return c.Args[0], nil
}

// between checks the call of a method with least to most positional arguments. The type in function
// is only used in messages about keywords.
func (c *Call) between(function string, least, most int) error {
	if err := c.noKeywords(function); err != nil {
		return err
	}
	short := function[strings.LastIndexByte(function, '.')+1:]
	n := len(c.Args)
	bound, word := least, "at least"
	switch {
	case n >= least && n <= most:
		return nil
	case least == most:
		return Raise(TypeError, "%s expected %d argument%s, got %d", short, least, plural(least), n)
	case n > most:
		bound, word = most, "at most"
	}
	return Raise(TypeError, "%s expected %s %d argument%s, got %d", short, word, bound,
		plural(bound), n)
}

// clinic binds the arguments of a method whose parameters also have names.
func (c *Call) clinic(function string, params ...param) ([]any, error) {
	if n := len(c.Args) + len(c.Kw); n > len(params) {
		return nil, Raise(TypeError, "%s() takes at most %d argument%s (%d given)", function,
			len(params), plural(len(params)), n)
	}
	out := make([]any, len(params))
	for i := range out {
		out[i] = params[i].value
	}
	copy(out, c.Args)
next:
	for _, k := range c.Kw {
		for i := range params {
			if params[i].name != k.Name {
				continue
			}
			if i < len(c.Args) {
				return nil, Raise(TypeError, "argument for %s() given by name ('%s') and position (%d)", function, k.Name, i+1)
			}
			out[i] = k.Value
			continue next
		}
		return nil, Raise(TypeError, "'%s' is an invalid keyword argument for %s()",
			k.Name, function)
	}
	return out, nil
}
