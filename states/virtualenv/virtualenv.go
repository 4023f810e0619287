// Package virtualenv is Salt's state virtualenv: Python virtual environments
// (salt/states/virtualenv_mod.py).
package virtualenv

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state virtualenv.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "virtualenv", File: "virtualenv_mod", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("managed", m.managed),
		loader.F("managed", m.managed).Alias("manage"),
	}}, nil
}

type managedArgs struct {
	Name                   string    `name:"name"`
	VenvBin                any       `name:"venv_bin" default:"None"`
	Requirements           any       `name:"requirements" default:"None"`
	SystemSitePackages     bool      `name:"system_site_packages" default:"False"`
	Distribute             bool      `name:"distribute" default:"False"`
	UseWheel               bool      `name:"use_wheel" default:"False"`
	Clear                  bool      `name:"clear" default:"False"`
	Python                 any       `name:"python" default:"None"`
	ExtraSearchDir         any       `name:"extra_search_dir" default:"None"`
	NeverDownload          any       `name:"never_download" default:"None"`
	Prompt                 any       `name:"prompt" default:"None"`
	User                   any       `name:"user" default:"None"`
	Cwd                    any       `name:"cwd" default:"None"`
	IndexURL               any       `name:"index_url" default:"None"`
	ExtraIndexURL          any       `name:"extra_index_url" default:"None"`
	PreReleases            bool      `name:"pre_releases" default:"False"`
	NoDeps                 bool      `name:"no_deps" default:"False"`
	PipDownload            any       `name:"pip_download" default:"None"`
	PipDownloadCache       any       `name:"pip_download_cache" default:"None"`
	PipExistsAction        any       `name:"pip_exists_action" default:"None"`
	PipIgnoreInstalled     bool      `name:"pip_ignore_installed" default:"False"`
	Proxy                  any       `name:"proxy" default:"None"`
	UseVT                  bool      `name:"use_vt" default:"False"`
	EnvVars                any       `name:"env_vars" default:"None"`
	NoUseWheel             bool      `name:"no_use_wheel" default:"False"`
	PipUpgrade             bool      `name:"pip_upgrade" default:"False"`
	PipPkgs                any       `name:"pip_pkgs" default:"None"`
	PipNoCacheDir          bool      `name:"pip_no_cache_dir" default:"False"`
	PipCacheDir            any       `name:"pip_cache_dir" default:"None"`
	ProcessDependencyLinks bool      `name:"process_dependency_links" default:"False"`
	NoBinary               any       `name:"no_binary" default:"None"`
	Kwargs                 *data.Map `kwargs:"kwargs"`
}

// managed creates a virtual environment, and installs packages in it.
//
// name, venv_bin, python, system_site_packages, clear, user
//
//	Its directory; the program that creates it; its Python interpreter; whether it sees the
//	system's packages; recreate it; its owner.
//
// requirements, pip_pkgs, pip_upgrade, no_deps, index_url and their like
//
//	Requirements files and packages to install in it, with options as in pip.installed.
//
//	/var/www/myvirtualenv.com:
//	  virtualenv.managed:
//	    - requirements: salt://REQUIREMENTS.txt
//	    - system_site_packages: False
func (m *module) managed(ctx context.Context, a managedArgs) (any, error) {
	v := &manageCall{m: m, a: a, ret: change.New(a.Name, true, nil, "")}
	v.python = filepath.Join(a.Name, "bin", "python")
	if runtime.GOOS == "windows" {
		v.python = filepath.Join(a.Name, "Scripts", "python.exe")
	}
	for _, step := range []func(context.Context) (bool, error){v.look, v.create, v.checkOptions, v.install} {
		if done, err := step(ctx); done || err != nil {
			return v.outcome(err)
		}
	}
	return v.ret, nil
}

// A manageCall is one call of managed in progress.
type manageCall struct {
	m      *module
	a      managedArgs
	ret    *data.Map
	python string
	there  bool
}

func (v *manageCall) outcome(err error) (any, error) {
	switch loader.KindOf(err) {
	case loader.KindNone:
	case loader.KindNotFound:
		v.end(false, "Failed to create virtualenv: "+err.Error())
	case loader.KindExecution:
		v.end(false, err.Error())
	default:
		return nil, err
	}
	return v.ret, nil
}

func (v *manageCall) end(result any, comment string) (bool, error) {
	v.ret.Set("result", result)
	v.ret.Set("comment", comment)
	return true, nil
}

func (v *manageCall) changes() *data.Map { return v.ret.Value("changes").(*data.Map) }

func (v *manageCall) call(
	ctx context.Context, fun string, kwargs *data.Map, args ...any,
) (any, error) {
	return v.m.env.Call(ctx, fun, args, kwargs)
}

// look checks whether the environment exists, and ends the state in test mode.
func (v *manageCall) look(ctx context.Context) (bool, error) {
	_, err := os.Stat(v.python)
	if v.there = err == nil; err != nil && !errors.Is(err, fs.ErrNotExist) {
		return v.end(false, loader.OSError(err).Error())
	}
	if !change.Test(ctx) {
		return false, nil
	}
	switch {
	case v.there && v.a.Clear:
		return v.end(nil, "Virtualenv "+v.a.Name+" is set to be cleared")
	case v.there:
		return v.end(true, "Virtualenv "+v.a.Name+" is already created")
	}
	return v.end(nil, "Virtualenv "+v.a.Name+" is set to be created")
}

// version returns the version output of the environment's Python.
func (v *manageCall) version(ctx context.Context) (string, error) {
	output, err := calls.RunOutput(ctx, v.m.env, calls.Run{Argv: []string{v.python, "-V"}})
	return strings.Trim(output, "\n"), err
}

