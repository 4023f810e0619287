// Package rbenv is Salt's module rbenv: versions of Ruby that the program rbenv installs
// (salt/modules/rbenv.py).
//
// Differences from Salt: the option rbenv.build_env reaches the build, which Salt drops; versions that
// rbenv would read as options are refused, and so are line ends.
package rbenv

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module rbenv.
func Plugin() loader.Plugin { return loader.Plugin{Name: "rbenv", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("default", m.def),
		loader.F("do", m.do),
		loader.F("do_with_ruby", m.doWithRuby),
		loader.F("install", m.install),
		loader.F("install_ruby", m.installRuby),
		loader.F("is_installed", m.isInstalled),
		loader.F("list", m.list).Def("list_"),
		loader.F("rehash", m.rehash),
		loader.F("uninstall_ruby", m.uninstallRuby),
		loader.F("update", m.update),
		loader.F("versions", m.versions),
	}}, nil
}

// root returns the directory of rbenv: of the option rbenv.root, or of the user.
func (m *module) root(ctx context.Context, runas any) (string, error) {
	path, err := calls.OptionText(ctx, m.env, "rbenv.root")
	if err != nil {
		return "", err
	}
	name := calls.Text(runas)
	switch {
	case path != "":
	case name == "" || name == "root":
		path = "/usr/local/rbenv"
	default:
		path = "~" + name + "/.rbenv"
	}
	return expanded(path), nil
}

// expanded replaces ~ and ~user at the beginning of a path.
func expanded(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok {
		return path
	}
	name, rest, _ := strings.Cut(rest, "/")
	home := ""
	if name == "" {
		home, _ = os.UserHomeDir() //nolint:errcheck // the path stays as it is
	} else if account, err := user.Lookup(name); err == nil {
		home = account.HomeDir
	}
	if home == "" {
		return path
	}
	return filepath.Join(home, rest)
}

