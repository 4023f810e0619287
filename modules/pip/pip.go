// Package pip is Salt's module pip: it runs the program pip of Python (salt/modules/pip.py).
//
// Without bin_env it uses the pip of the program python3. pip.go finds pip and runs it, install.go
// installs and removes, and list.go lists installed packages.
//
// Differences from Salt: versions of pip before 9 are not supported, nor are options that no later
// version has.
package pip

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module pip.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pip", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("freeze", m.freeze),
		loader.F("install", m.install),
		loader.F("is_installed", m.isInstalled),
		loader.F("list", m.list).Def("list_"),
		loader.F("list_all_versions", m.listAllVersions),
		loader.F("list_freeze_parse", m.listFreezeParse),
		loader.F("list_upgrades", m.listUpgrades),
		loader.F("uninstall", m.uninstall),
		loader.F("upgrade", m.upgrade),
		loader.F("upgrade_available", m.upgradeAvailable),
		loader.F("version", m.version),
	}}, nil
}

// find returns the command line of pip. binEnv is a virtual environment, a python, or a pip itself.
func find(binEnv any) ([]any, error) {
	if !data.Truth(binEnv) {
		if python := process.Find("python3"); python != "" {
			return []any{python, "-m", "pip"}, nil
		}
		return nil, loader.NotFound("Could not find a `pip` binary")
	}
	path := data.Str(binEnv)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return inDirectory(path)
	case err != nil || info.Mode()&0o111 == 0 && runtime.GOOS != "windows":
		return nil, loader.NotFound("Access denied to %s, could not find a pip binary", path)
	case strings.Contains(filepath.Base(path), "python"):
		return []any{filepath.Clean(path), "-m", "pip"}, nil
	}
	return []any{filepath.Clean(path)}, nil
}

func inDirectory(dir string) ([]any, error) {
	python := "python"
	if runtime.GOOS == "windows" {
		python = "python.exe"
	}
	for _, sub := range []string{"", "bin", "Scripts"} {
		path := filepath.Join(dir, sub, python)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() &&
			(info.Mode()&0o111 != 0 || runtime.GOOS == "windows") {
			return []any{path, "-m", "pip"}, nil
		}
	}
	return nil, loader.NotFound("Could not find a pip binary in virtualenv %s", dir)
}

// A place sets which pip runs, in which directory and as which user.
type place struct {
	binEnv, user, cwd, envVars any
	more                       *data.Map // further keyword arguments of cmd.run_all
}

// run runs pip with these arguments.
func (m *module) run(ctx context.Context, p place, args ...any) (calls.Ran, error) {
	argv, err := find(p.binEnv)
	if err != nil {
		return calls.Ran{}, err
	}
	more := &data.Map{}
	for k, v := range p.more.All() {
		if !strings.HasPrefix(data.Str(k), "__") {
			more.Set(k, v)
		}
	}
	env, err := p.environment(more.Value("env"))
	if err != nil {
		return calls.Ran{}, err
	}
	args, secrets := hidePasswords(args)
	env.Update(secrets)
	if env.Len() > 0 {
		more.Set("env", env)
	}
	argv = append(argv, args...)
	return calls.RunAll(ctx, m.env,
		calls.Run{Argv: data.Texts(argv), As: calls.Text(p.user),
			Dir: calls.Text(p.cwd), More: more})
}

// hidePasswords moves options whose URLs contain passwords from the arguments of pip to environment
// variables, which pip reads as options. Arguments are visible in the process list and in the log.
func hidePasswords(args []any) (left []any, variables *data.Map) {
	left, variables = []any{}, &data.Map{}
	for i := 0; i < len(args); i++ {
		option := data.Str(args[i])
		if !slices.Contains([]string{"--proxy", "--index-url", "--extra-index-url", "--find-links"},
			option) || i+1 == len(args) {
			left = append(left, args[i])
			continue
		}
		i++
		if value := data.Str(args[i]); data.Str(config.Masked("", value)) == value {
			left = append(left, option, args[i])
		} else {
			name := "PIP_" + strings.ToUpper(strings.ReplaceAll(option[2:], "-", "_"))
			variables.Set(name, strings.TrimSpace(variables.Text(name)+" "+value))
		}
	}
	return left, variables
}

func (p place) environment(given any) (*data.Map, error) {
	env := data.NewMap()
	if more, ok := given.(*data.Map); ok {
		env.Update(more)
	}
	if info, err := os.Stat(data.Str(p.binEnv)); data.Truth(p.binEnv) && err == nil &&
		info.IsDir() {
		env.Set("VIRTUAL_ENV", data.Str(p.binEnv))
	}
	if !data.Truth(p.envVars) {
		return env, nil
	}
	vars, ok := p.envVars.(*data.Map)
	if !ok {
		return nil, loader.Execution("env_vars %s is not a dictionary", data.Str(p.envVars))
	}
	for k, v := range vars.All() {
		env.Set(data.Str(k), data.Str(v))
	}
	return env, nil
}

// output returns the output of pip. A failure of pip is an error.
func output(ran calls.Ran, err error) (string, error) {
	if err == nil && ran.Retcode != 0 {
		err = loader.ExecutionInfo(ran.Stderr, ran.Map)
	}
	return ran.Stdout, err
}

type versionArgs struct {
	BinEnv any `default:"None"`
	Cwd    any `default:"None"`
	User   any `default:"None"`
}

// version returns the version of pip. bin_env is a virtual environment, a python or a pip.
//
// CLI Example:
//
//	salt '*' pip.version
func (m *module) version(ctx context.Context, a versionArgs) (any, error) {
	ran, err := m.run(ctx, place{binEnv: a.BinEnv, user: a.User, cwd: a.Cwd}, "--version")
	if err != nil {
		return nil, err
	}
	if ran.Retcode != 0 {
		return nil, loader.NotFound("Could not find a `pip` binary")
	}
	if found := regexp.MustCompile(`^pip (\S+)`).FindStringSubmatch(ran.Stdout); found != nil {
		return found[1], nil
	}
	return nil, nil
}

// words returns a list of texts. It splits a single text at its commas.
func words(v any) []any {
	var out []any
	switch v := v.(type) {
	case nil:
	case []any:
		for _, item := range v {
			out = append(out, data.Str(item))
		}
	default:
		if !data.Truth(v) {
			return nil
		}
		for part := range strings.SplitSeq(data.Str(v), ",") {
			out = append(out, strings.TrimSpace(part))
		}
	}
	return out
}
