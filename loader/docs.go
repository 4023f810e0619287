package loader

import (
	"compress/gzip"
	"io"
	"reflect"
	"runtime"
	"strings"
	"sync"
)

// Docs holds the documentation of one kind of plug-ins: the text that internal/docgen generates
// from the doc comments of their functions. An entry is a line with the package and the Go
// function, such as temp.dir, followed by the docstring, indented by four spaces. Docs is safe for
// concurrent use; nil is empty.
type Docs struct {
	text  string
	index func() map[string]string
}

// NewDocs returns the documentation in text, which is parsed on first use. A text compressed by gzip is
// decompressed then; a damaged one has no documentation.
func NewDocs(text string) *Docs {
	d := &Docs{text: text}
	d.index = sync.OnceValue(d.read)
	return d
}

// read returns the docstrings by function.
func (d *Docs) read() map[string]string {
	index := map[string]string{}
	for entry := range strings.SplitSeq(strings.TrimPrefix(unpacked(d.text), "\n"), "\n\n\n") {
		name, doc, _ := strings.Cut(entry, "\n")
		index[name] = "\n" + strings.TrimRight(doc, "\n") + "\n    "
	}
	return index
}

// unpacked returns a text that gzip may have compressed.
func unpacked(text string) string {
	r, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		return text // it is not compressed
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return ""
	}
	return string(b)
}

// of returns the docstring of a Go function, or "".
func (d *Docs) of(source string) string {
	if d == nil {
		return ""
	}
	return d.index()[source]
}

// Document sets docs on all plug-ins and returns them.
func (d *Docs) Document(plugins []Plugin) []Plugin {
	for i := range plugins {
		plugins[i].Docs = d
	}
	return plugins
}

// SourceOf returns the key of a Go function in Docs: the directory of its package and its name, as
// in temp.dir.
func SourceOf(fn any) string { return sourceOf(reflect.ValueOf(fn)) }

func sourceOf(fn reflect.Value) string {
	f := runtime.FuncForPC(fn.Pointer())
	if f == nil {
		return ""
	}
	name := strings.TrimSuffix(f.Name(), "-fm") // suffix of a method value
	dir, rest, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ".")
	return dir + "." + rest[strings.LastIndexByte(rest, '.')+1:]
}

// Docstring returns the documentation in the form of a Python docstring: a line feed, lines
// indented by four spaces, and a last line of four spaces. It is "" if there is none.
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
