// Package git is Salt's external pillar of that name: pillar SLS in git repositories
// (salt/pillar/git_pillar.py and GitPillar of salt/utils/gitfs.py).
//
//	ext_pillar:
//	  - git:
//	    - master https://git.example.com/pillar.git
//	    - __env__ https://git.example.com/envs.git: [{root: pillar}, {fallback: master}]
//	    - prod ssh://git@git.example.com/shared.git: [{mountpoint: shared}, {env: prod}, {privkey: /etc/salt/key}]
//
// A remote is a branch or tag, which may be left out, and an address; __env__ means the branch of
// the minion's environment. Its options are base, env, root, ssl_verify, refspecs, fallback, name,
// mountpoint, all_saltenvs, user, password, privkey, pubkey, passphrase and insecure_auth. All but
// name, mountpoint and all_saltenvs can be set for all remotes as options of the master with the
// prefix git_pillar_, as can git_pillar_branch, git_pillar_includes and git_pillar_update_interval.
//
// The mirrors are those of gitfs (package fileserver/gitfs/mirror), below CACHEDIR/git_pillar;
// nothing is checked out. Differences: a repository that was never fetched is an error that the
// minion sees, while Salt leaves its pillar out. A request also fetches remotes that were not
// updated for the interval plus half a minute. The provider is always git itself. Update locks are
// those of the kernel. Requests on demand (on_demand_ext_pillar) may not use repositories on the
// master's disk, or the master's keys and passwords.
package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver/gitfs"
	"github.com/brineproject/brine/fileserver/gitfs/mirror"
	"github.com/brineproject/brine/pillar"
)

// patience is how long a compilation waits for remotes to be fetched.
const patience = 2 * time.Minute

// slack is the time after the interval from which a compilation fetches remotes that were not
// updated.
const slack = 30 * time.Second

// maxCached is the limit of cached sets of remotes, and of views of trees.
const maxCached = 64

// A Source is the external pillar git. It keeps the mirrors of its remotes open.
type Source struct {
	mu   sync.Mutex
	sets map[string]*set
}

// New returns the source.
func New() *Source { return &Source{sets: map[string]*set{}} }

var (
	_ pillar.Checker         = (*Source)(nil)
	_ pillar.Updater         = (*Source)(nil)
	_ pillar.OnDemandChecker = (*Source)(nil)
)

// Name implements pillar.Source.
func (*Source) Name() string { return "git" }

// Check implements pillar.Checker.
func (*Source) Check(argument any, opts *data.Map) error {
	_, err := readRemotes(argument, opts)
	return err
}

// A set holds the remotes of one entry.
type set struct {
	remotes []*remote
	turn    chan struct{} // held while fetching

	mu    sync.Mutex
	tried map[*remote]time.Time // when each was last fetched or attempted
	views map[viewKey]*gitfs.View
}

type viewKey struct {
	mirror      string
	tree        mirror.Hash
	root, mount string
}

// set returns the remotes of an entry; the same options yield the same set.
func (s *Source) set(argument any, opts *data.Map) (*set, error) {
	key := data.Repr(argument)
	for name, v := range opts.All() {
		if n := data.Str(name); n == "cachedir" || isOption(n) {
			key += "\x00" + n + "=" + data.Repr(v)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if have, ok := s.sets[key]; ok {
		return have, nil
	}
	remotes, err := readRemotes(argument, opts)
	if err != nil {
		return nil, err
	}
	if len(s.sets) >= maxCached {
		clear(s.sets)
	}
	made := &set{remotes: remotes, turn: make(chan struct{}, 1), tried: map[*remote]time.Time{},
		views: map[viewKey]*gitfs.View{}}
	s.sets[key] = made
	return made, nil
}

// Update implements pillar.Updater.
func (s *Source) Update(ctx context.Context, opts *data.Map, log logrus.FieldLogger) error {
	_, err := s.Fetch(ctx, opts, nil, log)
	return err
}

// Fetch fetches the remotes of all entries of ext_pillar for which want returns true for branch,
// address and name; nil selects all. The result has for each, by branch and address as configured:
// true if something changed, nil if nothing did, false if it failed (salt/runners/git_pillar.py,
// update).
func (s *Source) Fetch(
	ctx context.Context, opts *data.Map, want func(branch, url, name string) bool,
	log logrus.FieldLogger,
) (*data.Map, error) {
	out := data.NewMap()
	list, _ := opts.Value("ext_pillar").([]any)
	for _, entry := range list {
		m, _ := entry.(*data.Map)
		argument, ok := m.Get("git")
		if !ok {
			continue
		}
		found, err := s.set(argument, opts)
		if err != nil {
			log.Errorf("git_pillar: %s", err)
			continue
		}
		chosen := func(r *remote) bool { return want == nil || want(r.branch, r.url, r.name) }
		if err := found.fetch(ctx, chosen, out, log); err != nil {
			return out, err
		}
	}
	return out, ctx.Err()
}

// fetch fetches the remotes for which want returns true, one by one.
func (t *set) fetch(
	ctx context.Context, want func(*remote) bool, out *data.Map, log logrus.FieldLogger,
) error {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, r := range t.remotes {
		if !want(r) {
			continue
		}
		changed, err := r.mirror.Update(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			log.Errorf("git_pillar: %s; what was fetched before is in use", err)
			out.Set(r.id, false)
		case changed:
			out.Set(r.id, true)
		default:
			out.Set(r.id, nil)
		}
		t.mu.Lock()
		t.tried[r] = time.Now()
		t.mu.Unlock()
	}
	return nil
}

// refresh fetches remotes that were not updated in time. As in Salt, a masterless minion fetches
// each time.
func (t *set) refresh(ctx context.Context, q pillar.Query) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stale := func(r *remote) bool { return q.Opts.Text("__role") == "minion" || !t.fresh(r, q.Opts) }
	if !slices.ContainsFunc(t.remotes, stale) {
		return nil
	}
	return t.fetch(ctx, stale, data.NewMap(), q.Log)
}

func (t *set) fresh(r *remote, opts *data.Map) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.tried[r]
	return ok && time.Since(at) < interval(opts)+slack
}

