package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/python"
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
	p.options.Own = findOutputter(ctx, plugins)
}

func findOutputter(
	ctx context.Context, plugins func(kind string) *loader.Registry,
) func(name string, o output.Options) output.Outputter {
	return func(name string, o output.Options) output.Outputter {
		registry := plugins("output")
		f, ok := registry.Func(name + ".output")
		if !ok || f.Spec().Source != "" { // a Go function
			return nil
		}
		return &ownOutputter{ctx, registry, name, o.Retcode}
	}
}

// openOutputters makes o find the outputters of users' own code that the options of a master name,
// for a program that has no other code of theirs. Python starts when the first is looked for, and end
// ends it.
func openOutputters(
	ctx context.Context, o *output.Options, opts *data.Map, log *logrus.Logger,
) (end func(), err error) {
	directories := python.Directories(opts)
	if len(python.FileNames(directories["output"])) == 0 {
		return func() {}, nil
	}
	registry, err := loader.NewRegistry(&loader.Env{Opts: opts, Log: log}, Outputters())
	if err != nil {
		return nil, err
	}
	host := python.NewHost(python.Options{CacheDir: opts.Text("cachedir"), Level: log.GetLevel(),
		Log: log, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Directories: func() map[string][]string { return directories }})
	registry.Extend(host.Files("output", registry.Env(), Outputters()))
	o.Own = findOutputter(ctx, func(string) *loader.Registry { return registry })
	return func() {
		if err := host.Close(); err != nil {
			log.WithError(err).Debug("end the Python of outputters")
		}
	}, nil
}

// OpenOutputters makes the printer find the outputters of users' own code that the options of a
// master name. What goes wrong in them is logged to console. end ends their Python.
func (p *Printer) OpenOutputters(
	ctx context.Context, opts *data.Map, console io.Writer,
) (end func(), err error) {
	if len(python.FileNames(python.Directories(opts)["output"])) == 0 {
		return func() {}, nil
	}
	log, closer, err := OpenLog(opts, console)
	if err != nil {
		return nil, err
	}
	endPython, err := openOutputters(ctx, &p.options, opts, log)
	if err != nil {
		return nil, errors.Join(err, closer.Close())
	}
	return func() {
		endPython()
		_ = closer.Close()
	}, nil
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
