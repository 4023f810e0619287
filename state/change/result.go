package change

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// A Verdict is what a state says of itself: Salt's True, False and None.
type Verdict string

// The verdicts.
const (
	Success Verdict = "True"
	Failure Verdict = "False"
	Pending Verdict = "None" // test mode: something would change
)

// verdicts are those of the stages in which a Thing ends.
var verdicts = map[Stage]Verdict{
	StageSame: Success, StageWould: Pending, StageDone: Success, StageFailed: Failure,
}

// A Result is what a state function returns; package loader hands it on in Salt's form.
type Result struct {
	Name    any
	Verdict Verdict
	Changes *data.Map // nil for none
	Comment any       // a text, or a list of texts
	More    *data.Map // keys beside Salt's four; nil for none
}

// Map returns the result in Salt's form: name, changes, result, comment and what there is more.
func (r Result) Map() *data.Map {
	m := New(r.Name, nil, r.Changes, r.Comment)
	if r.Verdict != Pending {
		m.Set("result", r.Verdict == Success)
	}
	m.Update(r.More)
	return m
}

// Plain is Map, for package loader.
func (r Result) Plain() any { return r.Map() }

// Failed reports whether the state failed.
func (r Result) Failed() bool { return r.Verdict == Failure }

// Refuse returns the result of a state whose arguments cannot be met: a failure without changes.
func Refuse(name, comment any) (Result, error) {
	return Result{Name: name, Verdict: Failure, Comment: comment}, nil
}

// Leave returns the result of a state that has nothing to do: success without changes.
func Leave(name, comment any) (Result, error) {
	return Result{Name: name, Verdict: Success, Comment: comment}, nil
}

// Join returns the result of a state over several things. It failed if one of them failed, else it
// is pending if one is. Its comment has a line for each of theirs that is not empty. Its changes are
// those of all: dictionaries under one key become one, and so do lists.
func Join(name any, parts ...Result) Result {
	all := Result{Name: name, Verdict: Success, Changes: &data.Map{}}
	var lines []string
	for _, part := range parts {
		if all.Verdict == Success || part.Verdict == Failure {
			all.Verdict = part.Verdict
		}
		if text := data.Str(part.Comment); text != "" {
			lines = append(lines, text)
		}
		join(all.Changes, part.Changes)
	}
	all.Comment = strings.Join(lines, "\n")
	return all
}

// join adds changes to others.
func join(all, more *data.Map) {
	for key, v := range more.All() {
		switch here := all.Value(key).(type) {
		case *data.Map:
			if there, ok := v.(*data.Map); ok {
				here = here.Clone()
				join(here, there)
				v = here
			}
		case []any:
			if there, ok := v.([]any); ok {
				v = slices.Concat(here, there)
			}
		}
		all.Set(key, v)
	}
}

// New returns the result of a state: name, changes, result and comment. The result is true, false, or nil for what would change;
// without changes there is an empty dictionary.
func New(name any, result any, changes *data.Map, comment any) *data.Map {
	if changes == nil {
		changes = &data.Map{}
	}
	return data.NewMap("name", name, "changes", changes, "result", result, "comment", comment)
}

// Done returns the result of a state that has nothing to do.
func Done(name any, comment string) *data.Map { return New(name, true, nil, comment) }

// Failed returns the result of a state that failed and changed nothing.
func Failed(name any, comment string) *data.Map { return New(name, false, nil, comment) }

// Would returns the result of a state that would make these changes.
func Would(name any, changes *data.Map, comment string) *data.Map {
	return New(name, nil, changes, comment)
}

// OldNew returns the dictionary that says what something was and what it is.
func OldNew(before, after any) *data.Map { return data.NewMap("old", before, "new", after) }
