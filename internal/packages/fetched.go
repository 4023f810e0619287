package packages

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Fetched returns the local path of a file that may be remote, as returned by cp.cache_file. It is
// "" if there is no such file, for which that function returns False, None or "".
func Fetched(ctx context.Context, env *loader.Env, source, saltenv any) (string, error) {
	const fun = "cp.cache_file"
	path, err := loader.CallAs[any](ctx, env, fun, []any{source, saltenv}, nil)
	if err != nil || path == nil || path == false {
		return "", err
	}
	text, ok := path.(string)
	if !ok {
		return "", fmt.Errorf("%s: returned %s, expected str", fun, loader.TypeName(path))
	}
	return text, nil
}

// Local returns the local path of a package file that may be remote. here returns the error for a
// missing file.
func Local(
	ctx context.Context, env *loader.Env, path string, saltenv any, here func() error,
) (string, error) {
	remote, err := loader.CallAs[bool](ctx, env, "config.valid_fileproto", []any{path}, nil)
	switch {
	case err != nil:
		return "", err
	case !remote:
		return path, here()
	}
	fetched, err := Fetched(ctx, env, path, saltenv)
	if err == nil && fetched == "" {
		err = loader.Execution("Unable to retrieve %s from saltenv '%s'", path, data.Str(saltenv))
	}
	return fetched, err
}
