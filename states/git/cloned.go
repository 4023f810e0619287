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

// cloned makes a clone where there is none, and has a branch checked out.
//
// name, target, branch
//
//	The URL, where the clone is to be, and the branch; without it that of the remote.
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
	c := &caller{m: m, target: target, user: a.User, password: a.Password, encoding: a.OutputEncoding, identity: a.Identity, httpsUser: a.HTTPSUser, httpsPass: a.HTTPSPass}
	if !paths.IsDir(target) && !paths.IsFile(target) {
		return r.cloneBranch(ctx, c, a.Name, branch)
	}
	if _, err := c.call(ctx, "status", []any{target}); err != nil {
		return r.fail(err.Error()), nil
	}
	now := branch
	if branch != "" {
		var err error
		if now, err = c.text(ctx, "current_branch", []any{target}); err != nil {
			return nil, err
		}
	}
	if now != branch {
		return r.changeBranch(ctx, c, now, branch)
	}
	comment := "Repository already exists at " + target
	if branch != "" {
		comment += " and is checked out to branch '" + branch + "'"
	}
	return r.end(true, comment), nil
}

func (r *report) cloneBranch(ctx context.Context, c *caller, name, branch string) (any, error) {
	with, opts := "", []any(nil)
	if branch != "" {
		with, opts = " with branch '"+branch+"'", []any{"--branch", branch}
	}
	if change.Test(ctx) {
		r.changes().Set("new", name+" => "+c.target)
		return r.neutral(name + " would be cloned to " + c.target + with), nil
	}
	if err := c.clone(ctx, name, opts); err != nil {
		return r.fail("Clone failed: " + bare(err)), nil
	}
	r.changes().Set("new", name+" => "+c.target)
	return r.end(true, name+" cloned to "+c.target+with), nil
}

func (r *report) changeBranch(ctx context.Context, c *caller, now, branch string) (any, error) {
	if change.Test(ctx) {
		r.changes().Set("branch", change.OldNew(now, branch))
		return r.neutral("Branch would be changed to '" + branch + "'"), nil
	}
	known, err := c.parse(ctx, branch)
	if err != nil {
		return nil, err
	}
	rev, opts := branch, any(nil)
	if known == "" {
		rev, opts = "origin/"+branch, []any{"-b", branch}
	}
	if _, err := c.call(ctx, "checkout", []any{c.target}, "rev", rev, "opts", opts); err != nil {
		if loader.KindOf(err) != loader.KindExecution {
			return nil, err
		}
		return r.fail("Failed to change branch to '" + branch + "': " + err.Error()), nil
	}
	r.changes().Set("branch", data.NewMap("old", now, "new", branch))
	return r.end(true, "Branch changed to '"+branch+"'"), nil
}