// Pillar implements pillar.Source.
func (s *Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	t, err := s.set(q.Argument, q.Opts)
	if err != nil {
		return nil, err
	}
	if err := t.refresh(ctx, q); err != nil {
		q.Log.Errorf("git_pillar: fetch: %s", err)
	}
	folders, err := t.folders(q)
	if err != nil {
		return nil, err
	}
	out := data.NewMap()
	for i, f := range folders {
		env := f.env
		if env == "__env__" {
			env = first(q.Opts.Text("pillarenv"), q.Opts.Text("saltenv"),
				textOf(q.Opts, "git_pillar_base"))
		}
		if only := q.Opts.Text("pillarenv"); f.mounted || only != "" && env != only {
			continue
		}
		got, err := q.Compile(ctx, env, files{env, includable(folders, i, env, includes(q.Opts))})
		if err != nil {
			return nil, err
		}
		out = pillar.Merge(q.Opts, out, got)
	}
	return out, nil
}

// A folder is the directory of one remote for a minion.
type folder struct {
	view    *gitfs.View
	remote  *remote
	env     string
	mounted bool
}

// folders returns the directories of all remotes (GitPillar.checkout).
func (t *set) folders(q pillar.Query) ([]folder, error) {
	var all []folder
	for _, r := range t.remotes {
		if r.mirror.Fetched().IsZero() {
			return nil, fmt.Errorf("the repository %s could not be fetched yet; please see the master's log", r.mirror.URL())
		}
		tree, ok, err := r.tree(q.Opts)
		if err != nil {
			q.Log.Errorf("git_pillar: %s", err)
			return nil, errors.New("a repository cannot be read; please see the master's log")
		}
		if !ok {
			q.Log.Errorf("Failed to checkout %s from git_pillar remote '%s': remote ref does not exist", r.target(q.Opts), r.mirror.URL())
			continue
		}
		v, err := t.view(r, tree)
		if err != nil {
			return nil, err
		}
		if there, err := v.Exists(); err != nil || !there {
			q.Log.Errorf("Root path '%s' not present in git_pillar remote '%s', skipping.", r.root,
				r.mirror.URL())
			continue
		}
		all = append(all, folder{v, r, r.environment(q.Opts), r.mount != ""})
	}
	return all, nil
}

func (t *set) view(r *remote, tree mirror.Hash) (*gitfs.View, error) {
	key := viewKey{r.mirror.Key(), tree, r.root, r.mount}
	t.mu.Lock()
	defer t.mu.Unlock()
	if v, ok := t.views[key]; ok {
		return v, nil
	}
	v, err := gitfs.NewView(r.mirror, tree, r.root, r.mount)
	if err != nil {
		return nil, err
	}
	if len(t.views) >= maxCached {
		clear(t.views)
	}
	t.views[key] = v
	return v, nil
}

// includable returns the directories that the SLS of a directory can include: that directory, and
// with git_pillar_includes the others of its environment.
func includable(all []folder, i int, env string, includes bool) []folder {
	out := []folder{all[i]}
	for j, f := range all {
		if includes && j != i && f.env == env {
			out = append(out, f)
		}
	}
	return out
}

func includes(opts *data.Map) bool {
	v, set := opts.Get("git_pillar_includes")
	return !set || data.Truth(v)
}

// interval returns git_pillar_update_interval.
func interval(opts *data.Map) time.Duration {
	if n, ok := opts.Value("git_pillar_update_interval").(int64); ok && n >= 0 {
		return time.Duration(min(n, 1e6)) * time.Second
	}
	return time.Minute
}

func root(opts *data.Map) string { return filepath.Join(opts.Text("cachedir"), "git_pillar") }

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
