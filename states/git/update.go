package git

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

// A situation is the comparison of a clone with its remote.
type situation struct {
	match    bool   // HEAD is as desired
	changed  bool   // there are uncommitted changes
	has      bool   // the desired revision is in the clone
	forward  any    // whether the update is a fast-forward, nil if unknown
	upstream string // "" for none
	url      string // "" if there is no such remote
}

// action describes how the clone would get to the revision.
func (s *situation) action() string {
	switch s.forward {
	case false:
		return "hard-reset"
	case true:
		return "fast-forwarded"
	}
	return "updated"
}

// update brings an existing clone to the revision.
func (l *latest) update(ctx context.Context) (*data.Map, error) {
	if ended, err := l.look(ctx); ended != nil || err != nil {
		return ended, err
	}
	s, ended, err := l.compare(ctx)
	if ended != nil || err != nil {
		return ended, err
	}
	if l.remoteRev != "" && l.url != s.url {
		if change.Test(ctx) {
			return l.wouldMove(ctx, s), nil
		}
		if err := l.moveRemote(ctx, s); err != nil {
			return nil, err
		}
	}
	switch {
	case l.remoteRev != "" && change.Test(ctx):
		return l.wouldUpdate(ctx, s), nil
	case l.remoteRev != "":
		ended, err = l.apply(ctx, s)
	case l.bare:
		ended, err = l.fetchBare(ctx)
	}
	if ended != nil || err != nil {
		return ended, err
	}
	rev, err := l.found(l.text(ctx, "revision", []any{l.target}, "ignore_retcode", true))
	switch {
	case err != nil:
		return nil, err
	case !l.bare && !l.equal(rev):
		return l.fail("Failed to update repository"), nil
	case rev == l.localRev:
		return l.upToDate(ctx, l.target, l.done, false), nil
	}
	l.changes().Set("revision", data.NewMap("old", orNone(l.localRev), "new", orNone(rev)))
	return l.end(true, sentences(l.done)), nil
}

// look reads the state of the clone.
func (l *latest) look(ctx context.Context) (ended *data.Map, err error) {
	if l.branches, err = l.list(ctx, "list_branches"); err != nil {
		return nil, err
	}
	if l.tags, err = l.list(ctx, "list_tags"); err != nil {
		return nil, err
	}
	if l.localRev, l.localBranch, err = l.head(ctx); err != nil {
		return nil, err
	}
	if !l.bare && l.remoteRev == "" && l.localRev != "" {
		return l.fail("Remote repository is empty, cannot update from a non-empty to an empty repository"), nil
	}
	l.baseRev, l.baseBranch = l.localRev, l.localBranch
	if !l.otherBranch() {
		return nil, nil
	}
	if !slices.Contains(l.branches, l.branch) {
		l.baseRev = l.remoteRev
		return nil, nil
	}
	l.baseBranch = l.branch
	if l.baseRev, err = l.text(ctx, "rev_parse", []any{l.target, l.branch + "^{commit}"},
		"ignore_retcode", true); err != nil {
		return l.fail("Unable to get position of local branch '" + l.branch + "': " +
			bare(err)), nil
	}
	return nil, nil
}

// compare compares the clone with its remote, and ends the state if that is sufficient.
func (l *latest) compare(ctx context.Context) (s *situation, ended *data.Map, err error) {
	s = &situation{match: l.equal(l.localRev)}
	if s.url, err = l.remoteURL(ctx, l.remote); err != nil {
		return nil, nil, err
	}
	if !l.bare {
		diff, err := l.found(l.text(ctx, "diff", []any{l.target, "HEAD"}))
		if err != nil {
			return nil, nil, err
		}
		s.changed = diff != ""
	}
	if s.changed && s.match {
		if l.a.ForceReset != true {
			return nil, l.upToDate(ctx, l.target, l.done, true), nil
		}
		if change.Test(ctx) {
			l.changes().Set("forced update", true)
			return nil, l.neutral(l.target +
				" is up-to-date, but with uncommitted changes. Since 'force_reset' is set to True, these local changes would be " +
				"reset. To only reset when there are changes in the remote repository, set 'force_reset' to 'remote-changes'."), nil
		}
	}
	if ended, err = l.lookFor(ctx, s); ended != nil || err != nil {
		return nil, ended, err
	}
	if ended, err = l.compareHistory(ctx, s); ended != nil || err != nil {
		return nil, ended, err
	}
	if l.baseBranch != "" {
		s.upstream, err = l.parse(ctx, l.baseBranch+"@{upstream}", "--abbrev-ref")
	}
	return s, nil, err
}

