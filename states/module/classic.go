package module

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// masked are the function parameters that an SLS must write as m_name and so on, because states
// have arguments with the same names.
var masked = map[string]bool{"name": true, "fun": true, "names": true, "state": true,
	"saltenv": true}

// classic calls the function given as the name (salt/states/module.py, _legacy_run).
func (m *module) classic(ctx context.Context, words *data.Map) (any, error) {
	fun := data.Str(words.Value("name"))
	words.Delete("name")
	ret := data.NewMap("name", fun, "changes", &data.Map{}, "comment", "", "result", false)
	f, ok := m.env.Functions.Func(fun)
	switch {
	case !ok:
		ret.Set("comment", fmt.Sprintf("Module function %s is not available", fun))
		return ret, nil
	case change.Test(ctx):
		ret.Set("comment", fmt.Sprintf("Module function %s is set to execute", fun))
		ret.Set("result", nil)
		return ret, nil
	}
	args, named, complaint := classicArguments(f.Spec(), words)
	if complaint != "" {
		ret.Set("comment", complaint)
		return ret, nil
	}
	v, err := m.env.Call(ctx, fun, args, named)
	if err != nil {
		ret.Set("comment", fmt.Sprintf("Module function %s threw an exception. Exception: %v", fun,
			err))
		return ret, nil
	}
	changes := data.NewMap("ret", v)
	ret.Set("changes", changes)
	if err := m.keep(ctx, words.Value("returner"), fun, v); err != nil {
		return nil, err
	}
	ret.Set("comment", fmt.Sprintf("Module function %s executed", fun))
	ret.Set("result", succeeded(v, v))
	return ret, nil
}

// classicArguments assigns the state's arguments to the parameters of a function. complaint is an
// error message.
func classicArguments(
	spec *loader.Spec, words *data.Map,
) (args []any, named *data.Map, complaint string) {
	missing := ""
	for _, p := range spec.Params {
		v, ok := words.Get(word(p.Name))
		if plain, has := words.Get(p.Name); has && !p.Required && p.Name != "names" {
			v, ok = plain, true
		}
		switch {
		case ok:
			args = append(args, v)
		case p.Required:
			missing += " " + word(p.Name)
		default:
			args = append(args, data.Clone(p.Default))
		}
	}
	if missing != "" {
		return nil, nil, "The following arguments are missing:" + missing
	}
	if v, ok := words.Get(word(spec.Args)); spec.Args != "" && ok {
		more, ok := v.([]any)
		if !ok {
			return nil, nil, "'" + spec.Args + "' must be a list."
		}
		args = append(args, more...)
	}
	if v, ok := words.Get(spec.Kwargs); spec.Kwargs != "" && ok {
		if named, ok = v.(*data.Map); !ok {
			return nil, nil, "'" + spec.Kwargs + "' must be a dict."
		}
	}
	return args, named, ""
}

func word(param string) string {
	if masked[param] {
		return "m_" + param
	}
	return param
}
