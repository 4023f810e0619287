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
	Cwd  any
	URL  any `default:"None"`
	Name any `default:"None"`
	optionArgs
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
//	The directory of the clone; with name, a directory of that name in cwd.
//
// opts, git_opts
//
//	Options of git clone, and of git itself.
//
// user, password
//
//	The user to run git as; the password is needed only on Windows.
//
// identity
//
//	An SSH key, or a list of them: paths or salt:// URLs, from the environment saltenv.
//
// https_user, https_pass
//
//	User and password for an https:// URL. They are never on a command line.
//
// ignore_retcode, output_encoding
//
//	Whether to ignore a failure instead of logging it; the encoding of the output.
//
// CLI Example:
//
//	salt myminion git.clone /path/to/repo_parent_dir git://github.com/saltstack/salt.git
func (m *module) clone(ctx context.Context, a cloneArgs) (any, error) {
	if !data.Truth(a.URL) {
		return nil, loader.Invocation("Missing 'url' argument")
	}
	url, target := data.Str(a.URL), m.absolute(a.Cwd, a.User)
	args, err := a.command("clone")
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
	if err := m.storeLogin(ctx, r, origin(args), "url", l); err != nil {
		return nil, err
	}
	return true, nil
}

// origin returns the name that a clone gives the remote.
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

type fetchArgs struct {
	Cwd      any
	Remote   any  `default:"None"`
	Force    bool `default:"False"`
	Refspecs any  `default:"None"`
	remoteArgs
}

// fetch fetches from a remote and returns the changes: updated branches, new branches, new tags,
// updated tags.
//
// remote, refspecs, force
//
//	The remote; the refspecs to fetch, a list or separated by commas; whether to accept updates that
//	are not fast-forward.
//
// The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.fetch /path/to/repo upstream
//	salt myminion git.fetch /path/to/repo identity=/root/.ssh/id_rsa
func (m *module) fetch(ctx context.Context, a fetchArgs) (any, error) {
	r := m.remote(a.Cwd, a.remoteArgs)
	r.merged = true
	before, opts, err := a.words()
	if err != nil {
		return nil, err
	}
	opts = slices.DeleteFunc(opts, func(o string) bool { return o == "-f" || o == "--force" })
	if a.Force {
		opts = append([]string{"--force"}, opts...)
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

// fetched parses the refs in the output of git fetch (fetch in Salt's module).
func fetched(output string) *data.Map {
	ret := data.NewMap()
	update := regexp.MustCompile(`^[\s*]*(?:([0-9a-f]+)\.\.([0-9a-f]+)|\[(?:new (tag|branch)|tag update)\])\s+(.+)->`)
	for line := range strings.Lines(output) {
		found := update.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		name := strings.TrimRight(found[4], " \t")
		switch {
		case found[3] == "tag":
			appendTo(ret, "new tags", name)
		case found[3] == "branch":
			appendTo(ret, "new branches", name)
		case found[1] != "":
			updated, ok := ret.Value("updated branches").(*data.Map)
			if !ok {
				updated = data.NewMap()
				ret.Set("updated branches", updated)
			}
			updated.Set(name, data.NewMap("old", found[1], "new", found[2]))
		default:
			appendTo(ret, "updated tags", name)
		}
	}
	return ret
}

func appendTo(m *data.Map, key string, v any) {
	list, _ := m.Value(key).([]any)
	m.Set(key, append(list, v))
}

type pullArgs struct {
	Cwd any
	remoteArgs
}

// pull runs git pull and returns its output. The arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.pull /path/to/repo opts='--rebase origin master'
func (m *module) pull(ctx context.Context, a pullArgs) (any, error) {
	args, err := a.command("pull")
	if err != nil {
		return nil, err
	}
	r := m.remote(a.Cwd, a.remoteArgs)
	return stdout(m.git(ctx, r, args))
}

type pushArgs struct {
	Cwd    any
	Remote any `default:"None"`
	Ref    any `default:"None"`
	remoteArgs
	Kwargs *data.Map `kwargs:"kwargs"`
}

// push pushes a ref to a remote and returns git's output. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.push /path/to/repo origin master
//	salt myminion git.push /path/to/repo upstream issue21:upstream_branch
func (m *module) push(ctx context.Context, a pushArgs) (any, error) {
	if err := rejectUnknown(a.Kwargs); err != nil {
		return nil, err
	}
	if err := plain(a.Remote, a.Ref); err != nil {
		return nil, err
	}
	args, err := a.command("push")
	if err != nil {
		return nil, err
	}
	r := m.remote(a.Cwd, a.remoteArgs)
	return stdout(m.git(ctx, r, append(args, data.Str(a.Remote), data.Str(a.Ref))))
}

type submoduleArgs struct {
	Cwd     any
	Command any
	remoteArgs
	Kwargs *data.Map `kwargs:"kwargs"`
}

// submodule runs a command of git submodule, such as update, and returns its output. The other
// arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.submodule /path/to/repo update opts='--init --recursive'
func (m *module) submodule(ctx context.Context, a submoduleArgs) (any, error) {
	if err := rejectUnknown(a.Kwargs, "init"); err != nil {
		return nil, err
	}
	if flag(a.Kwargs, "init") {
		return nil, loader.Invocation("The 'init' argument is no longer supported. Either set 'command' to 'init', or include '--init' in the 'opts' " +
			"argument and set 'command' to 'update'.")
	}
	before, after, err := a.words()
	if err != nil {
		return nil, err
	}
	r := m.remote(a.Cwd, a.remoteArgs)
	return stdout(m.git(ctx, r, with(before, []string{"submodule", data.Str(a.Command)}, after)))
}

type initArgs struct {
	Cwd            any
	Bare           bool `default:"False"`
	Template       any  `default:"None"`
	SeparateGitDir any  `default:"None"`
	Shared         any  `default:"None"`
	commandArgs
}

// init creates a repository and returns git's output.
//
// bare, template, separate_git_dir, shared
//
//	Whether it has no working tree; a template directory; the directory of its data; who may write
//	to it, as in git init --shared.
//
// The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.init /path/to/repo
//	salt myminion git.init /path/to/bare/repo.git bare=True
func (m *module) init(ctx context.Context, a initArgs) (any, error) {
	args, err := optionArgs{GitOpts: a.GitOpts}.command("init")
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
	r := m.in(a.Cwd, a.runArgs)
	target := r.cwd
	r.cwd = ""
	return stdout(m.git(ctx, r, append(with(args, opts), target)))
}
