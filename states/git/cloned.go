package git

import (
	"context"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type clonedArgs struct {
	Name           string
	Target         any
	Branch         any `default:"None"`
	User           any `default:"None"`
	Password       any `default:"None"`
	Identity       any `default:"None"`
	HTTPSUser      any `name:"https_user" default:"None"`
	HTTPSPass      any `name:"https_pass" default:"None"`
	OutputEncoding any `default:"None"`
}

// cloned clones a repository if the target is missing, and checks out a branch.
//
// name, target, branch
//
//	The URL, the directory of the clone, and the branch. Default: the default branch of the
//	remote.
//
// user, password, identity, https_user, https_pass
//
//	As in git.latest.
//
//	mysite-repo:
//	  git.cloned:
//	    - name: https://mydomain.tld/repo.git
//	    - target: /var/www/html/myrepo
//	    - branch: main
func (m *module) cloned(ctx context.Context, a clonedArgs) (any, error) {
	r := newReport(a.Name)
	target, branch := text(a.Target), text(a.Branch)
	switch {
	case a.Target == nil:
		return r.fail("'target' argument is required"), nil
	case !filepath.IsAbs(target):
		return r.fail("'target' path must be absolute"), nil
	case a.Branch != nil && branch == "":
		return r.fail("Invalid 'branch' argument"), nil
	}
	c := &caller{m: m, target: target, user: a.User, password: a.Password,
		encoding: a.OutputEncoding, identity: a.Identity, httpsUser: a.HTTPSUser,
		httpsPass: a.HTTPSPass}
	return ended(change.Thing[checkout]{
		Name: a.Name,
		Look: func(ctx context.Context) (checkout, error) { return c.look(ctx, branch) },
		Wants: func(now checkout) *data.Map {
			if !now.there {
				return data.NewMap("new", a.Name+" => "+target)
			}
			return change.When(now.branch != branch,
				data.NewMap("branch", change.OldNew(now.branch, branch)))
		},
		Apply: func(ctx context.Context, now checkout) error {
			if !now.there {
				return c.cloneBranch(ctx, a.Name, branch)
			}
			return c.changeBranch(ctx, branch)
		},
		Say:   func(o change.Outcome[checkout]) any { return o.Before.comment(o, a.Name, target, branch) },
		Trust: true, // Salt does not ask git again
	}.Ensure(ctx))
}

// A checkout is the current state of a clone. The branch is only set if one was requested.
type checkout struct {
	there  bool
	branch string
}

// look reads the state of the clone.
func (c *caller) look(ctx context.Context, branch string) (now checkout, err error) {
	if !paths.IsDir(c.target) && !paths.IsFile(c.target) {
		return now, nil
	}
	now.there = true
	if _, err := c.call(ctx, "status", []any{c.target}); err != nil {
		return now, change.Reason(err.Error())
	}
	if branch != "" {
		now.branch, err = c.text(ctx, "current_branch", []any{c.target})
	}
	return now, change.Raise(err)
}

// comment returns the comment, nil for the text of an error.
func (now checkout) comment(o change.Outcome[checkout], name, target, branch string) any {
	with, checked := "", ""
	if branch != "" {
		with, checked = " with branch '"+branch+"'", " and is checked out to branch '"+branch+"'"
	}
	switch {
	case o.Stage == change.StageSame:
		return "Repository already exists at " + target + checked
	case o.Stage == change.StageWould && now.there:
		return "Branch would be changed to '" + branch + "'"
	case o.Stage == change.StageWould:
		return name + " would be cloned to " + target + with
	case o.Stage == change.StageDone && now.there:
		return "Branch changed to '" + branch + "'"
	case o.Stage == change.StageDone:
		return name + " cloned to " + target + with
	}
	return nil
}

func (c *caller) cloneBranch(ctx context.Context, name, branch string) error {
	var opts []any
	if branch != "" {
		opts = []any{"--branch", branch}
	}
	if err := c.clone(ctx, name, opts); err != nil {
		return change.Reason("Clone failed: " + bare(err))
	}
	return nil
}

func (c *caller) changeBranch(ctx context.Context, branch string) error {
	known, err := c.parse(ctx, branch)
	if err != nil {
		return change.Raise(err)
	}
	rev, opts := branch, any(nil)
	if known == "" {
		rev, opts = "origin/"+branch, []any{"-b", branch}
	}
	_, err = c.call(ctx, "checkout", []any{c.target}, "rev", rev, "opts", opts)
	if loader.KindOf(err) == loader.KindExecution {
		return change.Reason("Failed to change branch to '" + branch + "': " + err.Error())
	}
	return change.Raise(err)
}
