package logging

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/sirupsen/logrus"
)

// The fields of an entry that have a meaning, beside logrus' own error.
const (
	nameField  = "name"
	jidField   = "jid"
	levelField = "levelno" // of Print
)

// consoleLine is log_fmt_console as Salt has it by default.
func consoleLine(e *logrus.Entry) []byte {
	return fmt.Appendf(nil, "[%-8s] %s\n", levelOf(e), message(e))
}

// fileLine is log_fmt_logfile as Salt has it by default.
func fileLine(o Options) func(*logrus.Entry) []byte {
	return func(e *logrus.Entry) []byte {
		return fmt.Appendf(nil, "%s [%-17s:%-4d][%-8s][%d] %s\n", e.Time.Format("2006-01-02 15:04:05,000"), o.Program, 0, levelOf(e), o.PID, message(e))
	}
}

// message is what an entry says, with its error and fields behind it.
func message(e *logrus.Entry) string {
	var b strings.Builder
	b.WriteString(e.Message)
	if err, ok := e.Data[logrus.ErrorKey]; ok {
		fmt.Fprintf(&b, ": %v", err)
	}
	for _, name := range fieldNames(e) {
		fmt.Fprintf(&b, " [%s %v]", name, e.Data[name])
	}
	return quoteControls(b.String())
}

// fieldNames returns the names of the fields that have no meaning of their own, in order.
func fieldNames(e *logrus.Entry) []string {
	var names []string
	for name := range e.Data {
		if name != logrus.ErrorKey && name != nameField && name != levelField {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// quoteControls quotes the characters by which one who is on the network could write lines of its own, or change what a
// terminal shows.
func quoteControls(s string) string {
	if !strings.ContainsFunc(s, isControl) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString("\n    ") // lines of our own, such as stacks, stay lines but cannot look like an entry
		case isControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isControl(r rune) bool {
	return r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}
