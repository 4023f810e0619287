package gem_test

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// fake is a user's own module rvm or rbenv that records the last call.
type fake struct{ name, called string }

type anyArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

func (f *fake) plugin() loader.Plugin {
	return loader.Plugin{Name: f.name, New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F("is_installed", func(context.Context, anyArgs) (any, error) { return true, nil }),
			loader.F("do", f.record("do")),
			loader.F("do_with_ruby", f.record("do_with_ruby")),
		}}, nil
	}}
}

func (f *fake) record(fun string) func(context.Context, anyArgs) (any, error) {
	return func(_ context.Context, a anyArgs) (any, error) {
		f.called = f.name + "." + fun + " " + data.Repr(a.Args) + " " + data.Repr(a.Kwargs)
		return "done", nil
	}
}
