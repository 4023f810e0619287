package slsutil

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type pathArgs struct {
	Path    any
	Saltenv any `default:"'base'"`
}

// fileExists reports whether a file exists in the state tree.
//
// saltenv : base
//
//	The environment of the file server.
//
// CLI Example:
//
//	salt '*' slsutil.file_exists nginx/defaults.yaml
func (m *module) fileExists(ctx context.Context, a pathArgs) (any, error) {
	return m.isListed(ctx, "cp.list_master", calls.ListMaster, a)
}

// dirExists reports whether a directory exists in the state tree.
//
// saltenv : base
//
//	The environment of the file server.
//
// CLI Example:
//
//	salt '*' slsutil.dir_exists nginx/files
func (m *module) dirExists(ctx context.Context, a pathArgs) (any, error) {
	return m.isListed(ctx, "cp.list_master_dirs", calls.ListMasterDirs, a)
}

// pathExists reports whether a file or a directory exists in the state tree.
//
// saltenv : base
//
//	The environment of the file server.
//
// CLI Example:
//
//	salt '*' slsutil.path_exists nginx/defaults.yaml
func (m *module) pathExists(ctx context.Context, a pathArgs) (any, error) {
	return m.exists(ctx, a)
}

func (m *module) exists(ctx context.Context, a pathArgs) (bool, error) {
	if found, err := m.isListed(ctx, "cp.list_master", calls.ListMaster, a); err != nil || found {
		return found, err
	}
	return m.isListed(ctx, "cp.list_master_dirs", calls.ListMasterDirs, a)
}

// A lister lists the files or directories of the file server.
type lister func(
	ctx context.Context, env *loader.Env, saltenv any, below ...string,
) ([]string, error)

// isListed reports whether a path is in the list that a function returns. A job fetches each list
// once.
func (m *module) isListed(
	ctx context.Context, fun string, list lister, a pathArgs,
) (bool, error) {
	key := "slsutil|" + fun + "|" + data.Str(a.Saltenv)
	v, known := loader.ContextOf(ctx).Get(key)
	if !known {
		var err error
		if v, err = list(ctx, m.env, a.Saltenv); err != nil {
			return false, err
		}
		loader.ContextOf(ctx).Set(key, v)
	}
	files, _ := v.([]string)
	path, ok := a.Path.(string)
	return ok && slices.Contains(files, path), nil
}

type findupArgs struct {
	Startpath string
	Filenames any
	Saltenv   any `default:"'base'"`
}

// findup returns the path of the first existing file or directory with one of the given names. It
// searches a directory of the state tree and its parents. The start may also be a file; an empty
// text is the root of the tree.
//
// filenames
//
//	A name or a list of names. In each directory they are tried in order.
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

// above returns the directory of a path, "" for a name alone and for the root.
func above(p string) string { return strings.TrimRight(p[:strings.LastIndexByte(p, '/')+1], "/") }
