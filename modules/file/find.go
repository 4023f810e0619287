package file

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
)

type findArgs struct {
	Path   string
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// find returns the paths below a directory that meet all criteria, sorted (salt/utils/find.py). The
// path may be a glob.
//
// name, iname, regex, iregex
//
//	Glob or regular expression for the last part of the path. iname and iregex ignore case.
//
// type
//
//	Letters of file types: b block device, c character device, d directory, f file, l link, p
//	pipe, s socket.
//
// owner, group
//
//	Names or ids, separated by commas.
//
// size
//
//	A size with a unit b, k, m, g or t. -SIZE means at most, +SIZE at least.
//
// mtime
//
//	A time such as 1w2d3h4m5s: changed at least that long ago; with a leading -, changed since
//	then.
//
// grep
//
//	Regular expression for the content. Only regular files are read.
//
// mindepth, maxdepth
//
//	Minimum and maximum depth of a path; the start is 0.
//
// print
//
//	The fields to return: path, name, size, type, mode, mtime, user, group, md5, separated by
//	commas.
//
// exec
//
//	A command to run for each file; {} stands for its path. The output is returned.
//
// delete
//
//	Remove files of the types of these letters; a means all. With test=True only report them.
//
// CLI Example:
//
//	salt '*' file.find /var type=d mtime=+30d size=+10m print=path,size,mtime
//	salt '*' file.find /var/log name=\*.[0-9] mtime=+30d size=+10m delete
func (m searches) find(ctx context.Context, a findArgs) (any, error) {
	options := data.NewMap()
	for key, v := range a.Kwargs.All() {
		options.Set(key, v)
	}
	if slices.Contains(a.Args, any("delete")) {
		options.Set("delete", "f")
	} else if slices.Contains(a.Args, any("print")) {
		options.Set("print", "path")
	}
	f, complaint, err := newFinder(m.env, options)
	if err != nil || complaint != "" {
		return complaint, err
	}
	for _, path := range globbed(home(a.Path)) {
		if err := f.under(ctx, path); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(f.found, compareFound)
	return f.found, nil
}

// compareFound compares texts, and lists of them.
func compareFound(a, b any) int {
	x, y := listed(a), listed(b)
	for i := range min(len(x), len(y)) {
		if c := compareOne(x[i], y[i]); c != 0 {
			return c
		}
	}
	return len(x) - len(y)
}

func listed(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

func compareOne(a, b any) int {
	x, isInt := a.(int64)
	y, bothInt := b.(int64)
	switch {
	case !isInt || !bothInt:
		return strings.Compare(data.Str(a), data.Str(b))
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// A finder walks through directories.
type finder struct {
	env              *loader.Env
	criteria         []criterion
	actions          []action
	minDepth         int64
	maxDepth         int64 // below 0: none
	test             bool
	found            []any
	readsLast, stats []criterion // criteria by what they cost
}

// A candidate is a file to test.
type candidate struct {
	path, name string
	stat       meta
}

type (
	criterion func(candidate) (bool, error)
	// the result, and whether there is one
	action func(context.Context, candidate) (any, bool, error)
)

// at reads the metadata of a file, or of a link whose target does not exist.
func at(path string) (candidate, error) {
	m, err := metaOf(path, true)
	if err != nil {
		m, err = metaOf(path, false)
	}
	_, name := split(path)
	return candidate{path, name, m}, err
}

// under tests a path and everything below it. Files that vanish or cannot be read are skipped.
func (f *finder) under(ctx context.Context, top string) error {
	if f.minDepth < 1 {
		if err := f.try(ctx, top); err != nil {
			return err
		}
	}
	return f.walk(ctx, top, 1)
}

func (f *finder) walk(ctx context.Context, dir string, depth int64) error {
	if f.maxDepth >= 0 && depth > f.maxDepth {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil //nolint:nilerr // like os.walk
	}
	if depth >= f.minDepth {
		for _, e := range entries {
			if err := f.try(ctx, filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := f.walk(ctx, filepath.Join(dir, e.Name()), depth+1); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// try acts on a file if it meets all criteria.
func (f *finder) try(ctx context.Context, path string) error {
	c, err := at(path)
	if err != nil {
		return nil //nolint:nilerr // the file has vanished
	}
	for _, meets := range f.criteria {
		if ok, err := meets(c); err != nil || !ok {
			return err
		}
	}
	for _, act := range f.actions {
		result, ok, err := act(ctx, c)
		if err != nil {
			return err
		}
		if ok {
			f.found = append(f.found, result)
		}
	}
	return nil
}

// removed is the action that removes a file.
func (f *finder) removed(_ context.Context, c candidate) (any, bool, error) {
	if f.test {
		return c.path, true, nil
	}
	info, err := os.Lstat(c.path)
	if err == nil && info.IsDir() {
		err = removeAll(c.path)
	} else if err == nil {
		err = os.Remove(c.path)
	}
	return c.path, err == nil, nil
}

type diskusageArgs struct{ Path string }

// diskusage returns the total size of all files below a directory in bytes. A file with several
// names counts once.
//
// CLI Example:
//
//	salt '*' file.diskusage /path/to/check
func diskusage(_ context.Context, a diskusageArgs) (any, error) {
	if info, err := os.Stat(a.Path); err == nil && info.Mode().IsRegular() {
		return info.Size(), nil
	}
	seen, total := map[uint64]bool{}, int64(0)
	err := filepath.WalkDir(strings.TrimRight(a.Path, "/")+
		"/", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || paths.IsDir(path) {
			return nil //nolint:nilerr // unreadable files do not count
		}
		m, err := metaOf(path, true)
		if err != nil || seen[m.inode] {
			return nil //nolint:nilerr // unreadable files do not count
		}
		seen[m.inode] = true
		total += m.size
		return nil
	})
	return total, osError(err)
}
