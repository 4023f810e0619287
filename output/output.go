// Package output formats the return of a function for an operator: the outputters of Salt, byte for
// byte.
//
//	choice := output.Choice{Forced: flag, Asked: ret.Out, Fun: "test.ping"} // --out, and what the function asks for
//	text, err := output.Printout(choice, value, output.Options{Colour: terminal, Indent: output.NoIndent{}})
//	fmt.Println(text) // when text is not empty
//
// Each minion's return is printed separately as it arrives, as a map whose only key is the id; with
// --static the caller makes one map of all returns. This package does not depend on terminals,
// flags or configuration: the caller passes their effect in Options.
//
// Some odd behaviour of Salt is kept. If an outputter cannot print a value, Salt tries nested and
// then raw. But if --out names the outputter, Salt tries the same one three times, so such a run
// fails (see Printout). The outputter nested sorts the keys of a map, json and txt keep their
// order, pprint and yaml sort. Binary bytes and dates print as nothing at all in nested. An unknown
// outputter is replaced by nested; New reports that as an *UnknownError, which should be logged and
// is not a failure.
//
// The sources are salt/output/*.py of Salt 3006, Python's pprint for pprint and txt, and its json
// for json.
package output

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// An Outputter prints values in one format.
type Outputter interface {
	// Format returns the text of v, as Salt's outputter does; the caller trims line breaks at its
	// end before printing. The error wraps ErrKey or ErrValue.
	Format(v any) (string, error)
}

// Reasons why an outputter cannot print a value. The program salt ignores ErrKey and fails for
// ErrValue.
var (
	ErrKey   = errors.New("not a key that the outputter knows")
	ErrValue = errors.New("not a value that the outputter prints")
	// ErrRaised is wrapped by an error of users' own outputter after which no other one is tried.
	ErrRaised = errors.New("exception of an outputter")
)

// An UnknownError reports that there is no outputter of this name, and that nested replaces it. Its
// text is Salt's.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("Invalid outputter %s specified, fall back to nested", e.Name)
}

// NoIndent is the value of Options.Indent if neither flag nor configuration sets output_indent.
type NoIndent struct{}

// Options tune an Outputter. The zero value prints no colours, and json and yaml on one line, since
// nil means that output_indent is set to Null. Set Indent to NoIndent{} if the option is not set.
type Options struct {
	Colour bool // print ANSI colours
	// the codes of colours by name, from the file that color_theme names; nil for Salt's own
	Theme *data.Map
	// output_indent: NoIndent{}, a number of columns (int64 or int; below 0: one line), nil or
	// "pretty"
	Indent any
	// strip_colors: False; otherwise each ESC in a value is printed as a question mark
	KeepEscapes  bool
	NestedIndent int // nested_indent: the column that nested begins at
	// of the run that returned the value; if not 0, nested prints names in red
	Retcode   int
	KeepOrder bool // nested and yaml keep the order of maps, as they do for Python's OrderedDict
	MultiKey  bool // __multi_key: key indents by four columns

	State StateOptions // for highstate
	Table TableStyle   // for table

	// Own returns users' own outputter of a name, nil if there is none; nil means none
	Own func(name string, o Options) Outputter
}

// A Choice selects the outputter for a return.
type Choice struct {
	Forced string // the option output: --out
	Asked  string // the field "out" of the return: what the function asks for
	Static bool   // --static is given
	Fun    string // the function that ran
}

// Name returns the name of the outputter to use. The operator's choice takes precedence, except
// that only a state run can ask for highstate. It follows get_printout of salt/output/__init__.py.
func (c Choice) Name() string {
	name := c.Asked
	if c.Forced != "" && c.Forced != "highstate" {
		name = c.Forced
	}
	stateRun := c.Forced == "highstate" || strings.HasPrefix(c.Fun+".", "state.")
	switch {
	case name == "" && c.Static && stateRun:
		return "highstate"
	case name == "":
		return "nested"
	case name == "text":
		return "txt"
	}
	return name
}

