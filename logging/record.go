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

// Fields of an entry with a meaning, besides logrus' own error.
const (
	nameField  = "name"
	jidField   = "jid"
	levelField = "levelno" // set by Print
)

// A record is an entry prepared for formatting, without secrets and control characters.
type record struct {
	log      *Log
	time     time.Time
	level    Level
	name     string
	jid      string
	shownJID string // jid formatted by log_fmt_jid
	message  string // with the error and the fields other than the JID appended
	caller   runtime.Frame
	entry    *logrus.Entry
}

// newRecord returns the record of an entry with the given level and name.
func (l *Log) newRecord(e *logrus.Entry, level Level, name string) *record {
	r := &record{log: l, time: e.Time, level: level, name: l.clean(name),
		message: l.clean(message(e)), entry: e}
	if jid, ok := e.Data[jidField]; ok {
		r.jid = l.clean(fmt.Sprint(jid))
	}
	if e.Caller != nil {
		r.caller = *e.Caller
	}
	return r
}

// clean hides secrets in s and quotes its control characters.
func (l *Log) clean(s string) string { return quoteControls(l.secrets.hide(s)) }

// text returns the message for the format. The JID is appended if the format does not contain it.
func (r *record) text(f *format) string {
	if r.jid == "" || f.jid {
		return r.message
	}
	return r.message + " [" + jidField + " " + r.jid + "]"
}

// fileName returns the source file in which the entry was logged.
func (r *record) fileName() string {
	if r.caller.File == "" {
		return ""
	}
	return filepath.Base(r.caller.File)
}

// nameOf returns the name of an entry.
func (l *Log) nameOf(e *logrus.Entry) string {
	if name, ok := e.Data[nameField].(string); ok && name != "" {
		return name
	}
	return l.options.Program
}

// message returns the message of an entry with its error and fields appended.
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

// fieldNames returns the sorted names of the fields without a special meaning.
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
