package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// A Finding is a problem within an option, found by the code that reads the option. [Report.Judge]
// adds its file and line.
type Finding struct {
	Path       []any  // from the option inward: keys of mappings, and an Entry for each list
	Text       string // what is wrong
	Suggestion string // what to write instead; may be ""
	Doubt      bool   // only a warning; the start goes on
	Cause      error  // for errors.Is and errors.As; Error does not show it; may be nil
}

// Unwrap returns the cause.
func (f *Finding) Unwrap() error { return f.Cause }

// An Entry is a step of a path into a list.
type Entry struct {
	Index int // from 0
	Value any // the entry's value, used to find the entry if lists of several files were joined
}

// Error returns path: text; suggestion.
func (f *Finding) Error() string {
	return strings.TrimPrefix((&Error{Option: f.where(""), Text: f.Text,
		Suggestion: f.Suggestion}).Error(), ": ")
}

// where returns the name of the option and the path within it, as option: key: entry 2.
func (f *Finding) where(option string) string {
	parts := []string{option}
	for _, step := range f.Path {
		if e, ok := step.(Entry); ok {
			parts = append(parts, fmt.Sprintf("entry %d", e.Index+1))
			continue
		}
		parts = append(parts, clip(urlPassword().ReplaceAllString(data.Str(step),
			"${1}"+Hidden+"@")))
	}
	if option == "" {
		parts = parts[1:]
	}
	return strings.Join(parts, ": ")
}

// Expected returns a Finding for a value of the wrong shape.
func Expected(what string, got any, example string) *Finding {
	return &Finding{Text: fmt.Sprintf("expected %s, got %s", what, describe(got)),
		Suggestion: example}
}

// NoSuch returns a Finding for an unknown name of a kind such as returner. It suggests the most
// similar of the names in there. A name in foreign is one that only Salt has; the Finding then says
// so and adds instead, the advice for doing without it.
func NoSuch(kind, name string, there, foreign []string, instead ...string) *Finding {
	there = slices.Sorted(slices.Values(there))
	list := "there are " + strings.Join(there, ", ")
	if slices.Contains(foreign, name) {
		return &Finding{Text: fmt.Sprintf("Salt's %s %s is not built in", kind, name),
			Suggestion: strings.Join(append([]string{list}, instead...), ". ")}
	}
	text := fmt.Sprintf("there is no %s %s", kind, clip(data.Repr(name)))
	if near := Nearest(name, there); near != "" {
		list = fmt.Sprintf("is %s meant? There are %s", near, strings.Join(there, ", "))
	}
	return &Finding{Text: text, Suggestion: list}
}

// Nearest returns the most similar of names, or "" if none is similar enough.
func Nearest(name string, names []string) string {
	best, least := "", max(1, min(3, len(name)/4))+1
	for _, n := range names {
		if d := distance(strings.ToLower(name), n, least); d < least {
			best, least = n, d
		}
	}
	return best
}

// Doubt returns err with all its findings turned into doubts.
func Doubt(err error) error {
	return changed(err, func(f *Finding) { f.Doubt = true })
}

// Faults returns the findings in err that are no doubts, joined.
func Faults(err error) error {
	var all []error
	for _, f := range findings(err) {
		if !f.Doubt {
			all = append(all, f)
		}
	}
	return errors.Join(all...)
}

// Below returns err with all its findings moved inward by a step: the key of a mapping, or an
// Entry.
func Below(step any, err error) error {
	return changed(err, func(f *Finding) { f.Path = append([]any{step}, f.Path...) })
}

// changed returns the findings in err, each changed.
func changed(err error, change func(*Finding)) error {
	var all []error
	for _, f := range findings(err) {
		c := *f
		change(&c)
		all = append(all, &c)
	}
	return errors.Join(all...)
}

// findings returns the errors joined in err; an error that is not a Finding is converted to one.
func findings(err error) []*Finding {
	if err == nil {
		return nil
	}
	if f, ok := err.(*Finding); ok { //nolint:errorlint // the error itself, not one within
		return []*Finding{f}
	}
	joined, ok := err.(interface{ Unwrap() []error }) // only errors that were joined directly
	if !ok || err.Error() != errors.Join(joined.Unwrap()...).Error() {
		return []*Finding{{Text: err.Error(), Cause: err}}
	}
	var all []*Finding
	for _, e := range joined.Unwrap() {
		all = append(all, findings(e)...)
	}
	return all
}

