package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
)

// A file is one Go file of the module.
type file struct {
	dir  string // of the package, relative to the root, with slashes
	test bool
	ast  *ast.File
}

// A source is the Go source of the module.
type source struct{ files []file }

// read parses all Go files below root, except those of other modules.
func read(root string) (*source, error) {
	s := &source{}
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root ||
			d.Name() == "testdata" || d.Name() == "nfpm"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		parsed, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		s.files = append(s.files, file{dir: filepath.ToSlash(dir),
			test: strings.HasSuffix(path, "_test.go"), ast: parsed})
		return nil
	})
	return s, err
}

// code yields the non-test files of packages whose directory begins with prefix.
func (s *source) code(prefix string) []file {
	var out []file
	for _, f := range s.files {
		if !f.test && (f.dir == prefix || strings.HasPrefix(f.dir, prefix+"/")) {
			out = append(out, f)
		}
	}
	return out
}

// text returns the value of a string literal.
func text(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

// literals returns all string literals below a node.
func literals(n ast.Node) []string {
	var out []string
	ast.Inspect(n, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			if s, ok := text(e); ok {
				out = append(out, s)
			}
		}
		return true
	})
	return out
}

// called returns the name of the called function, with its package or receiver: loader.F.
func called(c *ast.CallExpr) string {
	fun := c.Fun
	switch f := fun.(type) {
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
		return f.Sel.Name
	}
	return ""
}
