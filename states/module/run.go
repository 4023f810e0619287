package module

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type runArgs struct {
	Kwargs *data.Map `kwargs:"kwargs"`
}

// run calls functions of execution modules.
//
// Each key is a function with a list of its arguments: values, and dictionaries of one keyword
// argument. To call the same function more than once, append a colon and a word to the key.
// returner names a returner that receives the return values.
//
//	fetch_out_of_band:
//	  module.run:
//	    - git.fetch:
//	      - cwd: /path/to/my/repo
//	      - user: myuser
//	      - opts: '--all'
//
// In the older form the function is the name, and its arguments are arguments of the state.
// Function parameters called name, names, fun, state and saltenv are written m_name and so on
// there. Arguments for *args and **kwargs are given as a list and a dictionary under those names.
//
//	restart:
//	  module.run:
//	    - name: service.restart
//	    - m_name: nginx
func (m *module) run(ctx context.Context, a runArgs) (any, error) {
	if isClassic(a.Kwargs) {
		return m.classic(ctx, a.Kwargs.Clone())
	}
	words := a.Kwargs.Clone()
	words.Delete("name")
	return m.functions(ctx, words)
}

// isClassic reports whether the function is given as the name.
func isClassic(words *data.Map) bool {
	functions := 0
	for key := range words.All() {
		if key == "name" || key == "__reqs__" || key == "sfun" {
			continue
		}
		if !strings.Contains(data.Str(key), ".") {
			return true
		}
		functions++
	}
	return functions == 0 && words.Len() > 0
}

// functions calls the functions that are keys.
func (m *module) functions(ctx context.Context, words *data.Map) (any, error) {
	var names, missing, known []string
	for key := range words.All() {
		name := data.Str(key)
		if !strings.Contains(name, ".") {
			continue
		}
		names = append(names, name)
		if fun := functionOf(name); m.env.Functions.Has(fun) {
			known = append(known, fun)
		} else {
			missing = append(missing, fun)
		}
	}
	ret := data.NewMap("name", words.Keys(), "changes", &data.Map{}, "comment",
		"No function provided.", "result", false)
	switch {
	case len(names) == 0:
		return ret, nil
	case len(missing) > 0 || change.Test(ctx):
		ret.Set("comment", testComment(missing, known, change.Test(ctx)))
		if len(missing) == 0 {
			ret.Set("result", nil)
		}
		return ret, nil
	}
	return ret, m.callAll(ctx, names, words, ret)
}

// functionOf returns the function name in a key, without the suffix that distinguishes several
// calls.
func functionOf(name string) string {
	fun, _, _ := strings.Cut(name, ":")
	return fun
}

func testComment(missing, known []string, test bool) string {
	plural := func(names []string) string {
		if len(names) > 1 {
			return "True"
		}
		return ""
	}
	var parts []string
	if len(missing) > 0 {
		parts = append(parts, fmt.Sprintf("Unavailable function%s: %s.", plural(missing),
			strings.Join(missing, ", ")))
	}
	if test && len(known) > 0 {
		parts = append(parts, fmt.Sprintf("Function%s %s to be executed.", plural(known),
			strings.Join(known, ", ")))
	}
	return strings.Join(parts, " ")
}

func (m *module) callAll(ctx context.Context, names []string, words, ret *data.Map) error {
	var failures, successes []string
	changes := ret.Value("changes").(*data.Map)
	for _, name := range names {
		v, err := m.callFunction(ctx, functionOf(name), words.Value("returner"), words.Value(name))
		dict, isDict := v.(*data.Map)
		switch {
		case err != nil && loader.KindOf(err) != loader.KindInvocation &&
			loader.KindOf(err) != loader.KindType:
			return err
		case err != nil:
			failures = append(failures, fmt.Sprintf("'%s' failed: %v", name, err))
		case succeeded(v, &data.Map{}):
			successes = append(successes, name+": "+commentOf(v))
			changes.Set(name, v)
		case isDict:
			failures = append(failures, fmt.Sprintf("'%s' failed: %s", name,
				comment(dict, "(error message N/A)")))
		case v == false:
			failures = append(failures, fmt.Sprintf("'%s': False", name))
		}
	}
	ret.Set("comment", strings.Join(append(failures, successes...), ", "))
	ret.Set("result", len(failures) == 0)
	return nil
}

func commentOf(v any) string {
	if m, ok := v.(*data.Map); ok {
		return comment(m, "Success")
	}
	return data.Str(v)
}

func comment(m *data.Map, standard string) string {
	if c, ok := m.Get("comment"); ok {
		return data.Str(c)
	}
	return standard
}

// callFunction calls a function with arguments in the form of an SLS (salt/utils/functools.py,
// call_function).
func (m *module) callFunction(ctx context.Context, fun string, returner, given any) (any, error) {
	f, ok := m.env.Functions.Func(fun)
	if !ok {
		return nil, loader.Exception("KeyError", "%s", data.Repr(fun))
	}
	args, words, err := arguments(f.Spec(), given)
	if err != nil {
		return nil, err
	}
	v, err := m.env.Call(ctx, fun, args, words)
	if err != nil || returner == nil {
		return v, err
	}
	return v, m.keep(ctx, returner, fun, v)
}

// arguments splits the arguments of an SLS into positional and keyword arguments.
func arguments(spec *loader.Spec, given any) (args []any, words *data.Map, err error) {
	words = &data.Map{}
	named := map[string]any{}
	list, err := listed(given)
	if err != nil {
		return nil, nil, err
	}
	for _, item := range slices.Backward(list) {
		dict, ok := item.(*data.Map)
		if !ok {
			args = append(args, item)
			continue
		}
		for key, v := range dict.All() {
			if name := data.Str(key); required(spec, name) {
				named[name] = v
			} else {
				words.Update(dict)
			}
		}
	}
	slices.Reverse(args)
	for _, p := range spec.Params {
		if v, ok := named[p.Name]; ok {
			args = append(args, v)
		}
	}
	return args, words, lacking(spec, len(args), words)
}

func listed(given any) ([]any, error) {
	switch v := given.(type) {
	case nil:
		return nil, nil
	case []any:
		return v, nil
	case *data.Map:
		return v.Keys(), nil
	case string:
		var chars []any
		for _, c := range v {
			chars = append(chars, string(c))
		}
		return chars, nil
	}
	return nil, loader.TypeError("argument after * must be an iterable, not %s",
		loader.TypeName(given))
}

func required(spec *loader.Spec, name string) bool {
	return slices.ContainsFunc(spec.Params,
		func(p loader.Param) bool { return p.Required && p.Name == name })
}

// lacking returns an error for required parameters without an argument.
func lacking(spec *loader.Spec, passed int, words *data.Map) error {
	var missing []string
	expected := 0
	for _, p := range spec.Params {
		if p.Required {
			expected++
		}
	}
	if expected <= passed {
		return nil
	}
	for _, p := range spec.Params[passed:] {
		if p.Required && !words.Has(p.Name) {
			missing = append(missing, p.Name)
		}
	}
	if missing == nil {
		return nil
	}
	return loader.Invocation("Missing arguments: %s", strings.Join(missing, ", "))
}
