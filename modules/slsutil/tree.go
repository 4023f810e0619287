package slsutil

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type pathArgs struct {
	Path    any
	Saltenv any `default:"'base'"`
}

// fileExists reports whether there is a file in the state tree.
//
// saltenv : base
//
//	The environment of the file server.
//
// CLI Example:
//
//	salt '*' slsutil.file_exists nginx/defaults.yaml
func (m *module) fileExists(ctx context.Context, a pathArgs) (any, error) {
	return m.listed(ctx, "cp.list_master", a)
}

// dirExists reports whether there is a directory in the state tree.
//
// saltenv : base
//
//	The environment of the file server.
//
// CLI Example:
//
//	salt '*' slsutil.dir_exists nginx/files
func (m *module) dirExists(ctx context.Context, a pathArgs) (any, error) {
	return m.listed(ctx, "cp.list_master_dirs", a)
}

// pathExists reports whether there is a file or a directory in the state tree.
//
// saltenv : base
//
//	The environment of the file server.
//
// CLI Example:
//
//	salt '*' slsutil.path_exists nginx/defaults.yaml
func (m *module) pathExists(ctx context.Context, a pathArgs) (any, error) { return m.exists(ctx, a) }

func (m *module) exists(ctx context.Context, a pathArgs) (bool, error) {
	if found, err := m.listed(ctx, "cp.list_master", a); err != nil || found {
		return found, err
	}
	return m.listed(ctx, "cp.list_master_dirs", a)
}

// listed reports whether a function that lists the tree has a path in its list, which a job asks for once.
func (m *module) listed(ctx context.Context, fun string, a pathArgs) (bool, error) {
	key := "slsutil|" + fun + "|" + data.Str(a.Saltenv)
	v, known := loader.ContextOf(ctx).Get(key)
	if !known {
		var err error
		if v, err = m.env.Call(ctx, fun, []any{a.Saltenv}, nil); err != nil {
			return false, err
		}
		loader.ContextOf(ctx).Set(key, v)
	}
	list, _ := v.([]any)
	return slices.ContainsFunc(list, func(x any) bool { return data.Equal(x, a.Path) }), nil
}

type findupArgs struct {
	Startpath string
	Filenames any
	Saltenv   any `default:"'base'"`
}

// findup returns the path of the first file, or directory, of certain names that there is in a directory of the state tree or those above
// it. The directory may be a file, too; an empty text is the root of the tree.
//
// filenames
//
//	A name, or a list of names, which are tried in order in each directory.
//
// saltenv : base
//
//	The environment of the file server.
//
// CLI Example:
//
//	salt '*' slsutil.findup formulas/shared/nginx map.jinja
func (m *module) findup(ctx context.Context, a findupArgs) (any, error) {
	at := a.Startpath
	if at != "" {
		at = path.Clean(at)
		found, err := m.exists(ctx, pathArgs{at, a.Saltenv})
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, loader.Invocation("Starting path not found in the state tree: %s", at)
		}
	}
	names, ok := a.Filenames.([]any)
	if name, isText := a.Filenames.(string); isText {
		names, ok = []any{name}, true
	}
	if !ok {
		return nil, loader.Invocation("Filenames argument must be a string or list of strings")
	}
	for {
		for _, name := range names {
			full := path.Join(at, data.Str(name))
			if found, err := m.exists(ctx, pathArgs{full, a.Saltenv}); err != nil || found {
				return full, err
			}
		}
		if at == "" {
			return nil, loader.Execution("File pattern(s) not found in path ancestry")
		}
		at = above(at)
	}
}

// above returns the directory of a path; "" is that of a name alone, and of the root.
func above(p string) string { return strings.TrimRight(p[:strings.LastIndexByte(p, '/')+1], "/") }
