package packages

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Targets asks pkg_resource.parse_targets which packages are meant. A file that cannot be had is an error of the execution, as in
// the package managers of Salt, so that states tell it.
func Targets(ctx context.Context, env *loader.Env, args []any, kwargs *data.Map) (any, error) {
	v, err := env.Call(ctx, "pkg_resource.parse_targets", args, kwargs)
	var known *loader.Error
	if errors.As(err, &known) && known.Class == "salt.exceptions.MinionError" {
		return nil, loader.Execution("%s", known.Text)
	}
	return v, err
}
