package render

import (
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/yaml"
)

// An Error is Salt's SaltRenderError (salt/exceptions.py).
type Error struct {
	Message string
	Line    int    // in Source, from 1; 0 if it is unknown
	Source  string // the source whose lines are shown
	Path    string // of Source, if that is another file than the rendered one
	Trace   string // in Python's form, shown after the message; may be ""
	Err     error  // the cause; may be nil
}

// Errorf returns an Error without a location.
func Errorf(format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Message: err.Error(), Err: err}
}

// An Exception is an error of code in Python that Salt would not raise as SaltRenderError. Salt adds
// its traceback to some messages.
type Exception struct{ Err error }

// Raised returns the error for an exception of a renderer in Python: an Error for SaltRenderError,
// an Exception for another, and err itself if it is no exception.
func Raised(err error) error {
	e, ok := errors.AsType[*loader.Error](err)
	switch {
	case !ok:
		return err
	case strings.HasSuffix(e.Class, "SaltRenderError"):
		return &Error{Message: e.Text, Err: err}
	}
	return &Exception{err}
}

// Error returns the text of the exception.
func (e *Exception) Error() string { return e.Err.Error() }

// Unwrap returns the exception.
func (e *Exception) Unwrap() error { return e.Err }

// Traceback returns the exception with its stack, as Python prints it.
func (e *Exception) Traceback() string { return loader.Traceback(e.Err) }

// marker ends the line with the error.
const marker = "    <======================"

// Error returns the message and, if the line is known, the line and its surroundings.
func (e *Error) Error() string {
	text := e.Message
	if e.Path != "" {
		text += fmt.Sprintf("\n%s(%d):\n%s", e.Path, e.Line, Excerpt(e.Source, e.Line))
	}
	if e.Trace != "" {
		text += "\n" + e.Trace + "\n"
	}
	if e.Line > 0 && e.Source != "" && e.Path == "" {
		text += fmt.Sprintf("; line %d\n\n%s", e.Line, Excerpt(e.Source, e.Line))
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Excerpt returns a line with five lines on either side and an arrow after it, between dashes. If
// the source has no such line, it returns the whole source (salt/utils/stringutils.py,
// get_context).
func Excerpt(source string, line int) string {
	const around = 5
	lines := splitLines(source)
	if line > len(lines) {
		return source
	}
	first, last := max(0, line-around-1), min(len(lines), line+around)
	shown := append([]string{}, lines[first:last]...)
	if at := line - first - 1; at >= 0 {
		shown[at] += marker
	} else {
		shown[len(shown)-1] += marker // Python's index -1
	}
	if first > 0 {
		shown = append([]string{"[...]"}, shown...)
	}
	if last < len(lines) {
		shown = append(shown, "[...]")
	}
	return "---\n" + strings.Join(shown, "\n") + "\n---"
}

// splitLines is Python's str.splitlines.
func splitLines(s string) []string {
	var lines []string
	for s != "" {
		i := strings.IndexAny(s, "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029")
		if i < 0 {
			return append(lines, s)
		}
		lines = append(lines, s[:i])
		switch {
		case strings.HasPrefix(s[i:], "\r\n"):
			i += 2
		case s[i] == '\xc2':
			i += 2
		case s[i] == '\xe2':
			i += 3
		default:
			i++
		}
		s = s[i:]
	}
	return lines
}

// Brief returns the text of an error without lines of the source and without documents that it
// loads, since these may contain secrets of a pillar.
func Brief(err error) string {
	var e *Error
	if !errors.As(err, &e) || e.Line == 0 {
		return err.Error()
	}
	message := e.Message
	if bad, ok := errors.AsType[*pyjson.SyntaxError](err); ok {
		// the whole document follows
		if before, _, found := strings.Cut(message, "Unable to load json from "); found {
			message = before + "Unable to load json: " + bad.Error()
		}
	}
	text := fmt.Sprintf("%s; line %d", message, e.Line)
	if e.Path != "" {
		text += " of " + e.Path
	}
	if bad, ok := errors.AsType[*yaml.Error](err); ok && bad.ProblemMark != nil &&
		!strings.Contains(e.Message, bad.Problem) {
		text += fmt.Sprintf(": YAML that it loads: %s; line %d", bad.Problem,
			bad.ProblemMark.Line+1)
	}
	return text
}
