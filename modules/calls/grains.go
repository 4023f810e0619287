package calls

import (
	"context"

	"github.com/brineproject/brine/loader"
)

// GrainsGet calls grains.get and returns a grain as an R, or the zero value if there is no such
// grain. With R = any it accepts every value.
func GrainsGet[R any](ctx context.Context, env *loader.Env, key any) (R, error) {
	return Found[R](ctx, env, "grains.get", []any{key}, nil)
}

// GrainsSetVal calls grains.setval, which stores a grain. If the function returns a string, that is
// the reason it failed, and becomes the error.
func GrainsSetVal(ctx context.Context, env *loader.Env, key, value any) error {
	v, err := env.Call(ctx, "grains.setval", []any{key, value}, nil)
	if text, ok := v.(string); ok && err == nil {
		return loader.Execution("%s", text)
	}
	return err
}
