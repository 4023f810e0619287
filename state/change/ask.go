package change

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Ask calls a function of a module and returns its result as loader.CallAs does. An error is raised
// as an exception (Raise): so states of Salt do that catch nothing.
func Ask[R any](
	ctx context.Context, env *loader.Env, fun string, args []any, kwargs *data.Map,
) (R, error) {
	result, err := loader.CallAs[R](ctx, env, fun, args, kwargs)
	return result, Raise(err)
}

// Do is Ask for what a function does; its result does not count.
func Do(ctx context.Context, env *loader.Env, fun string, args []any, kwargs *data.Map) error {
	_, err := env.Call(ctx, fun, args, kwargs)
	return Raise(err)
}
