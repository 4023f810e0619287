// Package roots serves files from directories: the option file_roots (salt/fileserver/roots.py).
//
// The directories of an environment are looked through in order. The environment __env__ stands for all that have no directories of
// their own: its name in the path of a directory is replaced by that of the environment asked for, which must be one plain
// name then.
//
// With fileserver_followsymlinks, as is the default, a symbolic link below a directory may lead anywhere on the host, since
// whoever may put it there may as well put a copy. Without it, links to files inside of the directory are served, those that
// lead out of it are not there, and directories behind links are not looked into for lists. Pipes, sockets and devices are
// never opened.
//
// A list is never older than the question: it is kept with the state of all directories that it was read from, which is looked
// at anew each time, so that only changed trees are read again. Where a file system does not show changes in the times of
// its directories, fileserver_list_cache_time (20 seconds) bounds the age.
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

// Name is that of the backend in the option fileserver_backend.
const Name = "roots"

// dynamic is the environment that stands for those that are not named.
const dynamic = "__env__"

// usualListAge is what Salt takes for fileserver_list_cache_time when it is not set.
const usualListAge = 20 * time.Second

// Options say what is served.
type Options struct {
	Roots          *data.Map // file_roots: environment → list of directories
	Ignore         *fileserver.Ignore
	FollowSymlinks bool          // fileserver_followsymlinks
	IgnoreSymlinks bool          // fileserver_ignoresymlinks: links are in no list
	ListAge        time.Duration // fileserver_list_cache_time; 0 keeps no lists
	// CacheDir is where what the last update found is kept, for fileserver_events; "" tells nothing of changes.
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
	b := &Backend{opts: o, roots: map[string][]string{}, lists: map[string]*fileserver.Latest[*tree]{}}
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
	o := Options{Roots: roots, Ignore: ignore, FollowSymlinks: opts.Value("fileserver_followsymlinks") != false,
		IgnoreSymlinks: data.Truth(opts.Value("fileserver_ignoresymlinks")), ListAge: listAge(opts), Log: log}
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
	return usualListAge
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

// folders returns those of an environment.
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

// plainName reports whether an environment may stand in a path: it is one name, and not a hidden one.
func plainName(env string) bool {
	return fs.ValidPath(env) && filepath.IsLocal(env) && !strings.ContainsAny(env, `/\`) && !strings.HasPrefix(env, ".") &&
		(runtime.GOOS != "windows" || !strings.Contains(env, ":"))
}

// Find looks for a file in the directories of an environment. The option index of the query names one of them.
func (b *Backend) Find(_ context.Context, env, path string, q fileserver.Query) (*fileserver.Found, error) {
	dirs := b.folders(env)
	if text, ok := q["index"]; ok {
		dirs = only(dirs, text)
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

// Open opens what Find found.
func (b *Backend) Open(_ context.Context, f *fileserver.Found) (fileserver.File, error) {
	return disk.Open(f)
}

// errOutside is of links that lead out of a directory.
var errOutside = errors.New("link leads out of the directory")

// locate returns where a path below dir is, with its links resolved when links are not followed everywhere.
func (b *Backend) locate(dir, path string) (p disk.Place, info os.FileInfo, err error) {
	if b.opts.FollowSymlinks {
		p = disk.Place{Name: filepath.Join(dir, filepath.FromSlash(path))}
	} else if p, err = inside(dir, path); err != nil {
		return p, nil, err
	}
	info, err = p.Stat()
	return p, info, err
}

// inside returns the place of a path whose links all stay in dir. Absolute ones may.
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

// only returns the directory of a number, which counts from the end when it is negative.
func only(dirs []string, text string) []string {
	i, err := strconv.Atoi(text)
	if err == nil && i < 0 {
		i += len(dirs)
	}
	if err != nil || i < 0 || i >= len(dirs) {
		return nil
	}
	return dirs[i : i+1]
}
