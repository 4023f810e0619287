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

// maxLists limits the number of environments whose lists are cached. Without it, environments of
// __env__ would be limited only by the number of directories.
const maxLists = 256

// tree is the content of an environment's directories, with the state needed to check that it is
// current.
type tree struct {
	lists [3][]string // by fileserver.Kind
	links map[string]string

	read    time.Time
	folders []dirState
	targets []linkState
	stable  bool // nothing that was examined had changed just before
}

// dirState is the state of a directory before it was read.
type dirState struct {
	path string
	id   disk.Identity
	err  bool // it could not be examined
}

// linkState is a link and the kind of its target.
type linkState struct {
	dir, rel string
	kind     linkKind
}

type linkKind int

const (
	toNothing linkKind = iota // or to a pipe, or out of a directory that links must not leave
	toFile
	toFolder
)

// List returns the entries of an environment.
func (b *Backend) List(
	ctx context.Context, env string, kind fileserver.Kind, _ string,
) ([]string, error) {
	t, err := b.tree(ctx, env)
	if err != nil || kind < 0 || int(kind) >= len(t.lists) {
		return nil, err
	}
	return t.lists[kind], nil
}

// Symlinks returns the links of an environment that minions can create as links: those that stay in
// their directory, and, if links are not followed, the others too. Like Salt, it judges a target
// that begins with .. as if the link lay one level deeper. Such a link may therefore lead next to
// its directory.
func (b *Backend) Symlinks(ctx context.Context, env, _ string) (map[string]string, error) {
	t, err := b.tree(ctx, env)
	if err != nil {
		return nil, err
	}
	return t.links, nil
}

// ClearLists drops cached lists.
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

// tree returns the current tree of an environment.
func (b *Backend) tree(ctx context.Context, env string) (*tree, error) {
	dirs := b.folders(env)
	if _, named := b.roots[env]; !named && !slices.ContainsFunc(dirs, isFolder) {
		return &tree{}, nil
	}
	b.mu.Lock()
	latest := b.lists[env]
	if latest == nil {
		if len(b.lists) >= maxLists {
			clear(b.lists)
		}
		latest = &fileserver.Latest[*tree]{}
		b.lists[env] = latest
	}
	b.mu.Unlock()
	return latest.Get(func(last *tree) (*tree, error) {
		if last != nil && b.isCurrent(last) {
			return last, nil
		}
		return b.read(ctx, dirs)
	})
}

func isFolder(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// isCurrent reports whether a tree still matches its directories.
func (b *Backend) isCurrent(t *tree) bool {
	if age := time.Since(t.read); !t.stable || age < 0 || age >= b.opts.ListAge {
		return false
	}
	for _, w := range t.folders {
		if statDir(w.path) != w {
			return false
		}
	}
	for _, j := range t.targets {
		if kind, _ := b.classify(j.dir, j.rel); kind != j.kind {
			return false
		}
	}
	return true
}

func statDir(dir string) dirState {
	info, err := os.Stat(dir)
	if err != nil {
		return dirState{path: dir, err: true}
	}
	return dirState{path: dir, id: disk.Identify(info)}
}

// classify returns the kind of a link's target, and its file info.
func (b *Backend) classify(dir, rel string) (linkKind, os.FileInfo) {
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
	r := &reading{b: b, ctx: ctx, tree: &tree{read: time.Now(), links: map[string]string{},
		stable: true}}
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

// reading is the state while a tree is read.
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

// folder reads one directory and those below it, and returns the number of its names. above are its
// parent directories; a link may lead back to one of them.
func (r *reading) folder(rel string, above []os.FileInfo) (names int, err error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	full := filepath.Join(r.dir, filepath.FromSlash(rel))
	info, err := os.Stat(full)
	if err != nil || slices.ContainsFunc(above,
		func(i os.FileInfo) bool { return os.SameFile(i, info) }) {
		r.tree.folders = append(r.tree.folders, statDir(full))
		return 0, nil
	}
	r.tree.folders = append(r.tree.folders, dirState{path: full, id: disk.Identify(info)})
	r.tree.stable = r.tree.stable && disk.Settled(r.tree.read, info.ModTime())
	entries, err := os.ReadDir(full)
	if err != nil {
		r.b.opts.Log.WithError(err).Debugf("Could not read directory of the file server")
		return 0, nil // as with os.walk of Python, an unreadable directory counts as empty
	}
	above = append(slices.Clip(above), info)
	for _, e := range entries {
		if err := r.entry(rel, e, above); err != nil {
			return 0, err
		}
	}
	return len(entries), nil
}

// entry adds one name of a directory.
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
	return !r.b.opts.Ignore.Empty() &&
		r.b.opts.Ignore.Match(rel, filepath.Join(r.dir, filepath.FromSlash(rel)))
}

// subfolder adds a subdirectory. Its contents are read even if its own name is ignored.
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

// link adds a symbolic link.
func (r *reading) link(rel string, above []os.FileInfo) error {
	if r.b.opts.IgnoreSymlinks {
		return nil
	}
	kind, info := r.b.classify(r.dir, rel)
	r.tree.targets = append(r.tree.targets, linkState{r.dir, rel, kind})
	if !r.ignored(rel) {
		r.addLink(rel)
	}
	switch {
	case kind == toFile && !r.ignored(rel):
		r.add(fileserver.Files, rel)
	case kind == toFolder:
		again := slices.ContainsFunc(above,
			func(i os.FileInfo) bool { return os.SameFile(i, info) })
		return r.subfolder(rel, r.b.opts.FollowSymlinks && !again, above)
	}
	return nil
}

// addLink lists a link as a link.
func (r *reading) addLink(rel string) {
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

// realPath returns a path without links, as far as it exists (os.path.realpath of Python).
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
