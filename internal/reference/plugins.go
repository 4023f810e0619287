package main

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// A plugin holds the findings about one plug-in.
type plugin struct {
	dir        string // of its package; "" if another package sets its name
	name, file string
	calls      []*ast.CallExpr // of loader.F, and of Alias on its result
}

// plugins returns the plug-ins of a shelf.
func (s *source) plugins(shelf string) []plugin {
	packages := map[string]*pluginPackage{}
	for _, f := range s.code(shelf) {
		p := packages[f.dir]
		if p == nil {
			p = &pluginPackage{calls: map[string][]*ast.CallExpr{}}
			packages[f.dir] = p
		}
		for _, d := range f.ast.Decls {
			if fun, ok := d.(*ast.FuncDecl); ok {
				p.read(fun, f.dir)
			}
		}
	}
	var all []plugin
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		all = append(all, packages[dir].joined()...)
	}
	return all
}

// A pluginPackage is a package with plug-ins. Each plug-in is built by one function of the package,
// or by that and the one in its field New; functions registered elsewhere are part of each.
type pluginPackage struct {
	plugins []plugin
	from    [][]string                 // for each plug-in, the functions that build it
	calls   map[string][]*ast.CallExpr // registering calls, by the enclosing function
}

// read records a function of the package.
func (p *pluginPackage) read(fun *ast.FuncDecl, dir string) {
	name, _ := namedByCall(fun)
	var file, maker string
	ast.Inspect(fun, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if text, ok := text(pluginField(n, "Name")); ok {
				name = text
			}
			if text, ok := text(pluginField(n, "File")); ok {
				file = text
			}
			if f, ok := pluginField(n, "New").(*ast.Ident); ok {
				maker = f.Name
			}
		case *ast.CallExpr:
			if _, ok := functionName(n); ok {
				p.calls[fun.Name.Name] = append(p.calls[fun.Name.Name], n)
			}
			if name, ok := namedPlugin(n); ok {
				p.plugins = append(p.plugins, plugin{name: name})
				p.from = append(p.from, []string{""})
			}
		}
		return true
	})
	if name != "" {
		p.plugins = append(p.plugins, plugin{dir: dir, name: name, file: file})
		p.from = append(p.from, []string{fun.Name.Name, maker})
	}
}

// joined returns the plug-ins with their calls.
func (p *pluginPackage) joined() []plugin {
	var shared []*ast.CallExpr
	for fun, calls := range p.calls {
		if !slices.Contains(slices.Concat(p.from...), fun) {
			shared = append(shared, calls...)
		}
	}
	for i := range p.plugins {
		if p.plugins[i].dir == "" {
			continue
		}
		for _, fun := range p.from[i] {
			p.plugins[i].calls = append(p.plugins[i].calls, p.calls[fun]...)
		}
		p.plugins[i].calls = append(p.plugins[i].calls, shared...)
	}
	return p.plugins
}

// pluginField returns a field of a loader.Plugin; nil if the literal is something else or lacks the
// field.
func pluginField(lit *ast.CompositeLit, field string) ast.Expr {
	t, ok := lit.Type.(*ast.SelectorExpr)
	if !ok || t.Sel.Name != "Plugin" {
		return nil
	}
	for _, e := range lit.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == field {
				return pair.Value
			}
		}
	}
	return nil
}

// namedByCall returns the plug-in's name if a function returns a call whose first argument is the
// name.
func namedByCall(fun *ast.FuncDecl) (string, bool) {
	if fun.Type.Results == nil || fun.Body == nil || len(fun.Body.List) != 1 {
		return "", false
	}
	ret, ok := fun.Body.List[0].(*ast.ReturnStmt)
	result, isPlugin := fun.Type.Results.List[0].Type.(*ast.SelectorExpr)
	if !ok || len(ret.Results) != 1 || !isPlugin || result.Sel.Name != "Plugin" {
		return "", false
	}
	call, ok := ret.Results[0].(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	return text(call.Args[0])
}

// namedPlugin returns the name with which a plug-in is made: roots.Plugin("file_roots").
func namedPlugin(c *ast.CallExpr) (string, bool) {
	if !strings.HasSuffix(called(c), ".Plugin") || len(c.Args) == 0 {
		return "", false
	}
	return text(c.Args[0])
}

// functionName returns the name passed to loader.F, or to Alias on its result.
func functionName(c *ast.CallExpr) (string, bool) {
	name := called(c)
	if name != "loader.F" && name != "Alias" || len(c.Args) == 0 {
		return "", false
	}
	return text(c.Args[0])
}