// lookFor checks whether the desired revision is in the clone.
func (l *latest) lookFor(ctx context.Context, s *situation) (*data.Map, error) {
	if l.kind == "sha1" && l.baseRev != "" && strings.HasPrefix(l.baseRev, l.remoteRev) {
		s.has = true
		return nil, nil
	}
	if l.remoteRev == "" {
		return nil, nil
	}
	commit, err := l.parse(ctx, l.remoteRev+"^{commit}")
	if err != nil || commit == "" {
		return nil, err
	}
	switch l.kind {
	case "sha1":
		s.has = true
	case "branch":
		if s.url != "" {
			copied, err := l.parse(ctx, l.upstream)
			s.has = copied == l.remoteRev
			return nil, err
		}
	case "tag":
		if !slices.Contains(l.tags, l.rev) {
			return nil, nil
		}
		local, err := l.parse(ctx, l.rev+"^{commit}")
		if err != nil {
			return nil, err
		}
		if s.has = local == l.remoteRev; !s.has && !data.Truth(l.a.ForceReset) {
			return l.fail("'" + l.rev + "' is a tag, but the remote SHA1 for this tag (" +
				short(l.remoteRev) + ") doesn't match the local SHA1 (" +
				shortOrNone(local) + "). Set 'force_reset' to True to force this update."), nil
		}
	}
	return nil, nil
}

// compareHistory determines whether the update is a fast-forward, as far as the clone knows.
func (l *latest) compareHistory(ctx context.Context, s *situation) (*data.Map, error) {
	if s.changed && l.a.ForceReset != "remote-changes" {
		s.forward = false
	}
	if s.has {
		if !s.match && !l.a.UpdateHead && !l.otherBranch() {
			return l.end(true, l.stays()), nil
		}
		if s.forward == nil {
			if err := l.ancestry(ctx, s); err != nil {
				return nil, err
			}
		}
	}
	if s.forward == false && l.a.ForceReset == false {
		return l.notForward(s), nil
	}
	return nil, nil
}

// stays returns the comment that HEAD is not moved.
func (l *latest) stays() string {
	place := l.place
	if l.rev == "HEAD" {
		place = "R" + strings.ToLower(place[1:])
	}
	return place + " is already present and local HEAD (" + short(l.localRev) +
		") does not match, but update_head=False. HEAD has not been updated locally."
}

func (l *latest) ancestry(ctx context.Context, s *situation) error {
	if l.baseRev == "" {
		s.forward = true
		return nil
	}
	v, err := l.call(ctx, "merge_base", []any{l.target}, "refs", []any{l.baseRev, l.remoteRev},
		"is_ancestor", true, "ignore_retcode", true)
	s.forward = data.Truth(v)
	return err
}

// notForward fails rather than discard commits that the remote does not have.
func (l *latest) notForward(s *situation) *data.Map {
	advice := ""
	switch {
	case l.a.Branch != nil:
	case l.rev != "HEAD":
		if l.localBranch != l.rev {
			advice = " The desired rev (" + l.rev +
				") differs from the name of the local branch (" + l.localBranch +
				"), if the desired rev is a branch name " +
				"then a forced update could possibly be avoided by setting the 'branch' argument to '" + l.rev + "' instead."
		}
	case l.defaultBranch != "" && l.localBranch != l.defaultBranch:
		advice = " The default remote branch (" + l.defaultBranch +
			") differs from the local branch (" + l.localBranch +
			"). This could be caused by changing " +
			"the default remote branch, or if the local branch was manually changed. Rather than forcing an update, it may be advisable to set the " +
			"'branch' argument to '" + l.defaultBranch +
			"' instead. To ensure that this state follows the '" + l.defaultBranch +
			"' branch instead of the " +
			"remote HEAD, set the 'rev' argument to '" + l.defaultBranch + "'."
	}
	pre, post := shortOrNone(l.baseRev), shortOrNone(l.remoteRev)
	way := "to " + post
	if s.changed && pre != post {
		way = "from " + pre + " to " + post
	}
	if l.otherBranch() {
		way += " (after checking out local branch '" + l.branch + "')"
	}
	why, or, discard := "this is not a fast-forward merge", "", ""
	if s.changed {
		why, or, discard = "there are uncommitted changes", " (or 'remote-changes')",
			" and discard these changes"
	}
	return l.fail("Repository would be updated " + way + ", but " + why +
		". Set 'force_reset' to True" + or + " to force this update" + discard + "." + advice)
}

