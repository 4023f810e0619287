package git

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/state/change"
)

type detachedArgs struct {
	Name           string
	Rev            any
	Target         any
	Remote         any       `default:"'origin'"`
	User           any       `default:"None"`
	Password       any       `default:"None"`
	ForceClone     bool      `default:"False"`
	ForceCheckout  bool      `default:"False"`
	FetchRemote    bool      `default:"True"`
	HardReset      bool      `default:"False"`
	Submodules     bool      `default:"False"`
	Identity       any       `default:"None"`
	HTTPSUser      any       `name:"https_user" default:"None"`
	HTTPSPass      any       `name:"https_pass" default:"None"`
	OutputEncoding any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// detached keeps a clone at a commit without a branch.
//
// name, rev, target, remote
//
//	The URL; a commit, tag or branch; the directory of the clone; the name of the remote.
//
// force_clone, force_checkout, fetch_remote, hard_reset, submodules
//
//	Empty a directory that is not a repository; discard changes on checkout; whether to fetch;
//	discard changes first; update submodules.
//
// user, password, identity, https_user, https_pass
//
//	As in git.latest.
//
//	website_prod:
//	  git.detached:
//	    - name: git@gitlab.example.com:user/website.git
//	    - target: /var/www/website
//	    - rev: v1.2.3
func (m *module) detached(ctx context.Context, a detachedArgs) (any, error) {
	d := &detached{a: a, report: newReport(a.Name)}
	d.caller = caller{m: m, target: text(a.Target), user: a.User, password: a.Password,
		encoding: a.OutputEncoding, httpsUser: a.HTTPSUser, httpsPass: a.HTTPSPass}
	d.rev, d.remote = text(a.Rev), text(a.Remote)
	if problem := d.prepare(); problem != "" {
		return d.fail(problem), nil
	}
	for _, step := range []func(context.Context) (*data.Map, error){d.ready, d.fetchAll, d.resolve, d.checkOut} {
		if ended, err := step(ctx); ended != nil || err != nil {
			return value(ended), err
		}
	}
	return d.end(true, sentences(d.done)), nil
}

// A detached is one call of git.detached in progress.
type detached struct {
	*report
	caller

	a           detachedArgs
	rev, remote string
	isHash      bool
	known       bool   // the commit is in the clone
	local       string // the commit that is checked out
	commit      string // the desired commit
}

func (d *detached) prepare() string {
	problem := unknown(d.a.Kwargs)
	switch {
	case problem != "":
	case !data.Truth(d.a.Rev):
		problem = "'" + data.Str(d.a.Rev) + "' is not a valid value for the 'rev' argument"
	case !data.Truth(d.a.Target):
		problem = "'" + d.rev + "' is not a valid value for the 'target' argument"
	case !filepath.IsAbs(d.target):
		problem = "Target '" + d.target + "' is not an absolute path"
	}
	if problem == "" {
		d.identity, problem = identities(d.a.Identity, "Identity")
	}
	if problem == "" && paths.IsFile(d.target) {
		problem = "Target '" + d.target + "' exists and is a regular file, cannot proceed"
	}
	if problem == "" {
		_, problem = full(d.a.Name, d.a.HTTPSUser, d.a.HTTPSPass)
	}
	if d.isHash = hexadecimal(d.rev); d.isHash {
		d.rev = lower(d.rev)
	}
	return problem
}

// ready clones the repository, or sets the remote of an existing clone.
func (d *detached) ready(ctx context.Context) (*data.Map, error) {
	there, err := d.hasRepository(ctx, ".git")
	if err != nil {
		return nil, err
	}
	if !there {
		return d.cloneFirst(ctx)
	}
	if d.local, _, err = d.head(ctx); err != nil {
		return nil, err
	}
	if d.isHash {
		described, err := d.found(d.text(ctx, "describe", []any{d.target, d.rev},
			"ignore_retcode", true))
		d.known = described != ""
		return nil, err
	}
	url, err := d.remoteURL(ctx, d.remote)
	if err != nil || strings.Contains(url, d.a.Name) {
		return nil, err
	}
	if change.Test(ctx) {
		return d.neutral("Remote " + d.remote + " would be set to " + d.a.Name), nil
	}
	if _, err := d.call(ctx, "remote_set", []any{d.target}, "url", d.a.Name, "remote", d.remote,
		"https_user", d.httpsUser, "https_pass", d.httpsPass); err != nil {
		return nil, err
	}
	d.addAction("Remote " + d.remote + " updated from '" + data.Str(orNone(redact(url))) +
		"' to '" + d.a.Name + "'")
	return nil, nil
}

func (d *detached) cloneFirst(ctx context.Context) (*data.Map, error) {
	if ended := d.vacate(ctx, d.target, d.a.Name, d.a.ForceClone, func() {}); ended != nil {
		return ended, nil
	}
	if change.Test(ctx) {
		return d.neutral("Repository " + d.a.Name + " would be cloned to " + d.target), nil
	}
	opts := []any{"--no-checkout"}
	if d.remote != "origin" {
		opts = append(opts, "--origin", d.remote)
	}
	if err := d.clone(ctx, d.a.Name, opts); err != nil {
		return d.fail(bare(err)), nil
	}
	d.addAction(d.a.Name + " cloned to " + d.target)
	return nil, nil
}

func (d *detached) fetchAll(ctx context.Context) (*data.Map, error) {
	if d.known || !d.a.FetchRemote {
		return nil, nil
	}
	if change.Test(ctx) {
		return d.neutral("Repository remote " + d.remote + " would be fetched"), nil
	}
	updated, err := d.fetch(ctx, d.remote, true,
		[]any{"refs/heads/*:refs/remotes/" + d.remote + "/*", "+refs/tags/*:refs/tags/*"})
	if err != nil {
		return d.fail("Fetch failed:\n\n" + err.Error()), nil
	}
	if updated {
		d.addAction("Remote " + d.remote + " was fetched, resulting in updated refs")
	}
	return nil, nil
}

// resolve finds the commit of the revision.
func (d *detached) resolve(ctx context.Context) (*data.Map, error) {
	if d.isHash {
		described, err := d.text(ctx, "describe", []any{d.target, d.rev})
		if d.commit = d.rev; err == nil && described == "" {
			return d.end(false, "Revision '"+d.rev+"' does not exist"), nil
		}
		return nil, err
	}
	refs, err := d.dict(ctx, "remote_refs", []any{d.target},
		"identity", d.identity, "ignore_retcode", false)
	if err != nil {
		return d.fail("Failed to list refs for " + d.remote + ": " + bare(err)), nil
	}
	for _, ref := range []string{"refs/remotes/" + d.remote + "/" + d.rev, "refs/tags/" + d.rev +
		"^{}", "refs/tags/" + d.rev} {
		if d.commit = refs.Text(ref); d.commit != "" {
			return nil, nil
		}
	}
	return d.end(false, "Revision '"+d.rev+"' does not exist"), nil
}

func (d *detached) checkOut(ctx context.Context) (*data.Map, error) {
	if d.a.HardReset {
		if change.Test(ctx) {
			return d.neutral("Hard reset to HEAD would be performed on " + d.target), nil
		}
		if _, err := d.call(ctx, "reset", []any{d.target},
			"opts", []any{"--hard", "HEAD"}); err != nil {
			return nil, err
		}
		d.addAction("Repository was reset to HEAD before checking out revision")
	}
	same := d.commit == d.local || d.isHash && d.local != "" && strings.HasPrefix(d.local, d.commit)
	if !same {
		if change.Test(ctx) {
			d.changes().Set("HEAD", data.NewMap("old", orNone(d.local), "new", d.commit))
			return d.neutral("Commit ID " + d.commit + " would be checked out at " + d.target), nil
		}
		if _, err := d.call(ctx, "checkout", []any{d.target, d.commit},
			"force", d.a.ForceCheckout); err != nil {
			return nil, err
		}
		d.addAction("Commit ID " + d.commit + " was checked out at " + d.target)
	}
	if d.a.Submodules && !change.Test(ctx) {
		if err := d.submodules(ctx); err != nil {
			return nil, err
		}
		d.addAction("Submodules were updated")
	}
	if same {
		d.addAction("Already checked out at correct revision")
		return nil, nil
	}
	rev, err := d.found(d.text(ctx, "revision", []any{d.target}, "ignore_retcode", true))
	if rev != "" {
		d.changes().Set("HEAD", data.NewMap("old", orNone(d.local), "new", rev))
	}
	return nil, err
}
