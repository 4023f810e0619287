package main

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"

	"github.com/brineproject/brine/internal/signatures"
)

// commands returns the commands of the master's request port: the keys of maps in the functions
// that build its tables.
func (s *source) commands() []string {
	found := map[string]bool{}
	for _, f := range s.code("master") {
		for _, d := range f.ast.Decls {
			fun, ok := d.(*ast.FuncDecl)
			if ok && (fun.Name.Name == "newRequests" ||
				strings.HasSuffix(fun.Name.Name, "Commands")) {
				for _, name := range keys(fun) {
					found[name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// keys returns the literal keys of maps below a node.
func keys(n ast.Node) []string {
	var out []string
	ast.Inspect(n, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if _, isMap := lit.Type.(*ast.MapType); !isMap {
			return true
		}
		for _, e := range lit.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				if name, ok := text(pair.Key); ok {
					out = append(out, name)
				}
			}
		}
		return true
	})
	return out
}

// A function is a plug-in function.
type function struct {
	args string // as users write them: text, times=1, **
	own  bool   // Salt does not have the function
	// directories of the packages that have it: several, if each is for another system
	folders []string
}

// functions returns the plug-in functions of a shelf, by module.function. Their arguments come from
// the shelf's signature lines, by the names of modules or of their files; a test of the shelf
// compares those with the registry. If several modules have a function, each for another system,
// the arguments are those of the first.
func (s *source) functions(shelf string, lines []signatures.Line) (map[string]*function, error) {
	plugins, byName := s.plugins(shelf), map[string]signatures.Line{}
	found := map[string]*function{}
	for _, line := range lines {
		byName[line.Name] = line
		of, name, _ := strings.Cut(line.Name, ".")
		for _, p := range plugins {
			if full := p.name + "." + name; (of == p.name || of == p.file) && found[full] == nil {
				found[full] = &function{args: line.Args, own: line.Own}
			}
		}
	}
	for _, p := range plugins {
		for _, call := range p.calls {
			name, _ := functionName(call)
			f := found[p.name+"."+name]
			if f == nil {
				return nil, fmt.Errorf("%s/testdata/signatures.txt has no line of %s.%s", shelf,
					p.name, name)
			}
			f.folders = append(f.folders, p.dir)
		}
	}
	for _, f := range found {
		slices.Sort(f.folders)
	}
	return found, nil
}

// tags returns the event tags that the code makes with eventbus.Tagify and JoinTag. Non-literal
// parts are shown as <…>.
func (s *source) tags() []string {
	found := map[string]bool{}
	for _, f := range s.files {
		if f.test || f.dir == "eventbus" || strings.HasPrefix(f.dir, "internal/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch called(c) {
			case "eventbus.Tagify":
				found["salt/"+tagOf(c.Args)] = true
			case "eventbus.JoinTag":
				found[tagOf(c.Args)] = true
			}
			return true
		})
	}
	maps.DeleteFunc(found, func(tag string, _ bool) bool { return !strings.Contains(tag, "/") || !hasWord(tag) })
	return slices.Sorted(maps.Keys(found))
}

// hasWord reports whether a literal part of a tag other than salt is known.
func hasWord(tag string) bool {
	return slices.ContainsFunc(strings.Split(tag, "/"),
		func(part string) bool { return part != "salt" && !strings.HasPrefix(part, "<") })
}

// tagOf returns the text of a tag.
func tagOf(parts []ast.Expr) string {
	var words []string
	for _, p := range parts {
		word, ok := text(p)
		if !ok {
			word = "<" + strings.ToLower(nameOf(p)) + ">"
		}
		words = append(words, word)
	}
	return strings.Join(words, "/")
}

// nameOf returns a word for an expression.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.CallExpr:
		if len(e.Args) == 1 {
			return nameOf(e.Args[0])
		}
		return called(e)
	}
	return "…"
}
