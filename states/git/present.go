package git

import (
	"context"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type presentArgs struct {
	Name           string
	Force          bool `default:"False"`
	Bare           bool `default:"True"`
	Template       any  `default:"None"`
	SeparateGitDir any  `default:"None"`
	Shared         any  `default:"None"`
	User           any  `default:"None"`
	Password       any  `default:"None"`
	OutputEncoding any  `default:"None"`
}

// present makes a repository where there is none.
//
// force
//
//	Empty a directory that is no repository.
//
// bare, template, separate_git_dir, shared
//
//	Whether it has no working tree; the directory that it begins as; where its data are; who may write to it, as git init --shared.
//
// user, password
//
//	As which user git runs, with the password on Windows.
//
//	/srv/repos/site.git:
//	  git.present:
//	    - bare: True
//	    - user: git
func (m *module) present(ctx context.Context, a presentArgs) (any, error) {
	r := newReport(a.Name)
	c := caller{m: m, target: a.Name, user: a.User, password: a.Password, encoding: a.OutputEncoding}
	kind := ""
	if a.Bare {
		kind = "bare "
	}
	there, err := c.isRepository(ctx, a)
	if err != nil {
		return nil, err
	}
	if there {
		return r.ret, nil
	}
	if ended := r.clearFor(ctx, a, kind); ended != nil {
		return ended, nil
	}
	if change.Test(ctx) {
		r.changes().Set("new", a.Name)
		return r.neutral("New " + kind + "repository would be created"), nil
	}
	_, err = c.call(ctx, "init", nil, "cwd", a.Name, "bare", a.Bare, "template", a.Template, "separate_git_dir", a.SeparateGitDir, "shared", a.Shared)
	if err != nil {
		return nil, err
	}
	actions := []string{"Initialized " + kind + "repository in " + a.Name}
	if data.Truth(a.Template) {
		actions = append(actions, "Template directory set to "+data.Str(a.Template))
	}
	if data.Truth(a.SeparateGitDir) {
		actions = append(actions, "Gitdir set to "+data.Str(a.SeparateGitDir))
	}
	r.changes().Set("new", a.Name)
	return r.end(true, sentences(actions)), nil
}

func (c *caller) isRepository(ctx context.Context, a presentArgs) (bool, error) {
	switch {
	case !paths.IsDir(a.Name):
		return false, nil
	case a.Bare:
		return paths.IsFile(filepath.Join(a.Name, "HEAD")), nil
	case paths.IsFile(filepath.Join(a.Name, ".git")): // what separate_git_dir makes, too
		return true, nil
	}
	return c.there(ctx, ".git")
}

// clearFor removes a directory that is no repository, where that is asked for.
func (r *report) clearFor(ctx context.Context, a presentArgs, kind string) *data.Map {
	if !paths.IsDir(a.Name) {
		return nil
	}
	list, err := os.ReadDir(a.Name)
	switch {
	case err != nil:
		return r.fail(loader.OSError(err).Error())
	case a.Force && change.Test(ctx):
		r.changes().Set("new", a.Name)
		r.changes().Set("forced init", true)
		return r.neutral("Target directory " + a.Name + " exists. Since force=True, the contents of " + a.Name + " would be deleted, and a " + kind +
			"repository would be initialized in its place.")
	case a.Force:
		if err := os.RemoveAll(a.Name); err != nil {
			return r.fail("Unable to remove " + a.Name + ": " + loader.OSError(err).Error())
		}
		r.changes().Set("forced init", true)
	case len(list) > 0:
		return r.fail("Target '" + a.Name + "' exists, is non-empty, and is not a git repository. Set the 'force' option to True to remove this directory's " +
			"contents and proceed with initializing a repository")
	}
	return nil
}
