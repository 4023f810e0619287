//go:build unix

package file

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
)

type findArgs struct {
	Path   string
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// find returns the paths below a directory that meet all criteria, sorted (salt/utils/find.py). The path may be a glob.
//
// name, iname, regex, iregex
//
//	Glob or regular expression for the last part of the path; with an i before it the case is ignored.
//
// type
//
//	Letters of kinds: b block device, c character device, d directory, f file, l link, p pipe, s socket.
//
// owner, group
//
//	Names or ids, with commas between.
//
// size
//
//	A size with a letter of b, k, m, g or t; -SIZE is up to it, +SIZE from it on.
//
// mtime
//
//	A time as 1w2d3h4m5s: changed so long ago or earlier; with a - before it, since then.
//
// grep
//
//	Regular expression that is in the content. Only files are read.
//
// mindepth, maxdepth
//
//	Directories down to the path; the path itself is 0.
//
// print
//
//	What to return: path, name, size, type, mode, mtime, user, group, md5, with commas between.
//
// exec
//
//	A command to run for each, {} standing for the path; its output is returned.
//
// delete
//
//	Remove what has one of the kinds of these letters; a is for all. With test=True only tell.
//
// CLI Example:
//
//	salt '*' file.find /var type=d mtime=+30d size=+10m print=path,size,mtime
//	salt '*' file.find /var/log name=\*.[0-9] mtime=+30d size=+10m delete
func (m *module) find(ctx context.Context, a findArgs) (any, error) {
	options := data.NewMap()
	for key, v := range a.Kwargs.All() {
		options.Set(key, v)
	}
	if slices.Contains(a.Args, any("delete")) {
		options.Set("delete", "f")
	} else if slices.Contains(a.Args, any("print")) {
		options.Set("print", "path")
	}
	f, complaint, err := m.newFinder(options)
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

// compareFound puts texts and lists of them in order.
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
	m                *module
	criteria         []criterion
	actions          []action
	minDepth         int64
	maxDepth         int64 // below 0: none
	test             bool
	found            []any
	readsLast, stats []criterion // criteria by what they cost
}

// A candidate is a file that may be one of those that are looked for.
type candidate struct {
	path, name string
	stat       *unix.Stat_t
}

type (
	criterion func(candidate) (bool, error)
	action    func(context.Context, candidate) (any, bool, error) // what to tell, and whether
)

// at reads what the system knows of a file; of a link that leads nowhere, of the link.
func at(path string) (candidate, error) {
	c := candidate{path: path, name: path[strings.LastIndexByte(path, '/')+1:], stat: &unix.Stat_t{}}
	err := unix.Stat(path, c.stat)
	if err != nil {
		err = unix.Lstat(path, c.stat)
	}
	return c, err
}

// under looks at a path and at what is below it. What goes away meanwhile, or cannot be seen, is passed over.
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
		return nil //nolint:nilerr // as os.walk
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
		return nil //nolint:nilerr // it went away
	}
	for _, meets := range f.criteria {
		if ok, err := meets(c); err != nil || !ok {
			return err
		}
	}
	for _, act := range f.actions {
		told, ok, err := act(ctx, c)
		if err != nil {
			return err
		}
		if ok {
			f.found = append(f.found, told)
		}
	}
	return nil
}

// removed removes a file of one of some kinds.
func (f *finder) removed(_ context.Context, c candidate) (any, bool, error) {
	if f.test {
		return c.path, true, nil
	}
	info, err := os.Lstat(c.path)
	if err == nil && info.IsDir() {
		err = os.RemoveAll(c.path)
	} else if err == nil {
		err = os.Remove(c.path)
	}
	return c.path, err == nil, nil
}

// rmdir removes a directory, and nothing else.
func rmdir(path string) error {
	if err := unix.Rmdir(path); err != nil {
		return &fs.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

type diskusageArgs struct{ Path string }

// diskusage returns the bytes of all files below a directory, those with several names counted once.
//
// CLI Example:
//
//	salt '*' file.diskusage /path/to/check
func (m *module) diskusage(_ context.Context, a diskusageArgs) (any, error) {
	if info, err := os.Stat(a.Path); err == nil && info.Mode().IsRegular() {
		return info.Size(), nil
	}
	seen, total := map[uint64]bool{}, int64(0)
	err := filepath.WalkDir(strings.TrimRight(a.Path, "/")+"/", func(path string, e fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err != nil || e.IsDir() || paths.IsDir(path) || unix.Stat(path, &st) != nil || seen[st.Ino] {
			return nil //nolint:nilerr // what cannot be seen has no size
		}
		seen[st.Ino] = true
		total += st.Size
		return nil
	})
	return total, osError(err)
}

type rmdirArgs struct {
	Path      string
	Recurse   bool `default:"False"`
	Verbose   bool `default:"False"`
	OlderThan any  `default:"None"`
}

// rmdir removes a directory that is empty.
//
// recurse : False
//
//	Remove the empty directories below it first.
//
// verbose : False
//
//	Return which directories were removed and which could not be, and not only whether all were.
//
// older_than : None
//
//	Remove only what has not changed for so many days.
//
// CLI Example:
//
//	salt '*' file.rmdir /tmp/foo/ recurse=True
func (m *module) rmdir(_ context.Context, a rmdirArgs) (any, error) {
	path := home(a.Path)
	switch {
	case !filepath.IsAbs(path):
		return nil, loader.Invocation("File path must be absolute.")
	case !paths.IsDir(path):
		return nil, loader.Invocation("A valid directory was not specified.")
	}
	p := pruning{before: m.daysAgo(a.OlderThan), deleted: []any{}, errors: []any{}}
	done := false
	if a.Recurse {
		p.below(path)
		done = len(p.errors) == 0
	}
	if tried, ok := p.prune(path); tried {
		done = ok && (done || !a.Recurse)
	}
	if !a.Verbose {
		return done, nil
	}
	return data.NewMap("deleted", p.deleted, "errors", p.errors, "result", done), nil
}
