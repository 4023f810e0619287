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

// maxTrees is the limit of cached trees: pillar_roots with __env__ has one for each requested
// environment.
const maxTrees = 64

// A tree is the content of directories at one moment.
type tree struct {
	names    map[string][]string          // of all files by environment, sorted
	versions map[string]map[string]string // of each file by environment; "" if uncertain
}

// versionOf identifies the content of a file below a root; see render.VersionOf.
func versionOf(root string, st os.FileInfo, now time.Time) string {
	if v := render.VersionOf(st, now); v != "" {
		return root + "\x00" + v
	}
	return ""
}

// look lists the directories of all environments.
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

func (t *tree) equal(other *tree) bool {
	return maps.EqualFunc(t.names, other.names, slices.Equal) &&
		maps.EqualFunc(t.versions, other.versions, maps.Equal)
}

// A treeCache holds the trees of a compiler. Each compilation lists the tree again, but concurrent
// ones share a listing.
type treeCache struct {
	now func() time.Time

	mu    sync.Mutex
	trees map[string]*fileserver.Latest[*tree]
}

// tree returns the present content of the directories.
func (f *treeCache) tree(ctx context.Context, env string, files folders) (*tree, error) {
	if !files.dynamic {
		env = ""
	}
	return f.latest(env).Get(func(last *tree) (*tree, error) {
		t, err := files.look(ctx, f.now())
		if err == nil && last != nil && t.equal(last) {
			return last, nil // all answers that depend on it share it
		}
		return t, err
	})
}

func (f *treeCache) latest(env string) *fileserver.Latest[*tree] {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.trees[env]
	if l == nil {
		if f.trees == nil || len(f.trees) >= maxTrees {
			f.trees = map[string]*fileserver.Latest[*tree]{}
		}
		l = &fileserver.Latest[*tree]{}
		f.trees[env] = l
	}
	return l
}

// watched are directories of which one compilation sees a fixed listing. It records the files that
// the compilation requested.
type watched struct {
	folders
	tree *tree

	mu    sync.Mutex
	asked map[place]bool // whether the file existed
}

// A place is the path of a file in an environment.
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

// A fileVersion is the version of a requested file, "" if it did not exist.
type fileVersion struct {
	at      place
	version string
}

// seen returns the version of each requested file; false if one is uncertain.
func (w *watched) seen() ([]fileVersion, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	versions := make([]fileVersion, 0, len(w.asked))
	for at, there := range w.asked {
		version, listed := w.tree.versions[at.env][at.path]
		if there != listed || there && version == "" {
			return nil, false
		}
		versions = append(versions, fileVersion{at, version})
	}
	return versions, true
}

// same reports whether the files that another compilation has seen, and all names, are unchanged.
func (w *watched) same(other *tree, seen []fileVersion) bool {
	if w.tree == other {
		return true
	}
	for _, s := range seen {
		if w.tree.versions[s.at.env][s.at.path] != s.version {
			return false
		}
	}
	return maps.EqualFunc(w.tree.names, other.names, slices.Equal)
}
