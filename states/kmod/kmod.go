// Package kmod is Salt's state kmod: kernel modules that are loaded or not, now and at boot
// (salt/states/kmod.py). It uses the module kmod.
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

// list calls a function of the module that returns a list.
func (m *module) list(ctx context.Context, fun string, args ...any) ([]string, error) {
	return change.Ask[[]string](ctx, m.env, "kmod."+fun, args, nil)
}

// wanted returns the names of the modules to manage, without duplicates.
func wanted(name string, mods any) []string {
	if _, text := mods.(string); text || data.TextsOf(mods) == nil {
		return []string{name}
	}
	var once []string
	for _, mod := range data.TextsOf(mods) {
		if !slices.Contains(once, mod) {
			once = append(once, mod)
		}
	}
	return once
}

// split returns the elements of list that are in others, and those that are not.
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

// A look holds what a state found, and the outcome for each module that it loads or removes.
type look struct {
	same, wrong     []string // as desired or not
	unavailable     []string
	yes, no         []string
	refused         []string // with the module's reason
	changes         *data.Map
	done, doing     string // verbs for comments
	already, coming string
}

// lines returns a sentence about modules, none if names is empty.
func lines(names []string, prefix, is, are string) []string {
	switch len(names) {
	case 0:
		return nil
	case 1:
		return []string{prefix + " module " + names[0] + is}
	}
	return []string{prefix + " modules " + strings.Join(names, ", ") + are}
}

// comment returns the comment.
func (l *look) comment(o change.Outcome[*look]) any {
	text := lines(l.same, "Kernel", " is already "+l.already, " are already "+l.already)
	if o.Stage == change.StageWould {
		coming := "set to be " + l.coming
		text = append(text, lines(l.wrong, "Kernel", " is "+coming, " are "+coming)...)
	}
	return strings.Join(slices.Concat(text,
		lines(l.unavailable, "Kernel", " is unavailable", " are unavailable"),
		lines(l.yes, l.done+" kernel", "", ""),
		lines(l.no, "Failed to "+l.doing+" kernel", "", ""),
		l.refused), "\n")
}

// take records the result of a call for a module, and returns the modules that it changed.
func (l *look) take(mod string, v any) []string {
	list, ok := v.([]any)
	switch {
	case !ok:
		l.refused = append(l.refused, "Failed to "+l.doing+" kernel module "+mod+": "+data.Str(v))
	case len(list) == 0:
		l.no = append(l.no, mod)
	default:
		l.yes = append(l.yes, mod)
	}
	for _, name := range data.Texts(list) {
		l.changes.Set(name, l.coming)
	}
	return data.Texts(list)
}

// keep runs a state. The changes are those that the module reports.
func keep(
	ctx context.Context, name string, l *look,
	find func(context.Context, *look) error, apply func(context.Context, *look) error,
) (change.Result, error) {
	l.changes = &data.Map{}
	return change.Thing[*look]{
		Name: name,
		Look: func(ctx context.Context) (*look, error) { return l, find(ctx, l) },
		Wants: func(l *look) *data.Map {
			return change.When(len(l.wrong) > 0, data.NewMap("modules", l.wrong))
		},
		Apply: func(ctx context.Context, l *look) error {
			err := apply(ctx, l)
			if err == nil && len(l.unavailable)+len(l.no)+len(l.refused) > 0 {
				err = errors.New("not all modules are as desired")
			}
			return err
		},
		Changed: func(_, l *look) *data.Map { return l.changes },
		Say:     l.comment,
		Silent:  true,
		Trust:   true,
	}.Ensure(ctx)
}

type presentArgs struct {
	Name    string
	Persist bool `default:"False"`
	Mods    any  `default:"None"`
}

// present loads kernel modules.
//
// persist
//
//	True: also load them at boot.
//
// mods
//
//	A list of modules instead of the name.
//
//	kvm_amd:
//	  kmod.present:
//	    - persist: True
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	l := &look{already: "present", coming: "loaded", done: "Loaded", doing: "load"}
	find := func(ctx context.Context, l *look) error {
		loaded, err := m.list(ctx, "mod_list")
		if err == nil && a.Persist {
			var kept []string
			kept, err = m.list(ctx, "mod_list", true)
			loaded, _ = split(loaded, kept)
		}
		l.same, l.wrong = split(wanted(a.Name, a.Mods), loaded)
		return err
	}
	return keep(ctx, a.Name, l, find, func(ctx context.Context, l *look) error {
		return m.load(ctx, l, a.Persist)
	})
}

// load loads modules, except those that were already loaded as dependencies of earlier ones.
func (m *module) load(ctx context.Context, l *look, persist bool) error {
	there, err := m.list(ctx, "available")
	if err != nil {
		return err
	}
	var mods, along []string
	mods, l.unavailable = split(l.wrong, there)
	for _, mod := range mods {
		if slices.Contains(along, mod) && !persist {
			l.yes = append(l.yes, mod)
			continue
		}
		v, err := change.Ask[any](ctx, m.env, "kmod.load", []any{mod, persist}, nil)
		if err != nil {
			return err
		}
		along = append(along, l.take(mod, v)...)
	}
	return nil
}

type absentArgs struct {
	Name    string
	Persist bool `default:"False"`
	Comment bool `default:"True"`
	Mods    any  `default:"None"`
}

// absent unloads kernel modules.
//
// persist
//
//	True: also do not load them at boot.
//
// comment
//
//	False: remove the line that loads a module at boot. True: comment it out.
//
// mods
//
//	A list of modules instead of the name.
//
//	pcspkr:
//	  kmod.absent
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
	l := &look{already: "removed", coming: "removed", done: "Removed", doing: "remove"}
	find := func(ctx context.Context, l *look) error {
		loaded, err := m.list(ctx, "mod_list")
		if err == nil && a.Persist {
			var kept []string
			kept, err = m.list(ctx, "mod_list", true)
			loaded = append(loaded, kept...)
		}
		if l.wrong, l.same = split(wanted(a.Name, a.Mods), loaded); len(l.wrong) > 0 {
			l.same = nil // Salt only names them if there are no others
		}
		return err
	}
	return keep(ctx, a.Name, l, find, func(ctx context.Context, l *look) error {
		for _, mod := range l.wrong {
			v, err := change.Ask[any](ctx, m.env,
				"kmod.remove", []any{mod, a.Persist, a.Comment}, nil)
			if err != nil {
				return err
			}
			l.take(mod, v)
		}
		return nil
	})
}
