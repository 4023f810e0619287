package minion_test

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/minion"
)

type executeArgs struct {
	Opts   *data.Map
	Data   *data.Map
	Func   any
	Args   []any
	Kwargs *data.Map
}

type missingArgs struct{ Function string }

type oneArgs struct {
	Value any
	More  *data.Map `kwargs:"kwargs"`
}

// TestOwnExecutors calls functions through executors of a registry, in the place of users' own.
func TestOwnExecutors(t *testing.T) {
	functions, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "m1"),
		Grains: func() *data.Map { return data.NewMap("os", "Debian") }}, []loader.Plugin{{Name: "one",
		New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{loader.F("echo",
				func(_ context.Context, a oneArgs) (any, error) { return a.Value, nil }).Out("txt")}}, nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	execute := func(do func(ctx context.Context, a executeArgs) (any, error)) loader.Plugin {
		return loader.Plugin{New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{loader.F("execute", do),
				loader.F("allow_missing_func", func(_ context.Context, a missingArgs) (any, error) {
					return a.Function == "own.thing", nil
				})}}, nil
		}}
	}
	tell := execute(func(_ context.Context, a executeArgs) (any, error) {
		grains, _ := a.Opts.Value("grains").(*data.Map)
		fun := data.Repr(a.Func)
		if f, ok := a.Func.(loader.Reference); ok {
			fun = f.Kind + " " + f.Name
		}
		return []any{a.Opts.Value("id"), grains.Value("os"), a.Data, fun, a.Args, a.Kwargs}, nil
	})
	tell.Name = "tell"
	skip := execute(func(context.Context, executeArgs) (any, error) { return nil, nil })
	skip.Name = "skip"
	fail := execute(func(ctx context.Context, _ executeArgs) (any, error) {
		loader.ContextOf(ctx).SetRetcode(3)
		return "done", nil
	})
	fail.Name = "fail"
	direct := execute(func(context.Context, executeArgs) (any, error) { return "mine", nil })
	direct.Name = "direct_call"
	for _, tt := range []struct {
		own     []loader.Plugin
		alone   bool
		names   []any
		fun     string
		want    string
		retcode int
	}{
		{[]loader.Plugin{skip}, false, []any{"skip", "direct_call"}, "one.echo", "'x'", 0},
		{[]loader.Plugin{skip}, false, []any{"skip"}, "one.echo", "None", 0},
		{[]loader.Plugin{direct}, false, []any{"direct_call"}, "one.echo", "'mine'", 0},
		{[]loader.Plugin{fail}, false, []any{"fail", "direct_call"}, "one.echo", "'done'", 3},
		{[]loader.Plugin{tell}, false, []any{"tell"}, "one.echo", "['m1', 'Debian', {'fun': 'one.echo', 'jid': '1', 'executor_opts': {'a': 1}}, " +
			"'modules one.echo', ['x'], {'__pub_fun': 'one.echo', '__pub_jid': '1'}]", 0},
		{[]loader.Plugin{tell}, true, []any{"tell"}, "one.echo", "['m1', 'Debian', {'arg': ['x'], 'fun': 'one.echo', '__pub_fun': 'one.echo', " +
			"'__pub_jid': '1', 'executor_opts': {'a': 1}}, 'modules one.echo', ['x'], {'__pub_fun': 'one.echo', '__pub_jid': '1'}]", 0},
		{[]loader.Plugin{tell}, false, []any{"tell"}, "own.thing", "['m1', 'Debian', {'fun': 'own.thing', 'jid': '1', 'executor_opts': {'a': 1}}, " +
			"\"'own.thing'\", ['x'], {'fun': 'own.thing', 'jid': '1'}]", 0},
		{[]loader.Plugin{tell}, false, []any{"tell"}, "other.thing", `"'other.thing' is not available."`, 1},
	} {
		registry, err := loader.NewRegistry(functions.Env(), tt.own)
		if err != nil {
			t.Fatal(err)
		}
		e := minion.Executors{Opts: functions.Env().Opts, Functions: functions, Own: registry, Alone: tt.alone}
		names, err := e.Names(tt.names)
		if err != nil {
			t.Errorf("%v: %v", tt.names, err)
			continue
		}
		ctx := loader.WithContext(t.Context(), &loader.Context{})
		res := e.Call(ctx, names, data.NewMap("a", int64(1)), tt.fun, []any{"x"},
			loader.CallOptions{Pub: data.NewMap("fun", tt.fun, "jid", "1")})
		if got := data.Repr(res.Value); got != tt.want || res.Retcode != tt.retcode {
			t.Errorf("%v %s: %s, retcode %d, want %s, %d", tt.names, tt.fun, got, res.Retcode, tt.want, tt.retcode)
		}
	}
}
