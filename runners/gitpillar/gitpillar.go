// Package gitpillar is Salt's runner git_pillar: it fetches the repositories of the external pillar
// git (salt/runners/git_pillar.py).
//
// Unlike in Salt, fetched changes are in use at once, because the external pillar reads the mirrors
// themselves.
package gitpillar

import (
	"context"
	"fmt"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/runners"
)

// A Fetcher fetches the remotes of ext_pillar for which wants returns true, and returns the outcome
// of each; see package pillar/sources/git.
type Fetcher interface {
	Fetch(ctx context.Context, opts *data.Map, want func(branch, url, name string) bool,
		log logrus.FieldLogger) (*data.Map, error)
}

// Among returns the external pillar that fetches, or nil.
func Among(sources []pillar.Source) Fetcher {
	for _, s := range sources {
		if f, ok := s.(Fetcher); ok {
			return f
		}
	}
	return nil
}

// Plugin returns the runner git_pillar; without a Fetcher it has no remotes.
func Plugin(f Fetcher) loader.Plugin {
	return loader.Plugin{Name: "git_pillar", File: "git_pillar",
		New: func(env *loader.Env) (*loader.Module, error) {
			m := &module{env, f}
			return &loader.Module{Funcs: []loader.Func{loader.F("update", m.update)}}, nil
		}}
}

type module struct {
	env     *loader.Env
	fetcher Fetcher
}

type updateArgs struct {
	Branch any `default:"None"`
	Repo   any `default:"None"`
}

// update fetches the repositories of the external pillar git. It returns for each: True if
// something changed, None if nothing did, False if it failed.
//
// branch
//
//	Only remotes of this branch.
//
// repo
//
//	Only the remote with this address or name.
//
// CLI Example:
//
//	salt-run git_pillar.update
//	salt-run git_pillar.update branch='branch' repo='https://foo.com/bar.git'
func (m *module) update(ctx context.Context, a updateArgs) (any, error) {
	var found *data.Map
	var err error
	if m.fetcher != nil {
		found, err = m.fetcher.Fetch(ctx, m.env.Opts, a.wants, m.env.Log)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("fetch the repositories of git_pillar: %w", err)
	case found.Len() > 0:
		return found, nil
	case a.Branch != nil || a.Repo != nil:
		return nil, runners.Raise("SaltRunnerError",
			"Specified git branch/repo not found in ext_pillar config")
	}
	return nil, runners.Raise("SaltRunnerError", "No git_pillar remotes are configured")
}

func (a updateArgs) wants(branch, url, name string) bool {
	return (a.Branch == nil || data.Equal(a.Branch, branch)) &&
		(a.Repo == nil || data.Equal(a.Repo, url) || data.Equal(a.Repo, name))
}
