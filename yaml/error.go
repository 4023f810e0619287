package yaml

import (
	"fmt"
	"strings"
)

// A Mark is a position in a source, counted in characters from zero.
type Mark struct {
	Line, Column int
}

// An Error is the reason why a source is rejected. Its text is PyYAML's, including marks.
type Error struct {
	Name        string // of the source
	Context     string // what was being done; may be ""
	ContextMark *Mark
	Problem     string // what is wrong
	ProblemMark *Mark
	Position    int // byte offset of a character that is not text; otherwise 0

	unreadable bool // the text contains Position instead of ProblemMark
}

// Error returns PyYAML's text: context, its mark, problem, its mark, each on a line.
func (e *Error) Error() string {
	lines := make([]string, 0, 4)
	if e.Context != "" {
		lines = append(lines, e.Context)
	}
	if e.ContextMark != nil && (e.ProblemMark == nil || *e.ContextMark != *e.ProblemMark) {
		lines = append(lines, e.place(e.ContextMark))
	}
	lines = append(lines, e.Problem)
	switch {
	case e.unreadable:
		lines = append(lines, fmt.Sprintf("  in %q, position %d", e.name(), e.Position))
	case e.ProblemMark != nil:
		lines = append(lines, e.place(e.ProblemMark))
	}
	return strings.Join(lines, "\n")
}

// Line returns the line of the error, from 1, or 0 if it is unknown.
func (e *Error) Line() int {
	switch {
	case e.ProblemMark != nil:
		return e.ProblemMark.Line + 1
	case e.ContextMark != nil:
		return e.ContextMark.Line + 1
	}
	return 0
}

func (e *Error) place(m *Mark) string {
	return fmt.Sprintf("  in \"%s\", line %d, column %d", e.name(), m.Line+1, m.Column+1)
}

func (e *Error) name() string {
	if e.Name == "" {
		return "<unicode string>"
	}
	return e.Name
}

// fault returns the error of a node without a context.
func fault(m Mark, format string, args ...any) *Error {
	return &Error{Problem: fmt.Sprintf(format, args...), ProblemMark: &m}
}

// faultIn returns the error of a node at m that appears while the node at in is built.
func faultIn(context string, in, m Mark, format string, args ...any) *Error {
	e := fault(m, format, args...)
	e.Context, e.ContextMark = context, &in
	return e
}

// OfScanner reports whether PyYAML's scanner would have raised the error (a ScannerError), and not
// its parser or a later stage.
func (e *Error) OfScanner() bool {
	switch e.Problem {
	case "mapping values are not allowed in this context",
		"block sequence entries are not allowed in this context",
		"mapping keys are not allowed in this context",
		"found character that cannot start any token":
		return true
	}
	return strings.HasPrefix(e.Context, "while scanning") ||
		e.Context == "while parsing a quoted scalar"
}
