// Package rvm is Salt's module rvm: versions of Ruby and sets of gems that the program rvm installs
// (salt/modules/rvm.py).
//
// Differences from Salt: names that rvm would read as options are refused, and so are line ends.
package rvm

import (
	"context"
	"os"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/accounts"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module rvm.
func Plugin() loader.Plugin { return loader.Plugin{Name: "rvm", New: newModule} }

type module struct {
	env    *loader.Env
	system string // the program that a host has for all users
}

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env, env.Root + "/usr/local/rvm/bin/rvm"}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("do", m.do),
		loader.F("gemset_copy", m.gemsetCopy),
		loader.F("gemset_create", m.gemsetCreate),
		loader.F("gemset_delete", m.gemsetDelete),
		loader.F("gemset_empty", m.gemsetEmpty),
		loader.F("gemset_list", m.gemsetList),
		loader.F("gemset_list_all", m.gemsetListAll),
		loader.F("get", m.get),
		loader.F("install", m.install),
		loader.F("install_ruby", m.installRuby),
		loader.F("is_installed", m.isInstalled),
		loader.F("list", m.list).Def("list_"),
		loader.F("reinstall_ruby", m.reinstallRuby),
		loader.F("rubygems", m.rubygems),
		loader.F("set_default", m.setDefault),
		loader.F("wrapper", m.wrapper),
	}}, nil
}

// program returns the path of rvm: that of the user, if it has one of its own.
func (m *module) program(user string) string {
	if own := accounts.Expand("~"+user) + "/.rvm/bin/rvm"; user != "" && paths.Exists(own) {
		return own
	}
	return m.system
}

func there(program string) bool {
	info, err := os.Stat(program)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// A call is a run of rvm.
type call struct {
	runas any
	words []string
	plain []string // names among the words, which must be no options
	dir   any
	env   any
}

// run runs rvm. It returns the output, or False if rvm fails or is not there.
func (m *module) run(ctx context.Context, c call) (any, error) {
	if err := process.PlainOperands(c.plain...); err != nil {
		return nil, loader.Execution("%w", err)
	}
	user := calls.Text(c.runas)
	if c.runas == nil {
		var err error
		if user, err = calls.OptionText(ctx, m.env, "rvm.runas"); err != nil {
			return nil, err
		}
	}
	program := m.program(user)
	if !there(program) {
		return false, nil
	}
	more := &data.Map{}
	if c.env != nil {
		more.Set("env", c.env)
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: append([]string{program}, c.words...), As: user,
		Dir: calls.Text(c.dir), More: more})
	if err != nil || ran.Retcode != 0 {
		return false, err
	}
	return ran.Stdout, nil
}

// named runs rvm with a word or two and names behind it.
func (m *module) named(ctx context.Context, runas any, words []string, names ...string) (any, error) {
	return m.run(ctx, call{runas: runas, words: append(words, names...), plain: names})
}

// inside runs rvm in the environment of a version of Ruby.
func (m *module) inside(
	ctx context.Context, runas, ruby any, words []string, names ...string,
) (any, error) {
	version := calls.Text(ruby)
	if version == "" {
		version = "default"
	}
	return m.run(ctx, call{runas: runas, words: append(append([]string{version, "do"}, words...), names...),
		plain: append([]string{version}, names...)})
}

type runasArgs struct {
	Runas any `default:"None"`
}

// isInstalled returns whether rvm is installed.
//
// CLI Example:
//
//	salt '*' rvm.is_installed
func (m *module) isInstalled(_ context.Context, a runasArgs) (any, error) {
	return there(m.program(calls.Text(a.Runas))), nil
}

const installer = "https://raw.githubusercontent.com/rvm/rvm/master/binscripts/rvm-installer"

// install runs the installer of rvm, and returns True.
//
// runas
//
//	The user to run it as. Without it, and as root, rvm is installed for all users.
//
// CLI Example:
//
//	salt '*' rvm.install
func (m *module) install(ctx context.Context, a runasArgs) (any, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Line: "curl -Ls " + installer + " | bash -s stable",
		Shell: calls.InShell, As: calls.Text(a.Runas)})
	if err == nil && ran.Retcode > 0 {
		text := "Error encountered while downloading the RVM installer"
		if ran.Stderr != "" {
			text += ". stderr follows:\n\n" + ran.Stderr
		}
		err = loader.Execution("%s", text)
	}
	return err == nil, err
}

type installArgs struct {
	Ruby  string
	Runas any   `default:"None"`
	Opts  []any `default:"None"`
	Env   any   `default:"None"`
}

