package jinja

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

// A run is one Render: its remaining limits, and the state that its templates share.
type run struct {
	env      *Environment
	ctx      context.Context
	limits   Limits
	steps    int
	memory   int
	depth    int
	includes int
	globals  *layer
	found    map[wanted]*program // templates that were fetched
	modules  map[*program]*module
	spare    []*buffer
}

type wanted struct{ name, parent string }

// checkEvery is the number of steps between checks whether a run may continue.
const checkEvery = 512

// step counts work that a template causes.
func (r *run) step() error {
	r.steps++
	if r.steps%checkEvery == 0 {
		return r.alive()
	}
	return nil
}

func (r *run) alive() error {
	if r.steps > r.limits.Steps {
		return Raise(LimitError, "the template takes more than %d steps", r.limits.Steps)
	}
	if err := r.ctx.Err(); err != nil {
		return &Error{Kind: HostError, Message: context.Cause(r.ctx).Error(), Err: err}
	}
	return nil
}

// scanned counts the steps of scanning a whole text.
func (r *run) scanned(v any) error {
	if s, ok := textOf(v); ok && len(s) > 1024 {
		return r.take(len(s) / 1024)
	}
	return nil
}

// take counts n steps at once.
func (r *run) take(n int) error {
	before := r.steps / checkEvery
	r.steps += n
	if r.steps/checkEvery != before {
		return r.alive()
	}
	return nil
}

// room reserves size bytes of memory, or elements of a list, before they are made.
func (r *run) room(size int) error {
	if size < 0 {
		return Raise(LimitError, "a value larger than %d bytes or elements", r.limits.Value)
	}
	if size > r.limits.Value {
		return Raise(LimitError, "a value of %d bytes or elements is larger than %d", size,
			r.limits.Value)
	}
	r.memory += size
	if r.memory > r.limits.Memory {
		return Raise(LimitError, "the template takes more than %d bytes of memory", r.limits.Memory)
	}
	return nil
}

func (r *run) deeper() error {
	r.depth++
	if r.depth > r.limits.Depth {
		return Raise(LimitError, "more than %d templates, blocks and macros within one another",
			r.limits.Depth)
	}
	return nil
}

// A buffer collects output.
type buffer struct{ b []byte }

func (r *run) newBuffer() *buffer {
	if n := len(r.spare); n > 0 {
		b := r.spare[n-1]
		r.spare = r.spare[:n-1]
		return b
	}
	return &buffer{}
}

// release returns a buffer to the pool, and its text.
func (r *run) release(b *buffer) (string, error) {
	text := string(b.b)
	b.b = b.b[:0]
	r.spare = append(r.spare, b)
	return text, r.room(len(text))
}

// A layer is names with their values, on top of another layer.
type layer struct {
	values map[string]any
	host   map[string]any // values that are imported when they are first requested
	up     *layer
}

func (l *layer) get(name string) (any, bool) {
	for at := l; at != nil; at = at.up {
		if v, ok := at.values[name]; ok {
			return v, true
		}
		if v, ok := at.host[name]; ok {
			if lazy, isLazy := v.(Lazy); isLazy {
				if v, there := lazy(); there {
					return v, true
				}
				continue
			}
			v = Import(v)
			if at.values == nil {
				at.values = map[string]any{}
			}
			at.values[name] = v
			return v, true
		}
	}
	return nil, false
}

// A scope is Jinja's context: the names that one template sees and those that it exports.
type scope struct {
	vars       map[string]any // set at the top level
	exported   map[string]bool
	parent     *layer
	name       string                 // as it prints
	blocks     map[string][]*blockDef // for each name, the one to run first
	autoescape *bool
}

func (s *scope) lookup(name string) (any, bool) {
	if v, ok := s.vars[name]; ok {
		return v, true
	}
	return s.parent.get(name)
}

// all returns the whole of s as the parent of another scope, with names on top.
func (s *scope) all(extra map[string]any) *layer {
	l := s.parent
	if len(s.vars) > 0 {
		l = &layer{values: maps.Clone(s.vars), up: l}
	}
	if len(extra) > 0 {
		l = &layer{values: extra, up: l}
	}
	return l
}

// derived returns s with more names, for a scoped block.
func (s *scope) derived(extra map[string]any) *scope {
	return &scope{parent: s.all(extra), name: s.name, blocks: s.blocks, autoescape: s.autoescape}
}

func (s *scope) setVar(e export, v any) {
	if s.vars == nil {
		s.vars = map[string]any{}
	}
	s.vars[e.name] = v
	if !e.hidden {
		if s.exported == nil {
			s.exported = map[string]bool{}
		}
		s.exported[e.name] = true
	}
}

