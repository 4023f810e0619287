package roots

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/disk"
)

// mostLists bounds the environments whose lists are kept; those of __env__ have no other bound than the directories there are.
const mostLists = 256

// tree is what the directories of an environment hold, and what tells whether it still does.
type tree struct {
	lists [3][]string // by fileserver.Kind
	links map[string]string

	read    time.Time
	folders []watched
	targets []judged
	settled bool // nothing that was looked at changed just before
}

// watched is a directory as it was before it was read.
type watched struct {
	path string
	id   disk.Identity
	err  bool // it could not be looked at
}

// judged is a link and what was found behind it.
type judged struct {
	dir, rel string
	kind     linkKind
}

type linkKind int

const (
	toNothing linkKind = iota // or to a pipe, or out of a directory that links must not leave
	toFile
	toFolder
)

// List returns what an environment has.
func (b *Backend) List(ctx context.Context, env string, kind fileserver.Kind, _ string) ([]string, error) {
	t, err := b.tree(ctx, env)
	if err != nil || kind < 0 || int(kind) >= len(t.lists) {
		return nil, err
	}
	return t.lists[kind], nil
}

// Symlinks returns the links of an environment that can be kept as links: those that stay in their directory, and the others
// too when they are not followed. One that begins with .. is judged as if it lay one level deeper, as Salt does, so
// that it may lead next to its directory.
func (b *Backend) Symlinks(ctx context.Context, env, _ string) (map[string]string, error) {
	t, err := b.tree(ctx, env)
	if err != nil {
		return nil, err
	}
	return t.links, nil
}

// ClearLists forgets lists.
func (b *Backend) ClearLists(_ context.Context, envs []string) (cleared []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for env := range b.lists {
		if envs == nil || slices.Contains(envs, env) {
			cleared = append(cleared, env)
			delete(b.lists, env)
		}
	}
	slices.Sort(cleared)
	return cleared
}

// tree returns the tree of an environment as it is now.
func (b *Backend) tree(ctx context.Context, env string) (*tree, error) {
	dirs := b.folders(env)
	if _, named := b.roots[env]; !named && !slices.ContainsFunc(dirs, isFolder) {
		return &tree{}, nil
	}
	b.mu.Lock()
	latest := b.lists[env]
	if latest == nil {
		if len(b.lists) >= mostLists {
			clear(b.lists)
		}
		latest = &fileserver.Latest[*tree]{}
		b.lists[env] = latest
	}
	b.mu.Unlock()
	return latest.Get(func(last *tree) (*tree, error) {
		if last != nil && b.holds(last) {
			return last, nil
		}
		return b.read(ctx, dirs)
	})
}

