package jinja

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/brineproject/brine/data"
)

// An Environment is the common part of a family of templates. It is immutable and safe for
// concurrent use.
type Environment struct {
	syntax     Syntax
	undefined  Lenience
	autoescape bool
	limits     Limits
	finalize   func(any) (any, error)
	loader     Loader
	cache      *Cache
	filters    map[string]Func
	tests      map[string]Func
	globals    map[string]any
	tags       map[string]Tag
	tagNames   string
}

// New returns an environment, or an error if its delimiters are ambiguous.
func New(o Options) (*Environment, error) {
	e := &Environment{
		syntax: o.Syntax.filled(), undefined: o.Undefined, autoescape: o.Autoescape,
		limits: o.Limits.filled(), finalize: o.Finalize, loader: o.Loader, cache: o.Cache,
		globals: o.Globals, tags: o.Tags, filters: with(builtinFilters(), o.Filters),
		tests: with(builtinTests(), o.Tests),
	}
	if err := e.syntax.check(); err != nil {
		return nil, err
	}
	for _, name := range sortedKeys(o.Tags) {
		e.tagNames += name + " "
	}
	return e, nil
}

func with(own, more map[string]Func) map[string]Func {
	maps.Copy(own, more)
	return own
}

// A Template is a parsed source. It is immutable and safe for concurrent use.
type Template struct {
	env  *Environment
	prog *program
}

// Parse returns the template of a source. The name appears in errors, and relative names are
// resolved from it.
func (e *Environment) Parse(name, source string) (*Template, error) {
	prog, err := e.program(cacheKey{loader: fromText, name: name, version: source},
		func() (string, error) { return source, nil })
	if err != nil {
		return nil, err
	}
	return &Template{e, prog}, nil
}

// Load returns the template that the loader finds by that name.
func (e *Environment) Load(ctx context.Context, name string) (*Template, error) {
	prog, err := e.find(ctx, name, "")
	if err != nil {
		return nil, err
	}
	return &Template{e, prog}, nil
}

// program returns a parsed source, from the cache if possible, and checks that this environment has
// everything that it needs.
func (e *Environment) program(key cacheKey, read func() (string, error)) (*program, error) {
	key.syntax, key.tags, key.nesting = e.syntax, e.tagNames, e.limits.Nesting
	prog := e.cache.get(key)
	if prog == nil {
		source, err := read()
		if err != nil {
			return nil, err
		}
		if prog, err = compile(source, key, e.tags, e.limits); err != nil {
			return nil, err
		}
		e.cache.put(key, prog)
	}
	return prog, e.link(prog)
}

// link checks that the filters and tests exist that a template requires.
func (e *Environment) link(p *program) error {
	for _, u := range p.uses {
		kind, table := "filter", e.filters
		if u.test {
			kind, table = "test", e.tests
		}
		if table[u.name] == nil {
			return p.locate(&Error{Kind: AssertionError, Message: "No " + kind + " named " +
				quote(u.name) + ".", Line: u.line})
		}
	}
	return nil
}

func (e *Environment) find(ctx context.Context, name, parent string) (*program, error) {
	if e.loader == nil {
		return nil, &Error{Kind: NotFound, Message: name}
	}
	src, err := e.loader.Find(ctx, name, parent)
	if errors.Is(err, ErrNotFound) {
		return nil, &Error{Kind: NotFound, Message: name, Err: err}
	}
	if err != nil {
		return nil, asError(err)
	}
	key := cacheKey{loader: "id " + e.loader.ID(), name: src.Name, version: src.Version}
	if src.Version == "" {
		text, err := src.Read()
		if err != nil {
			return nil, asError(err)
		}
		key.version = text
		src.Read = func() (string, error) { return text, nil }
	}
	return e.program(key, src.Read)
}

// Render returns the output of the template with these names. Its error is of type *Error.
func (t *Template) Render(ctx context.Context, names map[string]any) (string, error) {
	return t.RenderWith(ctx, names, nil)
}

// RenderWith is Render with globals for this rendering: imported templates see them, even if
// imported without context.
func (t *Template) RenderWith(ctx context.Context, names, globals map[string]any) (string, error) {
	r := t.env.newRun(ctx, globals)
	out := &buffer{}
	if err := r.alive(); err != nil {
		return "", err
	}
	cx := r.newScope(t.prog, &layer{host: names, up: r.globals})
	if err := r.root(t.prog, cx, out); err != nil {
		return "", err
	}
	return string(out.b), nil
}

