package calls

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Option calls config.option and returns an option as an R. For a missing option it returns the
// fallback, or the zero value if there is no fallback. With R = any it accepts every value. The
// error for a value of another type names the option.
func Option[R any](
	ctx context.Context, env *loader.Env, name string, fallback ...any,
) (R, error) {
	return setting[R](ctx, env, "config.option", append([]any{name}, fallback...), nil)
}

// ConfigGet is like Option but calls config.get, which accepts a path with colons and also searches
// pillar and grains. The fallback is passed as the argument default.
func ConfigGet[R any](
	ctx context.Context, env *loader.Env, name string, fallback ...any,
) (R, error) {
	var w words
	for _, v := range fallback {
		w.add("default", true, v)
	}
	return setting[R](ctx, env, "config.get", []any{name}, w.kwargs)
}

func setting[R any](
	ctx context.Context, env *loader.Env, fun string, args []any, kwargs *data.Map,
) (R, error) {
	var none R
	v, err := env.Call(ctx, fun, args, kwargs)
	if err != nil {
		return none, err
	}
	value, err := FoundIn[R](fun, v)
	if err != nil {
		return none, fmt.Errorf("option %s: %w", data.Str(args[0]), err)
	}
	return value, nil
}

// OptionText is like Option for an option that is used as a string whatever its type, such as a
// port. It returns "" for values that Python treats as false.
func OptionText(ctx context.Context, env *loader.Env, name string) (string, error) {
	v, err := Option[any](ctx, env, name)
	return Text(v), err
}

// ValidFileProto calls config.valid_fileproto and reports whether a path is a URL with a scheme
// that cp can fetch.
func ValidFileProto(ctx context.Context, env *loader.Env, path any) (bool, error) {
	return loader.CallAs[bool](ctx, env, "config.valid_fileproto", []any{path}, nil)
}