// installRuby installs a version of Ruby. It returns the output, or False if that failed.
//
// opts
//
//	A list of options for rvm install, such as --patch.
//
// env
//
//	Variables for the build, such as RUBY_CONFIGURE_OPTS.
//
// CLI Example:
//
//	salt '*' rvm.install_ruby 3.3.4
func (m *module) installRuby(ctx context.Context, a installArgs) (any, error) {
	opts := make([]string, len(a.Opts))
	for i, opt := range a.Opts {
		opts[i] = data.Str(opt)
	}
	if user := calls.Text(a.Runas); user != "" && user != "root" {
		_, err := m.run(ctx, call{runas: a.Runas, plain: []string{a.Ruby},
			words: append([]string{"autolibs", "disable", a.Ruby}, opts...)})
		if err != nil {
			return nil, err
		}
		opts = append(opts, "--disable-binary")
	}
	return m.run(ctx, call{runas: a.Runas, env: a.Env, plain: []string{a.Ruby},
		words: append([]string{"install", a.Ruby}, opts...)})
}

type reinstallArgs struct {
	Ruby  string
	Runas any `default:"None"`
	Env   any `default:"None"`
}

// reinstallRuby installs a version of Ruby again. It returns the output, or False if that failed.
//
// CLI Example:
//
//	salt '*' rvm.reinstall_ruby 3.3.4
func (m *module) reinstallRuby(ctx context.Context, a reinstallArgs) (any, error) {
	return m.run(ctx, call{runas: a.Runas, env: a.Env, plain: []string{a.Ruby},
		words: []string{"reinstall", a.Ruby}})
}

var listed = regexp.MustCompile(`^[= ]([*> ]) ([^- ]+)-([^ ]+) \[ .* \]`)

// list returns the installed versions of Ruby: lists of the implementation, the version and whether
// it is the default.
//
// CLI Example:
//
//	salt '*' rvm.list
func (m *module) list(ctx context.Context, a runasArgs) (any, error) {
	v, err := m.named(ctx, a.Runas, []string{"list"})
	found := []any{}
	for _, line := range lines(v) {
		if words := listed.FindStringSubmatch(line); words != nil {
			found = append(found, []any{words[2], words[3], words[1] == "*"})
		}
	}
	return found, err
}

func lines(v any) []string {
	text, _ := v.(string)
	return strings.Split(text, "\n")
}

type rubyArgs struct {
	Ruby  string
	Runas any `default:"None"`
}

// setDefault makes a version of Ruby the default. It returns the output, or False if that failed.
//
// CLI Example:
//
//	salt '*' rvm.set_default 3.3.4
func (m *module) setDefault(ctx context.Context, a rubyArgs) (any, error) {
	return m.named(ctx, a.Runas, []string{"alias", "create", "default"}, a.Ruby)
}

type getArgs struct {
	Version string `default:"'stable'"`
	Runas   any    `default:"None"`
}

// get updates rvm. It returns the output, or False if that failed.
//
// version
//
//	Such as stable or head.
//
// CLI Example:
//
//	salt '*' rvm.get
func (m *module) get(ctx context.Context, a getArgs) (any, error) {
	return m.named(ctx, a.Runas, []string{"get"}, a.Version)
}

type wrapperArgs struct {
	RubyString    string
	WrapperPrefix string
	Runas         any   `default:"None"`
	Binaries      []any `args:"binaries"`
}

// wrapper makes programs that run those of a version of Ruby. It returns the output, or False if
// that failed.
//
// ruby_string
//
//	The version of Ruby, and its set of gems.
//
// wrapper_prefix
//
//	What the names of the programs begin with.
//
// binaries
//
//	The programs. Default: ruby, gem, rake, irb, rdoc, ri and testrb.
//
// CLI Example:
//
//	salt '*' rvm.wrapper 3.3.4 my
func (m *module) wrapper(ctx context.Context, a wrapperArgs) (any, error) {
	names := []string{a.RubyString, a.WrapperPrefix}
	for _, binary := range a.Binaries {
		names = append(names, data.Str(binary))
	}
	return m.named(ctx, a.Runas, []string{"wrapper"}, names...)
}

type rubygemsArgs struct {
	Ruby    any
	Version any
	Runas   any `default:"None"`
}

// rubygems installs a version of rubygems for a version of Ruby. It returns the output, or False if
// that failed.
//
// version
//
//	The version, or remove for the one that comes with Ruby.
//
// CLI Example:
//
//	salt '*' rvm.rubygems 3.3.4 3.5.16
func (m *module) rubygems(ctx context.Context, a rubygemsArgs) (any, error) {
	return m.inside(ctx, a.Runas, a.Ruby, []string{"rubygems"}, data.Str(a.Version))
}

