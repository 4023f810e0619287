package main

import (
	"go/ast"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/brineproject/brine/loader"
)

// A stateFunction is a function of a state module.
type stateFunction struct {
	folder, args string // args are written as users give them: name, contents=None, **kwargs
	called       string // as users call it
}

// stateFunctions returns the functions of the state modules by module.function, without those that the runner alone calls. A module that
// takes the name of another goes by that of its file.
func (s *source) stateFunctions() map[string]stateFunction {
	packages := map[string]*statePackage{}
	for _, f := range s.code("states") {
		if packages[f.dir] == nil {
			packages[f.dir] = &statePackage{methods: map[string]string{}, structs: map[string]*ast.StructType{}, functions: map[string]string{}}
		}
		ast.Inspect(f.ast, packages[f.dir].node)
	}
	plain := map[string]bool{}
	for _, p := range packages {
		plain[p.name] = plain[p.name] || p.file == ""
	}
	found := map[string]stateFunction{}
	for dir, p := range packages {
		module := p.name
		if p.file != "" && plain[p.name] {
			module = p.file
		}
		for name, method := range p.functions {
			if module != "" && !strings.HasPrefix(name, "mod_") {
				found[module+"."+name] = stateFunction{dir, arguments(p.structs[p.methods[method]]), p.name + "." + name}
			}
		}
	}
	return found
}

// A statePackage is what the source of one package says of its functions.
type statePackage struct {
	name      string                     // of the module
	file      string                     // of the plug-in; "" where it is the name
	functions map[string]string          // by name: the Go function
	methods   map[string]string          // by name: the type of the arguments
	structs   map[string]*ast.StructType // by name
}

// node takes up what one node of the source says.
func (p *statePackage) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CompositeLit:
		if name, ok := pluginField(n, "Name"); ok {
			p.name = name
		}
		if name, ok := pluginField(n, "File"); ok {
			p.file = name
		}
	case *ast.TypeSpec:
		if t, ok := n.Type.(*ast.StructType); ok {
			p.structs[n.Name.Name] = t
		}
	case *ast.FuncDecl:
		if params := n.Type.Params.List; len(params) == 2 {
			if t, ok := params[1].Type.(*ast.Ident); ok {
				p.methods[n.Name.Name] = t.Name
			}
		}
	case *ast.CallExpr:
		if name, ok := functionName(n); ok && called(n) == "loader.F" && len(n.Args) == 2 {
			p.functions[name] = nameOf(n.Args[1])
		}
	}
	return true
}

// arguments returns the parameters that the fields of a struct stand for, as package loader reads them; a default that is none shows bare.
func arguments(t *ast.StructType) string {
	if t == nil {
		return ""
	}
	var words []string
	for _, f := range t.Fields.List {
		var tag reflect.StructTag
		if f.Tag != nil {
			value, _ := text(f.Tag)
			tag = reflect.StructTag(value)
		}
		for _, name := range f.Names {
			words = append(words, parameter(name.Name, tag))
		}
	}
	return strings.Join(words, ", ")
}

func parameter(field string, tag reflect.StructTag) string {
	for key, stars := range map[string]string{"args": "*", "kwargs": "**"} {
		if name, ok := tag.Lookup(key); ok {
			return stars + name
		}
	}
	if names, ok := tag.Lookup("only"); ok {
		return "*, " + strings.ReplaceAll(names, ",", ", ")
	}
	name := tag.Get("name")
	if name == "" {
		name = loader.ArgumentName(field)
	}
	if value, ok := tag.Lookup("default"); ok {
		return name + "=" + value
	}
	return name
}

// states lists the functions of state modules with their arguments.
func (p *printer) states() {
	p.printf("\n## States\n\nThe arguments that every state takes besides, such as `require`, `onlyif` and `retry`, are not repeated.\n\n" +
		"| function | arguments | test |\n|---|---|---|\n")
	functions := p.source.stateFunctions()
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		f := functions[name]
		_, short, _ := strings.Cut(name, ".")
		p.printf("| `%s` | `%s` | %s |\n", name, strings.ReplaceAll(f.args, "|", "\\|"), code(p.functionTest([]string{f.folder}, "states", f.called, short)))
	}
}
