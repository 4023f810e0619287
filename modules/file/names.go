package file

import (
	"context"

	"github.com/brineproject/brine/loader"
)

type pathArgs struct{ Path string }

// basename returns the part of a path after the last slash.
//
// CLI Example:
//
//	salt '*' file.basename 'test/test.config'
func basename(_ context.Context, a pathArgs) (any, error) {
	_, tail := split(a.Path)
	return tail, nil
}

// dirname returns the part of a path before the last slash.
//
// CLI Example:
//
//	salt '*' file.dirname 'test/path/filename.config'
func dirname(_ context.Context, a pathArgs) (any, error) {
	return above(a.Path), nil
}

type joinArgs struct {
	Args []any `args:"args"`
}

// join joins the parts of a path with slashes. A part that begins with a slash drops the parts
// before it.
//
// CLI Example:
//
//	salt '*' file.join '/' 'usr' 'local' 'bin'
func join(_ context.Context, a joinArgs) (any, error) {
	if len(a.Args) == 0 {
		return nil, loader.TypeError("join() missing 1 required positional argument: 'a'")
	}
	joined := ""
	for i, v := range a.Args {
		part, ok := v.(string)
		switch {
		case !ok && i == 0:
			return nil, loader.TypeError("expected str, bytes or os.PathLike object, not %s",
				loader.TypeName(v))
		case !ok:
			return nil, loader.TypeError("join() argument must be str, bytes, or os.PathLike object, not '%s'",
				loader.TypeName(v))
		}
		joined = joinedTo(joined, part)
	}
	return joined, nil
}

// normpath returns a path without double slashes and without the parts . and ..
//
// CLI Example:
//
//	salt '*' file.normpath 'a/b/c/..'
func normpath(_ context.Context, a pathArgs) (any, error) {
	return normal(a.Path), nil
}

// pardir returns the name of the parent directory: two dots.
//
// CLI Example:
//
//	salt '*' file.pardir
func pardir(context.Context, loader.NoArgs) (any, error) { return "..", nil }
