// Package signatures reads files that list plug-in functions with their parameters, in the form of
// Salt's sys.argspec:
//
//	# a comment
//	test.ping()
//	temp.dir(suffix='', prefix='tmp', parent=None)
//	motd.set(text, *, **)  # own
//
// One star stands for Salt's *args, two for **kwargs. A line that ends in "# own" lists a function
// that Salt does not have.
package signatures

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Line describes one function.
type Line struct {
	Name string // module.function
	Args string // the parameters: text, times=1, **
	Own  bool   // Salt does not have the function
}

// String returns the function as a call: temp.dir(suffix=”).
func (l Line) String() string { return l.Name + "(" + l.Args + ")" }

// ownMark ends the line of a function that Salt does not have.
const ownMark = "# own"

// Read returns the functions that a file lists. The error for an invalid line contains the file and
// line number.
func Read(file string) ([]Line, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read signatures: %w", err)
	}
	var all []Line
	number := 0
	for line := range strings.Lines(string(src)) {
		number++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		call, own := strings.CutSuffix(line, ownMark)
		call, closed := strings.CutSuffix(strings.TrimSpace(call), ")")
		name, args, opened := strings.Cut(call, "(")
		if !closed || !opened || !strings.Contains(name, ".") {
			return nil, fmt.Errorf("%s:%d: %q is not a function: expected module.function(…)",
				file, number, line)
		}
		all = append(all, Line{Name: name, Args: args, Own: own})
	}
	return all, nil
}

// Of returns the line of a function. The name is a parameter because a function can have several.
func Of(name string, s *loader.Spec) Line {
	var parts []string
	for _, p := range s.Params {
		if p.Required {
			parts = append(parts, p.Name)
		} else {
			parts = append(parts, p.Name+"="+data.Repr(p.Default))
		}
	}
	if s.Args != "" {
		parts = append(parts, "*")
	}
	if s.Kwargs != "" {
		parts = append(parts, "**")
	}
	return Line{Name: name, Args: strings.Join(parts, ", ")}
}

// Differences returns a sentence for each function in named that is missing in got or differs from
// it, and the other way round. file is the name for the text.
func Differences(file string, named, got []Line) []string {
	texts := func(lines []Line) map[string]bool {
		all := map[string]bool{}
		for _, l := range lines {
			all[l.String()] = true
		}
		return all
	}
	want, have := texts(named), texts(got)
	var out []string
	for call := range want {
		if !have[call] {
			out = append(out, fmt.Sprintf("%s names %s, which is not there", file, call))
		}
	}
	for call := range have {
		if !want[call] {
			out = append(out, fmt.Sprintf("%s has no line %s; a function that Salt does not have "+
				"is marked %q", file, call, ownMark))
		}
	}
	slices.Sort(out)
	return out
}

// Problems compares the functions of a registry with those that a file lists, and looks for an
// example in the documentation of each. It returns a sentence for each problem.
func Problems(file string, r *loader.Registry) ([]string, error) {
	want, err := Read(file)
	if err != nil {
		return nil, err
	}
	var (
		got []Line
		out []string
	)
	for _, fun := range r.Names() {
		f, _ := r.Func(fun)
		got = append(got, Of(fun, f.Spec()))
		if doc := f.Spec().Docstring(); !strings.HasPrefix(doc, "\n") ||
			!strings.Contains(doc, "Example:\n") {
			out = append(out, fmt.Sprintf("%s has no documentation with an example: %q", fun, doc))
		}
	}
	return append(out, Differences(file, want, got)...), nil
}
