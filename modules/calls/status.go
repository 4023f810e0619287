package calls

import (
	"context"

	"github.com/brineproject/brine/loader"
)

// StatusPID calls status.pid and returns the IDs of the processes that match a pattern, one a line,
// or "" if there are none.
func StatusPID(ctx context.Context, env *loader.Env, pattern any) (string, error) {
	return Found[string](ctx, env, "status.pid", []any{pattern}, nil)
}
