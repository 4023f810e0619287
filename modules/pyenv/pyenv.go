// Package pyenv is Salt's module pyenv: versions of Python that the program pyenv installs
// (salt/modules/pyenv.py).
//
// Differences from Salt: versions that pyenv would read as options are refused, and so are line ends.
// Quotes in the command of pyenv.do keep words together. Without pyenv, pyenv.install_python returns
// False; Salt ends with an exception.
package pyenv

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/accounts"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module pyenv.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pyenv", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("default", m.def),
		loader.F("do", m.do),
		loader.F("do_with_python", m.doWithPython),
		loader.F("install", m.install),
		loader.F("install_python", m.installPython),
		loader.F("is_installed", m.isInstalled),
		loader.F("list", m.list).Def("list_"),
		loader.F("rehash", m.rehash),
		loader.F("uninstall_python", m.uninstallPython),
		loader.F("update", m.update),
		loader.F("versions", m.versions),
	}}, nil
}

// root returns the directory of pyenv: of the option pyenv.root, or of the user.
func (m *module) root(ctx context.Context, runas any) (string, error) {
	path, err := calls.OptionText(ctx, m.env, "pyenv.root")
	if err != nil {
		return "", err
	}
	name := calls.Text(runas)
	switch {
	case path != "":
	case name == "" || name == "root":
		path = "/usr/local/pyenv"
	default:
		path = "~" + name + "/.pyenv"
	}
	return accounts.Expand(path), nil
}

// there reports whether pyenv is installed below a directory.
func there(root string) bool {
	info, err := os.Stat(filepath.Join(root, "bin/pyenv"))
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// pyenv runs pyenv. ok is false if it is not installed.
func (m *module) pyenv(
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
	env.Set("PYENV_ROOT", root)
	argv = append(append([]string{filepath.Join(root, "bin/pyenv")}, argv...), operands...)
	ran, err = calls.RunAll(ctx, m.env, calls.Run{Argv: argv, As: calls.Text(runas), Env: env})
	return ran, err == nil, err
}

// lines returns the output of pyenv by line; none if it fails.
func (m *module) lines(ctx context.Context, runas any, argv ...string) ([]string, error) {
	ran, ok, err := m.pyenv(ctx, runas, nil, argv)
	if err != nil || !ok || ran.Retcode != 0 || ran.Stdout == "" {
		return nil, err
	}
	return strings.Split(strings.TrimRight(ran.Stdout, "\n"), "\n"), nil
}

type pathArgs struct {
	Runas any `default:"None"`
	Path  any `default:"None"`
}

// at returns the directory that a caller names, or pyenv's own.
func (m *module) at(ctx context.Context, a pathArgs) (string, error) {
	path := calls.Text(a.Path)
	if path == "" {
		return m.root(ctx, a.Runas)
	}
	path = accounts.Expand(path)
	if err := process.PlainOperands(path); err != nil {
		return "", loader.Execution("%w", err)
	}
	return path, nil
}

// install installs pyenv with git, if its directory is not there. It returns whether it is.
//
// path
//
//	The directory. Default: the option pyenv.root, or /usr/local/pyenv, or .pyenv of the user runas.
//
// CLI Example:
//
//	salt '*' pyenv.install
func (m *module) install(ctx context.Context, a pathArgs) (any, error) {
	root, err := m.at(ctx, a)
	if err != nil || paths.IsDir(root) {
		return err == nil, err
	}
	return calls.Succeeds(ctx, m.env, calls.Run{As: calls.Text(a.Runas),
		Argv: []string{"git", "clone", "https://github.com/pyenv/pyenv.git", root}})
}

// update updates pyenv with git, and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' pyenv.update
func (m *module) update(ctx context.Context, a pathArgs) (any, error) {
	root, err := m.at(ctx, a)
	if err != nil || !paths.IsDir(root) {
		return false, err
	}
	return calls.Succeeds(ctx, m.env,
		calls.Run{As: calls.Text(a.Runas), Dir: root, Argv: []string{"git", "pull"}})
}

type runasArgs struct {
	Runas any `default:"None"`
}

// isInstalled returns whether pyenv is installed.
//
// CLI Example:
//
//	salt '*' pyenv.is_installed
func (m *module) isInstalled(ctx context.Context, a runasArgs) (any, error) {
	root, err := m.root(ctx, a.Runas)
	return err == nil && there(root), err
}

type pythonArgs struct {
	Python string
	Runas  any `default:"None"`
}

// buildEnv returns the environment of a build: the option pyenv.build_env, words such as
// CFLAGS="-O2".
func (m *module) buildEnv(ctx context.Context) (*data.Map, error) {
	env := &data.Map{}
	switch m.env.GrainsNow().Text("os") {
	case "FreeBSD", "NetBSD", "OpenBSD":
		env.Set("MAKE", "gmake")
	}
	text, err := calls.OptionText(ctx, m.env, "pyenv.build_env")
	if err != nil {
		return nil, err
	}
	words, err := process.Words(text)
	if err != nil {
		return nil, loader.Execution("read the option pyenv.build_env: %w", err)
	}
	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok {
			env.Set(name, value)
		}
	}
	return env, nil
}

