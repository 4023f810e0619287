package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// outputFor returns the file that docgen writes for a list of plug-ins: core.txt for core.go.
func outputFor(list string) string { return strings.TrimSuffix(list, ".go") + ".txt" }

// Generate returns the documentation of the plug-ins in a list: an entry for each function
// registered by an imported package or by one below it. The list is at the root of the plug-ins'
// directory, or in a directory of it. The files extra_*.go continue the list extra.go. The format is
// that of loader.Docs.
func Generate(list string) ([]byte, error) {
	more, err := filepath.Glob(strings.TrimSuffix(list, ".go") + "_*.go")
	if err != nil {
		return nil, err
	}
	entries := map[string]string{}
	for _, file := range append([]string{list}, more...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if err := documentList(file, entries); err != nil {
			return nil, err
		}
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s imports no package that registers functions", list)
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		texts = append(texts, name+"\n"+entries[name])
	}
	return []byte(strings.Join(texts, "\n\n\n") + "\n"), nil
}

// documentList adds the entries of the packages that a file imports.
func documentList(list string, entries map[string]string) error {
	f, err := parser.ParseFile(token.NewFileSet(), list, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	for _, imp := range f.Imports {
		path, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return err
		}
		dir, ok, err := ofShelf(filepath.Dir(list), path)
		if err == nil && ok {
			err = documentBelow(dir, entries)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ofShelf returns the directory of an imported package; ok is false if the package is not in the
// directory of the list's plug-ins. dir is that of the list.
func ofShelf(dir, path string) (found string, ok bool, err error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return "", false, err
	}
	for _, shelf := range []string{root, filepath.Dir(root)} {
		if filepath.Base(shelf) == filepath.Base(filepath.Dir(path)) {
			return filepath.Join(shelf, filepath.Base(path)), true, nil
		}
	}
	return "", false, nil
}

// documentBelow adds the entries of the package in dir and those below it.
func documentBelow(dir string, entries map[string]string) error {
	files := map[string][]string{} // by package directory
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files[filepath.Dir(path)] = append(files[filepath.Dir(path)], path)
		}
		return err
	})
	if err != nil {
		return err
	}
	for pkg, list := range files {
		if err := document(filepath.Base(pkg), list, entries); err != nil {
			return err
		}
	}
	return nil
}

// A source holds docgen's findings in a package.
type source struct {
	comments   map[string]string // doc comments by Go function
	registered map[string]string // names for operators, by Go function
}

// document adds the entries of a package.
func document(pkg string, files []string, entries map[string]string) error {
	s := &source{comments: map[string]string{}, registered: map[string]string{}}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, s.take)
	}
	for fn, name := range s.registered {
		comment, ok := s.comments[fn]
		if !ok {
			return fmt.Errorf("package %s: %s, which is registered as %s, has no doc comment",
				pkg, fn, name)
		}
		key := pkg + "." + fn
		if _, twice := entries[key]; twice {
			return fmt.Errorf("two packages are named %s", pkg)
		}
		entries[key] = docstring(fn, comment)
	}
	return nil
}

func (s *source) take(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Doc != nil {
			s.comments[n.Name.Name] = n.Doc.Text()
		}
	case *ast.CallExpr:
		if name, fn := registration(n); fn != "" {
			s.registered[fn] = name
		}
	}
	return true
}

// registration returns the name and the Go function of a registering call: loader.F, or a method
// that a package uses instead. Its first argument is the name and its last one the function.
func registration(call *ast.CallExpr) (name, fn string) {
	callee, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || callee.Sel.Name != "F" && callee.Sel.Name != "function" || len(call.Args) < 2 {
		return "", ""
	}
	literal, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return "", ""
	}
	if name, _ = strconv.Unquote(literal.Value); name == "" {
		return "", ""
	}
	switch arg := call.Args[len(call.Args)-1].(type) {
	case *ast.Ident:
		return name, arg.Name
	case *ast.SelectorExpr:
		return name, arg.Sel.Name
	}
	return "", ""
}

// docstring returns a doc comment without the function's name at its beginning, indented by four
// blanks.
func docstring(fn, comment string) string {
	if rest, ok := strings.CutPrefix(comment, fn+" "); ok {
		r, n := utf8.DecodeRuneInString(rest)
		comment = string(unicode.ToUpper(r)) + rest[n:]
	}
	lines := strings.Split(strings.TrimRight(comment, "\n"), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "    " + strings.ReplaceAll(line, "\t", "    ")
		}
	}
	return strings.Join(lines, "\n")
}
