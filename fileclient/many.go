package fileclient

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/match"
)

// each calls do for each of n files, a few at once, and stops at the first error.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxFiles)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// CacheFiles caches the files of URLs and returns their paths in the same order, "" for those that
// are not found (salt/fileclient.py, Client.cache_files).
func (c *Client) CacheFiles(ctx context.Context, urls []string, env string) ([]string, error) {
	paths := make([]string, len(urls))
	err := each(ctx, len(urls), func(ctx context.Context, i int) (err error) {
		paths[i], err = c.CacheFile(ctx, urls[i], env, Fetch{})
		if missing(err) {
			paths[i], err = "", nil
		}
		return err
	})
	return paths, err
}

func missing(err error) bool { return errors.Is(err, ErrNotFound) || errors.Is(err, ErrNoFolder) }

// CacheMaster caches all files of an environment and returns their paths (salt/fileclient.py,
// Client.cache_master).
func (c *Client) CacheMaster(ctx context.Context, env string) ([]string, error) {
	files, err := c.Files(ctx, env, "")
	if err != nil {
		return nil, err
	}
	return c.CacheFiles(ctx, saltURLs(files), env)
}

// saltURLs returns the URLs of files of the file server.
func saltURLs(files []string) []string {
	urls := make([]string, len(files))
	for i, f := range files {
		urls[i] = fileURL(f)
	}
	return urls
}

// fileURL returns the URL of a file of the file server. It also handles a name that looks like a
// URL with a query, which Salt fails to find.
func fileURL(file string) string {
	if strings.Contains(file, "?") && !strings.HasPrefix(file, "|") {
		file = "|" + file
	}
	return SaltURL(file)
}

// A Choice narrows what CacheDir caches. A pattern is a glob for the path in the environment, or E@
// and a regular expression that may match anywhere in it.
type Choice struct {
	Include, Exclude []string // empty lists include everything and exclude nothing
	Empty            bool     // also empty directories
}

// CacheDir caches the files below a directory of the file server and returns their paths
// (salt/fileclient.py, Client.cache_dir).
func (c *Client) CacheDir(ctx context.Context, url, env string, choice Choice) ([]string, error) {
	dir, _, ok := ParseURL(url)
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrScheme, url)
	}
	wanted, err := choice.compile()
	if err != nil {
		return nil, err
	}
	dir = strings.TrimSuffix(dir, "/") + "/"
	files, err := c.Files(ctx, env, "")
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(slices.Clone(files),
		func(f string) bool { return !strings.HasPrefix(f, dir) || !wanted(f) })
	paths, err := c.CacheFiles(ctx, saltURLs(files), env)
	if err != nil {
		return nil, err
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return p == "" })
	if !choice.Empty {
		return paths, nil
	}
	made, err := c.cacheEmpty(ctx, dir, env)
	return append(paths, made...), err
}

// cacheEmpty makes the empty directories below dir in the cache.
func (c *Client) cacheEmpty(ctx context.Context, dir, env string) ([]string, error) {
	empty, err := c.EmptyDirs(ctx, env, "")
	if err != nil {
		return nil, err
	}
	root, err := c.area(areaFiles)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var made []string
	for _, d := range empty {
		if !strings.HasPrefix(d, dir) {
			continue
		}
		pl, err := saltPlace(env, d)
		if err == nil {
			err = root.MkdirAll(pl.rel, 0o755)
		}
		if err != nil {
			return nil, fmt.Errorf("cache directory salt://%s: %w", d, err)
		}
		made = append(made, c.path(pl))
	}
	return made, nil
}

// compile returns a function that reports whether a path is wanted (salt/utils/stringutils.py,
// check_include_exclude).
func (c Choice) compile() (func(path string) bool, error) {
	include, err := patterns(c.Include)
	if err != nil {
		return nil, err
	}
	exclude, err := patterns(c.Exclude)
	if err != nil {
		return nil, err
	}
	return func(path string) bool {
		return (len(c.Include) == 0 || include(path)) && !exclude(path)
	}, nil
}

// patterns returns a function that reports whether one of the patterns matches.
func patterns(texts []string) (func(path string) bool, error) {
	var all []interface{ Match(string) bool }
	for _, text := range texts {
		expr, ok := strings.CutPrefix(text, "E@")
		if !ok {
			all = append(all, match.CompileGlob(text))
			continue
		}
		re, err := match.CompileRegexp(`(?s:.*?)(?:` + expr + `)`) // matches anywhere
		if err != nil {
			return nil, err
		}
		all = append(all, re)
	}
	return func(path string) bool {
		return slices.ContainsFunc(all,
			func(m interface{ Match(string) bool }) bool { return m.Match(path) })
	}, nil
}

// GetDir fetches the files and empty directories below a directory of the file server to a
// directory of the same name in dest, and returns their paths, sorted. Of g, only Gzip and Env are
// used (salt/fileclient.py, Client.get_dir).
func (c *Client) GetDir(ctx context.Context, url, dest string, g Get) ([]string, error) {
	dir, _, ok := ParseURL(url)
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrScheme, url)
	}
	dir = strings.TrimRight(dir, "/")
	g.Makedirs = true
	files, err := c.belowDir(ctx, c.opts.Source.Files, g.env(), dir)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(files))
	err = each(ctx, len(files), func(ctx context.Context, i int) error {
		to, err := target(dest, dir, files[i])
		if err == nil {
			paths[i], err = c.GetFile(ctx, fileURL(files[i]), to, g)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	made, err := c.makeEmpty(ctx, dir, dest, g.env())
	paths = append(paths, made...)
	slices.Sort(paths)
	return paths, err
}

// belowDir lists the entries below a directory.
func (c *Client) belowDir(
	ctx context.Context, list func(context.Context, string, string) ([]string, error),
	env, dir string,
) ([]string, error) {
	all, err := list(ctx, env, dir)
	return slices.DeleteFunc(slices.Clone(all),
		func(f string) bool { return !strings.HasPrefix(f, dir+"/") }), err
}

// makeEmpty makes the empty directories below dir at dest.
func (c *Client) makeEmpty(ctx context.Context, dir, dest, env string) ([]string, error) {
	empty, err := c.belowDir(ctx, c.opts.Source.EmptyDirs, env, dir)
	if err != nil {
		return nil, err
	}
	for i, d := range empty {
		if empty[i], err = target(dest, dir, d); err == nil {
			err = os.MkdirAll(empty[i], 0o777)
		}
		if err != nil {
			return nil, err
		}
	}
	return empty, nil
}

// target returns the path in dest for a file below the directory dir. Both names come from a file
// server.
func target(dest, dir, file string) (string, error) {
	rel := strings.TrimLeft(strings.TrimPrefix(file, parent(dir)), "/")
	if !filepath.IsLocal(filepath.FromSlash(rel)) || path.Clean(rel) != rel {
		return "", fmt.Errorf("%w: %q from the file server", ErrPath, file)
	}
	return dest + string(filepath.Separator) + filepath.FromSlash(rel), nil
}

// parent returns the part before the last slash.
func parent(dir string) string {
	if i := strings.LastIndexByte(dir, '/'); i >= 0 {
		return dir[:i]
	}
	return ""
}
