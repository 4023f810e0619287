// Package crontab reads and writes crontabs as Salt does (list_tab and _render_tab of
// salt/modules/cron.py). Text above a mark is kept unchanged. Below it are variables, then jobs
// with times, then those with words such as @daily.
//
// A job below the mark has an identifier in the comment above it, which identifies it when its
// command changes. As in Salt, other lines below the mark are dropped when the crontab is written.
// Unlike in Salt, spaces in the command of a job with a word are kept.
package crontab

import (
	"strings"
)

const (
	mark         = "# Lines below here are managed by Salt, do not edit"
	identifierOf = "SALT_CRON_IDENTIFIER"
	disabled     = "#DISABLED#"
	// NoIdentifier is written for a job without an identifier.
	NoIdentifier = "NO ID SET"
)

// A Job is a job of a crontab.
type Job struct {
	// minute, hour, day of the month, month, day of the week; ignored with Special
	Times      [5]string
	Special    string // a word such as @daily instead of times, or ""
	Command    string
	Identifier *string // nil for none
	Comment    *string // nil for none; "" if the line above only has an identifier
	Disabled   bool
}

// A Variable is a variable assignment in a crontab.
type Variable struct {
	Name  string
	Value string
}

// A Table is a crontab.
type Table struct {
	Above     []string // lines above the mark
	Variables []Variable
	Jobs      []Job
	Specials  []Job
}

// Parse parses a crontab. Any text is valid.
func Parse(text string) *Table {
	t, ours := &Table{}, false
	r := &reader{table: t}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == mark:
			ours = true
		case ours:
			r.take(line)
		default:
			t.Above = append(t.Above, line)
		}
	}
	return t
}

// A reader holds the comment and the identifier for the next job.
type reader struct {
	table               *Table
	comment, identifier *string
}

// take parses a line below the mark.
func (r *reader) take(line string) {
	line, off := strings.CutPrefix(line, disabled)
	equals, space := strings.IndexByte(line, '='), strings.IndexByte(line, ' ')
	fields := strings.Split(line, " ")
	switch {
	case strings.HasPrefix(line, "@"):
		if words := strings.Fields(line); len(words) > 1 {
			job := Job{Special: words[0], Command: strings.TrimSpace(line[len(words[0]):]),
				Disabled: off}
			r.table.Specials = append(r.table.Specials, r.named(job))
		}
	case strings.HasPrefix(line, "#"):
		r.takeComment(line)
	case equals > 0 && (space < 0 || equals < space):
		r.table.Variables = append(r.table.Variables, Variable{line[:equals], line[equals+1:]})
	case len(fields) > 5:
		job := Job{Times: [5]string(fields[:5]), Command: strings.Join(fields[5:], " "),
			Disabled: off}
		r.table.Jobs = append(r.table.Jobs, r.named(job))
	}
}

// named returns a job with the comment and identifier above it.
func (r *reader) named(j Job) Job {
	j.Comment, j.Identifier = r.comment, r.identifier
	r.comment, r.identifier = nil, nil
	return j
}

func (r *reader) takeComment(line string) {
	text := strings.TrimLeft(line, "# ")
	if before, after, ok := strings.Cut(text, identifierOf); ok {
		text = strings.TrimRight(before, " \t")
		after, _, _ = strings.Cut(after, identifierOf)
		if len(after) > 1 {
			after = after[1:]
			r.identifier = &after
		}
	}
	if r.comment != nil {
		text = *r.comment + "\n" + text
	}
	r.comment = &text
}

// String returns the text of the crontab.
func (t *Table) String() string {
	var b strings.Builder
	for _, line := range t.Above {
		b.WriteString(line + "\n")
	}
	b.WriteString(mark + "\n")
	for _, v := range t.Variables {
		value := v.Value
		if value == "" {
			value = `""`
		}
		b.WriteString(v.Name + "=" + value + "\n")
	}
	for _, j := range t.Jobs {
		j.write(&b, strings.Join(j.Times[:], " "), func(s string) string { return s })
	}
	for _, j := range t.Specials {
		j.write(&b, j.Special, func(s string) string { return strings.TrimRight(s, " \t\r\n") })
	}
	return b.String()
}

func (j Job) write(b *strings.Builder, when string, comment func(string) string) {
	if j.Comment != nil || j.Identifier != nil {
		b.WriteByte('#')
		if j.Comment != nil && *j.Comment != "" {
			b.WriteString(" " + strings.ReplaceAll(comment(*j.Comment), "\n", "\n# "))
		}
		if j.Identifier != nil && *j.Identifier != "" {
			b.WriteString(" " + identifierOf + ":" + *j.Identifier)
		}
		b.WriteByte('\n')
	}
	if j.Disabled {
		b.WriteString(disabled)
	}
	b.WriteString(when + " " + j.Command + "\n")
}
