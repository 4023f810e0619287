package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
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

// listed returns the functions of a registry. Those of modules that cannot be loaded on this host
// are read from their source below a directory.
func listed(r *loader.Registry, plugins []loader.Plugin, dir string) (map[string]bool, error) {
	available := map[string]bool{}
	for _, name := range r.Names() {
		available[name] = true
	}
	for _, p := range plugins {
		if r.Provider(p.Name) == "" {
			if err := fromSource(filepath.Join(dir, p.Name), p.Name, available); err != nil {
				return nil, err
			}
		}
	}
	return available, nil
}

// fromSource adds the functions of a module that cannot be loaded on this host, as listed in its
// source.
func fromSource(dir, name string, available map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("module %s cannot be loaded here, and directory %s does not exist", name,
			dir)
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
