package render

import (
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/yaml"
)

// An Error is Salt's SaltRenderError (salt/exceptions.py).
type Error struct {
	Message string
	Line    int    // in Source, from 1; 0 when it is not known
	Source  string // whose lines are shown
	Path    string // of Source, where that is another file than the one that is rendered
	Trace   string // of Python's kind, shown after the message; may be ""
	Err     error  // the cause; may be nil
}

// Errorf returns an Error without a place.
func Errorf(format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Message: err.Error(), Err: err}
}

// marker ends the line that is at fault.
const marker = "    <======================"

// Error returns the message, and with a place the line and its surroundings.
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

// Excerpt returns the surroundings of a line, five either side, with an arrow behind it, between dashes; the whole source
// where it has no such line (salt/utils/stringutils.py, get_context).
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

// Brief returns the text of an error without lines of the source and documents that it loads: these may hold secrets of a pillar.
func Brief(err error) string {
	var e *Error
	if !errors.As(err, &e) || e.Line == 0 {
		return err.Error()
	}
	message := e.Message
	if bad, ok := errors.AsType[*JSONError](err); ok {
		if before, _, found := strings.Cut(message, "Unable to load json from "); found { // the whole document follows
			message = before + "Unable to load json: " + bad.Error()
		}
	}
	text := fmt.Sprintf("%s; line %d", message, e.Line)
	if e.Path != "" {
		text += " of " + e.Path
	}
	if bad, ok := errors.AsType[*yaml.Error](err); ok && bad.ProblemMark != nil && !strings.Contains(e.Message, bad.Problem) {
		text += fmt.Sprintf(": YAML that it loads: %s; line %d", bad.Problem, bad.ProblemMark.Line+1)
	}
	return text
}
