package calls

import (
	"context"

	"github.com/brineproject/brine/loader"
)

// MatchGlob calls match.glob and reports whether a pattern matches a minion ID.
func MatchGlob(ctx context.Context, env *loader.Env, pattern, id string) (bool, error) {
	return loader.CallAs[bool](ctx, env, "match.glob", []any{pattern, id}, nil)
}

// MatchCompound calls match.compound and reports whether a compound target matches this minion.
func MatchCompound(ctx context.Context, env *loader.Env, target any) (bool, error) {
	return loader.CallAs[bool](ctx, env, "match.compound", []any{target}, nil)
}
