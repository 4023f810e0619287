package git

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type cloneArgs struct {
	Cwd            any
	URL            any    `default:"None"`
	Name           any    `default:"None"`
	Opts           any    `default:"''"`
	GitOpts        any    `default:"''"`
	User           any    `default:"None"`
	Password       any    `default:"None"`
	Identity       any    `default:"None"`
	HTTPSUser      any    `name:"https_user" default:"None"`
	HTTPSPass      any    `name:"https_pass" default:"None"`
	IgnoreRetcode  bool   `default:"False"`
	Saltenv        string `default:"'base'"`
	OutputEncoding any    `default:"None"`
}

// clone clones a repository and returns True.
//
// cwd, name
//
//	Where the clone is to be; with name it is a directory of that name in cwd.
//
// opts, git_opts
//
//	Options of git clone, and of git itself.
//
// user, password
//
//	As which user to run git; the password is for Windows.
//
// identity
//
//	The key of ssh, or a list: paths or salt:// URLs, from the environment saltenv.
//
// https_user, https_pass
//
//	User and password for an https:// URL. No command line shows them.
//
// ignore_retcode, output_encoding
//
//	Whether a failure is logged as one; how the output is encoded.
//
// CLI Example:
//
//	salt myminion git.clone /path/to/repo_parent_dir git://github.com/saltstack/salt.git
func (m *module) clone(ctx context.Context, a cloneArgs) (any, error) {
	if !data.Truth(a.URL) {
		return nil, loader.Invocation("Missing 'url' argument")
	}
	url, target := data.Str(a.URL), m.where(a.Cwd, a.User)
	args, err := command("clone", a.GitOpts, a.Opts)
	if err != nil {
		return nil, err
	}
	r := m.at(os.TempDir(), a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding)
	r.identity, r.saltenv = a.Identity, a.Saltenv
	l, err := authenticated(url, a.HTTPSUser, a.HTTPSPass)
	if err != nil {
		return nil, err
	}
	if l != nil {
		r.logins = []login{*l}
	}
	place := target
	if a.Name != nil {
		if err := os.MkdirAll(target, 0o777); err != nil {
			return nil, loader.OSError(err)
		}
		place, r.cwd = data.Str(a.Name), target
		target = r.cwd + "/" + place
	}
	if _, err := m.git(ctx, r, append(args, "--", url, place)); err != nil {
		return nil, err
	}
	r.cwd = target
	if err := m.keepLogin(ctx, r, origin(args), "url", l); err != nil {
		return nil, err
	}
	return true, nil
}

// origin returns which name a clone gives the remote.
func origin(args []string) string {
	for i, arg := range args {
		if name, ok := strings.CutPrefix(arg, "--origin="); ok {
			return name
		}
		if (arg == "--origin" || arg == "-o") && i+1 < len(args) {
			return args[i+1]
		}
	}
	return "origin"
}

// command returns the words of a command with options of git and of its own.
func command(name string, gitOpts, opts any) ([]string, error) {
	before, err := options(gitOpts)
	if err != nil {
		return nil, err
	}
	after, err := options(opts)
	return with(before, []string{name}, after), err
}

type fetchArgs struct {
	Cwd            any
	Remote         any    `default:"None"`
	Force          bool   `default:"False"`
	Refspecs       any    `default:"None"`
	Opts           any    `default:"''"`
	GitOpts        any    `default:"''"`
	User           any    `default:"None"`
	Password       any    `default:"None"`
	Identity       any    `default:"None"`
	IgnoreRetcode  bool   `default:"False"`
	Saltenv        string `default:"'base'"`
	OutputEncoding any    `default:"None"`
}

// fetch fetches from a remote and returns what is new: updated branches, new branches, new tags, updated tags.
//
// remote, refspecs, force
//
//	Which remote; what to fetch, a list or separated by commas; also what is no fast-forward.
//
// The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.fetch /path/to/repo upstream
//	salt myminion git.fetch /path/to/repo identity=/root/.ssh/id_rsa
func (m *module) fetch(ctx context.Context, a fetchArgs) (any, error) {
	r := m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding)
	r.identity, r.saltenv, r.merged = a.Identity, a.Saltenv, true
	opts, err := options(a.Opts)
	if err != nil {
		return nil, err
	}
	opts = slices.DeleteFunc(opts, func(o string) bool { return o == "-f" || o == "--force" })
	if a.Force {
		opts = append([]string{"--force"}, opts...)
	}
	before, err := options(a.GitOpts)
	if err != nil {
		return nil, err
	}
	if err := plainWords(append(data.SplitTexts(a.Refspecs, ","), data.Str(a.Remote))); err != nil {
		return nil, err
	}
	args := with(before, []string{"fetch"}, opts)
	if data.Truth(a.Remote) {
		args = append(args, data.Str(a.Remote))
	}
	result, err := m.git(ctx, r, append(args, data.SplitTexts(a.Refspecs, ",")...))
	if err != nil {
		return nil, err
	}
	return fetched(result.Stdout), nil
}

// fetched returns what git fetch says of refs (fetch of the original).
func fetched(said string) *data.Map {
	ret := data.NewMap()
	update := regexp.MustCompile(`^[\s*]*(?:([0-9a-f]+)\.\.([0-9a-f]+)|\[(?:new (tag|branch)|tag update)\])\s+(.+)->`)
	for line := range strings.Lines(said) {
		found := update.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		name := strings.TrimRight(found[4], " \t")
		switch {
		case found[3] == "tag":
			grow(ret, "new tags", name)
		case found[3] == "branch":
			grow(ret, "new branches", name)
		case found[1] != "":
			updated, ok := ret.Value("updated branches").(*data.Map)
			if !ok {
				updated = data.NewMap()
				ret.Set("updated branches", updated)
			}
			updated.Set(name, data.NewMap("old", found[1], "new", found[2]))
		default:
			grow(ret, "updated tags", name)
		}
	}
	return ret
}

