package git

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type lsRemoteArgs struct {
	Cwd    any `default:"None"`
	Remote any `default:"'origin'"`
	Ref    any `default:"None"`
	optionArgs
	User           any    `default:"None"`
	Password       any    `default:"None"`
	Identity       any    `default:"None"`
	HTTPSUser      any    `name:"https_user" default:"None"`
	HTTPSPass      any    `name:"https_pass" default:"None"`
	IgnoreRetcode  bool   `default:"False"`
	OutputEncoding any    `default:"None"`
	Saltenv        string `default:"'base'"`
}

// lsRemote returns the refs of a remote, given by name or URL, with their commits. ref selects
// refs; the other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.ls_remote /path/to/repo origin master
//	salt myminion git.ls_remote remote=https://mydomain.tld/repo.git ref=mytag opts='--tags'
func (m *module) lsRemote(ctx context.Context, a lsRemoteArgs) (any, error) {
	args, err := a.command("ls-remote")
	if err != nil {
		return nil, err
	}
	r := m.at("/", a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding)
	if r.cwd = ""; a.Cwd != nil {
		r.cwd = m.absolute(a.Cwd, a.User)
	}
	r.identity, r.saltenv = a.Identity, a.Saltenv
	return m.refs(ctx, r, args, data.Str(a.Remote), a.Ref, a.HTTPSUser, a.HTTPSPass)
}

