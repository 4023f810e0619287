package loader

import (
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/output"
)

// A Kind is the Python exception as which an error is reported.
type Kind int

// The kinds of errors. See [Registry.Call] for the text of each.
const (
	KindNone       Kind = iota
	KindException       // any other exception
	KindExecution       // CommandExecutionError, and errors other than *Error
	KindNotFound        // CommandNotFoundError
	KindInvocation      // SaltInvocationError
	KindType            // TypeError
	KindMissing         // the function does not exist
)

// An Error is the error of a function, with the exception class that Salt would have raised.
type Error struct {
	Kind  Kind
	Class string // Python's name of the exception class
	Text  string // str() of the exception
	Err   error  // wrapped cause; may be nil
	Info  any    // details included in Text, see ExecutionInfo; may be nil

	message string // Text without details
	frames  string // stack of a panic in the form of a traceback
}

// Error returns the text without the class.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Execution returns a CommandExecutionError. The format may use %w.
func Execution(format string, args ...any) error {
	return newError(KindExecution, "salt.exceptions.CommandExecutionError", format, args)
}

// ExecutionInfo returns a CommandExecutionError with details. They are printed below the message in
// the form of the outputter nested (the parameter info of salt/exceptions.py). Details that are
// false in Python are omitted.
func ExecutionInfo(message string, info any) error {
	if !data.Truth(info) {
		return Execution("%s", message)
	}
	text, err := detailed(message, info)
	if err != nil {
		return err
	}
	return &Error{Kind: KindExecution, Class: "salt.exceptions.CommandExecutionError", Text: text,
		Info: info, message: message}
}

// detailed returns a message with details below it.
func detailed(message string, info any) (string, error) {
	text, err := output.Nested(output.Options{Indent: output.NoIndent{}}).Format(info)
	if err != nil {
		return "", fmt.Errorf("print details of %q: %w", message, err)
	}
	if message != "" {
		if !strings.ContainsAny(message[len(message)-1:], ".?!") {
			message += "."
		}
		message += " "
	}
	return message + "Additional info follows:\n\n" + strings.TrimRight(text, " \t\n"), nil
}

// Changed returns the changes that a function had made before it failed with err, taken from the
// details of ExecutionInfo, and the error text without them. ok is false for an error without
// details (salt/exceptions.py, strerror_without_changes).
func Changed(err error) (changes *data.Map, text string, ok bool) {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Info == nil {
		return nil, "", false
	}
	info, ok := e.Info.(*data.Map)
	if !ok {
		return &data.Map{}, e.Text, true
	}
	changes, _ = info.Value("changes").(*data.Map)
	if changes == nil {
		changes = &data.Map{}
	}
	rest := info.Clone()
	rest.Delete("changes")
	if rest.Len() == 0 {
		return changes, e.message, true
	}
	if text, err = detailed(e.message, rest); err != nil {
		text = e.message
	}
	return changes, text, true
}

// NotFound returns a CommandNotFoundError: a program required by the function is missing.
func NotFound(format string, args ...any) error {
	return newError(KindNotFound, "salt.exceptions.CommandNotFoundError", format, args)
}

// Invocation returns a SaltInvocationError: the function was called incorrectly.
func Invocation(format string, args ...any) error {
	return newError(KindInvocation, "salt.exceptions.SaltInvocationError", format, args)
}

// TypeError returns a TypeError: the arguments do not fit.
func TypeError(format string, args ...any) error {
	return newError(KindType, "TypeError", format, args)
}

// Exception returns an exception of another class, such as ValueError or KeyError.
func Exception(class, format string, args ...any) error {
	return newError(KindException, class, format, args)
}

func newError(kind Kind, class, format string, args []any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Class: class, Text: err.Error(), Err: errors.Unwrap(err)}
}

// KindOf returns the kind as which err is reported.
func KindOf(err error) Kind {
	if err == nil {
		return KindNone
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return KindExecution
}