// wouldMove returns the test mode result for a remote with another URL.
func (l *latest) wouldMove(ctx context.Context, s *situation) *data.Map {
	old := "None"
	if s.url != "" {
		old = redact(s.url)
	}
	actions := []string{"Remote '" + l.remote + "' would be changed from " + old + " to " +
		redact(l.url)}
	if !s.has {
		actions = append(actions, "Remote would be fetched")
	}
	if !s.match && l.a.UpdateHead {
		l.changes().Set("revision", data.NewMap("old", orNone(l.localRev), "new", l.remoteRev))
		if s.forward == false {
			l.changes().Set("forced update", true)
		}
		actions = append(actions, "Repository would be "+s.action()+" to "+short(l.remoteRev))
	}
	switch {
	case l.changes().Len() > 0:
		return l.neutral(sentences(actions))
	case !s.match && !l.a.UpdateHead:
		return l.end(true, sentences(actions))
	}
	return l.upToDate(ctx, l.target, actions, false)
}

// moveRemote sets the URL of the remote.
func (l *latest) moveRemote(ctx context.Context, s *situation) error {
	_, err := l.call(ctx, "remote_set", []any{l.target}, "url", l.name, "remote", l.remote,
		"https_user", l.httpsUser, "https_pass", l.httpsPass)
	if err != nil {
		return err
	}
	if s.url == "" {
		l.addAction("Remote '" + l.remote + "' set to " + redact(l.url))
		l.changes().Set("new", l.name+" => "+l.remote)
		return nil
	}
	l.addAction("Remote '" + l.remote + "' changed from " + redact(s.url) + " to " + redact(l.url))
	return nil
}

// wouldUpdate returns the result of test mode.
func (l *latest) wouldUpdate(ctx context.Context, s *situation) *data.Map {
	var actions []string
	say := func(what string) { actions = append(actions, what) }
	if !s.has {
		say("Remote '" + l.remote + "' would be fetched")
	}
	if !s.match && (l.a.UpdateHead || l.otherBranch()) {
		l.changes().Set("revision", data.NewMap("old", orNone(l.localRev), "new", l.remoteRev))
	}
	l.wouldCheckOut(s, say)
	switch {
	case s.upstream == "" && l.upstream != "":
		say("Tracking branch would be set to " + l.upstream)
	case s.upstream != "" && l.upstream == "" && !l.keepsUpstream:
		say("Tracking branch would be unset")
	case l.upstream != "" && s.upstream != l.upstream:
		say("Tracking branch would be updated to " + l.upstream)
	}
	switch {
	case l.changes().Len() > 0:
		return l.neutral(sentences(actions))
	case !s.match && !l.a.UpdateHead && len(actions) > 0:
		return l.end(true, sentences(actions))
	}
	return l.upToDate(ctx, l.target, actions, false)
}

// wouldCheckOut describes how HEAD would get to the revision.
func (l *latest) wouldCheckOut(s *situation, say func(string)) {
	switch {
	case l.otherBranch() && !slices.Contains(l.branches, l.branch):
		say("New branch '" + l.branch + "' would be checked out, with " + l.place +
			" as a starting point")
		if l.upstream != "" {
			say("Tracking branch would be set to " + l.upstream)
		}
	case l.otherBranch():
		say("Branch '" + l.branch + "' would be checked out and " + s.action() + " to " +
			short(l.remoteRev))
	case s.match:
	case !l.a.UpdateHead:
		say("Local HEAD (" + short(l.localRev) + ") does not match " + l.place +
			" but update_head=False, HEAD would not be updated locally")
	case s.forward == true:
		say("Repository would be fast-forwarded from " + shortOrNone(l.localRev) + " to " +
			short(l.remoteRev))
	default:
		how := "updated"
		if data.Truth(l.a.ForceReset) && s.has {
			how = "hard-reset"
		}
		say("Repository would be " + how + " from " + shortOrNone(l.localRev) + " to " +
			short(l.remoteRev))
	}
}

