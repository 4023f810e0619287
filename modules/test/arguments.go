package test

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func (m *module) arguments() []loader.Func {
	return []loader.Func{
		loader.F("kwarg", m.kwarg),
		loader.F("arg", m.arg),
		loader.F("arg_type", m.argType),
		loader.F("arg_repr", m.argRepr),
		loader.F("arg_clean", m.argClean),
	}
}

type kwargArgs struct {
	Kwargs *data.Map `kwargs:"kwargs"`
}

// kwarg returns its keyword arguments, including those of the publication (__pub_…).
//
// CLI Example:
//
//	salt '*' test.kwarg num=1 txt="two" env='{a: 1, b: "hello"}'
func (m *module) kwarg(_ context.Context, a kwargArgs) (any, error) { return a.Kwargs, nil }

// arg returns its arguments and keyword arguments, including those of the publication (__pub_…).
//
// CLI Example:
//
//	salt '*' test.arg 1 "two" 3.1 txt="hello" wow='{a: 1, b: "hello"}'
func (m *module) arg(_ context.Context, a anyArgs) (any, error) {
	return data.NewMap("args", data.Tuple(a.Args), "kwargs", a.Kwargs), nil
}

// argType returns the types of its arguments and keyword arguments. It shows how the minion parses
// a command line.
//
// CLI Example:
//
//	salt '*' test.arg_type 1 'int'
func (m *module) argType(_ context.Context, a anyArgs) (any, error) {
	args, kwargs := []any{}, &data.Map{}
	for _, v := range a.Args {
		args = append(args, class(v))
	}
	for k, v := range a.Kwargs.All() {
		kwargs.Set(k, class(v))
	}
	return data.NewMap("args", args, "kwargs", kwargs), nil
}

func class(v any) string { return "<class '" + loader.TypeName(v) + "'>" }

// argRepr returns the arguments and keyword arguments as Python's repr prints them.
//
// CLI Example:
//
//	salt '*' test.arg_repr 1 "two" 3.1 txt="hello" wow='{a: 1, b: "hello"}'
func (m *module) argRepr(_ context.Context, a anyArgs) (any, error) {
	return data.NewMap("args", data.Repr(data.Tuple(a.Args)), "kwargs", data.Repr(a.Kwargs)), nil
}

// argClean is test.arg without the arguments of the publication (__pub_…).
//
// CLI Example:
//
//	salt '*' test.arg_clean 1 "two" 3.1 txt="hello" wow='{a: 1, b: "hello"}'
func (m *module) argClean(_ context.Context, a anyArgs) (any, error) {
	return data.NewMap("args", data.Tuple(a.Args), "kwargs", clean(a.Kwargs)), nil
}

// clean removes the keys that begin with two underscores.
func clean(kwargs *data.Map) *data.Map {
	out := &data.Map{}
	for k, v := range kwargs.All() {
		if name, ok := k.(string); !ok || !strings.HasPrefix(name, "__") {
			out.Set(k, v)
		}
	}
	return out
}
