package npm

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type cleanArgs struct {
	Path  any `default:"None"`
	Runas any `default:"None"`
	Env   any `default:"None"`
	Force any `default:"False"`
}

// cacheClean removes a path from the cache of npm, or all that it holds, and returns whether npm
// succeeded. npm 5 and newer need force.
//
// CLI Example:
//
//	salt '*' npm.cache_clean force=True
func (m *module) cacheClean(ctx context.Context, a cleanArgs) (any, error) {
	argv, err := withPath([]string{"cache", "clean"}, a.Path)
	if err != nil {
		return nil, err
	}
	if a.Force == true {
		argv = append(argv, "--force")
	}
	ran, err := m.run(ctx, nil, a.Runas, a.Env, true, argv)
	return m.succeeds(ran, err)
}

// withPath returns a command with a path, if there is one.
func withPath(argv []string, path any) ([]string, error) {
	if !data.Truth(path) {
		return argv, nil
	}
	if err := process.PlainOperands(data.Str(path)); err != nil {
		return nil, loader.Execution("%w", err)
	}
	return append(argv, data.Str(path)), nil
}

type cacheArgs struct {
	Path  any `default:"None"`
	Runas any `default:"None"`
	Env   any `default:"None"`
}

// cacheList returns the list of what the cache of npm holds, or holds below a path, as text.
//
// CLI Example:
//
//	salt '*' npm.cache_list
func (m *module) cacheList(ctx context.Context, a cacheArgs) (any, error) {
	argv, err := withPath([]string{"cache", "ls"}, a.Path)
	if err != nil {
		return nil, err
	}
	ran, err := m.run(ctx, nil, a.Runas, a.Env, true, argv)
	if err == nil && ran.Retcode != 0 && ran.Stderr != "" {
		err = loader.Execution("%s", ran.Stderr)
	}
	return ran.Stdout, err
}

type pathArgs struct {
	Runas any `default:"None"`
	Env   any `default:"None"`
}

// cachePath returns the path of npm's cache.
//
// CLI Example:
//
//	salt '*' npm.cache_path
func (m *module) cachePath(ctx context.Context, a pathArgs) (any, error) {
	ran, err := m.run(ctx, nil, a.Runas, a.Env, true, []string{"config", "get", "cache"})
	if ran.Stdout == "" {
		return calls.Text(ran.Stderr), err
	}
	return ran.Stdout, err
}
