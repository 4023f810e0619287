// Package roots serves files from directories: the option file_roots (salt/fileserver/roots.py).
//
// The directories of an environment are searched in order. The environment __env__ stands for all
// environments without directories of their own: its name in the path of a directory is replaced by
// the requested environment, which must then be a single plain name.
//
// With fileserver_followsymlinks (the default), a symbolic link below a directory may lead anywhere
// on the host, since anybody who can create the link could also create a copy. Without it, links to
// files inside the directory are served, links that lead out of it are treated as missing, and
// lists do not descend into directories behind links. Pipes, sockets and devices are never opened.
//
// A list is never stale. It is cached with the state of all directories that it was read from. That
// state is checked on each request, so that only changed trees are read again. If a file system
// does not show changes in the times of its directories, fileserver_list_cache_time (20 seconds)
// limits the age of a list.
package roots

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/disk"
)

// Name is the backend's name in the option fileserver_backend.
const Name = "roots"

// dynamic is the environment that stands for all that are not configured.
const dynamic = "__env__"

// defaultListAge is Salt's default for fileserver_list_cache_time.
const defaultListAge = 20 * time.Second

// Options say what is served.
type Options struct {
	Roots          *data.Map // file_roots: environment → list of directories
	Ignore         *fileserver.Ignore
	FollowSymlinks bool          // fileserver_followsymlinks
	IgnoreSymlinks bool          // fileserver_ignoresymlinks: lists contain no links
	ListAge        time.Duration // fileserver_list_cache_time; 0 caches no lists
	// CacheDir is the directory for the result of the last update, for fileserver_events; ""
	// disables the reporting of changes.
	CacheDir string
	Log      logrus.FieldLogger
}

// A Backend serves files from directories.
type Backend struct {
	opts  Options
	roots map[string][]string

	mu    sync.Mutex
	lists map[string]*fileserver.Latest[*tree]

	update sync.Mutex
}

var (
	_ fileserver.Backend = (*Backend)(nil)
	_ fileserver.Lister  = (*Backend)(nil)
)

// New returns a backend.
func New(o Options) *Backend {
	b := &Backend{opts: o, roots: map[string][]string{},
		lists: map[string]*fileserver.Latest[*tree]{}}
	for env, dirs := range o.Roots.All() {
		b.roots[data.Str(env)] = data.TextsOf(dirs)
	}
	return b
}

// Make is New with the options of a master or minion; it is a fileserver.Maker.
func Make(opts *data.Map, log logrus.FieldLogger) (fileserver.Backend, error) {
	ignore, err := fileserver.IgnoreOf(opts)
	if err != nil {
		log.Warn(err)
	}
	roots, _ := opts.Value("file_roots").(*data.Map)
	o := Options{Roots: roots, Ignore: ignore,
		FollowSymlinks: opts.Value("fileserver_followsymlinks") != false,
		IgnoreSymlinks: data.Truth(opts.Value("fileserver_ignoresymlinks")),
		ListAge:        listAge(opts), Log: log}
	if data.Truth(opts.Value("fileserver_events")) {
		o.CacheDir = opts.Text("cachedir")
	}
	return New(o), nil
}

func listAge(opts *data.Map) time.Duration {
	switch v := opts.Value("fileserver_list_cache_time").(type) {
	case int64:
		return time.Duration(max(0, min(v, 1e6))) * time.Second
	case float64:
		return time.Duration(max(0, min(v, 1e6)) * float64(time.Second))
	}
	return defaultListAge
}

// Name returns roots.
func (b *Backend) Name() string { return Name }

// Envs returns the environments of file_roots; __env__ is one of them.
func (b *Backend) Envs(context.Context) ([]string, error) {
	envs := make([]string, 0, len(b.roots))
	for env := range b.roots {
		envs = append(envs, env)
	}
	slices.Sort(envs)
	return envs, nil
}

// folders returns the directories of an environment.
func (b *Backend) folders(env string) []string {
	if dirs, ok := b.roots[env]; ok {
		return dirs
	}
	dirs := b.roots[dynamic]
	if len(dirs) == 0 || !plainName(env) {
		return nil
	}
	out := make([]string, len(dirs))
	for i, dir := range dirs {
		out[i] = strings.ReplaceAll(dir, dynamic, env)
	}
	return out
}

// plainName reports whether an environment may be put into a path: it must be a single name and not
// hidden.
func plainName(env string) bool {
	return fs.ValidPath(env) && filepath.IsLocal(env) && !strings.ContainsAny(env, `/\`) &&
		!strings.HasPrefix(env, ".") &&
		(runtime.GOOS != "windows" || !strings.Contains(env, ":"))
}

// Find looks for a file in the directories of an environment. The option index of the query selects
// one of them.
func (b *Backend) Find(
	_ context.Context, env, path string, q fileserver.Query,
) (*fileserver.Found, error) {
	dirs := b.folders(env)
	if text, ok := q["index"]; ok {
		dirs = atIndex(dirs, text)
	}
	if !filepath.IsLocal(filepath.FromSlash(path)) {
		dirs = nil
	}
	for _, dir := range dirs {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if b.opts.Ignore.Match(path, full) {
			continue
		}
		p, info, err := b.locate(dir, path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		return disk.NewFound(p, info, full, path, env), nil
	}
	return nil, fmt.Errorf("%q in the directories of %q: %w", path, env, fileserver.ErrNotFound)
}

// Open opens a file that Find returned.
func (b *Backend) Open(_ context.Context, f *fileserver.Found) (fileserver.File, error) {
	return disk.Open(f)
}

// errOutside is the error for links that lead out of a directory.
var errOutside = errors.New("link leads out of the directory")

// locate returns the location of a path below dir. Unless links are followed everywhere, the
// location has its links resolved.
func (b *Backend) locate(dir, path string) (p disk.Place, info os.FileInfo, err error) {
	if b.opts.FollowSymlinks {
		p = disk.Place{Name: filepath.Join(dir, filepath.FromSlash(path))}
	} else if p, err = inside(dir, path); err != nil {
		return p, nil, err
	}
	info, err = p.Stat()
	return p, info, err
}

// inside returns the place of a path whose links all stay in dir. Absolute links are allowed if
// they do.
func inside(dir, path string) (disk.Place, error) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return disk.Place{}, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		return disk.Place{}, err
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return disk.Place{}, errOutside
	}
	return disk.Place{Root: root, Name: rel}, nil
}

// atIndex returns the directory at an index, which counts from the end if it is negative.
func atIndex(dirs []string, text string) []string {
	i, err := strconv.Atoi(text)
	if err == nil && i < 0 {
		i += len(dirs)
	}
	if err != nil || i < 0 || i >= len(dirs) {
		return nil
	}
	return dirs[i : i+1]
}
