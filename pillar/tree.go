package pillar

import (
	"context"
	"maps"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/render"
)

// mostTrees is how many trees are kept in mind: pillar_roots with __env__ has one for each environment that is asked for.
const mostTrees = 64

// A tree is what folders held at one moment.
type tree struct {
	names    map[string][]string          // of all files by environment, sorted
	versions map[string]map[string]string // of each file by environment; "" is not sure
}

// versionOf names the content of a file below a root; see render.VersionOf.
func versionOf(root string, st os.FileInfo, now time.Time) string {
	if v := render.VersionOf(st, now); v != "" {
		return root + "\x00" + v
	}
	return ""
}

// look goes through the folders of all environments.
func (f folders) look(ctx context.Context, now time.Time) (*tree, error) {
	t := &tree{names: map[string][]string{}, versions: map[string]map[string]string{}}
	for env := range f.roots {
		names, versions, err := f.walk(ctx, env, now)
		if err != nil {
			return nil, err
		}
		t.names[env], t.versions[env] = names, versions
	}
	return t, nil
}

// A forest holds the trees of a compiler. A tree is looked at anew for each compilation, but those that begin meanwhile share one.
type forest struct {
	now func() time.Time

	mu    sync.Mutex
	trees map[string]*fileserver.Latest[*tree]
}

// tree returns what the folders hold now.
func (f *forest) tree(ctx context.Context, env string, files folders) (*tree, error) {
	if !files.dynamic {
		env = ""
	}
	return f.latest(env).Get(func(*tree) (*tree, error) { return files.look(ctx, f.now()) })
}

func (f *forest) latest(env string) *fileserver.Latest[*tree] {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.trees[env]
	if l == nil {
		if f.trees == nil || len(f.trees) >= mostTrees {
			f.trees = map[string]*fileserver.Latest[*tree]{}
		}
		l = &fileserver.Latest[*tree]{}
		f.trees[env] = l
	}
	return l
}

// watched are folders of which one compilation sees the names of one moment, and that note what it asked for.
type watched struct {
	folders
	tree *tree

	mu    sync.Mutex
	asked map[place]bool // whether there was such a file
}

// A place is that of a file in an environment.
type place struct{ env, path string }

// List implements Files.
func (w *watched) List(_ context.Context, env string) ([]string, error) {
	return w.tree.names[env], nil
}

// Get implements Files.
func (w *watched) Get(ctx context.Context, name, env string) (render.File, error) {
	f, err := w.folders.Get(ctx, name, env)
	w.mu.Lock()
	defer w.mu.Unlock()
	at := place{env, path.Clean(name)}
	w.asked[at] = err == nil
	f.Version = w.tree.versions[at.env][at.path]
	return f, err
}

// seen returns the version of each file that was asked for, "" of those that were not there; false where one is not sure.
func (w *watched) seen() (map[place]string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	versions := make(map[place]string, len(w.asked))
	for at, there := range w.asked {
		version, listed := w.tree.versions[at.env][at.path]
		if there != listed || there && version == "" {
			return nil, false
		}
		versions[at] = version
	}
	return versions, true
}

// same reports whether the files that another compilation has seen are those of now, and all names.
func (w *watched) same(other *tree, seen map[place]string) bool {
	for at, version := range seen {
		if w.tree.versions[at.env][at.path] != version {
			return false
		}
	}
	return maps.EqualFunc(w.tree.names, other.names, slices.Equal)
}
