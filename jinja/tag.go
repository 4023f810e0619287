package jinja

import "context"

// A Tag is a statement that a program adds to the language. Parse reads the parts after the tag's
// name with p, in the order of the source, and returns the function that executes the statement.
// Parse must not keep p; run must be safe for concurrent use.
type Tag interface {
	Parse(p *TagParser) (run func(r *TagRun) error)
}

// A TagParser reads the parts of a statement. After an error its methods return nothing useful; the
// error is reported after Parse returns.
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

// Name returns the name of the tag.
func (t *TagParser) Name() string { return t.s.name }

// Line returns the line of the tag.
func (t *TagParser) Line() int { return t.s.line }

// Word skips a word and reports whether it was present.
func (t *TagParser) Word(word string) bool { return t.p.skipName(word) }

// Need skips a required word.
func (t *TagParser) Need(word string) { t.p.expectName(word) }

// Fail ends parsing with a syntax error.
func (t *TagParser) Fail(message string) { t.p.fail(t.s.line, "%s", message) }

// Expression parses an expression and returns its number for TagRun.Value.
func (t *TagParser) Expression() int {
	t.s.exprs = append(t.s.exprs, t.p.expression())
	return len(t.s.exprs) - 1
}

// Target parses the name that TagRun.Set assigns to.
func (t *TagParser) Target() { t.s.target = t.p.storeName() }

// WithContext parses "with context" or "without context", and returns otherwise if there is
// neither.
func (t *TagParser) WithContext(otherwise bool) bool {
	with, _ := t.p.withContext(otherwise)
	return with
}

// Body parses statements up to one of the tags ends, which it skips, and returns their number for
// TagRun.Body. Assignments in a scoped body are not visible outside.
func (t *TagParser) Body(scoped bool, ends ...string) int {
	b := &tagBody{plain: !scoped}
	b.stmts = t.p.statements(true, ends...)
	t.s.bodies = append(t.s.bodies, b)
	return len(t.s.bodies) - 1
}

// A TagRun is one execution of a statement.
type TagRun struct {
	f *frame
	s *tagStmt
}

// Context returns the context of the Render.
func (r *TagRun) Context() context.Context { return r.f.run.ctx }

// Template returns the name of the template that contains the statement.
func (r *TagRun) Template() string { return r.f.prog.name }

// Value returns the value of an expression.
func (r *TagRun) Value(number int) (any, error) { return r.s.exprs[number].eval(r.f) }

// Body runs a body and returns its output.
func (r *TagRun) Body(number int) (string, error) {
	b := r.s.bodies[number]
	return r.f.capture(func() error { return r.f.enterAndRun(&b.body) })
}

// RunBody runs a body in place.
func (r *TagRun) RunBody(number int) error {
	b := r.s.bodies[number]
	return r.f.enterAndRun(&b.body)
}

// Import renders another template as import does and returns its output.
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
