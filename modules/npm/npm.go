// Package npm is Salt's module npm: packages of Node.js (salt/modules/npm.py).
//
// Differences from Salt: no shell reads the command line, so names need no quotes; versions of npm
// before 1.2 are not rejected; and a registry with a password reaches npm in its environment.
package npm

import (
	"context"
	"errors"
	"os"
	"strconv"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module npm. It is available on hosts with the program npm.
func Plugin() loader.Plugin { return loader.Plugin{Name: "npm", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if process.Find("npm") == "" {
		return nil, errors.New("npm execution module could not be loaded because the npm binary could not be located")
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("cache_clean", m.cacheClean),
		loader.F("cache_list", m.cacheList),
		loader.F("cache_path", m.cachePath),
		loader.F("install", m.install).Secret("registry"),
		loader.F("list", m.list).Def("list_"),
		loader.F("uninstall", m.uninstall),
	}}, nil
}

// run runs npm in a directory as a user. operands are the last arguments, none of them an option.
func (m *module) run(
	ctx context.Context, dir, runas, env any, quiet bool, options []string, operands ...string,
) (calls.Ran, error) {
	if err := process.PlainOperands(operands...); err != nil {
		return calls.Ran{}, loader.Execution("%w", err)
	}
	vars, err := m.environment(ctx, env, runas)
	if err != nil {
		return calls.Ran{}, err
	}
	argv := append(append([]string{"npm"}, options...), operands...)
	return calls.RunAll(ctx, m.env, calls.Run{Argv: argv, Dir: calls.Text(dir), As: calls.Text(runas), Env: vars,
		IgnoreRetcode: quiet})
}

// environment returns the given variables, and those by which npm knows the user that it runs as.
func (m *module) environment(ctx context.Context, given, runas any) (*data.Map, error) {
	vars := &data.Map{}
	for _, part := range parts(given) {
		if some, ok := part.(*data.Map); ok {
			vars.Update(some)
		}
	}
	if !data.Truth(runas) {
		return vars, nil
	}
	user, ok, err := calls.UserInfo(ctx, m.env, runas)
	if err == nil && ok && user.UID != 0 {
		vars.Set("SUDO_UID", strconv.Itoa(int(user.UID)))
		vars.Set("SUDO_USER", "")
	}
	return vars, err
}

// parts returns the dictionaries of variables in a dictionary or list.
func parts(env any) []any {
	if vars, ok := env.(*data.Map); ok {
		return []any{vars}
	}
	return data.ListOf(env)
}

type installArgs struct {
	Pkg      any  `default:"None"`
	Pkgs     any  `default:"None"`
	Dir      any  `default:"None"`
	Runas    any  `default:"None"`
	Registry any  `default:"None"`
	Env      any  `default:"None"`
	DryRun   bool `default:"False"`
	Silent   bool `default:"True"`
}

// install installs packages and returns what npm reports. Without a package it installs those that
// the package.json of dir needs.
//
// pkg, pkgs
//
//	A package, or a list of packages, each with or without a version: name@1.0.
//
// dir
//
//	The directory to install into. Without it packages are installed globally.
//
// runas
//
//	The user to run npm as.
//
// registry
//
//	The URL of the registry.
//
// env
//
//	Environment variables, as for cmd.run.
//
// dry_run
//
//	Install nothing.
//
// silent
//
//	Run npm with --silent.
//
// CLI Example:
//
//	salt '*' npm.install coffee-script
//	salt '*' npm.install coffee-script@1.0.1
func (m *module) install(ctx context.Context, a installArgs) (any, error) {
	var names []string
	switch {
	case data.Truth(a.Pkg):
		names = []string{data.Str(a.Pkg)}
	case data.Truth(a.Pkgs):
		names = data.TextsOf(a.Pkgs)
	}
	argv, dir, vars := []string{"install", "--json"}, a.Dir, parts(a.Env)
	add := func(needed bool, word string) {
		if needed {
			argv = append(argv, word)
		}
	}
	add(a.Silent, "--silent")
	add(!data.Truth(a.Dir), "--global")
	if !data.Truth(a.Dir) {
		dir = os.TempDir()
	}
	if registry := calls.Text(a.Registry); data.Str(config.Masked("", registry)) != registry {
		vars = append(vars, data.NewMap("npm_config_registry", registry))
	} else {
		add(registry != "", "--registry="+registry)
	}
	add(a.DryRun, "--dry-run")
	ran, err := m.run(ctx, dir, a.Runas, vars, false, argv, names...)
	switch {
	case err != nil:
		return nil, err
	case ran.Retcode != 0:
		return nil, loader.Execution("%s", ran.Stderr)
	case ran.Stdout == "":
		return document(ran.Stderr), nil
	}
	return document(ran.Stdout), nil
}

// document returns the first JSON object or list in a text, or the text if it holds none
// (salt/utils/json.py, find_json).
func document(text string) any {
	for i, c := range text {
		if c != '{' && c != '[' {
			continue
		}
		v, err := pyjson.Load(text[i:])
		if wrong, ok := errors.AsType[*pyjson.SyntaxError](err); ok && wrong.Problem == "Extra data" {
			v, err = pyjson.Load(string([]rune(text[i:])[:wrong.Position]))
		}
		if err == nil {
			return v
		}
	}
	return text
}

type uninstallArgs struct {
	Pkg   any
	Dir   any `default:"None"`
	Runas any `default:"None"`
	Env   any `default:"None"`
}

// uninstall removes a package from dir, or the one that is installed globally, and returns whether
// npm succeeded.
//
// CLI Example:
//
//	salt '*' npm.uninstall coffee-script
func (m *module) uninstall(ctx context.Context, a uninstallArgs) (any, error) {
	name := data.Str(a.Pkg)
	if err := process.PlainOperands(name); err != nil {
		return nil, loader.Execution("%w", err)
	}
	argv := []string{"uninstall", name}
	if !data.Truth(a.Dir) {
		argv = append(argv, "--global")
	}
	ran, err := m.run(ctx, a.Dir, a.Runas, a.Env, false, argv)
	return m.succeeds(ran, err)
}

// succeeds reports whether npm succeeded, and logs its error output otherwise.
func (m *module) succeeds(ran calls.Ran, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if ran.Retcode != 0 {
		m.env.Log.Errorf("run npm: %s", ran.Stderr)
	}
	return ran.Retcode == 0, nil
}

type listArgs struct {
	Pkg   any `default:"None"`
	Dir   any `default:"None"`
	Runas any `default:"None"`
	Env   any `default:"None"`
	Depth any `default:"None"`
}

// list returns the packages in dir, or those that are installed globally, each with what npm knows
// of it. pkg selects one, and depth limits how deep dependencies are listed.
//
// CLI Example:
//
//	salt '*' npm.list
func (m *module) list(ctx context.Context, a listArgs) (any, error) {
	argv := []string{"list", "--json", "--silent"}
	if !data.Truth(a.Dir) {
		argv = append(argv, "--global")
	}
	switch depth := a.Depth.(type) {
	case nil:
	case int64:
		argv = append(argv, "--depth="+strconv.FormatInt(depth, 10))
	case float64:
		argv = append(argv, "--depth="+strconv.FormatInt(int64(depth), 10))
	default:
		return nil, loader.Invocation("Error: depth %s must be a number", data.Str(depth))
	}
	var names []string
	if data.Truth(a.Pkg) {
		names = []string{data.Str(a.Pkg)}
	}
	ran, err := m.run(ctx, a.Dir, a.Runas, a.Env, true, argv, names...)
	if err != nil {
		return nil, err
	}
	if ran.Retcode != 0 && ran.Stderr != "" {
		return nil, loader.Execution("%s", ran.Stderr)
	}
	v, err := pyjson.Load(ran.Stdout)
	if err != nil {
		return nil, loader.Execution("read the list of npm: %w", err)
	}
	top, _ := v.(*data.Map)
	if list, ok := top.Get("dependencies"); ok {
		return list, nil
	}
	return data.NewMap(), nil
}
