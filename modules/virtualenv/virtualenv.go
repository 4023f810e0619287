// Package virtualenv is Salt's module virtualenv: Python virtual environments
// (salt/modules/virtualenv_mod.py).
//
// Differences from Salt: without a program virtualenv and without venv_bin, the module venv of
// python3 creates environments. A venv_bin that is a python also uses that module, as pyvenv did.
// No scripts download pip and setuptools, since current programs include pip.
package virtualenv

import (
	"context"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"os"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module virtualenv.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "virtualenv", File: "virtualenv_mod", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("create", m.create),
		loader.F("get_distribution_path", m.getDistributionPath),
		loader.F("get_resource_content", m.getResourceContent),
		loader.F("get_resource_path", m.getResourcePath),
		loader.F("get_site_packages", m.getSitePackages),
		loader.F("virtualenv_ver", m.virtualenvVer),
	}}, nil
}

type verArgs struct {
	VenvBin any
	User    any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// virtualenvVer returns the version of the program virtualenv as numbers.
//
// CLI Example:
//
//	salt '*' virtualenv.virtualenv_ver /usr/bin/virtualenv
func (m *module) virtualenvVer(ctx context.Context, a verArgs) (any, error) {
	argv := []string{data.Str(a.VenvBin), "--version"}
	ran, err := calls.RunAll(ctx, m.env,
		calls.Run{Argv: argv, As: calls.Text(a.User), MergeStderr: true, More: extraArgs(a.Kwargs)})
	if err != nil {
		return nil, err
	}
	output := strings.TrimSpace(ran.Stdout)
	if ran.Retcode > 0 || output == "" {
		return nil, loader.Execution("Unable to get the virtualenv version output using '%s'. Returned data: %s",
			data.Repr(data.Values(argv)), data.Repr(ran.Map))
	}
	version := regexp.MustCompile(`(?:^|\s)(\d+(?:\.\d+)+)`).FindStringSubmatch(output)
	if version == nil {
		return nil, loader.Exception("ValueError", "invalid literal for int() with base 10: ''")
	}
	parts := data.Tuple{}
	for part := range strings.SplitSeq(version[1], ".") {
		n, _ := strconv.ParseInt(part, 10, 64) // only digits, by the pattern
		parts = append(parts, n)
	}
	return parts, nil
}

// extraArgs returns the keyword arguments that are not parameters.
func extraArgs(given *data.Map) *data.Map {
	kwargs := &data.Map{}
	for k, v := range given.All() {
		if !strings.HasPrefix(data.Str(k), "__") {
			kwargs.Set(k, v)
		}
	}
	return kwargs
}

type createArgs struct {
	Path               string
	VenvBin            any       `default:"None"`
	SystemSitePackages bool      `default:"False"`
	Distribute         bool      `default:"False"`
	Clear              bool      `default:"False"`
	Python             any       `default:"None"`
	ExtraSearchDir     any       `default:"None"`
	NeverDownload      any       `default:"None"`
	Prompt             any       `default:"None"`
	Pip                bool      `default:"False"`
	Symlinks           any       `default:"None"`
	Upgrade            any       `default:"None"`
	User               any       `default:"None"`
	UseVT              bool      `name:"use_vt" default:"False"`
	Saltenv            string    `default:"'base'"`
	Kwargs             *data.Map `kwargs:"kwargs"`
}

// create creates a virtual environment and returns the result of the program: pid, retcode, stdout,
// stderr.
//
// venv_bin
//
//	The program: a virtualenv, a pyvenv, or a python, whose module venv is used.
//
// system_site_packages, clear, prompt, user
//
//	Give access to the system's packages; empty the directory first; set the prompt of the
//	shell; set the user to run as.
//
// python, extra_search_dir, never_download
//
//	For virtualenv: the Python of the environment; where to look for wheels; do not download
//	any.
//
// symlinks, upgrade
//
//	For venv: create links instead of copies; upgrade the environment to the running Python.
//
// CLI Example:
//
//	salt '*' virtualenv.create /path/to/new/virtualenv
func (m *module) create(ctx context.Context, a createArgs) (any, error) {
	argv, venv, err := m.program(a.VenvBin)
	if err != nil {
		return nil, err
	}
	if err := process.Operands(data.Str(a.Path)); err != nil {
		return nil, loader.Execution("%w", err)
	}
	name := argv[0]
	if err := a.refuse(name, venv); err != nil {
		return nil, err
	}
	option := func(set bool, words ...string) {
		if set {
			argv = append(argv, words...)
		}
	}
	if text := data.Str(a.Python); data.Truth(a.Python) {
		if process.Find(text) == "" {
			return nil, loader.Execution("Cannot find requested python (%s).", text)
		}
		option(true, "--python="+text)
	}
	for _, dir := range list(a.ExtraSearchDir) {
		option(true, "--extra-search-dir="+dir)
	}
	option(a.NeverDownload == true && !venv, "--never-download")
	option(data.Truth(a.Prompt), "--prompt='"+data.Str(a.Prompt)+"'")
	option(a.Upgrade == true, "--upgrade")
	option(a.Symlinks == true, "--symlinks")
	option(a.Clear, "--clear")
	option(a.SystemSitePackages, "--system-site-packages")
	ran, err := calls.RunAll(ctx, m.env,
		calls.Run{Argv: append(argv, a.Path), As: calls.Text(a.User), More: extraArgs(a.Kwargs)})
	return ran.Map, err
}

// program returns the command line that creates environments, and whether it is that of the module
// venv.
func (m *module) program(given any) (argv []string, venv bool, err error) {
	bin := data.Str(given)
	for _, known := range []any{m.env.Option("venv_bin"), m.env.PillarNow().Value("venv_bin")} {
		if !data.Truth(given) && data.Truth(known) {
			given, bin = known, data.Str(known)
		}
	}
	if !data.Truth(given) {
		if bin = process.Find("virtualenv"); bin == "" {
			bin = process.Find("python3")
		}
	}
	switch base := filepath.Base(bin); {
	case bin == "":
		return nil, false, loader.NotFound("There is neither a program virtualenv nor python3")
	case strings.Contains(base, "pyvenv"):
		return []string{bin}, true, nil
	case strings.HasPrefix(base, "python"):
		return []string{bin, "-m", "venv"}, true, nil
	}
	return []string{bin}, false, nil
}

// refuse returns an error for options that the program does not have.
func (a createArgs) refuse(bin string, venv bool) error {
	type option struct {
		name  string
		given bool
	}
	options := []option{{"upgrade", a.Upgrade != nil}, {"symlinks", a.Symlinks != nil}}
	if venv {
		options = []option{{"python", data.Truth(a.Python)},
			{"extra_search_dir", data.Truth(a.ExtraSearchDir)},
			{"never_download", a.NeverDownload != nil}}
	}
	i := slices.IndexFunc(options, func(o option) bool { return o.given })
	if i < 0 {
		return nil
	}
	name := options[i].name
	return loader.Execution("The `%s`(`--%s`) option is not supported by '%s'", name,
		strings.ReplaceAll(name, "_", "-"), bin)
}

func list(v any) (out []string) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			out = append(out, data.Str(item))
		}
	case string:
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

