package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
)

// Outputters returns the built-in outputters as plug-ins NAME.output, which users' own code may call
// (salt/loader/__init__.py, outputters).
func Outputters() []loader.Plugin {
	files := map[string]string{"json": "json_out", "pprint": "pprint_out", "quiet": "no_out_quiet",
		"table": "table_out", "yaml": "yaml_out"}
	var list []loader.Plugin
	for _, name := range output.Names() {
		list = append(list, loader.Plugin{Name: name, File: files[name],
			New: func(env *loader.Env) (*loader.Module, error) {
				return &loader.Module{Funcs: []loader.Func{builtinOutput(env, name)}}, nil
			}})
	}
	return list
}

type outputArgs struct {
	Data   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

func builtinOutput(env *loader.Env, name string) loader.Func {
	return loader.F("output", func(_ context.Context, a outputArgs) (any, error) {
		how, err := Printing(env.Opts, false)
		if err != nil {
			return nil, err
		}
		how.Retcode = int(floatOf(a.Kwargs.Value("_retcode")))
		out, err := output.New(name, how)
		if err != nil {
			return nil, err
		}
		return out.Format(a.Data)
	}).Document("Return the text of a value.")
}

// Extend lets the printer find users' own outputters: the functions NAME.output of the registry of
// the kind output that are not those of Outputters. Their calls end with ctx. plugins returns the
// current registry of a kind, nil for none.
func (p *Printer) Extend(ctx context.Context, plugins func(kind string) *loader.Registry) {
	p.options.Own = func(name string, o output.Options) output.Outputter {
		registry := plugins("output")
		f, ok := registry.Func(name + ".output")
		if !ok || f.Spec().Source != "" { // a Go function
			return nil
		}
		return &ownOutputter{ctx, registry, name, o.Retcode}
	}
}

// An ownOutputter is a user's own outputter.
type ownOutputter struct {
	ctx      context.Context
	registry *loader.Registry
	name     string
	retcode  int
}

// Format returns what the function output returns (salt/output/__init__.py, try_printout): text, or
// None for nothing.
func (o *ownOutputter) Format(v any) (string, error) {
	said, err := o.registry.Invoke(o.ctx, o.name+".output", []any{v},
		data.NewMap("_retcode", int64(o.retcode)))
	if err != nil {
		if !fallsBack(err) {
			err = errors.Join(output.ErrRaised, err)
		}
		return "", err
	}
	switch said := said.(type) {
	case nil:
		return "", nil
	case string:
		return said, nil
	}
	return "", loader.Exception("AttributeError", "'%s' object has no attribute 'rstrip'",
		loader.TypeName(said))
}

// fallsBack reports whether the exception of an outputter makes Salt try another one.
func fallsBack(err error) bool {
	e, ok := errors.AsType[*loader.Error](err)
	if !ok {
		return false
	}
	class := e.Class[strings.LastIndexByte(e.Class, '.')+1:]
	return e.Kind == loader.KindType || e.Kind == loader.KindInvocation || class == "KeyError" ||
		class == "AttributeError"
}
