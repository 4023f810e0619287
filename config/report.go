package config

import (
	"fmt"
	"strings"
)

// A Report is the result of loading options, beside the options.
type Report struct {
	Files    []string          // read, in order
	Watch    []string          // files and directories to watch for changes of the configuration
	Warnings []string          // whole sentences, to be logged
	Unknown  []string          // unknown options, in order
	Sources  map[string]Origin // by option; options that are missing have their default

	documents []document // in the order in which they were read
	broken    []string   // existing files that were left out
	rooted    []string   // options whose paths were prefixed with root_dir
}

// An Origin is the place that set an option.
type Origin struct {
	File string
	Line int // from 1
}

// String returns file:line.
func (o Origin) String() string {
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// An Error is one fault in the configuration. Loading reports all faults at once, joined.
type Error struct {
	File       string
	Line       int    // from 1; 0 is unknown
	Option     string // may be ""
	Text       string // what is wrong
	Excerpt    string // the line with a mark below it; may be ""
	Suggestion string // what to write instead; may be ""
}

// Error returns file:line: option: text; suggestion, and the excerpt below it.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		fmt.Fprintf(&b, "%s: ", Origin{e.File, e.Line})
	}
	if e.Option != "" {
		fmt.Fprintf(&b, "%s: ", e.Option)
	}
	b.WriteString(e.Text)
	if e.Suggestion != "" {
		b.WriteString("; " + e.Suggestion)
	}
	if e.Excerpt != "" {
		b.WriteString("\n" + e.Excerpt)
	}
	return b.String()
}

func (r *Report) warn(at Origin, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if at.File != "" {
		text = at.String() + ": " + text
	}
	r.Warnings = append(r.Warnings, text)
}
