package main

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// commands returns the commands of the master's request port: the keys of maps in the functions that make its tables.
func (s *source) commands() []string {
	found := map[string]bool{}
	for _, f := range s.code("master") {
		for _, d := range f.ast.Decls {
			fun, ok := d.(*ast.FuncDecl)
			if ok && (fun.Name.Name == "newRequests" || strings.HasSuffix(fun.Name.Name, "Commands")) {
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

// A function is one of a plug-in.
type function struct {
	own     bool     // Salt has none of the name
	folders []string // of the packages that have it: several, where each is for another system
}

// functions returns the functions of the plug-ins of a shelf, by module.function. Those of Salt are
// given by the names of modules or of their files; a test of the shelf holds them against the registry.
func (s *source) functions(shelf string, salts []string) map[string]*function {
	found, plugins := map[string]*function{}, s.plugins(shelf)
	for _, p := range plugins {
		for _, call := range p.calls {
			name, _ := functionName(call)
			f := at(found, p.name+"."+name)
			f.own, f.folders = true, append(f.folders, p.dir)
		}
	}
	for _, name := range salts {
		of, name, _ := strings.Cut(name, ".")
		for _, p := range plugins {
			if of == p.name || of == p.file {
				at(found, p.name+"."+name).own = false
			}
		}
	}
	for _, f := range found {
		slices.Sort(f.folders)
	}
	return found
}

// at returns the function of a name, which is new where there was none.
func at(found map[string]*function, name string) *function {
	if found[name] == nil {
		found[name] = &function{}
	}
	return found[name]
}

// options returns the options that have an effect, from the table of package config.
func (s *source) options() []string {
	found := map[string]bool{}
	for _, f := range s.code("config") {
		for _, d := range f.ast.Decls {
			if fun, ok := d.(*ast.FuncDecl); ok && fun.Name.Name == "optionTable" {
				ast.Inspect(fun, func(n ast.Node) bool {
					if name, effect := optionIn(n); effect {
						found[name] = true
					}
					return true
				})
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// optionIn returns the name of an entry of the table of options, and whether it has an effect for a master or a minion.
func optionIn(n ast.Node) (name string, effect bool) {
	lit, ok := n.(*ast.CompositeLit)
	if !ok {
		return "", false
	}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return "", false
		}
		switch key, _ := kv.Key.(*ast.Ident); key.Name {
		case "name":
			name, _ = text(kv.Value)
		case "master", "minion":
			ast.Inspect(kv.Value, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				effect = effect || ok && (id.Name == "atStart" || id.Name == "live")
				return true
			})
		}
	}
	return name, effect && name != ""
}

// tags returns the event tags that the code makes with eventbus.Tagify and JoinTag. What is no literal shows as <…>.
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

// hasWord reports whether something of a tag is known but salt.
func hasWord(tag string) bool {
	return slices.ContainsFunc(strings.Split(tag, "/"), func(part string) bool { return part != "salt" && !strings.HasPrefix(part, "<") })
}

// tagOf shows the parts of a tag.
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
