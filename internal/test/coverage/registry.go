package main

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/grains"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/states"
)

// A functionSet holds the functions of a minion: state functions and execution functions. Those of
// the module salt are for orchestrations, and are in the registry of a master too.
type functionSet struct{ states, modules map[string]bool }

func registered(root string) (*functionSet, error) {
	opts := config.DefaultMinion().Map()
	g, err := grains.New(grains.Options{Opts: opts, Env: os.Getenv}).Collect(context.Background())
	if err != nil {
		return nil, err
	}
	env := loader.Env{Opts: opts, Grains: func() *data.Map { return g }}
	plugins := modules.Plugins(modules.Brought())
	functions, err := loader.NewRegistry(&env, plugins)
	if err != nil {
		return nil, err
	}
	shelf, err := loader.NewRegistry(functions.Env(), states.Plugins())
	if err != nil {
		return nil, err
	}
	s := &functionSet{}
	if s.states, err = listed(shelf, states.Plugins(), filepath.Join(root, "states")); err != nil {
		return nil, err
	}
	s.modules, err = listed(functions, plugins, filepath.Join(root, "modules"))
	return s, err
}

// listed returns the functions of a registry. Those of modules and providers that are not loaded on
// this host, such as another distribution's pkg, are read from their source below a directory.
func listed(r *loader.Registry, plugins []loader.Plugin, dir string) (map[string]bool, error) {
	available := map[string]bool{}
	for _, name := range r.Names() {
		available[name] = true
	}
	for _, p := range plugins {
		if r.Provider(p.Name) == cmp.Or(p.File, p.Name) {
			continue
		}
		source, err := sourceOf(p, dir)
		if err != nil {
			return nil, err
		}
		if err := fromSource(source, p.Name, available); err != nil {
			return nil, err
		}
	}
	return available, nil
}

// sourceOf returns the directory of a plug-in below dir: named after its file, with or without what
// follows an underscore, or after the module.
func sourceOf(p loader.Plugin, dir string) (string, error) {
	first, _, _ := strings.Cut(p.File, "_")
	for _, own := range []string{strings.ReplaceAll(p.File, "_", ""), first, p.Name,
		strings.ReplaceAll(p.Name, "_", "")} {
		source := filepath.Join(dir, own)
		if _, err := os.Stat(source); own != "" && err == nil {
			return source, nil
		}
	}
	return "", fmt.Errorf("module %s is not loaded here, and its directory is not in %s", p.Name, dir)
}

// fromSource adds the functions of a module that is not loaded on this host, as listed in its
// source.
func fromSource(dir, name string, available map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil,
			parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if fun, ok := named(call); ok {
					available[name+"."+fun] = true
				}
			}
			return true
		})
	}
	return err
}

// named returns the name in loader.F("name", …) and in .Alias("name").
func named(call *ast.CallExpr) (string, bool) {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 || fun.Sel.Name != "F" && fun.Sel.Name != "Alias" {
		return "", false
	}
	text, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return "", false
	}
	name, err := strconv.Unquote(text.Value)
	return name, err == nil
}
