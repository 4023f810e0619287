package change

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Ask calls an execution module function and returns its result, as loader.CallAs does. An error is
// marked with Raise, so it ends as an exception: most of Salt's states do not catch errors of the
// functions that they call.
func Ask[R any](
	ctx context.Context, env *loader.Env, fun string, args []any, kwargs *data.Map,
) (R, error) {
	result, err := loader.CallAs[R](ctx, env, fun, args, kwargs)
	return result, Raise(err)
}

// Do is Ask for functions that are called for their effect. It discards the result.
func Do(ctx context.Context, env *loader.Env, fun string, args []any, kwargs *data.Map) error {
	_, err := env.Call(ctx, fun, args, kwargs)
	return Raise(err)
}
