package loop

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

// A comparison reports whether the result of a function is as expected.
type comparison func(ctx context.Context, result, expected any) (bool, error)

// comparison returns the comparison with this name. Like loop.until_no_eval it accepts an execution
// module function, a function of Salt's utils, or one of Python's module operator.
func (m *module) comparison(name string) (comparison, bool) {
	if m.env.Functions.Has(name) {
		return func(ctx context.Context, result, expected any) (bool, error) {
			v, err := m.env.Call(ctx, name, []any{result, expected}, nil)
			return data.Truth(v), err
		}, true
	}
	if name == "data.subdict_match" {
		return subdictMatch, true
	}
	text, ok := operators()[name]
	if !ok {
		return nil, false
	}
	return func(ctx context.Context, result, expected any) (bool, error) {
		c, err := newCondition(text)
		if err != nil {
			return false, err
		}
		return c.holds(ctx, map[string]any{"a": result, "b": expected})
	}, true
}

// operators are the comparisons of Python's module operator.
func operators() map[string]string {
	return map[string]string{
		"lt": "a < b", "le": "a <= b", "eq": "a == b", "ne": "a != b", "ge": "a >= b",
		"gt": "a > b", "contains": "b in a", "is_": "a is sameas b", "is_not": "a is not sameas b",
	}
}

// subdictMatch compares like targeting by grains does: expected is KEY:…:VALUE, with globs
// (salt/utils/data.py, subdict_match).
func subdictMatch(_ context.Context, result, expected any) (bool, error) {
	text, ok := expected.(string)
	if !ok {
		return false, loader.Exception("AttributeError", "%s has no attribute 'split'",
			data.Repr(expected))
	}
	e, err := match.Compile("result:"+text, "grain", ":", match.Options{})
	if err != nil {
		return false, err
	}
	return e.Match(&match.Minion{Grains: data.NewMap("result", result)}), nil
}

// class returns the name of an error's Python exception.
func class(err error) string {
	if e, ok := errors.AsType[*loader.Error](err); ok {
		return e.Class
	}
	return "salt.exceptions.CommandExecutionError"
}
