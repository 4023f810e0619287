// Package winrepo is Salt's runner winrepo: it fetches the definitions of Windows packages and
// compiles them for minions of old versions (salt/runners/winrepo.py, WinRepo of
// salt/utils/gitfs.py).
//
// remote.go reads the options of remotes, checkout.go writes a branch to the disk, and genrepo.go
// compiles definitions.
//
// Repositories are mirrored below CACHEDIR/winrepo (package fileserver/gitfs/mirror). The directory
// DIR/NAME/_ has the files of a branch alone: no repository, no symbolic links, no execute bits. A
// second checkout writes only files that differ.
package winrepo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// Plugin returns the runner winrepo, which renders with the parts in b.
func Plugin(b render.Brought) loader.Plugin {
	return loader.Plugin{Name: "winrepo", New: func(env *loader.Env) (*loader.Module, error) {
		m := &module{env, b}
		return &loader.Module{Funcs: []loader.Func{
			loader.F("genrepo", m.genrepo),
			loader.F("update_git_repos", m.updateGitRepos),
		}}, nil
	}}
}

type module struct {
	env    *loader.Env
	render render.Brought
}

type updateGitReposArgs struct {
	Opts       any  `default:"None"`
	Clean      bool `default:"False"`
	Masterless bool `default:"False"`
}

// updateGitRepos fetches the repositories of the options winrepo_remotes and winrepo_remotes_ng, and
// writes their files below winrepo_dir and winrepo_dir_ng. It returns the directory of each remote.
// If a remote cannot be fetched, it returns a text with the reason.
//
// opts
//
//	Not supported: only execution modules of Salt pass it.
//
// clean : False
//
//	Remove all other directories below winrepo_dir and winrepo_dir_ng, also those that were not
//	made from a repository.
//
// masterless : False
//
//	Has no effect.
//
// CLI Example:
//
//	salt-run winrepo.update_git_repos
//	salt-run winrepo.update_git_repos clean=True
func (m *module) updateGitRepos(ctx context.Context, a updateGitReposArgs) (any, error) {
	if err := noOptions(a.Opts); err != nil {
		return nil, err
	}
	done := data.NewMap()
	for _, set := range []struct{ remotes, dir string }{
		{"winrepo_remotes", "winrepo_dir"}, {"winrepo_remotes_ng", "winrepo_dir_ng"},
	} {
		dir, err := m.directory(set.dir)
		if err == nil {
			err = m.update(ctx, m.env.Option(set.remotes), dir, a.Clean, done)
		}
		if err != nil {
			text := fmt.Sprintf("Failed to update winrepo_remotes: %v", err)
			m.env.Log.Error(text)
			return text, nil
		}
	}
	return done, nil
}

// noOptions refuses other options than those of the master: they would name directories to write.
func noOptions(opts any) error {
	if opts != nil {
		return loader.Invocation("the argument opts is not supported: set the options of the master")
	}
	return nil
}

// directory returns the directory that an option names, and creates it.
func (m *module) directory(option string) (string, error) {
	dir, ok := m.env.Option(option).(string)
	if !ok || dir == "" {
		return "", fmt.Errorf("the option %s names no directory", option)
	}
	dir = filepath.Clean(dir)
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("the option %s is not an absolute path", option)
	}
	return dir, os.MkdirAll(dir, 0o755)
}
