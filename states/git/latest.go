package git

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/state/change"
)

type latestArgs struct {
	Name           string
	Target         any
	Rev            any       `default:"'HEAD'"`
	Branch         any       `default:"None"`
	User           any       `default:"None"`
	Password       any       `default:"None"`
	UpdateHead     bool      `default:"True"`
	ForceCheckout  bool      `default:"False"`
	ForceClone     bool      `default:"False"`
	ForceFetch     bool      `default:"False"`
	ForceReset     any       `default:"False"`
	Submodules     bool      `default:"False"`
	Bare           bool      `default:"False"`
	Mirror         bool      `default:"False"`
	Remote         any       `default:"'origin'"`
	FetchTags      bool      `default:"True"`
	SyncTags       bool      `default:"True"`
	Depth          any       `default:"None"`
	Identity       any       `default:"None"`
	HTTPSUser      any       `name:"https_user" default:"None"`
	HTTPSPass      any       `name:"https_pass" default:"None"`
	RefspecBranch  string    `default:"'*'"`
	RefspecTag     string    `default:"'*'"`
	OutputEncoding any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// latest keeps a clone of a repository at the state of a revision in the remote.
//
// name, target, rev
//
//	The URL; the directory of the clone; a branch, a tag or a commit, or HEAD.
//
// branch
//
//	The local branch to check out. Default: the branch that is checked out.
//
// user, password, identity, https_user, https_pass
//
//	The system user that git runs as, and that user's password on Windows; ssh keys, as paths or
//	salt:// URLs; user and password for an https:// URL.
//
// update_head, force_checkout, force_clone, force_fetch, force_reset
//
//	Whether HEAD may move if the revision is already there; discard changes when a branch is
//	checked out; empty a directory that is not a repository; fetch even if it is not a
//	fast-forward; discard local commits and changes, with remote-changes only if the remote has
//	moved.
//
// submodules, bare, mirror, depth
//
//	Update submodules as well; clone without a working tree; mirror all refs; clone with only this
//	many commits.
//
// remote, fetch_tags, sync_tags, refspec_branch, refspec_tag
//
//	Name of the remote; whether to fetch tags, and to remove tags that the remote no longer has;
//	which branches and tags to fetch.
//
//	mysite-repo:
//	  git.latest:
//	    - name: https://mydomain.tld/repo.git
//	    - target: /var/www/html/myrepo
//	    - branch: main
//	    - rev: develop
func (m *module) latest(ctx context.Context, a latestArgs) (any, error) {
	l := &latest{a: a, report: newReport(a.Name)}
	if problem := l.prepare(m); problem != "" {
		return l.fail(problem), nil
	}
	if ended, err := l.listRemote(ctx); ended != nil || err != nil {
		return value(ended), err
	}
	sign := ".git"
	if a.Mirror || a.Bare {
		sign = "refs"
	}
	there, err := l.hasRepository(ctx, sign)
	if err != nil {
		return l.unexpected(err)
	}
	work := l.clone
	if there {
		work = l.update
	}
	ended, err := work(ctx)
	if err != nil {
		return l.unexpected(err)
	}
	return ended, nil
}

func value(m *data.Map) any {
	if m == nil {
		return nil
	}
	return m
}

// A latest is one call of git.latest in progress.
type latest struct {
	*report
	caller

	a                   latestArgs
	name, rev, branch   string
	remote              string
	bare                bool
	url                 string // with user and password
	refs                *data.Map
	defaultBranch       string
	remoteRev           string // "" if there is none
	kind                string // kind of the revision: branch, tag or sha1
	upstream            string // desired upstream
	keepsUpstream       bool   // the existing upstream may stay
	place               string // the revision, for messages
	localRev            string
	localBranch         string
	baseRev, baseBranch string
	branches, tags      []string
}

func (l *latest) prepare(m *module) string {
	a := l.a
	l.caller = caller{m: m, target: text(a.Target), user: a.User, password: a.Password,
		encoding: a.OutputEncoding, httpsUser: a.HTTPSUser, httpsPass: a.HTTPSPass}
	l.name, l.rev, l.branch, l.remote, l.bare = a.Name, text(a.Rev), text(a.Branch), text(a.Remote),
		a.Bare || a.Mirror
	problem := unknown(a.Kwargs)
	switch {
	case problem != "":
	case !data.Truth(a.Remote):
		problem = "'remote' argument is required"
	case !data.Truth(a.Target):
		problem = "'target' argument is required"
	case !data.Truth(a.Rev):
		problem = "'" + data.Str(a.Rev) + "' is not a valid value for the 'rev' argument"
	case a.ForceReset != true && a.ForceReset != false && a.ForceReset != "remote-changes":
		problem = "'force_reset' must be one of True, False, or 'remote-changes'"
	case !filepath.IsAbs(l.target):
		problem = "target '" + l.target + "' is not an absolute path"
	}
	if problem == "" {
		l.identity, problem = identities(a.Identity, "identity")
	}
	if problem == "" && paths.IsFile(l.target) {
		problem = "Target '" + l.target + "' exists and is a regular file, cannot proceed"
	}
	if problem == "" {
		l.url, problem = full(l.name, a.HTTPSUser, a.HTTPSPass)
	}
	if problem == "" && l.rev != "HEAD" && l.bare {
		problem = "'rev' is not compatible with the 'mirror' and 'bare' arguments"
	}
	return problem
}

// listRemote lists the refs of the remote and finds the revision among them.
func (l *latest) listRemote(ctx context.Context) (*data.Map, error) {
	refs, err := l.dict(ctx, "remote_refs", []any{l.name}, "heads", false, "tags", false,
		"identity", l.identity, "https_user", l.httpsUser, "https_pass",
		l.httpsPass, "ignore_retcode", false, "saltenv", change.CallOf(ctx).SaltEnv)
	if err != nil {
		return l.fail("Failed to check remote refs: " + bare(err)), nil
	}
	l.refs = refs
	head := l.refs.Text("HEAD")
	for name, commit := range l.refs.All() {
		if ref, ok := cut(name, "refs/heads/"); ok && commit == head && l.defaultBranch == "" {
			l.defaultBranch = ref
		}
	}
	if !l.bare {
		l.resolve(head)
	}
	switch {
	case l.a.Depth != nil && l.kind != "branch" && l.kind != "tag":
		return l.fail("When 'depth' is used, 'rev' must be set to the name of a branch or tag on the remote repository"), nil
	case l.remoteRev == "" && !l.bare && l.rev != "HEAD":
		return l.fail("No revision matching '" + l.rev + "' exists in the remote repository"), nil
	}
	return nil, nil
}

func cut(name any, prefix string) (string, bool) {
	s := data.Str(name)
	if len(s) < len(prefix) || s[:len(prefix)] != prefix {
		return "", false
	}
	return s[len(prefix):], true
}

// resolve determines the kind of the revision.
func (l *latest) resolve(head string) {
	branch, tag, peeled := l.refs.Text("refs/heads/"+l.rev), l.refs.Text("refs/tags/"+l.rev),
		l.refs.Text("refs/tags/"+l.rev+"^{}")
	switch {
	case l.rev == "HEAD" && head != "":
		l.remoteRev, l.kind, l.keepsUpstream = head, "sha1", true
		l.place = "remote HEAD (" + short(head) + ")"
	case l.rev == "HEAD":
	case branch != "":
		l.remoteRev, l.kind, l.upstream = branch, "branch", l.remote+"/"+l.rev
		l.place = l.upstream + " (" + short(branch) + ")"
	case tag != "" || peeled != "":
		if l.remoteRev, l.kind = tag, "tag"; peeled != "" {
			l.remoteRev = peeled
		}
		l.place = l.rev + " (" + short(l.remoteRev) + ")"
	case hexadecimal(l.rev):
		l.rev = lower(l.rev)
		l.remoteRev, l.kind, l.place = l.rev, "sha1", short(l.rev)
	}
}

func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'F' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// equal reports whether a commit equals that of the remote, which may be abbreviated.
func (l *latest) equal(rev string) bool {
	if rev == "" || l.remoteRev == "" {
		return rev == l.remoteRev
	}
	if l.kind == "sha1" {
		return len(rev) >= len(l.remoteRev) && rev[:len(l.remoteRev)] == l.remoteRev
	}
	return rev == l.remoteRev
}

// otherBranch reports whether a branch other than the checked out one is desired.
func (l *latest) otherBranch() bool { return l.a.Branch != nil && l.branch != l.localBranch }

// start returns the start point of a new branch.
func (l *latest) start() string {
	switch {
	case l.rev == "HEAD":
		return l.remoteRev
	case l.upstream != "":
		return l.upstream
	}
	return l.rev
}

func (l *latest) refspecs() []any {
	if !l.a.FetchTags {
		return []any{}
	}
	return []any{"refs/heads/" + l.a.RefspecBranch + ":refs/remotes/" + l.remote + "/" +
		l.a.RefspecBranch,
		"+refs/tags/" + l.a.RefspecTag + ":refs/tags/" + l.a.RefspecTag}
}

// A tracking is the change to make to the upstream branch. The zero value is no change.
type tracking struct {
	opts   []any
	action string
}

// track compares the current upstream branch with the desired one.
func (l *latest) track(now string, branches []string) tracking {
	set := []any{"--set-upstream-to", l.upstream}
	if l.a.Branch != nil && !slices.Contains(branches, l.branch) {
		set = nil
	}
	switch {
	case now == "" && l.upstream != "":
		return tracking{set, "Tracking branch was set to " + l.upstream}
	case now != "" && l.upstream == "" && !l.keepsUpstream:
		return tracking{[]any{"--unset-upstream"}, "Tracking branch was unset"}
	case l.upstream != "" && now != l.upstream:
		return tracking{set, "Tracking branch was updated to " + l.upstream}
	}
	return tracking{}
}
