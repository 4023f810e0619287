package change

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// A Verdict is the result of a state: Salt's True, False and None.
type Verdict string

// The verdicts.
const (
	Success Verdict = "True"
	Failure Verdict = "False"
	Pending Verdict = "None" // test mode: the state would change something
)

// verdicts maps the final stage of a Thing to its verdict.
var verdicts = map[Stage]Verdict{
	StageSame: Success, StageWould: Pending, StageDone: Success, StageFailed: Failure,
}

// A Result is the return value of a state function. Package loader converts it to Salt's form.
type Result struct {
	Name    any
	Verdict Verdict
	Changes *data.Map // nil for none
	Comment any       // a string or a list of strings
	More    *data.Map // keys in addition to Salt's four; nil for none
}

// Map returns the result in Salt's form: name, changes, result, comment and the keys of More.
func (r Result) Map() *data.Map {
	m := New(r.Name, nil, r.Changes, r.Comment)
	if r.Verdict != Pending {
		m.Set("result", r.Verdict == Success)
	}
	m.Update(r.More)
	return m
}

// Plain is Map. It makes Result usable as a return value for package loader.
func (r Result) Plain() any { return r.Map() }

// Failed reports whether the state failed.
func (r Result) Failed() bool { return r.Verdict == Failure }

// Refuse returns the result of a state with unusable arguments: a failure without changes.
func Refuse(name, comment any) (Result, error) {
	return Result{Name: name, Verdict: Failure, Comment: comment}, nil
}

// Leave returns the result of a state that has nothing to do: success without changes.
func Leave(name, comment any) (Result, error) {
	return Result{Name: name, Verdict: Success, Comment: comment}, nil
}

// Join combines the results of several things into one. The verdict is failure if any part failed,
// otherwise pending if any part is pending. The comment has a line for each non-empty comment of a
// part. The changes of all parts are merged: dictionaries under the same key are merged, lists are
// concatenated.
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

// join merges more into all.
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

// New returns a state result with name, changes, result and comment. The result is true, false, or
// nil if the state would change something. Nil changes become an empty dictionary.
func New(name any, result any, changes *data.Map, comment any) *data.Map {
	if changes == nil {
		changes = &data.Map{}
	}
	return data.NewMap("name", name, "changes", changes, "result", result, "comment", comment)
}

// Unchanged returns the result of a state that has nothing to do.
func Unchanged(name any, comment string) *data.Map { return New(name, true, nil, comment) }

// Failed returns the result of a state that failed and changed nothing.
func Failed(name any, comment string) *data.Map { return New(name, false, nil, comment) }

// Would returns the test mode result of a state that would make these changes.
func Would(name any, changes *data.Map, comment string) *data.Map {
	return New(name, nil, changes, comment)
}

// OldNew returns the dictionary {old: before, new: after}.
func OldNew(before, after any) *data.Map { return data.NewMap("old", before, "new", after) }
