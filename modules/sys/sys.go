// Package sys is Salt's module sys: what functions there are, on this shelf and on the others, how they are called and what
// they do (salt/modules/sysmod.py). It reads the registries that the engine lends; a shelf that is not there is empty.
package sys

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module sys of a program that renders with the renderers of these names.
func Plugin(renderers ...string) loader.Plugin {
	return loader.Plugin{Name: "sys", File: "sysmod", New: func(env *loader.Env) (*loader.Module, error) { return newModule(&module{env, renderers}) }}
}

type module struct {
	env       *loader.Env
	renderers []string
}

func newModule(m *module) (*loader.Module, error) {
	funcs := []loader.Func{
		loader.F("list_functions", m.listFunctions),
		loader.F("list_modules", m.listModules),
		loader.F("list_state_functions", m.listStateFunctions),
		loader.F("list_state_modules", m.listStateModules),
		loader.F("list_runner_functions", m.listRunnerFunctions),
		loader.F("list_runners", m.listRunners),
		loader.F("list_returner_functions", m.listReturnerFunctions),
		loader.F("list_returners", m.listReturners),
		loader.F("list_renderers", m.listRenderers),
		loader.F("reload_modules", m.reloadModules).Def("gen_modules"),
	}
	return &loader.Module{Funcs: slices.Concat(funcs, m.docs(), m.argspecs())}, nil
}

// listArgs are names or globs; keyword arguments are let pass and mean nothing.
type listArgs struct {
	Names  []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

type nameArgs struct {
	Names []any `args:"args"`
}

// listFunctions lists the functions of all modules, of the modules named, or those that a glob names.
//
// CLI Example:
//
//	salt '*' sys.list_functions
//	salt '*' sys.list_functions sys
//	salt '*' sys.list_functions sys user
//	salt '*' sys.list_functions 'sys.list_*'
func (m *module) listFunctions(_ context.Context, a listArgs) (any, error) {
	return functions(m.env.Functions, a.Names)
}

// listStateFunctions lists the functions of all state modules, of those named, or those that a glob names.
//
// CLI Example:
//
//	salt '*' sys.list_state_functions
//	salt '*' sys.list_state_functions file
//	salt '*' sys.list_state_functions pkg user
//	salt '*' sys.list_state_functions 'file.s*'
func (m *module) listStateFunctions(_ context.Context, a listArgs) (any, error) {
	return functions(m.env.Shelf("states"), a.Names)
}

// listRunnerFunctions lists the functions of all runners, of those named, or those that a glob names.
//
// CLI Example:
//
//	salt '*' sys.list_runner_functions
//	salt '*' sys.list_runner_functions state
//	salt '*' sys.list_runner_functions 'state.*' 'virt.*'
func (m *module) listRunnerFunctions(_ context.Context, a listArgs) (any, error) {
	return functions(m.env.Shelf("runners"), a.Names)
}

// listReturnerFunctions lists the functions of all returners, of those named, or those that a glob names.
//
// CLI Example:
//
//	salt '*' sys.list_returner_functions
//	salt '*' sys.list_returner_functions mysql
//	salt '*' sys.list_returner_functions 'sqlite3.get_*'
func (m *module) listReturnerFunctions(_ context.Context, a listArgs) (any, error) {
	return functions(m.env.Shelf("returners"), a.Names)
}

// listModules lists the modules that work on this minion, all of them or those that a name or glob names.
//
// CLI Example:
//
//	salt '*' sys.list_modules
//	salt '*' sys.list_modules 's*'
func (m *module) listModules(_ context.Context, a nameArgs) (any, error) {
	return modules(m.env.Functions, a.Names)
}

// listStateModules lists the state modules that work on this minion, all of them or those that a name or glob names.
//
// CLI Example:
//
//	salt '*' sys.list_state_modules
//	salt '*' sys.list_state_modules 'mysql_*'
func (m *module) listStateModules(_ context.Context, a nameArgs) (any, error) {
	return modules(m.env.Shelf("states"), a.Names)
}

// listRunners lists the runners, all of them or those that a name or glob names.
//
// CLI Example:
//
//	salt '*' sys.list_runners
//	salt '*' sys.list_runners 'm*'
func (m *module) listRunners(_ context.Context, a nameArgs) (any, error) {
	return modules(m.env.Shelf("runners"), a.Names)
}

// listReturners lists the returners, all of them or those that a name or glob names.
//
// CLI Example:
//
//	salt '*' sys.list_returners
//	salt '*' sys.list_returners 's*'
func (m *module) listReturners(_ context.Context, a nameArgs) (any, error) {
	return modules(m.env.Shelf("returners"), a.Names)
}

// listRenderers lists the renderers, all of them or those that a glob names.
//
// CLI Example:
//
//	salt '*' sys.list_renderers
//	salt '*' sys.list_renderers 'yaml*'
func (m *module) listRenderers(_ context.Context, a nameArgs) (any, error) {
	words, err := texts(a.Names)
	if err != nil {
		return nil, err
	}
	found := []any{}
	names := slices.Concat(m.env.Shelf("renderers").Modules(), m.renderers)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return loader.Glob(w, name) }) {
			found = append(found, name)
		}
	}
	return found, nil
}

type reloadArgs struct {
	InitialLoad any `default:"False"`
	Context     any `default:"None"`
}

// reloadModules makes the minion build its modules anew when they are next needed. The arguments mean nothing.
//
// CLI Example:
//
//	salt '*' sys.reload_modules
func (m *module) reloadModules(context.Context, reloadArgs) (any, error) {
	m.env.Functions.Reload()
	return nil, nil
}

// functions lists the functions of a shelf that the words name: modules, or globs where a word holds * or a dot.
func functions(r *loader.Registry, args []any) (any, error) {
	words, err := texts(args)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		return list(r.Names()), nil
	}
	var found []string
	for _, word := range words {
		found = append(found, r.Select(word)...)
	}
	return list(found), nil
}

// modules lists the modules of a shelf that the words name. A glob is held against names of functions, as Salt does it.
func modules(r *loader.Registry, args []any) (any, error) {
	words, err := texts(args)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, fun := range r.Names() {
		name, _, _ := strings.Cut(fun, ".")
		if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return namesModule(w, name, fun) }) {
			found = append(found, name)
		}
	}
	return list(found), nil
}

func namesModule(word, module, fun string) bool {
	if strings.Contains(word, "*") {
		return loader.Glob(word, fun)
	}
	return word == module
}

// list sorts names and leaves out repeated ones.
func list(names []string) []any {
	slices.Sort(names)
	out := []any{}
	for _, name := range slices.Compact(names) {
		out = append(out, name)
	}
	return out
}

// texts returns arguments that must be text.
func texts(args []any) ([]string, error) {
	words := make([]string, len(args))
	for i, a := range args {
		word, ok := a.(string)
		if !ok {
			return nil, loader.TypeError("argument of type '%s' is not iterable", loader.TypeName(a))
		}
		words[i] = word
	}
	return words, nil
}