// installPython installs a version of Python. It returns what pyenv prints on standard error, or
// False if that failed.
//
// CLI Example:
//
//	salt '*' pyenv.install_python 3.12.4
func (m *module) installPython(ctx context.Context, a pythonArgs) (any, error) {
	env, err := m.buildEnv(ctx)
	if err != nil {
		return nil, err
	}
	ran, ok, err := m.pyenv(ctx, a.Runas, env, []string{"install"},
		strings.TrimPrefix(a.Python, "python-"))
	switch {
	case err != nil:
		return nil, err
	case !ok || ran.Retcode != 0:
		// a failed build must not look like an installed version
		_, err := m.uninstallPython(ctx, a)
		return false, err
	}
	_, err = m.rehash(ctx, runasArgs{a.Runas})
	return ran.Stderr, err
}

// uninstallPython removes a version of Python, and returns True.
//
// CLI Example:
//
//	salt '*' pyenv.uninstall_python 3.12.4
func (m *module) uninstallPython(ctx context.Context, a pythonArgs) (any, error) {
	_, _, err := m.pyenv(ctx, a.Runas, nil, []string{"uninstall", "--force"},
		strings.TrimPrefix(a.Python, "python-"))
	return err == nil, err
}

// versions returns the installed versions of Python.
//
// CLI Example:
//
//	salt '*' pyenv.versions
func (m *module) versions(ctx context.Context, a runasArgs) (any, error) {
	lines, err := m.lines(ctx, a.Runas, "versions", "--bare")
	return data.Values(lines), err
}

type defaultArgs struct {
	Python any `default:"None"`
	Runas  any `default:"None"`
}

// def returns the default version of Python, or makes a version the default and returns True.
//
// CLI Example:
//
//	salt '*' pyenv.default
//	salt '*' pyenv.default 3.12.4
func (m *module) def(ctx context.Context, a defaultArgs) (any, error) {
	if data.Truth(a.Python) {
		_, _, err := m.pyenv(ctx, a.Runas, nil, []string{"global"}, data.Str(a.Python))
		return err == nil, err
	}
	lines, err := m.lines(ctx, a.Runas, "global")
	return strings.TrimSpace(strings.Join(lines, "\n")), err
}

// list returns the versions of Python that can be installed.
//
// CLI Example:
//
//	salt '*' pyenv.list
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

// rehash renews the programs of pyenv after a change, and returns True.
//
// CLI Example:
//
//	salt '*' pyenv.rehash
func (m *module) rehash(ctx context.Context, a runasArgs) (any, error) {
	_, _, err := m.pyenv(ctx, a.Runas, nil, []string{"rehash"})
	return err == nil, err
}

type doArgs struct {
	Cmdline any `default:"None"`
	Runas   any `default:"None"`
}

// do runs a command with pyenv's programs first in the search path. It returns the output, or False
// if the command fails. Words NAME=value before the command are variables for it.
//
// CLI Example:
//
//	salt '*' pyenv.do 'pip install requests'
//	salt '*' pyenv.do 'pip install requests' deploy
func (m *module) do(ctx context.Context, a doArgs) (any, error) { return m.run(ctx, a, &data.Map{}) }

// assignment matches a word that sets a variable for a command.
var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

func (m *module) run(ctx context.Context, a doArgs, env *data.Map) (any, error) {
	if !data.Truth(a.Cmdline) {
		return nil, loader.Invocation("pyenv needs a command to run")
	}
	words, err := process.Words(data.Str(a.Cmdline))
	if err != nil {
		return nil, loader.Execution("read the command: %w", err)
	}
	root, err := m.root(ctx, a.Runas)
	if err != nil {
		return nil, err
	}
	env.Set("PATH", filepath.Join(root, "shims")+":"+os.Getenv("PATH"))
	for len(words) > 0 && assignment.MatchString(words[0]) {
		name, value, _ := strings.Cut(words[0], "=")
		env.Set(name, value)
		words = words[1:]
	}
	if len(words) == 0 {
		return nil, loader.Invocation("pyenv needs a command to run")
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: words, As: calls.Text(a.Runas), Env: env})
	if err != nil || ran.Retcode != 0 {
		return false, err
	}
	_, err = m.rehash(ctx, runasArgs{a.Runas})
	return ran.Stdout, err
}

type withPythonArgs struct {
	Python  any
	Cmdline any
	Runas   any `default:"None"`
}

// doWithPython is pyenv.do with a version of Python.
//
// CLI Example:
//
//	salt '*' pyenv.do_with_python 3.12.4 'pip install requests'
func (m *module) doWithPython(ctx context.Context, a withPythonArgs) (any, error) {
	env := &data.Map{}
	if data.Truth(a.Python) {
		env.Set("PYENV_VERSION", data.Str(a.Python))
	}
	return m.run(ctx, doArgs{a.Cmdline, a.Runas}, env)
}