type gemsetArgs struct {
	Ruby   any
	Gemset string
	Runas  any `default:"None"`
}

// gemsetCreate makes a set of gems. It returns the output, or False if that failed.
//
// CLI Example:
//
//	salt '*' rvm.gemset_create 3.3.4 foobar
func (m *module) gemsetCreate(ctx context.Context, a gemsetArgs) (any, error) {
	return m.inside(ctx, a.Runas, a.Ruby, []string{"rvm", "gemset", "create"}, a.Gemset)
}

// gemsetDelete deletes a set of gems. It returns the output, or False if that failed.
//
// CLI Example:
//
//	salt '*' rvm.gemset_delete 3.3.4 foobar
func (m *module) gemsetDelete(ctx context.Context, a gemsetArgs) (any, error) {
	return m.inside(ctx, a.Runas, a.Ruby, []string{"rvm", "--force", "gemset", "delete"}, a.Gemset)
}

// gemsetEmpty removes all gems from a set. It returns the output, or False if that failed.
//
// CLI Example:
//
//	salt '*' rvm.gemset_empty 3.3.4 foobar
func (m *module) gemsetEmpty(ctx context.Context, a gemsetArgs) (any, error) {
	return m.inside(ctx, a.Runas, a.Ruby, []string{"rvm", "--force", "gemset", "empty"}, a.Gemset)
}

type copyArgs struct {
	Source      string
	Destination string
	Runas       any `default:"None"`
}

// gemsetCopy copies all gems of a set to another. It returns the output, or False if that failed.
//
// CLI Example:
//
//	salt '*' rvm.gemset_copy 3.3.4@foobar 3.3.4@bazquo
func (m *module) gemsetCopy(ctx context.Context, a copyArgs) (any, error) {
	return m.named(ctx, a.Runas, []string{"gemset", "copy"}, a.Source, a.Destination)
}

type gemsetListArgs struct {
	Ruby  any `default:"'default'"`
	Runas any `default:"None"`
}

var (
	gemset    = regexp.MustCompile(`^   ([^ ]+)`)
	gemsetsOf = regexp.MustCompile(`^gemsets for ([^ ]+)`)
)

// gemsetList returns the sets of gems of a version of Ruby.
//
// CLI Example:
//
//	salt '*' rvm.gemset_list
func (m *module) gemsetList(ctx context.Context, a gemsetListArgs) (any, error) {
	v, err := m.inside(ctx, a.Runas, a.Ruby, []string{"rvm", "gemset", "list"})
	found := []any{}
	for _, line := range lines(v) {
		if words := gemset.FindStringSubmatch(line); words != nil {
			found = append(found, words[1])
		}
	}
	return found, err
}

// gemsetListAll returns the sets of gems by version of Ruby. There must be a default version.
//
// CLI Example:
//
//	salt '*' rvm.gemset_list_all
func (m *module) gemsetListAll(ctx context.Context, a runasArgs) (any, error) {
	v, err := m.inside(ctx, a.Runas, "default", []string{"rvm", "gemset", "list_all"})
	all, ruby := &data.Map{}, ""
	for _, line := range lines(v) {
		if words := gemsetsOf.FindStringSubmatch(line); words != nil {
			ruby = words[1]
			all.Set(ruby, []any{})
		}
		if words := gemset.FindStringSubmatch(line); words != nil && ruby != "" {
			all.Set(ruby, append(all.Value(ruby).([]any), words[1]))
		}
	}
	return all, err
}

type doArgs struct {
	Ruby    any
	Command any
	Runas   any `default:"None"`
	Cwd     any `default:"None"`
	Env     any `default:"None"`
}

// do runs a command in the environment of a version of Ruby. It returns the output, or False if that
// failed.
//
// cwd
//
//	The directory to run it in. Default: the home of the user.
//
// CLI Example:
//
//	salt '*' rvm.do 3.3.4 'gem list'
func (m *module) do(ctx context.Context, a doArgs) (any, error) {
	words, err := process.Words(data.Str(a.Command))
	if err != nil {
		return nil, loader.Execution("read the command: %w", err)
	}
	version := calls.Text(a.Ruby)
	if version == "" {
		version = "default"
	}
	return m.run(ctx, call{runas: a.Runas, dir: a.Cwd, env: a.Env, plain: []string{version},
		words: append([]string{version, "do"}, words...)})
}
