package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/render/py"
	"github.com/brineproject/brine/render/pyhost"
	"github.com/brineproject/brine/render/saltjinja"
	"github.com/brineproject/brine/render/standard"
)

// A kind is what a name stands for.
type kind string

const (
	aState    kind = "state"
	aFunction kind = "function"
	aFilter   kind = "filter"
	aTest     kind = "test"
	aRenderer kind = "renderer"
)

// A name is something that an SLS file or a template uses.
type name struct {
	kind kind
	text string
}

// A names is a set of names. A value is the file that has the name first, or a platform.
type names map[name]string

// add adds a name unless it is there.
func (n names) add(k kind, text, value string) {
	if _, ok := n[name{k, text}]; !ok {
		n[name{k, text}] = value
	}
}

// brinesNames returns what Brine has on Linux, on a host with python3.
func brinesNames(s *functionSet) (names, error) {
	n := names{}
	for text := range s.states {
		n.add(aState, text, "linux")
	}
	for text := range s.modules {
		n.add(aFunction, text, "linux")
	}
	language, err := saltjinja.Language()
	if err != nil {
		return nil, err
	}
	for _, text := range language.Filters() {
		n.add(aFilter, text, "linux")
	}
	for _, text := range language.Tests() {
		n.add(aTest, text, "linux")
	}
	for _, r := range slices.Concat(standard.Renderers(), pyhost.Renderers(nil), []render.Renderer{py.Renderer{}}) {
		n.add(aRenderer, r.Name(), "linux")
	}
	return n, nil
}

// saltsNames returns what Salt 3006.18 has, with a platform for each name: linux, or one of those
// without which the name is not there. A line of the file is "states linux file = absent copy …",
// by the name under which users find the module, or "filters = abs attr …".
func saltsNames(root string) (names, error) {
	text, err := os.ReadFile(filepath.Join(root, "internal", "test", "coverage", "testdata",
		"salt-names.txt"))
	if err != nil {
		return nil, err
	}
	shelves := map[string]kind{"states": aState, "modules": aFunction, "filters": aFilter,
		"tests": aTest, "renderers": aRenderer}
	n := names{}
	for line := range strings.Lines(string(text)) {
		head, tail, ok := strings.Cut(line, " = ")
		words := strings.Fields(head)
		if !ok || shelves[words[0]] == "" || len(words) != 1 && len(words) != 3 {
			return nil, fmt.Errorf("read the names of Salt: line %q", line)
		}
		platform, prefix := "linux", ""
		if len(words) == 3 {
			platform, prefix = words[1], words[2]+"."
		}
		for _, text := range strings.Fields(tail) {
			full := name{shelves[words[0]], prefix + text}
			if platform == "linux" || n[full] == "" {
				n[full] = platform
			}
		}
	}
	return n, nil
}

// sorted returns the names in order.
func (n names) sorted() []name {
	var list []name
	for one := range n {
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b name) int {
		if a.kind != b.kind {
			return strings.Compare(string(a.kind), string(b.kind))
		}
		return strings.Compare(a.text, b.text)
	})
	return list
}

// String returns the name as in the report: state functions are the usual case, others have their
// kind before them.
func (n name) String() string {
	if n.kind == aState {
		return n.text
	}
	return string(n.kind) + " " + n.text
}