func grow(m *data.Map, key string, v any) {
	list, _ := m.Value(key).([]any)
	m.Set(key, append(list, v))
}

type pullArgs struct {
	Cwd            any
	Opts           any    `default:"''"`
	GitOpts        any    `default:"''"`
	User           any    `default:"None"`
	Password       any    `default:"None"`
	Identity       any    `default:"None"`
	IgnoreRetcode  bool   `default:"False"`
	Saltenv        string `default:"'base'"`
	OutputEncoding any    `default:"None"`
}

// pull runs git pull and returns what it prints. The arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.pull /path/to/repo opts='--rebase origin master'
func (m *module) pull(ctx context.Context, a pullArgs) (any, error) {
	args, err := command("pull", a.GitOpts, a.Opts)
	if err != nil {
		return nil, err
	}
	r := m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding)
	r.identity, r.saltenv = a.Identity, a.Saltenv
	return stdout(m.git(ctx, r, args))
}

type pushArgs struct {
	Cwd            any
	Remote         any       `default:"None"`
	Ref            any       `default:"None"`
	Opts           any       `default:"''"`
	GitOpts        any       `default:"''"`
	User           any       `default:"None"`
	Password       any       `default:"None"`
	Identity       any       `default:"None"`
	IgnoreRetcode  bool      `default:"False"`
	Saltenv        string    `default:"'base'"`
	OutputEncoding any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// push pushes a ref to a remote and returns what git prints. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.push /path/to/repo origin master
//	salt myminion git.push /path/to/repo upstream issue21:upstream_branch
func (m *module) push(ctx context.Context, a pushArgs) (any, error) {
	if err := only(a.Kwargs); err != nil {
		return nil, err
	}
	if err := plain(a.Remote, a.Ref); err != nil {
		return nil, err
	}
	args, err := command("push", a.GitOpts, a.Opts)
	if err != nil {
		return nil, err
	}
	r := m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding)
	r.identity, r.saltenv = a.Identity, a.Saltenv
	return stdout(m.git(ctx, r, append(args, data.Str(a.Remote), data.Str(a.Ref))))
}

type submoduleArgs struct {
	Cwd            any
	Command        any
	Opts           any       `default:"''"`
	GitOpts        any       `default:"''"`
	User           any       `default:"None"`
	Password       any       `default:"None"`
	Identity       any       `default:"None"`
	IgnoreRetcode  bool      `default:"False"`
	Saltenv        string    `default:"'base'"`
	OutputEncoding any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// submodule runs a command of git submodule, such as update, and returns what it prints. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.submodule /path/to/repo update opts='--init --recursive'
func (m *module) submodule(ctx context.Context, a submoduleArgs) (any, error) {
	if err := only(a.Kwargs, "init"); err != nil {
		return nil, err
	}
	if flag(a.Kwargs, "init") {
		return nil, loader.Invocation("The 'init' argument is no longer supported. Either set 'command' to 'init', or include '--init' in the 'opts' " +
			"argument and set 'command' to 'update'.")
	}
	before, err := options(a.GitOpts)
	if err != nil {
		return nil, err
	}
	after, err := options(a.Opts)
	if err != nil {
		return nil, err
	}
	r := m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding)
	r.identity, r.saltenv = a.Identity, a.Saltenv
	return stdout(m.git(ctx, r, with(before, []string{"submodule", data.Str(a.Command)}, after)))
}

type initArgs struct {
	Cwd            any
	Bare           bool `default:"False"`
	Template       any  `default:"None"`
	SeparateGitDir any  `default:"None"`
	Shared         any  `default:"None"`
	Opts           any  `default:"''"`
	GitOpts        any  `default:"''"`
	User           any  `default:"None"`
	Password       any  `default:"None"`
	IgnoreRetcode  bool `default:"False"`
	OutputEncoding any  `default:"None"`
}

// init makes a repository and returns what git prints.
//
// bare, template, separate_git_dir, shared
//
//	Whether it has no working tree; the directory that it begins as; where its data are; who may write to it, as git init --shared.
//
// The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.init /path/to/repo
//	salt myminion git.init /path/to/bare/repo.git bare=True
func (m *module) init(ctx context.Context, a initArgs) (any, error) {
	args, err := command("init", a.GitOpts, "")
	if err != nil {
		return nil, err
	}
	if a.Bare {
		args = append(args, "--bare")
	}
	if a.Template != nil {
		args = append(args, "--template="+data.Str(a.Template))
	}
	if a.SeparateGitDir != nil {
		args = append(args, "--separate-git-dir="+data.Str(a.SeparateGitDir))
	}
	switch shared := a.Shared.(type) {
	case nil:
	case int64:
		args = append(args, "--shared=0"+strconv.FormatInt(shared, 10))
	case string:
		args = append(args, "--shared="+shared)
	default:
		args = append(args, "--shared="+strings.ToLower(data.Str(shared)))
	}
	opts, err := options(a.Opts)
	if err != nil {
		return nil, err
	}
	r := m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding)
	target := r.cwd
	r.cwd = ""
	return stdout(m.git(ctx, r, append(with(args, opts), target)))
}