type remoteRefsArgs struct {
	URL            any
	Heads          bool      `default:"False"`
	Tags           bool      `default:"False"`
	User           any       `default:"None"`
	Password       any       `default:"None"`
	Identity       any       `default:"None"`
	HTTPSUser      any       `name:"https_user" default:"None"`
	HTTPSPass      any       `name:"https_pass" default:"None"`
	IgnoreRetcode  bool      `default:"False"`
	OutputEncoding any       `default:"None"`
	Saltenv        string    `default:"'base'"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// remoteRefs returns the refs of the repository at a URL with their commits: all, its heads, its
// tags, or those that match filter. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.remote_refs https://github.com/saltstack/salt.git
//	salt myminion git.remote_refs https://github.com/saltstack/salt.git filter=develop
func (m *module) remoteRefs(ctx context.Context, a remoteRefsArgs) (any, error) {
	if err := rejectUnknown(a.Kwargs, "filter"); err != nil {
		return nil, err
	}
	args := []string{"ls-remote"}
	if a.Heads {
		args = append(args, "--heads")
	}
	if a.Tags {
		args = append(args, "--tags")
	}
	r := run{user: a.User, password: a.Password, quiet: a.IgnoreRetcode, encoding: a.OutputEncoding,
		identity: a.Identity, saltenv: a.Saltenv}
	return m.refs(ctx, r, args, data.Str(a.URL), a.Kwargs.Value("filter"), a.HTTPSUser, a.HTTPSPass)
}

// refs runs git ls-remote.
func (m *module) refs(
	ctx context.Context, r run, args []string, remote string, ref, user, password any,
) (any, error) {
	if err := plain(remote, ref); err != nil {
		return nil, err
	}
	l, err := authenticated(remote, user, password)
	if err != nil {
		return nil, err
	}
	if l != nil {
		r.logins = []login{*l}
	}
	args = append(args, remote)
	if data.Truth(ref) {
		args = append(args, data.Str(ref))
	}
	result, err := m.git(ctx, r, args)
	if err != nil {
		return nil, err
	}
	ret := data.NewMap()
	for line := range strings.Lines(result.Stdout) {
		if words := strings.Fields(line); len(words) == 2 {
			ret.Set(words[1], words[0])
		}
	}
	return ret, nil
}

type remotesArgs struct {
	Cwd            any
	User           any  `default:"None"`
	Password       any  `default:"None"`
	RedactAuth     bool `default:"True"`
	IgnoreRetcode  bool `default:"False"`
	OutputEncoding any  `default:"None"`
}

// remotes returns the remotes of a repository with their URLs for fetch and push. Users and
// passwords are hidden unless redact_auth is False.
//
// CLI Example:
//
//	salt myminion git.remotes /path/to/repo
func (m *module) remotes(ctx context.Context, a remotesArgs) (any, error) {
	all, err := m.allRemotes(ctx, m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode,
		a.OutputEncoding), a.RedactAuth)
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (m *module) allRemotes(ctx context.Context, r run, hide bool) (*data.Map, error) {
	result, err := m.git(ctx, r, []string{"remote", "--verbose"})
	if err != nil {
		return nil, err
	}
	ret := data.NewMap()
	for line := range strings.Lines(result.Stdout) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), "\t")
		url, action, ok := cutLast(rest)
		if action = strings.ToLower(strings.Trim(action, "()")); !ok || action != "fetch" &&
			action != "push" {
			continue
		}
		if hide {
			url = redact(url)
		}
		one, there := ret.Value(name).(*data.Map)
		if !there {
			one = data.NewMap()
			ret.Set(name, one)
		}
		one.Set(action, url)
	}
	return ret, nil
}

// cutLast splits off the last word; an annotation that git adds in brackets is ignored.
func cutLast(s string) (before, last string, ok bool) {
	if i := strings.LastIndex(s, " ["); i >= 0 {
		s = s[:i]
	}
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

type remoteGetArgs struct {
	Cwd            any
	Remote         any  `default:"'origin'"`
	User           any  `default:"None"`
	Password       any  `default:"None"`
	RedactAuth     bool `default:"True"`
	IgnoreRetcode  bool `default:"False"`
	OutputEncoding any  `default:"None"`
}

// remoteGet returns the URLs of one remote for fetch and push; see git.remotes.
//
// CLI Example:
//
//	salt myminion git.remote_get /path/to/repo upstream
func (m *module) remoteGet(ctx context.Context, a remoteGetArgs) (any, error) {
	r := m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding)
	all, err := m.allRemotes(ctx, r, a.RedactAuth)
	if err != nil {
		return nil, err
	}
	one, ok := all.Get(data.Str(a.Remote))
	if !ok {
		return nil, loader.Execution("Remote '%s' not present in git checkout located at %s",
			data.Str(a.Remote), r.cwd)
	}
	return one, nil
}

type remoteSetArgs struct {
	Cwd            any
	URL            any
	Remote         any  `default:"'origin'"`
	User           any  `default:"None"`
	Password       any  `default:"None"`
	HTTPSUser      any  `name:"https_user" default:"None"`
	HTTPSPass      any  `name:"https_pass" default:"None"`
	PushURL        any  `name:"push_url" default:"None"`
	PushHTTPSUser  any  `name:"push_https_user" default:"None"`
	PushHTTPSPass  any  `name:"push_https_pass" default:"None"`
	IgnoreRetcode  bool `default:"False"`
	OutputEncoding any  `default:"None"`
}

// remoteSet sets the URL of a remote, and its URL for pushes, and returns them as git.remote_get
// does. Users and passwords are for https:// URLs.
//
// CLI Example:
//
//	salt myminion git.remote_set /path/to/repo git@github.com:user/repo.git
//	salt myminion git.remote_set /path/to/repo https://github.com/user/repo.git remote=upstream push_url=git@github.com:user/repo.git
func (m *module) remoteSet(ctx context.Context, a remoteSetArgs) (any, error) {
	r := m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding)
	if err := plain(a.Remote, a.URL, a.PushURL); err != nil {
		return nil, err
	}
	remote := data.Str(a.Remote)
	l, err := authenticated(data.Str(a.URL), a.HTTPSUser, a.HTTPSPass)
	if err != nil {
		return nil, err
	}
	all, err := m.allRemotes(ctx, r, true)
	if err == nil && all.Has(remote) {
		_, err = m.git(ctx, r, []string{"remote", "rm", remote})
	}
	if err == nil {
		_, err = m.git(ctx, r, []string{"remote", "add", remote, data.Str(a.URL)})
	}
	if err == nil {
		err = m.storeLogin(ctx, r, remote, "url", l)
	}
	if err == nil && data.Truth(a.PushURL) {
		err = m.setPush(ctx, r, remote, a)
	}
	if err != nil {
		return nil, err
	}
	return m.remoteGet(ctx, remoteGetArgs{Cwd: a.Cwd, Remote: a.Remote, User: a.User,
		Password: a.Password, RedactAuth: true, IgnoreRetcode: a.IgnoreRetcode,
		OutputEncoding: a.OutputEncoding})
}

func (m *module) setPush(ctx context.Context, r run, remote string, a remoteSetArgs) error {
	url := data.Str(a.PushURL)
	l, err := authenticated(url, a.PushHTTPSUser, a.PushHTTPSPass)
	if err != nil {
		return err
	}
	if _, err := m.git(ctx, r, []string{"remote", "set-url", "--push", remote, url}); err != nil {
		return err
	}
	return m.storeLogin(ctx, r, remote, "pushurl", l)
}
