package console

import (
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// A functionHelp is what a minion knows of its functions, and of a chosen one.
type functionHelp struct {
	Asked     string // the minion; "" if none could be asked
	Functions []string
	Doc       string
	Note      string // why there is no documentation, or no form of the arguments
	Spec      *argumentForm
}

// An argumentForm is the form of the arguments of one function.
type argumentForm struct {
	Fields []argumentField
	// More and Named say that the function takes any number of arguments by position and by name.
	More, Named bool
}

// Free reports whether a function takes arguments that are not among its fields.
func (a *argumentForm) Free() bool { return a == nil || a.More || a.Named }

type argumentField struct {
	Name     string
	Value    string
	Required bool
	Default  string // as it is typed
}

// askFunction asks a minion for its functions, and for the documentation and the arguments of one of them, unless
// fun is empty.
func askFunction(ask *asker, minion, fun string) functionHelp {
	f := functionHelp{Asked: minion}
	var doc, spec any
	var err error
	var asking sync.WaitGroup
	asking.Go(func() {
		if names, err := ask.call(f.Asked, "sys.list_functions"); err == nil {
			f.Functions = data.TextsOf(names)
		}
	})
	if fun != "" {
		asking.Go(func() { doc, _ = ask.call(f.Asked, "sys.doc", fun) })
		asking.Go(func() { spec, err = ask.call(f.Asked, "sys.argspec", fun) })
	}
	asking.Wait()
	if fun == "" {
		return f
	}
	if docs, ok := doc.(*data.Map); ok {
		f.Doc = withoutIndent(docs.Text(fun))
	}
	specs, _ := spec.(*data.Map)
	one, ok := specs.Value(fun).(*data.Map)
	switch {
	case refused(err):
		f.Note = "You lack the rights to sys.doc and sys.argspec, so the documentation and the arguments cannot be shown."
	case err != nil:
		f.Note = netapi.FaultOf(err).Text + " The documentation and the arguments cannot be shown."
	case !ok:
		f.Note = "The minion " + f.Asked + " has no function " + fun + "."
	default:
		f.Spec = argumentFormOf(one)
	}
	return f
}

// withoutIndent returns the text of a docstring without the indent that all its lines but the first have in
// common.
func withoutIndent(text string) string {
	lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(text), "\t", "        "), "\n")
	indent := len(text)
	for _, line := range lines[1:] {
		if rest := strings.TrimLeft(line, " "); rest != "" {
			indent = min(indent, len(line)-len(rest))
		}
	}
	for i, line := range lines[1:] {
		lines[i+1] = line[min(indent, len(line)):]
	}
	return strings.Join(lines, "\n")
}

// argumentFormOf returns the form for an answer of sys.argspec.
func argumentFormOf(spec *data.Map) *argumentForm {
	a := &argumentForm{More: data.Truth(spec.Value("varargs")), Named: data.Truth(spec.Value("kwargs"))}
	names, defaults := data.TextsOf(spec.Value("args")), data.ListOf(spec.Value("defaults"))
	for i, name := range names {
		field := argumentField{Name: name, Required: i < len(names)-len(defaults)}
		if !field.Required {
			field.Default = argumentText(defaults[i-(len(names)-len(defaults))])
		}
		a.Fields = append(a.Fields, field)
	}
	return a
}
