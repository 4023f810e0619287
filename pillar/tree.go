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

// A tree is what directories held at one moment.
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

// look goes through the directories of all environments.
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
	return maps.EqualFunc(t.names, other.names, slices.Equal) && maps.EqualFunc(t.versions, other.versions, maps.Equal)
}

// A forest holds the trees of a compiler. A tree is looked at anew for each compilation, but those that begin meanwhile share one.
type forest struct {
	now func() time.Time

	mu    sync.Mutex
	trees map[string]*fileserver.Latest[*tree]
}

// tree returns what the directories hold now.
func (f *forest) tree(ctx context.Context, env string, files folders) (*tree, error) {
	if !files.dynamic {
		env = ""
	}
	return f.latest(env).Get(func(last *tree) (*tree, error) {
		t, err := files.look(ctx, f.now())
		if err == nil && last != nil && t.equal(last) {
			return last, nil // which all answers that were made of it share
		}
		return t, err
	})
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

// watched are directories of which one compilation sees the names of one moment, and that note what it asked for.
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

// A sight is the version of a file that was asked for, "" where it was not there.
type sight struct {
	at      place
	version string
}

// seen returns the version of each file that was asked for; false where one is not sure.
func (w *watched) seen() ([]sight, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	versions := make([]sight, 0, len(w.asked))
	for at, there := range w.asked {
		version, listed := w.tree.versions[at.env][at.path]
		if there != listed || there && version == "" {
			return nil, false
		}
		versions = append(versions, sight{at, version})
	}
	return versions, true
}

// same reports whether the files that another compilation has seen are those of now, and all names.
func (w *watched) same(other *tree, seen []sight) bool {
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
