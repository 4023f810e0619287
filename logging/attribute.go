package logging

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// A kind is the Python type of an attribute.
type kind int

const (
	isText kind = iota
	isInt
	isFloat
)

// An attribute extracts one attribute of Python's LogRecord, or one added by Salt, from an entry.
// Exactly one of its functions is set.
type attribute struct {
	text   func(*record, *format) string
	number func(*record) int64
	float  func(*record) float64
}

func (a attribute) kind() kind {
	switch {
	case a.number != nil:
		return isInt
	case a.float != nil:
		return isFloat
	}
	return isText
}

func textOf(f func(*record, *format) string) attribute { return attribute{text: f} }

func fixed(s string) attribute {
	return textOf(func(*record, *format) string { return s })
}

// attributeOf returns the attribute with that name.
func attributeOf(name string) (attribute, bool) {
	for _, find := range []func(string) (attribute, bool){plainAttribute, numberAttribute, callerAttribute, saltAttribute} {
		if a, ok := find(name); ok {
			return a, true
		}
	}
	return attribute{}, false
}

func plainAttribute(name string) (attribute, bool) {
	switch name {
	case "name":
		return textOf(func(r *record, _ *format) string { return r.name }), true
	case "levelname":
		return textOf(func(r *record, _ *format) string { return r.level.String() }), true
	case "asctime":
		return textOf(func(r *record, f *format) string { return f.asctime(r.time) }), true
	case "message", "msg":
		return textOf((*record).text), true
	case "processName":
		return fixed("MainProcess"), true
	case "threadName":
		return fixed("MainThread"), true
	case "taskName":
		return fixed("None"), true
	}
	return attribute{}, false
}

func numberAttribute(name string) (attribute, bool) {
	switch name {
	case "levelno":
		return attribute{number: func(r *record) int64 { return int64(r.level) }}, true
	case "process", "thread":
		return attribute{number: func(r *record) int64 { return int64(r.log.options.PID) }}, true
	case "msecs":
		return attribute{float: func(r *record) float64 { return float64(r.time.Nanosecond() / int(time.Millisecond)) }}, true
	case "created":
		return attribute{float: func(r *record) float64 { return seconds(r.time) }}, true
	case "relativeCreated":
		return attribute{float: func(r *record) float64 { return (seconds(r.time) - seconds(r.log.start)) * 1000 }}, true
	}
	return attribute{}, false
}

// seconds returns the time like Python's time.time().
func seconds(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

// callerAttributes returns the attributes that require the caller of an entry. lineno alone does
// not.
func callerAttributes() []string { return []string{"pathname", "filename", "module", "funcName"} }

func callerAttribute(name string) (attribute, bool) {
	switch name {
	case "lineno":
		return attribute{number: func(r *record) int64 { return int64(r.caller.Line) }}, true
	case "pathname":
		return textOf(func(r *record, _ *format) string { return r.caller.File }), true
	case "filename":
		return textOf(func(r *record, _ *format) string { return r.fileName() }), true
	case "module":
		return textOf(func(r *record, _ *format) string {
			return strings.TrimSuffix(r.fileName(), filepath.Ext(r.fileName()))
		}), true
	case "funcName":
		return textOf(func(r *record, _ *format) string {
			_, name, _ := strings.Cut(r.caller.Function[strings.LastIndex(r.caller.Function,
				"/")+1:], ".")
			return name
		}), true
	}
	return attribute{}, false
}

// saltAttribute returns the attributes added by SaltLogRecord and SaltColorLogRecord of
// salt/_logging/impl.py.
func saltAttribute(name string) (attribute, bool) {
	switch name {
	case "jid":
		return textOf(func(r *record, _ *format) string { return r.shownJID }), true
	case "bracketname":
		return textOf(func(r *record, _ *format) string { return bracketName(r) }), true
	case "bracketlevel":
		return textOf(func(r *record, _ *format) string { return bracketLevel(r) }), true
	case "bracketprocess":
		return textOf(func(r *record, _ *format) string { return bracketProcess(r) }), true
	case "colorname":
		return textOf(func(r *record, _ *format) string { return colour("1;32", bracketName(r)) }),
			true
	case "colorlevel":
		return textOf(func(r *record, _ *format) string { return colour(levelColour(r.level), bracketLevel(r)) }), true
	case "colorprocess":
		return textOf(func(r *record, _ *format) string { return colour("1;34", bracketProcess(r)) }), true
	case "colormsg":
		return textOf(func(r *record, f *format) string { return colour(messageColour(r.level), r.text(f)) }), true
	}
	return attribute{}, false
}

func bracketName(r *record) string    { return fmt.Sprintf("[%-17s]", r.name) }
func bracketLevel(r *record) string   { return fmt.Sprintf("[%-8s]", r.level) }
func bracketProcess(r *record) string { return fmt.Sprintf("[%5d]", r.log.options.PID) }

// colour wraps s in terminal color sequences, as in salt/utils/textformat.py.
func colour(code, s string) string { return "\x1b[0;" + code + "m" + s + "\x1b[0;0m" }

// levelColour returns the color in LOG_COLORS["levels"] of salt/_logging/impl.py.
func levelColour(l Level) string {
	switch l {
	case Critical, Error:
		return "1;31"
	case Warning:
		return "1;33"
	case Info:
		return "1;32"
	case Profile, Debug:
		return "1;36"
	case Trace:
		return "1;35"
	case Garbage:
		return "1;34"
	}
	return "0"
}

// messageColour returns the color in LOG_COLORS["msgs"] of the same file.
func messageColour(l Level) string {
	switch l {
	case Critical, Profile:
		return levelColour(l)
	case Error, Warning, Info, Debug, Trace, Garbage:
		return levelColour(l)[len("1;"):]
	}
	return "0"
}
