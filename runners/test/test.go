// Package test is Salt's runner test: small functions for testing a master and its schedule
// (salt/runners/test.py).
package test

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// Plugin returns the runner test.
func Plugin() loader.Plugin { return loader.Plugin{Name: "test", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("arg", m.arg),
		loader.F("raw_arg", m.rawArg),
		loader.F("metasyntactic", m.metasyntactic),
		loader.F("sleep", m.sleep),
		loader.F("get_opts", m.getOpts),
		loader.F("stdout_print", m.stdoutPrint),
		loader.F("stream", m.stream),
	}}, nil
}

type argArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// arg returns its arguments, without those that describe the job.
//
// CLI Example:
//
//	salt-run test.arg 1 name=value
func (m *module) arg(_ context.Context, a argArgs) (any, error) {
	kwargs := data.NewMap()
	for k, v := range a.Kwargs.All() {
		if name, ok := k.(string); !ok || len(name) < 2 || name[:2] != "__" {
			kwargs.Set(k, v)
		}
	}
	return data.NewMap("args", list(a.Args), "kwargs", kwargs), nil
}

// rawArg returns all its arguments.
//
// CLI Example:
//
//	salt-run test.raw_arg 1 __kwarg=value
func (m *module) rawArg(_ context.Context, a argArgs) (any, error) {
	kwargs := a.Kwargs
	if kwargs == nil {
		kwargs = data.NewMap()
	}
	return data.NewMap("args", list(a.Args), "kwargs", kwargs), nil
}

func list(args []any) []any {
	if args == nil {
		return []any{}
	}
	return args
}

type metasyntacticArgs struct {
	Locality string `default:"'us'"`
}

// metasyntactic returns placeholder names as used in a country: us or uk.
//
// CLI Example:
//
//	salt-run test.metasyntactic locality=uk
func (m *module) metasyntactic(_ context.Context, a metasyntacticArgs) (any, error) {
	names := map[string][]any{
		"us": {"foo", "bar", "baz", "qux", "quux", "quuz", "corge", "grault", "garply", "waldo",
			"fred", "plugh", "xyzzy", "thud"},
		"uk": {"wibble", "wobble", "wubble", "flob"},
	}[a.Locality]
	if names == nil {
		return nil, nil
	}
	return names, nil
}

type sleepArgs struct {
	Seconds any `name:"s_time" default:"10"`
}

// sleep waits that many seconds and returns True. It prints the number first.
//
// CLI Example:
//
//	salt-run test.sleep 2
func (m *module) sleep(ctx context.Context, a sleepArgs) (any, error) {
	seconds, err := loader.Float(a.Seconds)
	if _, isText := a.Seconds.(string); isText || err != nil {
		return nil, loader.TypeError("'%s' object cannot be interpreted as an integer",
			loader.TypeName(a.Seconds))
	}
	runners.RunOf(ctx).Printf("%s\n", data.Str(a.Seconds))
	if err := clock.Sleep(ctx, time.Duration(seconds*float64(time.Second))); err != nil {
		return nil, err
	}
	return true, nil
}

// stdoutPrint prints foo and returns bar.
//
// CLI Example:
//
//	salt-run test.stdout_print
func (m *module) stdoutPrint(ctx context.Context, _ loader.NoArgs) (any, error) {
	runners.RunOf(ctx).Printf("foo\n")
	return "bar", nil
}

// stream reports progress ninety-nine times in ten seconds, and returns True.
//
// CLI Example:
//
//	salt-run test.stream
func (m *module) stream(ctx context.Context, _ loader.NoArgs) (any, error) {
	for i := 1; i < 100; i++ {
		runners.RunOf(ctx).Progress(ctx, "Runner is %d%% done", i)
		if err := clock.Sleep(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return true, nil
}

// getOpts returns the options of the master.
//
// CLI Example:
//
//	salt-run test.get_opts
func (m *module) getOpts(context.Context, loader.NoArgs) (any, error) { return m.env.Opts, nil }
