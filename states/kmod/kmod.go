// Package kmod is Salt's state kmod: modules of the kernel that are loaded or not, now and at boot (salt/states/kmod.py). The module kmod
// does the work.
package kmod

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state kmod.
func Plugin() loader.Plugin { return loader.Plugin{Name: "kmod", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if !env.Functions.Has("kmod.available") {
		return nil, errors.New("kmod module could not be loaded")
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("present", m.present),
		loader.F("absent", m.absent),
	}}, nil
}

// list returns what a function of the module lists.
func (m *module) list(ctx context.Context, fun string, args ...any) ([]string, error) {
	v, err := m.env.Call(ctx, "kmod."+fun, args, nil)
	return texts(v), err
}

func texts(v any) (list []string) {
	items, ok := v.([]any)
	if !ok {
		tuple, _ := v.(data.Tuple)
		items = tuple
	}
	for _, item := range items {
		list = append(list, data.Str(item))
	}
	return list
}

// wanted returns the modules that a state is about, each once.
func wanted(name string, mods any) []string {
	switch mods.(type) {
	case []any, data.Tuple:
	default:
		return []string{name}
	}
	var once []string
	for _, mod := range texts(mods) {
		if !slices.Contains(once, mod) {
			once = append(once, mod)
		}
	}
	return once
}

// split returns the elements of list that are among others, and those that are not.
func split(list, others []string) (in, out []string) {
	for _, s := range list {
		if slices.Contains(others, s) {
			in = append(in, s)
		} else {
			out = append(out, s)
		}
	}
	return in, out
}

// A report is the result of a state over several modules.
type report struct {
	result   any
	changes  *data.Map
	comments []string
}

// says adds a sentence about modules, none where there are none; one and many have a %s for their names.
func (r *report) says(names []string, one, many string) {
	switch len(names) {
	case 0:
	case 1:
		r.comments = append(r.comments, strings.Replace(one, "%s", names[0], 1))
	default:
		r.comments = append(r.comments, strings.Replace(many, "%s", strings.Join(names, ", "), 1))
	}
}

func (r *report) ret(name string) *data.Map {
	return change.New(name, r.result, r.changes, strings.Join(r.comments, "\n"))
}

// A tally is what became of the modules that were loaded or removed.
type tally struct {
	yes, no []string
	failed  [][2]string
}

// take sorts what a call for a module returned into the tally; what it changed goes to the report.
func (r *report) take(t *tally, mod string, v any, done string) (more []string) {
	list, ok := v.([]any)
	switch {
	case !ok:
		r.result = false
		t.failed = append(t.failed, [2]string{mod, data.Str(v)})
	case len(list) == 0:
		r.result = false
		t.no = append(t.no, mod)
	default:
		for _, name := range texts(list) {
			r.changes.Set(name, done)
		}
		t.yes = append(t.yes, mod)
	}
	return texts(v)
}

// tell adds what became of the modules.
func (r *report) tell(t tally, done, doing string) {
	r.says(t.yes, done+" kernel module %s", done+" kernel modules %s")
	r.says(t.no, "Failed to "+doing+" kernel module %s", "Failed to "+doing+" kernel modules %s")
	for _, f := range t.failed {
		r.comments = append(r.comments, "Failed to "+doing+" kernel module "+f[0]+": "+f[1])
	}
}

type presentArgs struct {
	Name    string
	Persist bool `default:"False"`
	Mods    any  `default:"None"`
}

// present has modules be loaded.
//
// persist
//
//	True: also at boot.
//
// mods
//
//	A list of modules in place of the name.
//
//	kvm_amd:
//	  kmod.present:
//	    - persist: True
func (m *module) present(ctx context.Context, a presentArgs) (any, error) {
	loaded, err := m.list(ctx, "mod_list")
	if err != nil {
		return nil, err
	}
	if a.Persist {
		kept, err := m.list(ctx, "mod_list", true)
		if err != nil {
			return nil, err
		}
		loaded, _ = split(loaded, kept)
	}
	r := &report{result: true, changes: &data.Map{}}
	already, missing := split(wanted(a.Name, a.Mods), loaded)
	r.says(already, "Kernel module %s is already present", "Kernel modules %s are already present")
	switch {
	case len(missing) == 0:
	case change.Test(ctx):
		r.result = nil
		r.says(missing, "Kernel module %s is set to be loaded", "Kernel modules %s are set to be loaded")
	default:
		err = m.load(ctx, r, missing, a.Persist)
	}
	if err != nil {
		return nil, err
	}
	return r.ret(a.Name), nil
}

// load loads modules, but for those that were loaded by others before their turn.
func (m *module) load(ctx context.Context, r *report, mods []string, persist bool) error {
	there, err := m.list(ctx, "available")
	if err != nil {
		return err
	}
	mods, unavailable := split(mods, there)
	if unavailable != nil {
		r.result = false
		r.says(unavailable, "Kernel module %s is unavailable", "Kernel modules %s are unavailable")
	}
	var t tally
	var along []string
	for _, mod := range mods {
		if slices.Contains(along, mod) && !persist {
			t.yes = append(t.yes, mod)
			continue
		}
		v, err := m.env.Call(ctx, "kmod.load", []any{mod, persist}, nil)
		if err != nil {
			return err
		}
		along = append(along, r.take(&t, mod, v, "loaded")...)
	}
	r.tell(t, "Loaded", "load")
	return nil
}

type absentArgs struct {
	Name    string
	Persist bool `default:"False"`
	Comment bool `default:"True"`
	Mods    any  `default:"None"`
}

// absent has modules not be loaded.
//
// persist
//
//	True: also not at boot.
//
// comment
//
//	False: the line that loads one at boot goes; else it becomes a comment.
//
// mods
//
//	A list of modules in place of the name.
//
//	pcspkr:
//	  kmod.absent
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	loaded, err := m.list(ctx, "mod_list")
	if err != nil {
		return nil, err
	}
	if a.Persist {
		kept, err := m.list(ctx, "mod_list", true)
		if err != nil {
			return nil, err
		}
		loaded = append(loaded, kept...)
	}
	r := &report{result: true, changes: &data.Map{}}
	mods := wanted(a.Name, a.Mods)
	present, _ := split(mods, loaded)
	switch {
	case len(present) == 0:
		r.says(mods, "Kernel module %s is already removed", "Kernel modules %s are already removed")
	case change.Test(ctx):
		r.result = nil
		r.says(present, "Kernel module %s is set to be removed", "Kernel modules %s are set to be removed")
	default:
		var t tally
		for _, mod := range present {
			v, err := m.env.Call(ctx, "kmod.remove", []any{mod, a.Persist, a.Comment}, nil)
			if err != nil {
				return nil, err
			}
			r.take(&t, mod, v, "removed")
		}
		r.tell(t, "Removed", "remove")
	}
	return r.ret(a.Name), nil
}
