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

// A stock is what a minion is built with: state functions and execution functions. Those of the module salt are for orchestrations, and
// in the registry of a master the same.
type stock struct{ states, modules map[string]bool }

func registered(root string) (*stock, error) {
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
	s := &stock{}
	if s.states, err = listed(shelf, states.Plugins(), filepath.Join(root, "states")); err != nil {
		return nil, err
	}
	s.modules, err = listed(functions, plugins, filepath.Join(root, "modules"))
	return s, err
}

// listed returns the functions of a registry, those of modules that refuse to work on this host from their source below a directory.
func listed(r *loader.Registry, plugins []loader.Plugin, dir string) (map[string]bool, error) {
	there := map[string]bool{}
	for _, name := range r.Names() {
		there[name] = true
	}
	for _, p := range plugins {
		if r.Provider(p.Name) == "" {
			if err := fromSource(filepath.Join(dir, p.Name), p.Name, there); err != nil {
				return nil, err
			}
		}
	}
	return there, nil
}

// fromSource adds the functions of a module that refuses to work on this host, as its source lists them.
func fromSource(dir, name string, there map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the module %s refuses to work here, and there is no directory %s", name, dir)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if fun, ok := named(call); ok {
					there[name+"."+fun] = true
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
