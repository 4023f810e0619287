package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Page returns the text of the reference for the module in a directory.
func Page(root string) ([]byte, error) {
	s, err := read(root)
	if err != nil {
		return nil, err
	}
	p := &printer{source: s, tests: s.tests(root)}
	p.printf("# Reference\n\nWritten by `go generate ./internal/reference` from the source; do not edit. What differs from Salt is in " +
		"[compatibility.md](compatibility.md). A test is named that has the name in it; there may be more.\n")
	p.commands()
	for _, shelf := range []struct{ folder, title string }{{"runners", "Runners"}, {"wheel", "Wheel functions"}, {"modules", "Execution functions"}} {
		if err := p.shelf(root, shelf.folder, shelf.title); err != nil {
			return nil, err
		}
	}
	p.states()
	p.options()
	p.tags()
	return p.out.Bytes(), nil
}

// A printer writes the page.
type printer struct {
	source *source
	tests  []test
	out    bytes.Buffer
}

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

// code shows the name of a test, or that there is none.
func code(name string) string {
	if name == "" {
		return "none by name"
	}
	return "`" + name + "`"
}

func (p *printer) commands() {
	p.printf("\n## Commands of the request port\n\n| command | test |\n|---|---|\n")
	for _, name := range p.source.commands() {
		p.printf("| `%s` | %s |\n", name, code(find(p.tests, []string{"master", ""}, name)))
	}
}

// shelf lists functions, and which of them Salt does not have.
func (p *printer) shelf(root, folder, title string) error {
	salts, err := signatures(root, folder)
	if err != nil {
		return err
	}
	p.printf("\n## %s\n\n| function | test | |\n|---|---|---|\n", title)
	functions := p.source.functions(folder, salts)
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		note := ""
		if functions[name].own {
			note = "Brine's own"
		}
		module, function, _ := strings.Cut(name, ".")
		p.printf("| `%s` | %s | %s |\n", name, code(p.functionTest(append(functions[name].folders, folder+"/"+module), folder, module+"."+function, function)), note)
	}
	return nil
}

// functionTest returns a test of a function: one of its own packages that names it, or one of the shelf, or another, that names it whole.
func (p *printer) functionTest(own []string, shelf, whole, name string) string {
	if t := find(p.tests, own, whole, name); t != "" {
		return t
	}
	return find(p.tests, []string{shelf, ""}, whole)
}

// signatures returns the names in the files of signatures of a shelf. The files lie beside its list, and have one name a line, before
// a bracket.
func signatures(root, shelf string) ([]string, error) {
	var files []string
	for _, dir := range []string{"testdata", "standard/testdata"} {
		found, err := filepath.Glob(filepath.Join(root, shelf, dir, "*.txt"))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no signatures of Salt", shelf)
	}
	var names []string
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("signatures of Salt: %w", err)
		}
		for line := range strings.Lines(string(raw)) {
			if name, _, ok := strings.Cut(line, "("); ok && !strings.HasPrefix(line, "#") {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// options lists the options that have an effect.
func (p *printer) options() {
	p.printf("\n## Options\n\nThese have an effect at a master or a minion; [options.md](options.md) says what each means, and lists the others.\n\n" +
		"| option | test |\n|---|---|\n")
	for _, name := range p.source.options() {
		p.printf("| `%s` | %s |\n", name, code(find(p.tests, []string{""}, name, fieldName(name))))
	}
}

// fieldName returns the name of the field of package config for an option: MinionDataCache for minion_data_cache.
func fieldName(option string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(option, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

func (p *printer) tags() {
	p.printf("\n## Event tags\n\n| tag | test |\n|---|---|\n")
	for _, tag := range p.source.tags() {
		p.printf("| `%s` | %s |\n", tag, code(p.tagTest(tag)))
	}
}

// tagTest returns a test that names the words of a tag.
func (p *printer) tagTest(tag string) string {
	var words []string
	for part := range strings.SplitSeq(tag, "/") {
		if part != "salt" && !strings.HasPrefix(part, "<") {
			words = append(words, part)
		}
	}
	for _, t := range p.tests {
		all := len(words) > 0
		for _, w := range words {
			all = all && t.words[w]
		}
		if all {
			return t.name
		}
	}
	return ""
}
