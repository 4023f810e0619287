package minion

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// own calls a function through one of users' own executors. It is a call like any other with the
// result of the executor.
func (e Executors) own(
	ctx context.Context, name string, options any, fun string, arg []any, o loader.CallOptions,
) loader.Result {
	if !e.Functions.Has(fun) && e.takesMissing(ctx, name, fun) {
		loader.ContextOf(ctx).SetRetcode(0)
		v, err := e.execute(ctx, name, fun, arg, o.Pub, e.load(fun, arg, nil, options, o.Pub))
		return loader.Outcome(ctx, fun, v, err)
	}
	o.Through = func(ctx context.Context, args []any, kwargs *data.Map) (any, error) {
		function := loader.Reference{Kind: "modules", Name: fun}
		return e.execute(ctx, name, function, args, kwargs, e.load(fun, args, kwargs, options, o.Pub))
	}
	return e.Functions.Call(ctx, fun, arg, o)
}

// execute calls the function execute of an executor (salt/executors): with the options, the job, the
// function and its arguments.
func (e Executors) execute(
	ctx context.Context, name string, function any, args []any, kwargs, load *data.Map,
) (any, error) {
	env := e.Functions.Env()
	opts := e.Opts.Clone()
	opts.Set("grains", env.GrainsNow())
	opts.Set("pillar", env.PillarNow())
	if args == nil {
		args = []any{}
	}
	return e.Own.Invoke(ctx, name+".execute", []any{opts, load, function, args, kwargs}, nil)
}

// load returns the job as executors see it: the publication, or for salt-call the function and its
// arguments (salt/cli/caller.py, call).
func (e Executors) load(fun string, args []any, kwargs *data.Map, options any, pub *data.Map) *data.Map {
	load := pub.Clone()
	if e.Alone {
		load = data.NewMap("arg", args, "fun", fun)
		load.Update(kwargs)
	}
	if data.Truth(options) {
		load.Set("executor_opts", options)
	}
	return load
}

// takesMissing reports whether an executor performs functions that the minion does not have
// (salt/minion.py, _thread_return: allow_missing_func).
func (e Executors) takesMissing(ctx context.Context, name, fun string) bool {
	asked := name + ".allow_missing_func"
	if e.Alone || !e.Own.Has(asked) {
		return false
	}
	v, err := e.Own.Invoke(ctx, asked, []any{fun}, nil)
	return err == nil && data.Truth(v)
}