// A frame is one activation of a function: a template, block, macro or recursive loop.
type frame struct {
	slots   []any
	up      *frame // the enclosing function
	run     *run
	cx      *scope
	prog    *program
	out     *buffer
	line    int
	extends *program // the template that this one extends
	block   string
}

func (r *run) newFrame(slots int, cx *scope, prog *program, out *buffer) *frame {
	f := &frame{slots: make([]any, slots), run: r, cx: cx, prog: prog, out: out, line: 1}
	for i := range f.slots {
		f.slots[i] = missing{}
	}
	return f
}

// within returns a frame for a function nested in that of f.
func (f *frame) within(slots int, out *buffer) *frame {
	in := f.run.newFrame(slots, f.cx, f.prog, out)
	in.up, in.block = f, f.block
	return in
}

func (f *frame) home(hops int) *frame {
	for ; hops > 0; hops-- {
		f = f.up
	}
	return f
}

func (f *frame) set(r ref, v any) { f.home(r.hops).slots[r.slot] = v }

func (f *frame) get(r ref) any { return f.home(r.hops).slots[r.slot] }

func (f *frame) enter(entries []entry) {
	for i := range entries {
		e := &entries[i]
		switch e.kind {
		case entryUndefined:
			f.slots[e.slot] = missing{}
		case entryAlias:
			f.slots[e.slot] = f.get(e.from)
		case entryResolve:
			v, ok := f.cx.lookup(e.name)
			if !ok {
				v = missing{}
			}
			f.slots[e.slot] = v
		}
	}
}

func (f *frame) exec(stmts []stmt) error {
	for _, s := range stmts {
		if err := f.run.step(); err != nil {
			return err
		}
		if err := s.exec(f); err != nil {
			return err
		}
	}
	return nil
}

func (f *frame) enterAndRun(b *body) error {
	f.enter(b.entry)
	return f.exec(b.stmts)
}

// capture returns the output of do.
func (f *frame) capture(do func() error) (string, error) {
	was := f.out
	f.out = f.run.newBuffer()
	err := do()
	text, full := f.run.release(f.out)
	f.out = was
	if err == nil {
		err = full
	}
	return text, err
}

func (f *frame) write(text string) error {
	f.out.b = append(f.out.b, text...)
	if len(f.out.b) > f.run.limits.Output {
		return Raise(LimitError, "the template prints more than %d bytes", f.run.limits.Output)
	}
	return nil
}

// export exports names to templates that import or include this one.
func (f *frame) export(names []export) {
	for _, e := range names {
		f.cx.setVar(e, f.get(e.ref))
	}
}

// locals returns the names that another template may see.
func (f *frame) locals(names *localNames) (map[string]any, error) {
	out := map[string]any{}
	for at := f; names != nil; names = names.up {
		for _, l := range names.own {
			if _, inner := out[l.name]; !inner {
				out[l.name] = at.slots[l.slot]
			}
		}
		if err := f.run.take(len(names.own)); err != nil {
			return nil, err
		}
		at = at.home(names.hops)
	}
	maps.DeleteFunc(out, func(_ string, v any) bool { return isMissing(v) })
	return out, nil
}

// jump is the error by which break and continue reach their loop.
type jump struct{ again bool }

func (j jump) Error() string {
	if j.again {
		return "'continue' not properly in loop"
	}
	return "'break' outside loop"
}

// leave adds the place of f to an error that ends it.
func (f *frame) leave(err error) error {
	if err == nil {
		return nil
	}
	var j jump
	if errors.As(err, &j) {
		return &Error{Kind: PythonSyntaxError, Message: j.Error(), Template: f.prog.name,
			Line: f.line, Source: f.prog.source}
	}
	e := *asError(err)
	if e.Template == "" && e.Line == 0 {
		e.Template, e.Line, e.Source = f.prog.name, f.line, f.prog.source
	}
	e.Trace = append(e.Trace[:len(e.Trace):len(e.Trace)],
		Place{f.prog.name, f.line, f.up == nil && f.block != ""})
	return &e
}

// invoke runs body in a new activation, with a limit of depth.
func (f *frame) invoke(b *body) error {
	if err := f.run.deeper(); err != nil {
		return f.leave(err)
	}
	defer func() { f.run.depth-- }()
	return f.leave(f.enterAndRun(b))
}

func (f *frame) undefined(u Undefined) *Undefined {
	u.lenience = f.run.env.undefined
	return &u
}

func (f *frame) undefinedName(name string) *Undefined {
	return f.undefined(Undefined{name: name, obj: missing{}})
}

func (f *frame) hint(format string, args ...any) *Undefined {
	return f.undefined(Undefined{hint: fmt.Sprintf(format, args...), obj: missing{}})
}