// there reports whether rbenv is installed below a directory.
func there(root string) bool {
	info, err := os.Stat(filepath.Join(root, "bin/rbenv"))
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// rbenv runs rbenv. ok is false if it is not installed.
func (m *module) rbenv(
	ctx context.Context, runas any, env *data.Map, argv []string, operands ...string,
) (ran calls.Ran, ok bool, err error) {
	if err := process.PlainOperands(operands...); err != nil {
		return ran, false, loader.Execution("%w", err)
	}
	root, err := m.root(ctx, runas)
	if err != nil || !there(root) {
		return ran, false, err
	}
	env = env.Clone()
	env.Set("RBENV_ROOT", root)
	argv = append(append([]string{filepath.Join(root, "bin/rbenv")}, argv...), operands...)
	ran, err = calls.RunAll(ctx, m.env, calls.Run{Argv: argv, As: calls.Text(runas), Env: env})
	return ran, err == nil, err
}

// lines returns the output of rbenv by line; none if it fails.
func (m *module) lines(ctx context.Context, runas any, argv ...string) ([]string, error) {
	ran, ok, err := m.rbenv(ctx, runas, nil, argv)
	if err != nil || !ok || ran.Retcode != 0 || ran.Stdout == "" {
		return nil, err
	}
	return strings.Split(strings.TrimRight(ran.Stdout, "\n"), "\n"), nil
}

type pathArgs struct {
	Runas any `default:"None"`
	Path  any `default:"None"`
}

// at returns the directory that a caller names, or rbenv's own.
func (m *module) at(ctx context.Context, a pathArgs) (string, error) {
	path := calls.Text(a.Path)
	if path == "" {
		return m.root(ctx, a.Runas)
	}
	path = expanded(path)
	if err := process.PlainOperands(path); err != nil {
		return "", loader.Execution("%w", err)
	}
	return path, nil
}

const plugin = "/plugins/ruby-build"

// install installs rbenv and its plug-in ruby-build with git, if they are not there. It returns whether
// they are.
//
// path
//
//	The directory. Default: the option rbenv.root, or /usr/local/rbenv, or .rbenv of the user runas.
//
// CLI Example:
//
//	salt '*' rbenv.install
func (m *module) install(ctx context.Context, a pathArgs) (any, error) {
	root, err := m.at(ctx, a)
	if err != nil {
		return nil, err
	}
	for _, clone := range [][2]string{{"rbenv", root}, {"ruby-build", root + plugin}} {
		if info, err := os.Stat(clone[1]); err == nil && info.IsDir() {
			continue
		}
		ok, err := calls.Succeeds(ctx, m.env, calls.Run{As: calls.Text(a.Runas),
			Argv: []string{"git", "clone", "https://github.com/rbenv/" + clone[0] + ".git", clone[1]}})
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// update updates rbenv and ruby-build with git, and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' rbenv.update
func (m *module) update(ctx context.Context, a pathArgs) (any, error) {
	root, err := m.at(ctx, a)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{root, root + plugin} {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return false, nil //nolint:nilerr // there is nothing to update
		}
		ok, err := calls.Succeeds(ctx, m.env,
			calls.Run{As: calls.Text(a.Runas), Dir: dir, Argv: []string{"git", "pull"}})
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

type runasArgs struct {
	Runas any `default:"None"`
}

// isInstalled returns whether rbenv is installed.
//
// CLI Example:
//
//	salt '*' rbenv.is_installed
func (m *module) isInstalled(ctx context.Context, a runasArgs) (any, error) {
	root, err := m.root(ctx, a.Runas)
	return err == nil && there(root), err
}

type rubyArgs struct {
	Ruby  string
	Runas any `default:"None"`
}

// buildEnv returns the environment of a build: the option rbenv:build_env or rbenv.build_env, words
// such as CFLAGS="-O2".
func (m *module) buildEnv(ctx context.Context) (*data.Map, error) {
	env := &data.Map{}
	switch m.env.GrainsNow().Text("os") {
	case "FreeBSD", "NetBSD", "OpenBSD":
		env.Set("MAKE", "gmake")
	}
	v, err := calls.ConfigGet[any](ctx, m.env, "rbenv:build_env")
	if err == nil && !data.Truth(v) {
		v, err = calls.Option[any](ctx, m.env, "rbenv.build_env")
	}
	if err != nil || !data.Truth(v) {
		return env, err
	}
	words, err := process.Words(data.Str(v))
	if err != nil {
		return nil, loader.Execution("read the option rbenv.build_env: %w", err)
	}
	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok {
			env.Set(name, value)
		}
	}
	return env, nil
}

// installRuby installs a version of Ruby. It returns what rbenv prints on standard error, or False if
// that failed.
//
// CLI Example:
//
//	salt '*' rbenv.install_ruby 2.0.0-p0
func (m *module) installRuby(ctx context.Context, a rubyArgs) (any, error) {
	env, err := m.buildEnv(ctx)
	if err != nil {
		return nil, err
	}
	ran, ok, err := m.rbenv(ctx, a.Runas, env, []string{"install"}, strings.TrimPrefix(a.Ruby, "ruby-"))
	switch {
	case err != nil:
		return nil, err
	case !ok || ran.Retcode != 0:
		// a failed build must not look like an installed version
		_, err := m.uninstallRuby(ctx, a)
		return false, err
	}
	_, err = m.rehash(ctx, runasArgs{a.Runas})
	return ran.Stderr, err
}

// uninstallRuby removes a version of Ruby, and returns True.
//
// CLI Example:
//
//	salt '*' rbenv.uninstall_ruby 2.0.0-p0
func (m *module) uninstallRuby(ctx context.Context, a rubyArgs) (any, error) {
	_, _, err := m.rbenv(ctx, a.Runas, nil, []string{"uninstall", "--force"},
		strings.TrimPrefix(a.Ruby, "ruby-"))
	return err == nil, err
}

// versions returns the installed versions of Ruby.
//
// CLI Example:
//
//	salt '*' rbenv.versions
func (m *module) versions(ctx context.Context, a runasArgs) (any, error) {
	lines, err := m.lines(ctx, a.Runas, "versions", "--bare")
	return data.Values(lines), err
}

type defaultArgs struct {
	Ruby  any `default:"None"`
	Runas any `default:"None"`
}

// def returns the default version of Ruby, or makes a version the default and returns True.
//
// CLI Example:
//
//	salt '*' rbenv.default
//	salt '*' rbenv.default 2.0.0-p0
func (m *module) def(ctx context.Context, a defaultArgs) (any, error) {
	if data.Truth(a.Ruby) {
		_, _, err := m.rbenv(ctx, a.Runas, nil, []string{"global"}, data.Str(a.Ruby))
		return err == nil, err
	}
	lines, err := m.lines(ctx, a.Runas, "global")
	return strings.TrimSpace(strings.Join(lines, "\n")), err
}

// list returns the versions of Ruby that can be installed.
//
// CLI Example:
//
//	salt '*' rbenv.list
func (m *module) list(ctx context.Context, a runasArgs) (any, error) {
	lines, err := m.lines(ctx, a.Runas, "install", "--list")
	found := []any{}
	for _, line := range lines {
		if line != "Available versions:" {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found, err
}

// rehash renews the programs of rbenv after a change, and returns True.
//
// CLI Example:
//
//	salt '*' rbenv.rehash
func (m *module) rehash(ctx context.Context, a runasArgs) (any, error) {
	_, _, err := m.rbenv(ctx, a.Runas, nil, []string{"rehash"})
	return err == nil, err
}

type doArgs struct {
	Cmdline any
	Runas   any       `default:"None"`
	Env     *data.Map `default:"None"`
}

// do runs a command with rbenv's programs first in the search path. It returns the output, or False if
// the command fails.
//
// CLI Example:
//
//	salt '*' rbenv.do 'gem list bundler'
//	salt '*' rbenv.do 'gem list bundler' deploy
func (m *module) do(ctx context.Context, a doArgs) (any, error) {
	if !data.Truth(a.Cmdline) {
		return nil, loader.Invocation("Command must be specified")
	}
	words, err := process.Words(data.Str(a.Cmdline))
	if err != nil {
		return nil, loader.Execution("read the command: %w", err)
	}
	root, err := m.root(ctx, a.Runas)
	if err != nil {
		return nil, err
	}
	env := a.Env.Clone()
	env.Set("PATH", filepath.Join(root, "shims")+":"+os.Getenv("PATH"))
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: words, As: calls.Text(a.Runas), Env: env})
	if err != nil || ran.Retcode != 0 {
		return false, err
	}
	_, err = m.rehash(ctx, runasArgs{a.Runas})
	return ran.Stdout, err
}

type withRubyArgs struct {
	Ruby    any
	Cmdline any
	Runas   any `default:"None"`
}

// doWithRuby is rbenv.do with a version of Ruby.
//
// CLI Example:
//
//	salt '*' rbenv.do_with_ruby 2.0.0-p0 'gem list bundler'
func (m *module) doWithRuby(ctx context.Context, a withRubyArgs) (any, error) {
	env := &data.Map{}
	if data.Truth(a.Ruby) {
		env.Set("RBENV_VERSION", data.Str(a.Ruby))
	}
	return m.do(ctx, doArgs{a.Cmdline, a.Runas, env})
}