func isFolder(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// holds reports whether a tree is still what the directories hold.
func (b *Backend) holds(t *tree) bool {
	if age := time.Since(t.read); !t.settled || age < 0 || age >= b.opts.ListAge {
		return false
	}
	for _, w := range t.folders {
		if look(w.path) != w {
			return false
		}
	}
	for _, j := range t.targets {
		if kind, _ := b.judge(j.dir, j.rel); kind != j.kind {
			return false
		}
	}
	return true
}

func look(dir string) watched {
	info, err := os.Stat(dir)
	if err != nil {
		return watched{path: dir, err: true}
	}
	return watched{path: dir, id: disk.Identify(info)}
}

// judge tells what is behind a link.
func (b *Backend) judge(dir, rel string) (linkKind, os.FileInfo) {
	_, info, err := b.locate(dir, rel)
	switch {
	case err != nil:
		return toNothing, nil
	case info.IsDir():
		return toFolder, info
	case info.Mode().IsRegular():
		return toFile, info
	}
	return toNothing, nil
}

// read reads the directories of an environment.
func (b *Backend) read(ctx context.Context, dirs []string) (*tree, error) {
	r := &reading{b: b, ctx: ctx, tree: &tree{read: time.Now(), links: map[string]string{}, settled: true}}
	for _, dir := range dirs {
		r.dir = dir
		r.real = realPath(dir)
		if _, err := r.folder("", nil); err != nil {
			return nil, err
		}
	}
	for i, list := range r.tree.lists {
		slices.Sort(list)
		r.tree.lists[i] = slices.Compact(list)
	}
	return r.tree, nil
}

// reading is the reading of a tree.
type reading struct {
	b    *Backend
	ctx  context.Context
	tree *tree
	dir  string // the directory of file_roots
	real string // dir without links
}

func (r *reading) add(kind fileserver.Kind, rel string) {
	r.tree.lists[kind] = append(r.tree.lists[kind], rel)
}

// folder reads one directory and those below it, and returns how many names it has. above are those that it lies in, which it
// may be once more, by a link.
func (r *reading) folder(rel string, above []os.FileInfo) (names int, err error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	full := filepath.Join(r.dir, filepath.FromSlash(rel))
	info, err := os.Stat(full)
	if err != nil || slices.ContainsFunc(above, func(i os.FileInfo) bool { return os.SameFile(i, info) }) {
		r.tree.folders = append(r.tree.folders, look(full))
		return 0, nil
	}
	r.tree.folders = append(r.tree.folders, watched{path: full, id: disk.Identify(info)})
	r.tree.settled = r.tree.settled && disk.Settled(r.tree.read, info.ModTime())
	entries, err := os.ReadDir(full)
	if err != nil {
		r.b.opts.Log.WithError(err).Debugf("read directory of the file server")
		return 0, nil //nolint:nilerr // as os.walk of Python: what cannot be read is empty
	}
	above = append(slices.Clip(above), info)
	for _, e := range entries {
		if err := r.entry(rel, e, above); err != nil {
			return 0, err
		}
	}
	return len(entries), nil
}

// entry takes one name of a directory.
func (r *reading) entry(parent string, e fs.DirEntry, above []os.FileInfo) error {
	rel := e.Name()
	if !utf8.ValidString(rel) {
		return nil // no minion could ask for it
	}
	if parent != "" {
		rel = parent + "/" + rel
	}
	switch mode := e.Type(); {
	case mode&fs.ModeSymlink != 0:
		return r.link(rel, above)
	case mode.IsDir():
		return r.subfolder(rel, true, above)
	case mode.IsRegular() && !r.ignored(rel):
		r.add(fileserver.Files, rel)
	}
	return nil
}

func (r *reading) ignored(rel string) bool {
	return !r.b.opts.Ignore.Empty() && r.b.opts.Ignore.Match(rel, filepath.Join(r.dir, filepath.FromSlash(rel)))
}

// subfolder takes a directory below another one; what is in it is looked at even when its own name is ignored.
func (r *reading) subfolder(rel string, into bool, above []os.FileInfo) error {
	names := 0
	if into {
		var err error
		if names, err = r.folder(rel, above); err != nil {
			return err
		}
	} else {
		entries, err := os.ReadDir(filepath.Join(r.dir, filepath.FromSlash(rel)))
		if names = len(entries); err != nil {
			names = 1
		}
	}
	if r.ignored(rel) {
		return nil
	}
	r.add(fileserver.Dirs, rel)
	if names == 0 {
		r.add(fileserver.EmptyDirs, rel)
	}
	return nil
}

// link takes a symbolic link.
func (r *reading) link(rel string, above []os.FileInfo) error {
	if r.b.opts.IgnoreSymlinks {
		return nil
	}
	kind, info := r.b.judge(r.dir, rel)
	r.tree.targets = append(r.tree.targets, judged{r.dir, rel, kind})
	if !r.ignored(rel) {
		r.keep(rel)
	}
	switch {
	case kind == toFile && !r.ignored(rel):
		r.add(fileserver.Files, rel)
	case kind == toFolder:
		again := slices.ContainsFunc(above, func(i os.FileInfo) bool { return os.SameFile(i, info) })
		return r.subfolder(rel, r.b.opts.FollowSymlinks && !again, above)
	}
	return nil
}

// keep lists a link as a link.
func (r *reading) keep(rel string) {
	full := filepath.Join(r.dir, filepath.FromSlash(rel))
	target, err := os.Readlink(full)
	if err != nil || !utf8.ValidString(target) {
		return
	}
	if _, ok := r.tree.links[rel]; ok {
		return
	}
	from := filepath.Dir(full)
	if strings.HasPrefix(target, "..") {
		from = full
	}
	to := target
	if !filepath.IsAbs(target) {
		to = filepath.Join(from, target)
	}
	out, err := filepath.Rel(r.real, realPath(to))
	if err == nil && !strings.HasPrefix(out, "..") || !r.b.opts.FollowSymlinks {
		r.tree.links[rel] = filepath.ToSlash(target)
	}
}

// realPath is a path without links, as far as it exists (os.path.realpath of Python).
func realPath(p string) string {
	p, err := filepath.Abs(p)
	if err != nil {
		return p
	}
	real, err := filepath.EvalSymlinks(p)
	if err == nil {
		return real
	}
	parent := filepath.Dir(p)
	if parent == p {
		return p
	}
	return filepath.Join(realPath(parent), filepath.Base(p))
}
