package main

import (
	"go/ast"
	"reflect"
	"strings"

	"github.com/brineproject/brine/loader"
)

// A stateFunction is a function of a state module.
type stateFunction struct {
	folder, args string // args are as users write them: name, contents=None, **kwargs
	called       string // as users call it
}

// stateFunctions returns the functions of the state modules by module.function, without those that
// only the runner calls. A module that takes the name of another is listed by its file name.
func (s *source) stateFunctions() map[string]stateFunction {
	packages := map[string]*statePackage{}
	for _, f := range s.code("states") {
		if packages[f.dir] == nil {
			packages[f.dir] = &statePackage{map[string]string{}, map[string]*ast.StructType{}}
		}
		ast.Inspect(f.ast, packages[f.dir].node)
	}
	plain, plugins := map[string]bool{}, s.plugins("states")
	for _, p := range plugins {
		plain[p.name] = plain[p.name] || p.file == ""
	}
	found := map[string]stateFunction{}
	for _, p := range plugins {
		module, of := p.name, packages[p.dir]
		if p.file != "" && plain[p.name] {
			module = p.file
		}
		for _, call := range p.calls {
			name, _ := functionName(call)
			if called(call) != "loader.F" || len(call.Args) != 2 ||
				strings.HasPrefix(name, "mod_") {
				continue
			}
			args := of.arguments(of.methods[nameOf(call.Args[1])])
			found[module+"."+name] = stateFunction{p.dir, strings.Join(args, ", "),
				p.name + "." + name}
		}
	}
	return found
}

// A statePackage holds the findings about the arguments of one package's functions.
type statePackage struct {
	methods map[string]string          // type of the arguments, by name
	structs map[string]*ast.StructType // by name
}

// node records one node of the source.
func (p *statePackage) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.TypeSpec:
		if t, ok := n.Type.(*ast.StructType); ok {
			p.structs[n.Name.Name] = t
		}
	case *ast.FuncDecl:
		if params := n.Type.Params.List; len(params) == 2 {
			p.methods[n.Name.Name] = nameOf(params[1].Type)
		}
	}
	return true
}

// arguments returns the parameters for the fields of a struct, as package loader interprets them; a
// default of none is omitted.
func (p *statePackage) arguments(name string) []string {
	t := p.structs[name]
	if t == nil {
		return nil
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
		if f.Names == nil {
			words = append(words, p.arguments(nameOf(f.Type))...)
		}
	}
	return words
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
