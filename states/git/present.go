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

// present creates a repository if it is missing.
//
// force
//
//	Empty a directory that is not a repository.
//
// bare, template, separate_git_dir, shared
//
//	Whether to create it without a working tree; a template directory; a separate directory for
//	the repository data; who may write to it, as in git init --shared.
//
// user, password
//
//	The system user that git runs as, and that user's password on Windows.
//
//	/srv/repos/site.git:
//	  git.present:
//	    - bare: True
//	    - user: git
func (m *module) present(ctx context.Context, a presentArgs) (any, error) {
	c := caller{m: m, target: a.Name, user: a.User, password: a.Password,
		encoding: a.OutputEncoding}
	done := &data.Map{}
	return ended(change.Thing[place]{
		Name: a.Name,
		Look: func(ctx context.Context) (place, error) { return c.place(ctx, a) },
		Wants: func(now place) *data.Map {
			changes := data.NewMap("new", a.Name)
			if now == occupied {
				changes.Set("forced init", true)
			}
			return change.When(now != repository, changes)
		},
		Apply: func(ctx context.Context, now place) error {
			if now == occupied {
				if err := os.RemoveAll(a.Name); err != nil {
					return change.Reason("Unable to remove " + a.Name + ": " +
						loader.OSError(err).Error())
				}
				done.Set("forced init", true)
			}
			done.Set("new", a.Name)
			_, err := c.call(ctx, "init", nil, "cwd", a.Name, "bare", a.Bare,
				"template", a.Template, "separate_git_dir", a.SeparateGitDir, "shared", a.Shared)
			return change.Raise(err)
		},
		Changed: func(_, _ place) *data.Map { return done },
		Say:     a.comment,
		Trust:   true, // Salt does not ask git again
	}.Ensure(ctx))
}

// A place describes what exists at the path of a repository.
type place int

const (
	vacant     place = iota
	occupied         // a directory that is to be removed
	repository       // already as desired
)

// place checks what exists at the path of the repository.
func (c *caller) place(ctx context.Context, a presentArgs) (place, error) {
	there, err := c.isRepository(ctx, a)
	switch {
	case err != nil:
		return vacant, change.Raise(err)
	case there:
		return repository, nil
	case !paths.IsDir(a.Name):
		return vacant, nil
	}
	list, err := os.ReadDir(a.Name)
	switch {
	case err != nil:
		return vacant, loader.OSError(err)
	case a.Force:
		return occupied, nil
	case len(list) > 0:
		return vacant, change.Reason("Target '" + a.Name +
			"' exists, is non-empty, and is not a git " +
			"repository. Set the 'force' option to True to remove this directory's contents and proceed with " +
			"initializing a repository")
	}
	return vacant, nil
}

// comment returns the comment, nil for the text of an error.
func (a presentArgs) comment(o change.Outcome[place]) any {
	kind := ""
	if a.Bare {
		kind = "bare "
	}
	switch {
	case o.Stage == change.StageWould && o.Before == occupied:
		return "Target directory " + a.Name +
			" exists. Since force=True, the contents of " + a.Name +
			" would be deleted, and a " + kind + "repository would be initialized in its place."
	case o.Stage == change.StageWould:
		return "New " + kind + "repository would be created"
	case o.Stage != change.StageDone:
		return nil
	}
	actions := []string{"Initialized " + kind + "repository in " + a.Name}
	if data.Truth(a.Template) {
		actions = append(actions, "Template directory set to "+data.Str(a.Template))
	}
	if data.Truth(a.SeparateGitDir) {
		actions = append(actions, "Gitdir set to "+data.Str(a.SeparateGitDir))
	}
	return sentences(actions)
}

func (c *caller) isRepository(ctx context.Context, a presentArgs) (bool, error) {
	switch {
	case !paths.IsDir(a.Name):
		return false, nil
	case a.Bare:
		return paths.IsFile(filepath.Join(a.Name, "HEAD")), nil
	case paths.IsFile(filepath.Join(a.Name, ".git")): // also created by separate_git_dir
		return true, nil
	}
	return c.hasRepository(ctx, ".git")
}
