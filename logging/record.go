package logging

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
)

// The fields of an entry that have a meaning, beside logrus' own error.
const (
	nameField  = "name"
	jidField   = "jid"
	levelField = "levelno" // of Print
)

// A record is an entry as formats show it. Its texts have no secrets and no control characters in them.
type record struct {
	log      *Log
	time     time.Time
	level    Level
	name     string
	jid      string
	shownJID string // the same by log_fmt_jid
	message  string // with the error and the fields but for the JID behind it
	caller   runtime.Frame
	entry    *logrus.Entry
}

// newRecord returns the record of an entry whose level and name are known.
func (l *Log) newRecord(e *logrus.Entry, level Level, name string) *record {
	r := &record{log: l, time: e.Time, level: level, name: l.clean(name), message: l.clean(message(e)), entry: e}
	if jid, ok := e.Data[jidField]; ok {
		r.jid = l.clean(fmt.Sprint(jid))
	}
	if e.Caller != nil {
		r.caller = *e.Caller
	}
	return r
}

// clean returns s without secrets and with its control characters quoted.
func (l *Log) clean(s string) string { return quoteControls(l.secrets.hide(s)) }

// text is the message as the format shows it: with the JID behind it where that has no place of its own.
func (r *record) text(f *format) string {
	if r.jid == "" || f.jid {
		return r.message
	}
	return r.message + " [" + jidField + " " + r.jid + "]"
}

// fileName is the name of the source file in which the entry was logged.
func (r *record) fileName() string {
	if r.caller.File == "" {
		return ""
	}
	return filepath.Base(r.caller.File)
}

// nameOf returns the name of an entry as it was given.
func (l *Log) nameOf(e *logrus.Entry) string {
	if name, ok := e.Data[nameField].(string); ok && name != "" {
		return name
	}
	return l.options.Program
}

// message is what an entry says, with its error and fields behind it.
func message(e *logrus.Entry) string {
	if len(e.Data) == 0 {
		return e.Message
	}
	var b strings.Builder
	b.WriteString(e.Message)
	if err, ok := e.Data[logrus.ErrorKey]; ok {
		fmt.Fprintf(&b, ": %v", err)
	}
	for _, name := range fieldNames(e) {
		fmt.Fprintf(&b, " [%s %v]", name, e.Data[name])
	}
	return b.String()
}

// fieldNames returns the names of the fields that have no meaning of their own, in order.
func fieldNames(e *logrus.Entry) []string {
	var names []string
	for name := range e.Data {
		if name != logrus.ErrorKey && name != nameField && name != jidField && name != levelField {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
