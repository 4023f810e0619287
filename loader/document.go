package loader

import (
	"reflect"
	"runtime"
	"strings"
	"sync"
)

// Docs holds the documentation of a shelf: the text that internal/docgen writes from the doc comments of the shelf's functions.
// An entry is a line with the package and the Go function, as in temp.dir, and the docstring below it, indented by four
// blanks. Several goroutines may use it; nil holds nothing.
type Docs struct {
	text  string
	index func() map[string]string
}

// NewDocs returns the documentation in text, which is read when the first docstring is asked for.
func NewDocs(text string) *Docs {
	d := &Docs{text: text}
	d.index = sync.OnceValue(d.read)
	return d
}

// read returns the docstrings by the names above them.
func (d *Docs) read() map[string]string {
	index := map[string]string{}
	for entry := range strings.SplitSeq(strings.TrimPrefix(d.text, "\n"), "\n\n\n") {
		name, doc, _ := strings.Cut(entry, "\n")
		index[name] = "\n" + strings.TrimRight(doc, "\n") + "\n    "
	}
	return index
}

// of returns the docstring of a Go function, or "".
func (d *Docs) of(source string) string {
	if d == nil {
		return ""
	}
	return d.index()[source]
}

// Document returns the plug-ins with docs as their documentation.
func (d *Docs) Document(plugins []Plugin) []Plugin {
	for i := range plugins {
		plugins[i].Docs = d
	}
	return plugins
}

// SourceOf returns the name of a Go function as Docs has it: that of its package's directory and its own, as in temp.dir.
func SourceOf(fn any) string { return sourceOf(reflect.ValueOf(fn)) }

func sourceOf(fn reflect.Value) string {
	f := runtime.FuncForPC(fn.Pointer())
	if f == nil {
		return ""
	}
	name := strings.TrimSuffix(f.Name(), "-fm") // of a method value
	dir, rest, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ".")
	return dir + "." + rest[strings.LastIndexByte(rest, '.')+1:]
}

// Docstring returns the documentation of the function as a docstring of Python: a line feed, lines indented by four blanks, a
// last line of four blanks. "" is none.
func (s *Spec) Docstring() string {
	doc := s.Doc
	if doc == "" {
		doc = s.docs.of(s.Source)
	}
	if s.aliasOf != "" {
		return "\nThis function is an alias of ``" + s.aliasOf + "``.\n" + doc
	}
	return doc
}