func (v *manageCall) create(ctx context.Context) (bool, error) {
	if v.there && !v.a.Clear {
		v.ret.Set("comment", "virtualenv exists")
		return false, nil
	}
	if v.there {
		packages, err := v.call(ctx, "pip.freeze", data.NewMap("bin_env", v.a.Name))
		if err != nil {
			return false, err
		}
		old, err := v.version(ctx)
		if err != nil {
			return false, err
		}
		v.changes().Set("cleared_packages", packages)
		v.changes().Set("old", old)
	}
	a := v.a
	kwargs := v.with(data.NewMap("venv_bin", a.VenvBin, "system_site_packages",
		a.SystemSitePackages, "distribute", a.Distribute, "clear", a.Clear, "python", a.Python,
		"extra_search_dir", a.ExtraSearchDir, "never_download", a.NeverDownload, "prompt", a.Prompt,
		"user", a.User, "use_vt", a.UseVT))
	result, err := loader.CallAs[*data.Map](ctx, v.m.env, "virtualenv.create",
		[]any{a.Name}, kwargs)
	if err != nil {
		return false, err
	}
	if result.Value("retcode") != int64(0) {
		return v.end(false, result.Text("stdout")+result.Text("stderr"))
	}
	now, err := v.version(ctx)
	if err != nil {
		return false, err
	}
	v.changes().Set("new", now)
	v.ret.Set("comment", "Created new virtualenv")
	if a.Clear {
		v.ret.Set("comment", "Cleared existing virtualenv")
	}
	return false, nil
}

// with adds further keyword arguments.
func (v *manageCall) with(kwargs *data.Map) *data.Map {
	for k, value := range v.a.Kwargs.All() {
		if !strings.HasPrefix(data.Str(k), "__") {
			kwargs.Set(k, value)
		}
	}
	return kwargs
}

// checkOptions rejects options that current versions of pip do not have.
func (v *manageCall) checkOptions(ctx context.Context) (bool, error) {
	for _, one := range []struct {
		name string
		set  bool
	}{{"use_wheel", v.a.UseWheel}, {"no_use_wheel", v.a.NoUseWheel}} {
		if !one.set {
			continue
		}
		version, err := v.call(ctx, "pip.version", data.NewMap("bin_env", v.a.Name))
		if err != nil {
			return false, err
		}
		return v.end(false, "The '"+one.name+
			"' option is only supported in pip between 1.4 and 9.0.3. The version of pip detected was "+data.Str(version)+".")
	}
	return false, nil
}

// freeze returns the installed packages.
func (v *manageCall) freeze(ctx context.Context) ([]any, error) {
	return loader.CallAs[[]any](ctx, v.m.env, "pip.freeze", nil,
		data.NewMap("bin_env", v.a.Name, "user", v.a.User))
}

func (v *manageCall) install(ctx context.Context) (bool, error) {
	a := v.a
	if !data.Truth(a.Requirements) && !data.Truth(a.PipPkgs) {
		return false, nil
	}
	before, err := v.freeze(ctx)
	if err != nil {
		return v.end(false, err.Error())
	}
	kwargs := v.with(data.NewMap("pkgs", a.PipPkgs, "requirements", a.Requirements,
		"process_dependency_links", a.ProcessDependencyLinks, "bin_env", a.Name,
		"no_binary", a.NoBinary, "user", a.User, "cwd", v.cwd(), "index_url", a.IndexURL,
		"extra_index_url", a.ExtraIndexURL, "download", a.PipDownload,
		"download_cache", a.PipDownloadCache, "pre_releases", a.PreReleases, "exists_action",
		a.PipExistsAction, "ignore_installed", a.PipIgnoreInstalled, "upgrade",
		a.PipUpgrade, "no_deps", a.NoDeps, "proxy", a.Proxy, "use_vt", a.UseVT, "env_vars",
		a.EnvVars, "no_cache_dir", a.PipNoCacheDir, "cache_dir", a.PipCacheDir,
		"saltenv", change.CallOf(ctx).SaltEnv))
	result, err := loader.CallAs[*data.Map](ctx, v.m.env, "pip.install", nil, kwargs)
	if err != nil {
		return false, err
	}
	switch {
	case result.Has("comment"): // the requirements file does not exist
		return v.end(false, result.Text("comment"))
	case result.Value("retcode") != int64(0):
		v.end(false, v.ret.Text("comment")+"\n"+result.Text("stdout")+"\n"+result.Text("stderr"))
	}
	after, err := v.freeze(ctx)
	if err != nil {
		return false, err
	}
	fresh, gone := without(after, before), without(before, after)
	if len(fresh)+len(gone) > 0 {
		v.changes().Set("packages", data.NewMap("new", orEmpty(fresh), "old", orEmpty(gone)))
	}
	return false, nil
}

// cwd returns the working directory for pip: that of the requirements file, unless its path is
// absolute.
func (v *manageCall) cwd() any {
	first := ""
	switch r := v.a.Requirements.(type) {
	case string:
		first, _, _ = strings.Cut(r, ",")
	case []any:
		first = data.Str(slices.Concat(r, []any{""})[0])
	}
	if first == "" || filepath.IsAbs(first) || strings.Contains(first, "://") {
		return v.a.Cwd
	}
	if abs, err := filepath.Abs(first); err == nil {
		return filepath.Dir(abs)
	}
	return v.a.Cwd
}

func without(list, other []any) []any {
	out := []any{}
	for _, item := range list {
		if !slices.Contains(other, item) {
			out = append(out, item)
		}
	}
	return out
}

func orEmpty(list []any) any {
	if len(list) == 0 {
		return ""
	}
	return list
}
