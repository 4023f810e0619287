package jinja

import (
	"errors"
	"fmt"
	"strings"
)

// A Kind is the name of the exception that Python would raise.
type Kind string

// The kinds of errors: those of Jinja first, then Python's own.
const (
	SyntaxError Kind = "TemplateSyntaxError"
	// a syntax error found when names are resolved
	AssertionError      Kind = "TemplateAssertionError"
	RuntimeError        Kind = "TemplateRuntimeError"
	FilterArgumentError Kind = "FilterArgumentError"
	UndefinedError      Kind = "UndefinedError"
	SecurityError       Kind = "SecurityError"
	NotFound            Kind = "TemplateNotFound"
	NoneFound           Kind = "TemplatesNotFound"

	TypeError         Kind = "TypeError"
	ValueError        Kind = "ValueError"
	KeyError          Kind = "KeyError"
	IndexError        Kind = "IndexError"
	AttributeError    Kind = "AttributeError"
	ZeroDivisionError Kind = "ZeroDivisionError"
	OverflowError     Kind = "OverflowError"
	LookupError       Kind = "LookupError"
	UnicodeEncodeErr  Kind = "UnicodeEncodeError"
	AssertError       Kind = "AssertionError"
	PythonError       Kind = "RuntimeError"
	// break or continue outside a loop, an argument named twice
	PythonSyntaxError Kind = "SyntaxError"
	// a limit in Limits was exceeded; Python has no such error
	LimitError Kind = "LimitError"
	HostError  Kind = "HostError" // a function of the program failed: see Err
)

// A Place is a line of a template that was running.
type Place struct {
	Template string
	Line     int
	Block    bool // the line is in a block, which ran where it was declared
}

// An Error is the reason why a template could not be parsed or rendered.
type Error struct {
	Kind     Kind
	Message  string // the text of the exception
	Template string // the innermost template in which it happened
	Line     int    // in that template, from 1; 0 if it is unknown
	Source   string // of that template, for an excerpt
	// for an error while rendering: innermost first, one for each template, block and macro
	Trace []Place
	Err   error // the cause of a HostError or of a context that ended
}

// Error returns the place and the message.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Template != "" {
		b.WriteString(e.Template)
		b.WriteString(": ")
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	b.WriteString(e.Message)
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Raise returns an error of a kind; functions of the program use it for errors that Python would
// raise.
func Raise(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// isKind reports whether err is an Error of one of the kinds.
func isKind(err error, kinds ...Kind) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	for _, k := range kinds {
		if e.Kind == k {
			return true
		}
	}
	return false
}

// asError converts any error to an *Error.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: HostError, Message: err.Error(), Err: err}
}
