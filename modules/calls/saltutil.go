package calls

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// RefreshGrains calls saltutil.refresh_grains, which reloads the minion's grains, and also its
// pillar if requested.
func RefreshGrains(ctx context.Context, env *loader.Env, pillar any) error {
	_, err := env.Call(ctx, "saltutil.refresh_grains", nil, data.NewMap("refresh_pillar", pillar))
	return err
}

// RefreshModules calls saltutil.refresh_modules, which reloads the minion's modules.
func RefreshModules(ctx context.Context, env *loader.Env) error {
	_, err := env.Call(ctx, "saltutil.refresh_modules", nil, nil)
	return err
}
