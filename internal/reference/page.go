package main

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/internal/signatures"
)

// A section of the page lists things of one kind.
type section struct {
	title, text string
	columns     []string // the first is that of the names
	items       []item
}

// An item is one line of a section.
type item struct {
	name string
	more []string // the columns after the name
	test string   // a test that names the item, or ""
}

// shelves are the directories with functions for operators.
var shelves = []struct{ folder, title string }{
	{"modules", "Execution functions"}, {"runners", "Runners"}, {"wheel", "Wheel functions"},
}

// Page returns the text of the reference for the module in a directory.
func Page(root string) ([]byte, error) {
	sections, err := sections(root)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString("# Reference\n\nWritten by `go generate ./internal/reference` from the source; do not edit. " +
		"What differs from Salt is in [compatibility.md](compatibility.md), and what the options mean in " +
		"[options.md](options.md). The events are in [events.md](events.md#event-tags).\n\n" +
		"`*` stands for any number of further arguments, and `**` for any number of named ones. The remark " +
		"`Brine's own` marks functions that Salt does not have.\n")
	for _, s := range sections {
		s.write(&out)
	}
	return out.Bytes(), nil
}

func (s section) write(out *bytes.Buffer) {
	fmt.Fprintf(out, "\n## %s\n\n", s.title)
	if s.text != "" {
		fmt.Fprintf(out, "%s\n\n", s.text)
	}
	fmt.Fprintf(out, "| %s |\n|%s\n", strings.Join(s.columns, " | "),
		strings.Repeat("---|", len(s.columns)))
	for _, i := range s.items {
		out.WriteString("| `" + i.name + "` |")
		for _, text := range i.more {
			out.WriteString(strings.TrimRight(" "+text, " ") + " |")
		}
		out.WriteString("\n")
	}
}

// sections reads the sections of the page from the source, and finds the test of each item.
func sections(root string) ([]section, error) {
	s, err := read(root)
	if err != nil {
		return nil, err
	}
	tests := s.tests(root)
	var all []section
	for _, shelf := range shelves {
		lines, err := shelfLines(root, shelf.folder)
		if err != nil {
			return nil, err
		}
		functions, err := s.functions(shelf.folder, lines)
		if err != nil {
			return nil, err
		}
		all = append(all, functionSection(shelf.folder, shelf.title, functions, tests))
	}
	states := stateSection(s.stateFunctions(), tests)
	return append(slices.Insert(all, 1, states), commandSection(s.commands(), tests)), nil
}

// commandSection lists the commands that the master accepts at its request port.
func commandSection(names []string, tests []test) section {
	out := section{
		title:   "Commands of the request port",
		text:    "For authors of programs that speak the protocol themselves.",
		columns: []string{"command"},
	}
	for _, name := range names {
		out.items = append(out.items,
			item{name: name, test: find(tests, []string{"master", ""}, name)})
	}
	return out
}

// functionSection lists the functions of a shelf, and marks those that Salt does not have.
func functionSection(shelf, title string, functions map[string]*function, tests []test) section {
	out := section{title: title, columns: []string{"function", "arguments", "remarks"}}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		f, note := functions[name], ""
		if f.own {
			note = "Brine's own"
		}
		module, short, _ := strings.Cut(name, ".")
		folders := append(f.folders, shelf+"/"+module)
		out.items = append(out.items, item{
			name, []string{cell(f.args), note}, functionTest(tests, folders, shelf, name, short),
		})
	}
	return out
}

// cell formats arguments as code.
func cell(args string) string {
	if args == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(args, "|", "\\|") + "`"
}

// functionTest returns a test of a function: one of its own packages that names it, or one of the
// shelf, or another, with the full name.
func functionTest(tests []test, own []string, shelf, whole, name string) string {
	if t := find(tests, own, whole, name); t != "" {
		return t
	}
	return find(tests, []string{shelf, ""}, whole)
}

// shelfLines returns the lines of the signature files beside the list of a shelf.
func shelfLines(root, shelf string) ([]signatures.Line, error) {
	var lines []signatures.Line
	for _, dir := range []string{"testdata", "standard/testdata"} {
		files, err := filepath.Glob(filepath.Join(root, shelf, dir, "*.txt"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			more, err := signatures.Read(file)
			if err != nil {
				return nil, err
			}
			lines = append(lines, more...)
		}
	}
	return lines, nil
}

// stateSection lists the functions of state modules with their arguments.
func stateSection(functions map[string]stateFunction, tests []test) section {
	out := section{
		title: "States",
		text: "The arguments that every state takes besides, such as `require`, `onlyif` and `retry`, " +
			"are not repeated.",
		columns: []string{"function", "arguments"},
	}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		f := functions[name]
		_, short, _ := strings.Cut(name, ".")
		out.items = append(out.items, item{
			name, []string{cell(f.args)}, functionTest(tests, []string{f.folder},
				"states", f.called, short),
		})
	}
	return out
}