// Judge locates the findings in err, which are about an option, in the files. Doubts become
// warnings; the error joins an *Error for each of the others.
func (r *Report) Judge(option string, err error) error {
	var faults []error
	for _, f := range findings(err) {
		at := r.At(option, f.Path...)
		e := &Error{File: at.File, Line: at.Line, Option: f.where(option), Text: f.Text,
			Suggestion: f.Suggestion}
		if f.Doubt {
			r.Warnings = append(r.Warnings, e.Error())
			continue
		}
		faults = append(faults, e)
	}
	return errors.Join(faults...)
}

// An About is an error caused by an option.
type About struct {
	Option string
	Err    error
}

// Error returns the text of the error.
func (a *About) Error() string { return a.Err.Error() }

// Unwrap returns the error.
func (a *About) Unwrap() error { return a.Err }

// Locate prefixes err with the place of the option that an *[About] in it names, if a file sets
// that option. For a [Finding] it is the place of the finding's path, and the option is named, too. For a path
// below root_dir that no file sets, it uses the place of root_dir.
func (r *Report) Locate(err error) error {
	var about *About
	if !errors.As(err, &about) {
		return err
	}
	if err.Error() == about.Error() && errors.As(about.Err, new(*Finding)) {
		return &located{r.Judge(about.Option, about.Err), err}
	}
	if at, ok := r.Sources[about.Option]; ok {
		return fmt.Errorf("%s: %w", at, err)
	}
	if at, ok := r.Sources["root_dir"]; ok && slices.Contains(r.rooted, about.Option) {
		return fmt.Errorf("%s: root_dir: %w", at, err)
	}
	return err
}

// A located error has the text of another one.
type located struct{ text, err error }

func (l *located) Error() string { return l.text.Error() }

func (l *located) Unwrap() error { return l.err }

// WarnUnused warns of options that have no effect.
func (r *Report) WarnUnused(list []Unused) {
	for _, u := range list {
		r.warn(r.Sources[u.Name], "%s: has no effect: %s", u.Name, u.Why)
	}
}

// At returns the place that set the value at a path within an option, or the deepest step of the
// path that is found.
func (r *Report) At(option string, path ...any) Origin {
	best, deepest := r.Sources[option], 0
	for _, d := range r.documents {
		if at, depth := d.find(option, path); at.File != "" && depth >= deepest {
			best, deepest = at, depth
		}
	}
	return best
}

// A document is one file, as it was read.
type document struct {
	file string
	opts *data.Map
	at   *yaml.Positions
}

// find follows a path as far as the file contains it.
func (d document) find(option string, path []any) (at Origin, depth int) {
	value, ok := d.opts.Get(option)
	if !ok {
		return at, 0
	}
	steps := []any{option}
	at = d.mark(at, steps)
	for _, step := range path {
		var next any
		if value, next, ok = inward(value, step); !ok {
			break
		}
		steps = append(steps, next)
		at = d.mark(at, steps)
		depth++
	}
	return at, depth
}

// inward returns the value that a step leads to, and the step as used in positions.
func inward(value, step any) (to, next any, ok bool) {
	if e, isEntry := step.(Entry); isEntry {
		list, _ := value.([]any)
		i := slices.IndexFunc(list, func(v any) bool { return data.Equal(v, e.Value) })
		if i < 0 {
			return nil, nil, false
		}
		return list[i], i, true
	}
	m, _ := value.(*data.Map)
	to, ok = m.Get(step)
	return to, data.Str(step), ok
}

// mark returns the position that steps lead to in the file, or the position of the step before.
func (d document) mark(before Origin, steps []any) Origin {
	m, ok := d.at.Of(steps...)
	if !ok {
		return Origin{File: d.file, Line: before.Line}
	}
	return Origin{File: d.file, Line: m.Line + 1}
}
