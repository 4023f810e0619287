package calls

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// PillarItems calls pillar.items and returns the pillar of an environment with the given values
// merged over it. None means the default.
func PillarItems(
	ctx context.Context, env *loader.Env, over, pillarenv any,
) (*data.Map, error) {
	return loader.CallAs[*data.Map](ctx, env, "pillar.items", nil,
		data.NewMap("pillar", over, "pillarenv", pillarenv))
}

// PillarGet calls pillar.get and returns a pillar value as an R. If there is none it returns the
// fallback, or else the zero value. With R = any it accepts every value.
func PillarGet[R any](
	ctx context.Context, env *loader.Env, key any, fallback ...any,
) (R, error) {
	return Found[R](ctx, env, "pillar.get", append([]any{key}, fallback...), nil)
}
