// Package sys is Salt's module sys: it lists the functions of execution modules, states, runners
// and returners, their parameters and their documentation (salt/modules/sysmod.py). It reads the
// registries of the engine; a missing registry counts as empty.
package sys

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module sys of a program that has the named renderers.
func Plugin(renderers ...string) loader.Plugin {
	return loader.Plugin{Name: "sys", File: "sysmod",
		New: func(env *loader.Env) (*loader.Module, error) { return newModule(&module{env, renderers}) }}
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

// listArgs holds names or globs. Keyword arguments are accepted and ignored.
type listArgs struct {
	Names  []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

type nameArgs struct {
	Names []any `args:"args"`
}

// listFunctions lists the functions of all modules, of the named modules, or those that match a
// glob.
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

// listStateFunctions lists the functions of all state modules, of the named ones, or those that
// match a glob.
//
// CLI Example:
//
//	salt '*' sys.list_state_functions
//	salt '*' sys.list_state_functions file
//	salt '*' sys.list_state_functions pkg user
//	salt '*' sys.list_state_functions 'file.s*'
func (m *module) listStateFunctions(_ context.Context, a listArgs) (any, error) {
	return functions(m.env.Registry("states"), a.Names)
}

// listRunnerFunctions lists the functions of all runners, of the named ones, or those that match a
// glob.
//
// CLI Example:
//
//	salt '*' sys.list_runner_functions
//	salt '*' sys.list_runner_functions state
//	salt '*' sys.list_runner_functions 'state.*' 'virt.*'
func (m *module) listRunnerFunctions(_ context.Context, a listArgs) (any, error) {
	return functions(m.env.Registry("runners"), a.Names)
}

// listReturnerFunctions lists the functions of all returners, of the named ones, or those that
// match a glob.
//
// CLI Example:
//
//	salt '*' sys.list_returner_functions
//	salt '*' sys.list_returner_functions mysql
//	salt '*' sys.list_returner_functions 'sqlite3.get_*'
func (m *module) listReturnerFunctions(_ context.Context, a listArgs) (any, error) {
	return functions(m.env.Registry("returners"), a.Names)
}

// listModules lists the modules that are loaded on this minion: all, or those that match a name or
// glob.
//
// CLI Example:
//
//	salt '*' sys.list_modules
//	salt '*' sys.list_modules 's*'
func (m *module) listModules(_ context.Context, a nameArgs) (any, error) {
	return modules(m.env.Functions, a.Names)
}

// listStateModules lists the state modules that are loaded on this minion: all, or those that match
// a name or glob.
//
// CLI Example:
//
//	salt '*' sys.list_state_modules
//	salt '*' sys.list_state_modules 'mysql_*'
func (m *module) listStateModules(_ context.Context, a nameArgs) (any, error) {
	return modules(m.env.Registry("states"), a.Names)
}

// listRunners lists the runners: all, or those that match a name or glob.
//
// CLI Example:
//
//	salt '*' sys.list_runners
//	salt '*' sys.list_runners 'm*'
func (m *module) listRunners(_ context.Context, a nameArgs) (any, error) {
	return modules(m.env.Registry("runners"), a.Names)
}

// listReturners lists the returners: all, or those that match a name or glob.
//
// CLI Example:
//
//	salt '*' sys.list_returners
//	salt '*' sys.list_returners 's*'
func (m *module) listReturners(_ context.Context, a nameArgs) (any, error) {
	return modules(m.env.Registry("returners"), a.Names)
}

// listRenderers lists the renderers: all, or those that match a glob.
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
	names := slices.Concat(m.env.Registry("renderers").Modules(), m.renderers)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if len(words) == 0 || slices.ContainsFunc(words,
			func(w string) bool { return loader.Glob(w, name) }) {
			found = append(found, name)
		}
	}
	return found, nil
}

type reloadArgs struct {
	InitialLoad any `default:"False"`
	Context     any `default:"None"`
}

// reloadModules makes the minion rebuild its modules at their next use. The arguments are ignored.
//
// CLI Example:
//
//	salt '*' sys.reload_modules
func (m *module) reloadModules(context.Context, reloadArgs) (any, error) {
	m.env.Functions.Reload()
	return nil, nil
}

// functions lists the functions of a registry that match the words: modules, or globs if a word
// contains * or a dot.
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

// modules lists the modules of a registry that match the words. As in Salt, a glob is matched
// against names of functions.
func modules(r *loader.Registry, args []any) (any, error) {
	words, err := texts(args)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, fun := range r.Names() {
		name, _, _ := strings.Cut(fun, ".")
		if len(words) == 0 || slices.ContainsFunc(words,
			func(w string) bool { return namesModule(w, name, fun) }) {
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

// list sorts names and removes duplicates.
func list(names []string) []any {
	slices.Sort(names)
	out := []any{}
	for _, name := range slices.Compact(names) {
		out = append(out, name)
	}
	return out
}

// texts returns the arguments, which must be texts.
func texts(args []any) ([]string, error) {
	words := make([]string, len(args))
	for i, a := range args {
		word, ok := a.(string)
		if !ok {
			return nil, loader.TypeError("argument of type '%s' is not iterable",
				loader.TypeName(a))
		}
		words[i] = word
	}
	return words, nil
}