// runPython runs a line of Python code in an environment and returns its output.
func (m *module) runPython(ctx context.Context, venv, code string) (any, error) {
	python := filepath.Join(venv, "bin", "python")
	if runtime.GOOS == "windows" {
		python = filepath.Join(venv, "Scripts", "python.exe")
	}
	if _, err := os.Stat(python); err != nil {
		return nil, loader.Execution("Path '%s' does not appear to be a virtualenv: bin/python not found.", venv)
	}
	ran, err := calls.ExecCode(ctx, m.env, python, code)
	if err != nil {
		return nil, err
	}
	if ran.Retcode != 0 {
		return nil, loader.Execution("%s\n%s", ran.Stdout, ran.Stderr)
	}
	return ran.Stdout, nil
}

// checkNames rejects names that would inject code into a line of Python.
func checkNames(names ...any) error {
	for _, name := range names {
		if !regexp.MustCompile(`^[A-Za-z0-9_./-]*$`).MatchString(data.Str(name)) {
			return loader.Invocation("Salt will not run Python code that contains %s",
				data.Repr(data.Str(name)))
		}
	}
	return nil
}

type venvArgs struct{ Venv string }

// getSitePackages returns the site-packages directory of an environment.
//
// CLI Example:
//
//	salt '*' virtualenv.get_site_packages /path/to/my/venv
func (m *module) getSitePackages(ctx context.Context, a venvArgs) (any, error) {
	return m.runPython(ctx, a.Venv, `import sysconfig; print(sysconfig.get_path("purelib"))`)
}

type distributionArgs struct {
	Venv         string
	Distribution any
}

// getDistributionPath returns the path of a distribution in an environment.
//
// CLI Example:
//
//	salt '*' virtualenv.get_distribution_path /path/to/my/venv my_distribution
func (m *module) getDistributionPath(ctx context.Context, a distributionArgs) (any, error) {
	if err := checkNames(a.Distribution); err != nil {
		return nil, err
	}
	return m.runPython(ctx, a.Venv, "import importlib.metadata as i; print(i.distribution('"+
		data.Str(a.Distribution)+"').locate_file(''))")
}

type resourceArgs struct {
	Venv     string
	Package  any `default:"None"`
	Resource any `default:"None"`
}

// getResourcePath returns the path of a file of a package in an environment.
//
// CLI Example:
//
//	salt '*' virtualenv.get_resource_path /path/to/my/venv my_package my/resource.xml
func (m *module) getResourcePath(ctx context.Context, a resourceArgs) (any, error) {
	return m.resource(ctx, a, "print(p)")
}

// getResourceContent returns the contents of a file of a package in an environment.
//
// CLI Example:
//
//	salt '*' virtualenv.get_resource_content /path/to/my/venv my_package my/resource.xml
func (m *module) getResourceContent(ctx context.Context, a resourceArgs) (any, error) {
	return m.resource(ctx, a, "print(open(p).read())")
}

func (m *module) resource(ctx context.Context, a resourceArgs, then string) (any, error) {
	if err := checkNames(a.Package, a.Resource); err != nil {
		return nil, err
	}
	return m.runPython(ctx, a.Venv,
		"import importlib, os; p = os.path.join(os.path.dirname(importlib.import_module('"+
			data.Str(a.Package)+"').__file__), '"+
			data.Str(a.Resource)+"'); "+then)
}
