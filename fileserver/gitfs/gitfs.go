// Package gitfs serves files from git repositories: the option gitfs_remotes
// (salt/fileserver/gitfs.py, salt/utils/gitfs.py).
//
// Branches and tags are environments. The branch gitfs_base becomes base, and others keep their own
// names, unless gitfs_saltenv or gitfs_disable_saltenv_mapping say otherwise. Only environments
// that [Backend.Envs] returns are served; with a fallback, a remote serves its fallback for all
// others. The name of an environment never becomes part of a path on this host. A commit is served
// only if the configuration names it. Unlike Salt, a minion cannot request a commit as an
// environment.
//
// Files are read from the mirrors (package mirror) without being checked out. Lists are cached by
// tree and hashes by blob. Blobs that are not small are cached in CACHEDIR/gitfs/blobs as long as
// there is room. A symbolic link is followed within its tree; one that leads out of it, or nowhere,
// only appears in the list of links. Submodules are ignored.
package gitfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/gitfs/mirror"
	"github.com/brineproject/brine/match"
)

// Name is the backend's name in the option fileserver_backend; git is an alias for it.
const Name = "gitfs"

const (
	atOnce    = 4        // remotes that are fetched at the same time
	inMemory  = 64 << 10 // limit in bytes for blobs that are served from memory
	listsKept = 64
	envsNoted = 4096
	maxList   = 1 << 20 // entries of one tree
)

// A Backend serves files from git repositories.
type Backend struct {
	root    string // directory of all mirrors
	remotes []*remote
	blobs   *mirror.Blobs
	log     logrus.FieldLogger

	mu         sync.Mutex
	lists      map[listKey]*listing
	listed     map[string]bool   // environments that lists were made for
	lastErrors map[string]string // the last error logged for each mirror
}

var (
	_ fileserver.Backend       = (*Backend)(nil)
	_ fileserver.Initer        = (*Backend)(nil)
	_ fileserver.RemoteUpdater = (*Backend)(nil)
	_ fileserver.Clearer       = (*Backend)(nil)
	_ fileserver.Locker        = (*Backend)(nil)
	_ fileserver.Lister        = (*Backend)(nil)
)

// Make returns the backend for the options of a master; it is a fileserver.Maker. Without
// gitfs_remotes it returns no backend. The error names the invalid option.
func Make(opts *data.Map, log logrus.FieldLogger) (fileserver.Backend, error) {
	root := filepath.Join(opts.Text("cachedir"), Name)
	remotes, err := readRemotes(opts, root, log)
	if err != nil || len(remotes) == 0 {
		return nil, err
	}
	return &Backend{root: root, remotes: remotes,
		blobs: &mirror.Blobs{Dir: filepath.Join(root, "blobs")}, log: log,
		lists: map[listKey]*listing{}, listed: map[string]bool{},
		lastErrors: map[string]string{}}, nil
}

// Name returns gitfs.
func (b *Backend) Name() string { return Name }

// Init removes the mirrors of remotes that are no longer configured.
func (b *Backend) Init(ctx context.Context) error {
	keep := map[string]bool{}
	for _, r := range b.remotes {
		keep[r.mirror.Key()] = true
	}
	if err := mirror.Sweep(ctx, b.root, keep); err != nil {
		b.log.WithError(err).Warn("gitfs: mirrors of remotes that are no longer configured could not be removed")
	}
	return nil
}

// Envs returns the environments of all remotes.
func (b *Backend) Envs(context.Context) ([]string, error) {
	var all []string
	for _, r := range b.remotes {
		envs, err := r.envs()
		if err != nil {
			return nil, err
		}
		all = append(all, envs...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// A place is a tree that a remote serves for an environment.
type place struct {
	*remote
	tree mirror.Hash
	root string // in the tree; "" or a clean path
	at   string // in the environment; "" or a clean path
}

// places returns the trees of an environment, in the order of the remotes.
func (b *Backend) places(ctx context.Context, env string) ([]place, error) {
	envs, err := b.Envs(ctx)
	if err != nil {
		return nil, err
	}
	known := slices.Contains(envs, env)
	var out []place
	for _, r := range b.remotes {
		if !known && r.fallback == "" {
			continue
		}
		tree, ok, err := r.tree(env)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, place{r, tree, r.rootOf(env), r.mountOf(env)})
		}
	}
	return out, nil
}

// Find looks for a file in the trees of an environment.
func (b *Backend) Find(
	ctx context.Context, env, path string, _ fileserver.Query,
) (*fileserver.Found, error) {
	places, err := b.places(ctx, env)
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		inside, ok := p.inside(path)
		if !ok {
			continue
		}
		e, at, err := p.resolve(inside)
		if errors.Is(err, errNoFile) {
			continue
		}
		if err != nil {
			return nil, err
		}
		size, err := p.mirror.Size(e.Hash)
		if err != nil {
			return nil, err
		}
		return &fileserver.Found{Path: p.mirror.URL() + " " + at, Rel: path, Env: env, Size: size,
			Version: e.Hash.String(), Stat: &fileserver.Stat{Mode: e.Mode, Size: size,
				ModeOnly: true}, Private: blob{p.mirror, e.Hash}}, nil
	}
	return nil, fmt.Errorf("%q in the repositories of %q: %w", path, env, fileserver.ErrNotFound)
}

// blob is the private data that Find hands to Open.
type blob struct {
	mirror *mirror.Mirror
	hash   mirror.Hash
}