// apply fetches, checks out and moves HEAD.
func (l *latest) apply(ctx context.Context, s *situation) (*data.Map, error) {
	t := l.track(s.upstream, l.branches)
	if t.opts != nil && l.localBranch == "" {
		return l.fail("Cannot set/unset upstream tracking branch, local HEAD refers to nonexistent branch. This may have been caused by cloning a remote " +
			"repository for which the default branch was renamed or deleted. If you are unable to fix the remote repository, you can work around this by " +
			"setting the 'branch' argument (which will ensure that the named branch is created if it does not already exist)."), nil
	}
	if err := l.syncTags(ctx, s); err != nil {
		return nil, err
	}
	if !s.has {
		if ended, err := l.fetchRev(ctx, s); ended != nil || err != nil {
			return ended, err
		}
	}
	if l.otherBranch() {
		if ended, err := l.switchBranch(ctx, s); ended != nil || err != nil {
			return ended, err
		}
	}
	if err := l.discard(ctx, s); err != nil {
		return nil, err
	}
	if err := l.setUpstream(ctx, t); err != nil {
		return nil, err
	}
	if s.forward == true && !l.equal(l.baseRev) {
		if ended, err := l.forward(ctx); ended != nil || err != nil {
			return ended, err
		}
	}
	if l.a.Submodules {
		if err := l.submodules(ctx); err != nil {
			return l.fail("Failed to update submodules: " + bare(err)), nil
		}
	}
	return nil, nil
}

// syncTags compares the tags with those of the remote, and removes those that the remote no longer
// has.
func (l *latest) syncTags(ctx context.Context, s *situation) error {
	refs, err := l.dict(ctx, "ls_remote", nil, "cwd", l.target, "remote", l.remote, "opts",
		"--tags", "identity", l.identity, "saltenv", change.CallOf(ctx).SaltEnv,
		"ignore_retcode", true)
	if err != nil {
		return err
	}
	var remote []string
	for name := range refs.All() {
		if tag, ok := cut(name, "refs/tags/"); ok && !strings.HasSuffix(tag, "^{}") {
			remote = append(remote, tag)
		}
	}
	added, removed := without(remote, l.tags), without(l.tags, remote)
	if len(added)+len(removed) > 0 {
		s.has = false
	}
	if len(added) > 0 {
		l.changes().Set("new_tags", added)
	}
	if l.a.SyncTags && len(removed) > 0 {
		l.dropTags(ctx, removed)
	}
	return nil
}

// without returns the sorted elements of list that are not in other.
func without(list, other []string) []any {
	out := []any{}
	for _, s := range slices.Sorted(slices.Values(list)) {
		if !slices.Contains(other, s) {
			out = append(out, s)
		}
	}
	return out
}

func (l *latest) dropTags(ctx context.Context, tags []any) {
	gone, names := []any{}, []string{}
	for _, tag := range tags {
		if _, err := l.call(ctx, "tag", []any{l.target, tag}, "opts", "-d"); err != nil {
			list, _ := l.ret.Value("warnings").([]any)
			l.ret.Set("warnings", append(list, "Failed to remove local tag '"+data.Str(tag)+
				"':\n\n"+err.Error()+"\n\n"))
			continue
		}
		gone, names = append(gone, tag), append(names, data.Str(tag))
	}
	if len(gone) > 0 {
		l.changes().Set("deleted_tags", gone)
		l.addAction("The following tags were removed from the local checkout: " +
			strings.Join(names, ", "))
	}
}

