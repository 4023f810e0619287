package calls

import (
	"context"

	"github.com/brineproject/brine/loader"
)

// DataGet calls data.get and returns a value of the minion's own data store as an R, or the zero
// value if there is none.
func DataGet[R any](ctx context.Context, env *loader.Env, key string) (R, error) {
	return Found[R](ctx, env, "data.get", []any{key}, nil)
}

// DataUpdate calls data.update, which stores a value, and reports whether it was stored.
func DataUpdate(ctx context.Context, env *loader.Env, key string, value any) (bool, error) {
	return loader.CallAs[bool](ctx, env, "data.update", []any{key, value}, nil)
}