func (e *Environment) newRun(ctx context.Context, globals map[string]any) *run {
	base := &layer{host: e.globals, up: &layer{values: builtinGlobals()}}
	return &run{
		env: e, ctx: ctx, limits: e.limits, globals: &layer{host: globals, up: base},
		found: map[wanted]*program{}, modules: map[*program]*module{},
	}
}

func (r *run) newScope(p *program, parent *layer) *scope {
	escape := r.env.autoescape
	s := &scope{parent: parent, name: "None", autoescape: &escape}
	if p.named {
		s.name = quote(p.name)
	}
	if len(p.order) > 0 {
		s.blocks = make(map[string][]*blockDef, len(p.order))
		for _, n := range p.order {
			s.blocks[n] = []*blockDef{p.blocks[n]}
		}
	} else {
		s.blocks = map[string][]*blockDef{}
	}
	return s
}

// root runs a template, and then the one that it extends.
func (r *run) root(p *program, cx *scope, out *buffer) error {
	f := r.newFrame(p.slots, cx, p, out)
	if p.self >= 0 {
		f.slots[p.self] = &selfRef{r, cx}
	}
	if err := f.invoke(&p.body); err != nil {
		return err
	}
	if f.extends != nil {
		if err := r.deeper(); err != nil {
			return f.leave(err)
		}
		defer func() { r.depth-- }()
		return f.leave(r.root(f.extends, cx, out))
	}
	return nil
}

// fetch returns the template of one name.
func (f *frame) fetch(name any) (*program, error) {
	switch n := name.(type) {
	case *Undefined:
		return nil, n.fail()
	case string:
		return f.fetchName(n)
	case Markup:
		return f.fetchName(string(n))
	}
	return nil, Raise(TypeError, "a template is named by text, not by %s", typeName(name))
}

func (f *frame) fetchName(name string) (*program, error) {
	want := wanted{name, f.prog.name}
	r := f.run
	if p := r.found[want]; p != nil {
		return p, nil
	}
	if r.includes++; r.includes > r.limits.Includes {
		return nil, Raise(LimitError, "more than %d templates were fetched", r.limits.Includes)
	}
	p, err := r.env.find(r.ctx, name, f.prog.name)
	if err != nil {
		return nil, err
	}
	r.found[want] = p
	return p, nil
}

// fetchAny returns the template of a name, or the first existing one of a list of names.
func (f *frame) fetchAny(name any) (*program, error) {
	switch name.(type) {
	case *Undefined, string, Markup:
		return f.fetch(name)
	}
	it, err := f.run.iterate(name)
	if err != nil {
		return nil, err
	}
	names, err := f.run.drain(it)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, Raise(NoneFound, "Tried to select from an empty list of templates.")
	}
	tried := make([]string, len(names))
	for i, n := range names {
		p, err := f.fetch(n)
		if err == nil || !isKind(err, NotFound, UndefinedError) || compiled(err) {
			return p, err
		}
		tried[i] = asError(err).Message
		if isKind(err, NotFound) {
			tried[i] = data.Str(n)
		}
	}
	return nil, Raise(NoneFound, "none of the templates given were found: %s",
		strings.Join(tried, ", "))
}

// importModule runs a template to get the names that it exports.
func (f *frame) importModule(name any, withContext bool, locals *localNames) (*module, error) {
	p, err := f.fetch(name)
	if err != nil {
		return nil, err
	}
	if !withContext {
		return f.run.defaultModule(p)
	}
	names, err := f.locals(locals)
	if err != nil {
		return nil, err
	}
	return f.run.module(p, f.cx.all(names))
}

// defaultModule returns the module of a template imported without context; the template runs once
// per Render.
func (r *run) defaultModule(p *program) (*module, error) {
	if m := r.modules[p]; m != nil {
		return m, nil
	}
	m, err := r.module(p, r.globals)
	if err == nil {
		r.modules[p] = m
	}
	return m, err
}

func (r *run) module(p *program, parent *layer) (*module, error) {
	cx := r.newScope(p, parent)
	out := r.newBuffer()
	err := r.root(p, cx, out)
	text, full := r.release(out)
	if err == nil {
		err = full
	}
	if err != nil {
		return nil, err
	}
	m := &module{name: p.name, text: text, names: map[string]any{}}
	for n := range cx.exported {
		m.names[n] = cx.vars[n]
	}
	return m, nil
}