// fetchRev fetches, and compares again.
func (l *latest) fetchRev(ctx context.Context, s *situation) (*data.Map, error) {
	if ended := l.fetchAll(ctx, func(updated bool) {
		if updated {
			l.addAction(l.name + " was fetched, resulting in updated refs")
		}
	}); ended != nil {
		return ended, nil
	}
	if _, err := l.call(ctx, "rev_parse", []any{l.target, l.remoteRev + "^{commit}"},
		"ignore_retcode", true); err != nil {
		return l.fail("Fetch did not successfully retrieve rev '" + l.rev + "' from " + l.name +
			": " + err.Error()), nil
	}
	if !s.match && !l.a.UpdateHead && !l.otherBranch() {
		return l.end(true, l.stays()), nil
	}
	if err := l.ancestry(ctx, s); err != nil {
		return nil, err
	}
	if l.a.ForceReset == false && (s.forward == false || s.changed) {
		return l.notForward(s), nil
	}
	return nil, nil
}

func (l *latest) fetchAll(ctx context.Context, after func(updated bool)) *data.Map {
	updated, err := l.fetch(ctx, l.remote, l.a.ForceFetch, l.refspecs())
	if err != nil {
		return l.fail("Fetch failed. Set 'force_fetch' to True to force the fetch if the failure was due to not being able to fast-forward. Output of the " +
			"fetch command follows:\n\n" + bare(err))
	}
	after(updated)
	return nil
}

func (l *latest) switchBranch(ctx context.Context, s *situation) (*data.Map, error) {
	if s.changed && !l.a.ForceCheckout {
		return l.fail("Local branch '" + l.localBranch +
				"' has uncommitted changes. Set 'force_checkout' to True to discard them and proceed."),
			nil
	}
	rev, opts, action := l.branch, []any{}, "'"+l.branch+"' was checked out"
	if !slices.Contains(l.branches, l.branch) {
		rev, opts = l.start(), []any{"-b", l.branch}
		action = "New branch '" + l.branch + "' was checked out, with " + l.place +
			" as a starting point"
	}
	if _, err := l.call(ctx, "checkout", []any{l.target, rev}, "force", l.a.ForceCheckout,
		"opts", opts); err != nil {
		return nil, err
	}
	l.addAction(action)
	return nil, nil
}

// discard discards changes, and also commits if the update is not a fast-forward.
func (l *latest) discard(ctx context.Context, s *situation) error {
	switch {
	case s.forward == false:
		if _, err := l.call(ctx, "reset", []any{l.target},
			"opts", []any{"--hard", l.remoteRev}); err != nil {
			return err
		}
		l.changes().Set("forced update", true)
		if s.changed {
			l.addAction("Uncommitted changes were discarded")
		}
		l.addAction("Repository was hard-reset to " + l.place)
	case s.forward == true && s.changed && l.a.ForceReset != false:
		if _, err := l.call(ctx, "discard_local_changes", []any{l.target}); err != nil {
			return err
		}
		l.addAction("Uncommitted changes were discarded")
	}
	return nil
}

// forward moves HEAD to a descendant.
func (l *latest) forward(ctx context.Context) (*data.Map, error) {
	if l.upstream == "" && l.rev != "HEAD" {
		if _, err := l.call(ctx, "reset", []any{l.target},
			"opts", []any{"--hard", l.rev}); err != nil {
			return nil, err
		}
		l.addAction("Repository was reset to " + l.rev + " (fast-forward)")
		return nil, nil
	}
	head, err := l.text(ctx, "symbolic_ref", []any{l.target, "HEAD"}, "opts", []any{"--quiet"},
		"ignore_retcode", true)
	if err != nil {
		return nil, err
	}
	if head == "" {
		return l.fail("Unable to fast-forward, HEAD is detached"), nil
	}
	if _, err := l.call(ctx, "merge", []any{l.target}, "rev", l.remoteRev,
		"opts", []any{"--ff-only"}); err != nil {
		return nil, err
	}
	l.addAction("Repository was fast-forwarded to " + l.place)
	return nil, nil
}

func (l *latest) fetchBare(ctx context.Context) (*data.Map, error) {
	if change.Test(ctx) {
		return l.upToDate(ctx, l.target,
			[]string{"Bare repository at " + l.target + " would be fetched"}, false), nil
	}
	return l.fetchAll(ctx, func(updated bool) {
		action := "Bare repository at " + l.target + " was fetched"
		if updated {
			action += ", resulting in updated refs"
		}
		l.addAction(action)
	}), nil
}
