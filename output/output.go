// Package output turns what a function returned into what an operator reads: the outputters of Salt, byte for byte.
//
//	choice := output.Choice{Forced: flag, Asked: ret.Out, Fun: "test.ping"} // --out, and what the function asks for
//	text, err := output.Printout(choice, value, output.Options{Colour: terminal, Indent: output.NoIndent{}})
//	fmt.Println(text) // when text is not empty
//
// Each minion's return is printed on its own as it arrives, as a map with the one key that is its id; with --static
// the caller makes one map of all. Nothing here knows of terminals, flags or configuration: the caller says in
// Options what they amount to.
//
// What is odd, and kept. An outputter that cannot print a value does not end the matter: Salt tries nested and then
// raw, but where --out names the outputter it is the same one three times, so such a run fails (see Printout). The
// outputter nested sorts the keys of a map, json and txt keep their order, pprint and yaml sort. Bytes that are no
// text and dates print as nothing at all in nested. An outputter that is not there is replaced by nested, which New
// reports in an *UnknownError that is to be logged and is no failure.
//
// The sources are salt/output/*.py of Salt 3006, Python's pprint for pprint and txt, and its json for json.
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
	// Format returns the text of v, as Salt's outputter does: line breaks at its end are cut before it is printed.
	// The error wraps ErrKey or ErrValue.
	Format(v any) (string, error)
}

// What stops an outputter from printing a value. The program salt passes over the first and fails for the second.
var (
	ErrKey   = errors.New("not a key that the outputter knows")
	ErrValue = errors.New("not a value that the outputter prints")
)

// An UnknownError says that there is no outputter of a name, and that nested takes its place. Its text is Salt's.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("Invalid outputter %s specified, fall back to nested", e.Name)
}

// NoIndent is the value of Options.Indent where neither flag nor configuration gives output_indent.
type NoIndent struct{}

// Options tune an Outputter. In the zero value nothing is coloured and the outputs json and yaml are on one line each,
// because nil is what the configuration gives for Null: set Indent to NoIndent{} where there is no such option.
type Options struct {
	Colour       bool      // print ANSI colours
	Theme        *data.Map // the codes of colours by name, from the file that color_theme names; nil for Salt's own
	Indent       any       // output_indent: NoIndent{}, a number of columns (int64 or int; below 0: one line), nil or "pretty"
	KeepEscapes  bool      // strip_colors: False; else each ESC in a value is printed as a question mark
	NestedIndent int       // nested_indent: the column that nested begins at
	Retcode      int       // of the run that returned the value; other than 0, nested prints names in red
	KeepOrder    bool      // nested and yaml print maps in their order, as they do Python's OrderedDict
	MultiKey     bool      // __multi_key: key indents by four columns

	State StateOptions // for highstate
	Table TableStyle   // for table
}

// A Choice is what decides which outputter prints a return.
type Choice struct {
	Forced string // the option output: --out
	Asked  string // the field "out" of the return: what the function asks for
	Static bool   // --static is given
	Fun    string // the function that ran
}

// Name returns the outputter to take. An operator's choice goes first, but for highstate, which only a state run can
// ask for. It follows get_printout of salt/output/__init__.py.
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

// UseColour says whether to print colours: configured is the option color (nil when it is not set), force and forbid are
// --force-color and --no-color, terminal says what standard output is. It follows get_printout likewise.
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

// New returns the outputter of that name. For a name that is not known it returns nested and an *UnknownError.
func New(name string, o Options) (Outputter, error) {
	if make, ok := table()[name]; ok {
		return make(o), nil
	}
	if name == "grains" { // old minions ask for it
		return newNested(o), nil
	}
	return newNested(o), &UnknownError{name}
}

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

// Printout returns the text of v for a return without white space at its end; "" is not printed at all. When the
// outputter fails and the operator did not force it, nested takes over. An error that is an *UnknownError comes with a
// text and is to be logged; any other means that nothing can be printed.
//
// It follows try_printout of salt/output/__init__.py, where all attempts go to the outputter that --out names.
func Printout(c Choice, v any, o Options) (string, error) {
	name := c.Name()
	if tooDeep(v, maxDepth) {
		return "", fmt.Errorf("output %s: nested too deep: %w", name, ErrValue)
	}
	out, unknown := New(name, o)
	text, err := out.Format(v)
	if err != nil && (c.Forced == "" || c.Forced == "highstate") {
		text, err = newNested(o).Format(v)
	}
	if err != nil {
		return "", fmt.Errorf("output %s: %w", name, err)
	}
	return strings.TrimRightFunc(text, isSpace), unknown
}

// maxDepth is the deepest nesting that is printed; Python gives up at about the same.
const maxDepth = 900

// tooDeep reports whether v is nested deeper than depth, as one is that holds itself.
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
