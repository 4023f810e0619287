//go:build linux

package pairings

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// An outcome is what came of a step.
type outcome struct {
	step string
	took time.Duration
	err  error
	note string // instead of the time, if it is not ""
}

// A step is what a row takes, in the order of the columns.
type step struct {
	name string
	do   func(ctx context.Context) error
}

// A row of a table is what was tested, with the outcome of each step.
type row struct {
	name     string
	outcomes []outcome
	control  bool // of Salt alone: a failure is not one of the test
	like     *row // the control; a step that fails there too may fail. nil for none
}

// take takes a step, and adds its outcome.
func (w *row) take(t *testing.T, s step) {
	w.add(t, s.name, func() (string, error) { return "", s.do(t.Context()) })
}

// add does what a step does, and adds its outcome with the note that it returns.
func (w *row) add(t *testing.T, step string, do func() (note string, err error)) {
	begun := time.Now()
	note, err := do()
	w.outcomes = append(w.outcomes, outcome{step: step, took: time.Since(begun), err: err, note: note})
	t.Logf("%s after %s: %s %v", step, seconds(time.Since(begun)), note, err)
}

// excused returns the reason why the failure of a step is none of the test, "" for none.
func (w *row) excused(step string) string {
	if w.control {
		return "control"
	}
	if w.like != nil {
		for _, o := range w.like.outcomes {
			if o.step == step && o.err != nil {
				return "as the control"
			}
		}
	}
	return ""
}

// judge fails the test for each step that failed without an excuse, and logs the others.
func (w *row) judge(t *testing.T) {
	t.Helper()
	for _, o := range w.outcomes {
		switch why := w.excused(o.step); {
		case o.err == nil:
		case why == "":
			t.Errorf("%s, %s: %v", w.name, o.step, o.err)
		default:
			t.Logf("%s, %s fails (%s): %v", w.name, o.step, why, o.err)
		}
	}
}

// cell returns the text of a table's cell for a step.
func (w *row) cell(step string) string {
	for _, o := range w.outcomes {
		switch {
		case o.step != step:
		case o.err == nil && o.note != "":
			return o.note
		case o.err == nil:
			return seconds(o.took)
		case w.excused(step) == "":
			return "FAILS"
		default:
			return "fails (" + w.excused(step) + ")"
		}
	}
	return "-"
}

// table returns a table in Markdown with a line for each row and a column for each step.
func table(title string, rows []*row) string {
	var steps []string
	for _, w := range rows {
		if len(w.outcomes) > len(steps) { // a row ends early if its daemons do not start
			steps = nil
			for _, o := range w.outcomes {
				steps = append(steps, o.step)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %s |\n", title, strings.Join(steps, " | "))
	fmt.Fprintf(&b, "|---%s|\n", strings.Repeat("|---", len(steps)))
	for _, w := range rows {
		fmt.Fprintf(&b, "| %s |", w.name)
		for _, step := range steps {
			fmt.Fprintf(&b, " %s |", w.cell(step))
		}
		b.WriteString("\n")
	}
	return b.String()
}