// UseColour decides whether to print colours. configured is the option color (nil if it is not
// set), force and forbid are --force-color and --no-color, and terminal reports whether standard
// output is a terminal. It follows get_printout likewise.
func UseColour(configured any, force, forbid, terminal bool) bool {
	switch {
	case force:
		return true
	case forbid || runtime.GOOS == "windows":
		return false
	case configured != nil:
		return data.Truth(configured)
	}
	return terminal
}

// New returns the outputter of that name; users' own ones come first. For an unknown name it returns nested and an
// *UnknownError.
func New(name string, o Options) (Outputter, error) {
	if o.Own != nil {
		if own := o.Own(name, o); own != nil {
			return own, nil
		}
	}
	if make, ok := table()[name]; ok {
		return make(o), nil
	}
	if name == "grains" { // old minions ask for it
		return newNested(o), nil
	}
	return newNested(o), &UnknownError{name}
}

// Nested returns the outputter nested. A program that uses only this function, Pretty and
// IndentedJSON does not contain the other outputters, all of which New refers to.
func Nested(o Options) Outputter { return newNested(o) }

// Pretty returns the outputter pprint.
func Pretty(o Options) Outputter { return newPretty(o) }

// IndentedJSON returns the outputter json.
func IndentedJSON(o Options) Outputter { return newJSON(o) }

// Names returns the names of all outputters, in no order.
func Names() []string {
	var names []string
	for name := range table() {
		names = append(names, name)
	}
	return names
}

func table() map[string]func(Options) Outputter {
	return map[string]func(Options) Outputter{
		"nested":              newNested,
		"json":                newJSON,
		"yaml":                newYAML,
		"txt":                 newText,
		"raw":                 func(Options) Outputter { return formatter(raw) },
		"pprint":              newPretty,
		"key":                 newKey,
		"quiet":               func(Options) Outputter { return formatter(quiet) },
		"newline_values_only": func(Options) Outputter { return formatter(valuesOnly) },
		"no_return":           newNoReturn,
		"overstatestage":      newStage,
		"highstate":           newHighstate,
		"table":               newTable,
		"profile":             newProfile,
	}
}

// Printout returns the text of v for a return without white space at its end; "" must not be
// printed at all. If the outputter fails and the operator did not force it, nested takes over. An
// *UnknownError comes with a text and should be logged; any other error means that nothing can be
// printed.
//
// It follows try_printout of salt/output/__init__.py, which makes all attempts with the outputter
// that --out names.
func Printout(c Choice, v any, o Options) (string, error) {
	name := c.Name()
	if tooDeep(v, maxDepth) {
		return "", fmt.Errorf("output %s: nested too deep: %w", name, ErrValue)
	}
	out, unknown := New(name, o)
	text, err := out.Format(v)
	if err != nil && !errors.Is(err, ErrRaised) && (c.Forced == "" || c.Forced == "highstate") {
		text, err = newNested(o).Format(v)
	}
	if err != nil {
		return "", fmt.Errorf("output %s: %w", name, err)
	}
	return strings.TrimRightFunc(text, isSpace), unknown
}

// maxDepth is the deepest nesting that is printed; Python fails at about the same depth.
const maxDepth = 900

// tooDeep reports whether v is nested deeper than depth, as is a value that contains itself.
func tooDeep(v any, depth int) bool {
	if depth == 0 {
		return true
	}
	switch v := v.(type) {
	case *data.Map:
		for _, e := range v.All() {
			if tooDeep(e, depth-1) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return tooDeep(e, depth-1) })
	case data.Tuple:
		return slices.ContainsFunc(v, func(e any) bool { return tooDeep(e, depth-1) })
	}
	return false
}

// formatter is an Outputter without options.
type formatter func(v any) (string, error)

func (f formatter) Format(v any) (string, error) { return f(v) }
