package git

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

// goneHead is the message for a clone that has no branch.
const goneHead = " refers to a ref that does not exist. This can happen when the default branch on the remote repository is renamed or deleted. If you " +
	"are unable to fix the remote repository, you can work around this by setting the 'branch' argument (which will ensure that the named branch is " +
	"created if it does not already exist)."

// clone creates the clone.
func (l *latest) clone(ctx context.Context) (*data.Map, error) {
	new := l.name + " => " + l.target
	ended := l.vacate(ctx, l.target, l.name, l.a.ForceClone, func() {
		l.changes().Set("forced clone", true)
		l.changes().Set("new", new)
	})
	if ended != nil {
		return ended, nil
	}
	if change.Test(ctx) {
		l.changes().Set("new", new)
		return l.neutral("Repository " + l.name + " would be cloned to " + l.target), nil
	}
	opts, kind := []any{}, ""
	switch {
	case l.a.Mirror:
		opts, kind = append(opts, "--mirror"), " as mirror"
	case l.bare:
		opts, kind = append(opts, "--bare"), " as bare repository"
	}
	if l.remote != "origin" {
		opts = append(opts, "--origin", l.remote)
	}
	if l.a.Depth != nil {
		opts = append(opts, "--depth", data.Str(l.a.Depth), "--branch", l.rev)
	}
	if err := l.caller.clone(ctx, l.name, opts); err != nil {
		return l.fail("Clone failed: " + bare(err)), nil
	}
	l.changes().Set("new", new)
	l.addAction(l.name + " cloned to " + l.target + kind)
	if !l.bare && l.remoteRev != "" {
		if ended, err := l.checkOut(ctx); ended != nil || err != nil {
			return ended, err
		}
	}
	if l.a.Submodules && l.remoteRev != "" {
		if err := l.submodules(ctx); err != nil {
			return l.fail("Failed to update submodules: " + bare(err)), nil
		}
	}
	rev, err := l.found(l.text(ctx, "revision", []any{l.target}, "ignore_retcode", true))
	if err != nil {
		return nil, err
	}
	if rev != "" {
		l.changes().Set("revision", data.NewMap("old", nil, "new", rev))
	}
	return l.end(true, sentences(l.done)), nil
}

// checkOut brings a new clone to the desired branch, revision and upstream.
func (l *latest) checkOut(ctx context.Context) (*data.Map, error) {
	if l.kind == "tag" {
		tags, err := l.list(ctx, "list_tags")
		if err != nil {
			return nil, err
		}
		if !slices.Contains(tags, l.rev) {
			return l.fail("Revision '" + l.rev + "' does not exist in clone"), nil
		}
	}
	branches, err := l.list(ctx, "list_branches")
	if err != nil {
		return nil, err
	}
	if l.a.Branch != nil && !slices.Contains(branches, l.branch) {
		if _, err := l.call(ctx, "checkout", []any{l.target, l.start()},
			"opts", []any{"-b", l.branch}); err != nil {
			return nil, err
		}
		l.addAction("Branch '" + l.branch + "' checked out, with " + l.place +
			" as a starting point")
	}
	if l.localRev, l.localBranch, err = l.head(ctx); err != nil {
		return nil, err
	}
	if l.localBranch == "" && !l.refs.Has("HEAD") {
		return l.fail("Remote HEAD" + goneHead), nil
	}
	if !l.equal(l.localRev) {
		if _, err := l.call(ctx, "reset", []any{l.target},
			"opts", []any{"--hard", l.remoteRev}); err != nil {
			return nil, err
		}
		l.addAction("Repository was reset to " + l.place)
	}
	now, err := l.parse(ctx, l.localBranch+"@{upstream}", "--abbrev-ref")
	if err != nil {
		return nil, err
	}
	if branches, err = l.list(ctx, "list_branches"); err != nil {
		return nil, err
	}
	return nil, l.setUpstream(ctx, l.track(now, branches))
}

func (l *latest) setUpstream(ctx context.Context, t tracking) error {
	if t.opts == nil {
		return nil
	}
	_, err := l.call(ctx, "branch", []any{l.target}, "opts", t.opts)
	if err == nil {
		l.addAction(t.action)
	}
	return err
}