// Open opens a file that Find returned. The content behind a hash never changes.
func (b *Backend) Open(ctx context.Context, f *fileserver.Found) (fileserver.File, error) {
	at, ok := f.Private.(blob)
	if !ok {
		return nil, fmt.Errorf("open %q: not a file of a repository", f.Rel)
	}
	var err error
	if f.Size <= inMemory {
		var text []byte
		if text, err = at.mirror.Blob(at.hash, inMemory); err == nil {
			return small{bytes.NewReader(text)}, nil
		}
	} else {
		var file *os.File
		if file, err = b.blobs.Open(ctx, at.mirror, at.hash); err == nil {
			return large{file, f.Size}, nil
		}
	}
	if errors.Is(err, mirror.ErrMissing) {
		return nil, fmt.Errorf("open %q: %w: %w", f.Rel, fileserver.ErrChanged, err)
	}
	return nil, err
}

// small is a blob in memory.
type small struct{ *bytes.Reader }

func (small) Close() error { return nil }
func (small) Check() error { return nil }

// large is a blob in a file that nobody writes to.
type large struct {
	*os.File
	size int64
}

func (l large) Size() int64 { return l.size }
func (large) Check() error  { return nil }

var (
	_ fileserver.File = small{}
	_ fileserver.File = large{}
	_ io.ReaderAt     = large{}
)

// Intervals returns the update interval of each remote, by its name or its address without a
// password.
func (b *Backend) Intervals() map[string]time.Duration {
	all := map[string]time.Duration{}
	for _, r := range b.remotes {
		if old, ok := all[r.label()]; !ok || r.interval < old {
			all[r.label()] = r.interval
		}
	}
	return all
}

// Update fetches all remotes.
func (b *Backend) Update(ctx context.Context) (fileserver.Change, error) {
	return b.UpdateRemotes(ctx, nil)
}

// UpdateRemotes fetches the remotes with these names or addresses, and those whose address contains
// one of these texts; all remotes if names is empty. A failing remote does not keep the others from
// being updated. Its error is logged once for as long as it stays the same.
func (b *Backend) UpdateRemotes(ctx context.Context, names []string) (fileserver.Change, error) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	var mu sync.Mutex
	var c fileserver.Change
	seen := map[string]bool{}
	for _, r := range b.remotes {
		if seen[r.mirror.Key()] || len(names) > 0 && !slices.ContainsFunc(names, r.matches) {
			continue
		}
		seen[r.mirror.Key()] = true
		group.Go(func() error {
			changed, err := r.mirror.Update(ctx)
			if ctx.Err() == nil {
				b.report(r.mirror.Key(), err)
			}
			mu.Lock()
			c.Changed = c.Changed || changed
			mu.Unlock()
			return nil
		})
	}
	_ = group.Wait() // no remote returns an error
	if len(names) > 0 && len(seen) == 0 {
		b.log.Warnf("gitfs: no remote matches %s; nothing is updated", strings.Join(names, ", "))
	}
	return c, ctx.Err()
}

// report logs the error of a remote if it differs from the last one.
func (b *Backend) report(key string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	b.mu.Lock()
	last := b.lastErrors[key]
	b.lastErrors[key] = text
	b.mu.Unlock()
	switch {
	case text == last:
	case errors.Is(err, mirror.ErrLocked):
		b.log.Warnf("gitfs: %s; salt-run fileserver.clear_lock removes the lock", text)
	case err != nil:
		b.log.Errorf("gitfs: %s; the content fetched before is still served", text)
	default:
		b.log.Info("gitfs: a remote that could not be fetched works again")
	}
}

// ClearCache removes all mirrors and blobs. Nothing is served until the next update.
func (b *Backend) ClearCache(ctx context.Context) (failed []string) {
	fail := func(what string, err error) {
		if err != nil {
			failed = append(failed, fmt.Sprintf("Unable to delete %s: %v", what, err))
		}
	}
	fail(b.root, mirror.Sweep(ctx, b.root, nil))
	fail(b.blobs.Dir, os.RemoveAll(b.blobs.Dir))
	b.ClearLists(ctx, nil)
	return failed
}

// each calls do for the remotes whose address contains pattern, or matches it as a glob.
func (b *Backend) each(pattern string, do func(*remote)) {
	glob := match.CompileGlob(pattern)
	seen := map[string]bool{}
	for _, r := range b.remotes {
		if !seen[r.mirror.Key()] && (strings.Contains(r.mirror.URL(), pattern) ||
			glob.Match(r.mirror.URL()) || r.matches(pattern)) {
			seen[r.mirror.Key()] = true
			do(r)
		}
	}
}

// Lock keeps remotes from being updated until ClearLock.
func (b *Backend) Lock(_ context.Context, pattern string) (locked, failed []string) {
	b.each(pattern, func(r *remote) {
		switch fresh, err := r.mirror.Lock(); {
		case err != nil:
			failed = append(failed, fmt.Sprintf("Unable to set update lock for %s: %v",
				r.mirror.URL(), err))
		case fresh:
			locked = append(locked, fmt.Sprintf("Set update lock for gitfs remote '%s'",
				r.mirror.URL()))
		}
	})
	return locked, failed
}

// ClearLock removes the locks that Lock set. Updates never leave a lock behind, and update is the
// only kind of lock.
func (b *Backend) ClearLock(_ context.Context, pattern, kind string) (cleared, failed []string) {
	if kind != "update" && kind != "" {
		return nil, nil
	}
	b.each(pattern, func(r *remote) {
		switch was, err := r.mirror.Unlock(); {
		case err != nil:
			failed = append(failed, fmt.Sprintf("Unable to remove update lock for %s: %v",
				r.mirror.URL(), err))
		case was:
			cleared = append(cleared, fmt.Sprintf("Removed update lock for gitfs remote '%s'",
				r.mirror.URL()))
		}
	})
	return cleared, failed
}
