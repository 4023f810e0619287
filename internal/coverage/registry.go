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
	modules "github.com/brineproject/brine/modules/all"
	states "github.com/brineproject/brine/states/all"
)

// registered returns the state functions that a minion is built with. Those of the module salt are for orchestrations, and in the registry
// of a master the same.
func registered(root string) (map[string]bool, error) {
	opts := config.DefaultMinion().Map()
	g, err := grains.New(grains.Options{Opts: opts, Env: os.Getenv}).Collect(context.Background())
	if err != nil {
		return nil, err
	}
	env := loader.Env{Opts: opts, Grains: func() *data.Map { return g }}
	functions, err := loader.NewRegistry(&env, modules.Plugins(modules.Brought()))
	if err != nil {
		return nil, err
	}
	shelf, err := loader.NewRegistry(functions.Env(), states.Plugins())
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, name := range shelf.Names() {
		there[name] = true
	}
	for _, p := range states.Plugins() {
		if shelf.Provider(p.Name) == "" {
			if err := fromSource(root, p.Name, there); err != nil {
				return nil, err
			}
		}
	}
	return there, nil
}

// fromSource adds the functions of a module that refuses to work on this host, as its source lists them.
func fromSource(root, name string, there map[string]bool) error {
	dir := filepath.Join(root, "states", name)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the state %s refuses to work here, and there is no folder %s", name, dir)
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
				if fun, ok := listed(call); ok {
					there[name+"."+fun] = true
				}
			}
			return true
		})
	}
	return err
}

// listed returns the name in loader.F("name", …) and in .Alias("name").
func listed(call *ast.CallExpr) (string, bool) {
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
