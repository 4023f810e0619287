package jinja

import "context"

// A Tag is a statement that a program adds to the language. It reads what follows its name with p, in the order of the
// source, and returns what the statement does. Parse must not keep p; run may be called by several goroutines at once.
type Tag interface {
	Parse(p *TagParser) (run func(r *TagRun) error)
}

// A TagParser reads the parts of a statement. After a fault its methods give nothing of use, and the fault is reported
// when Parse has returned.
type TagParser struct {
	p *parser
	s *tagStmt
}

func (p *parser) custom(t token, tag Tag) []stmt {
	s := &tagStmt{at: at{line: t.line}, name: t.text}
	p.next()
	s.run = tag.Parse(&TagParser{p, s})
	return []stmt{s}
}

// Name returns the name of the tag, Line the line on which it stands.
func (t *TagParser) Name() string { return t.s.name }

// Line returns the line on which the tag stands.
func (t *TagParser) Line() int { return t.s.line }

// Word skips a word and reports whether it was there.
func (t *TagParser) Word(word string) bool { return t.p.skipName(word) }

// Need skips a word that must be there.
func (t *TagParser) Need(word string) { t.p.expectName(word) }

// Fail ends parsing with a syntax error.
func (t *TagParser) Fail(message string) { t.p.fail(t.s.line, "%s", message) }

// Expression reads an expression and returns its number for TagRun.Value.
func (t *TagParser) Expression() int {
	t.s.exprs = append(t.s.exprs, t.p.expression())
	return len(t.s.exprs) - 1
}

// Target reads the name to which TagRun.Set assigns.
func (t *TagParser) Target() { t.s.target = t.p.storeName() }

// WithContext reads "with context" or "without context"; where there is neither it returns otherwise.
func (t *TagParser) WithContext(otherwise bool) bool {
	with, _ := t.p.withContext(otherwise)
	return with
}

// Body reads statements up to one of the tags ends, which it skips, and returns their number for TagRun.Body. A scoped
// body keeps what it sets to itself.
func (t *TagParser) Body(scoped bool, ends ...string) int {
	b := &tagBody{plain: !scoped}
	b.stmts = t.p.statements(true, ends...)
	t.s.bodies = append(t.s.bodies, b)
	return len(t.s.bodies) - 1
}

// A TagRun is one run of a statement.
type TagRun struct {
	f *frame
	s *tagStmt
}

// Context returns the context of the Render.
func (r *TagRun) Context() context.Context { return r.f.run.ctx }

// Template returns the name of the template in which the statement stands.
func (r *TagRun) Template() string { return r.f.prog.name }

// Value returns the value of an expression.
func (r *TagRun) Value(number int) (any, error) { return r.s.exprs[number].eval(r.f) }

// Body runs a body and returns what it printed.
func (r *TagRun) Body(number int) (string, error) {
	b := r.s.bodies[number]
	return r.f.capture(func() error { return r.f.enterAndRun(&b.body) })
}

// RunBody runs a body where the statement stands.
func (r *TagRun) RunBody(number int) error {
	b := r.s.bodies[number]
	return r.f.enterAndRun(&b.body)
}

// Import renders another template as import does and returns what it printed.
func (r *TagRun) Import(name any, withContext bool) (string, error) {
	m, err := r.f.importModule(name, withContext, r.s.locals)
	if err != nil {
		return "", err
	}
	return m.text, nil
}

// Set assigns to the target.
func (r *TagRun) Set(v any) error {
	r.f.set(r.s.target.ref, v)
	r.f.export(r.s.export)
	return nil
}

// Write prints text.
func (r *TagRun) Write(text string) error { return r.f.write(text) }

func (s *tagStmt) exec(f *frame) error {
	f.line = s.line
	return s.run(&TagRun{f, s})
}
