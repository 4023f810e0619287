// Package pip is Salt's state pip: Python packages (salt/states/pip_state.py).
//
// Differences from Salt: use_wheel and no_use_wheel, which pip 10 removed, are always rejected.
// Package names are compared like pip does, ignoring case, dots, dashes and underscores.
package pip

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state pip.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pip", File: "pip_state", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("installed", m.installed),
		loader.F("removed", m.removed),
		loader.F("uptodate", m.uptodate),
	}}, nil
}

type installedArgs struct {
	Name                   any       `name:"name"`
	Pkgs                   any       `name:"pkgs" default:"None"`
	PipBin                 any       `name:"pip_bin" default:"None"`
	Requirements           any       `name:"requirements" default:"None"`
	BinEnv                 any       `name:"bin_env" default:"None"`
	UseWheel               bool      `name:"use_wheel" default:"False"`
	NoUseWheel             bool      `name:"no_use_wheel" default:"False"`
	Log                    any       `name:"log" default:"None"`
	Proxy                  any       `name:"proxy" default:"None"`
	Timeout                any       `name:"timeout" default:"None"`
	Repo                   any       `name:"repo" default:"None"`
	Editable               any       `name:"editable" default:"None"`
	FindLinks              any       `name:"find_links" default:"None"`
	IndexURL               any       `name:"index_url" default:"None"`
	ExtraIndexURL          any       `name:"extra_index_url" default:"None"`
	NoIndex                bool      `name:"no_index" default:"False"`
	Mirrors                any       `name:"mirrors" default:"None"`
	Build                  any       `name:"build" default:"None"`
	Target                 any       `name:"target" default:"None"`
	Download               any       `name:"download" default:"None"`
	DownloadCache          any       `name:"download_cache" default:"None"`
	Source                 any       `name:"source" default:"None"`
	Upgrade                bool      `name:"upgrade" default:"False"`
	ForceReinstall         bool      `name:"force_reinstall" default:"False"`
	IgnoreInstalled        bool      `name:"ignore_installed" default:"False"`
	ExistsAction           any       `name:"exists_action" default:"None"`
	NoDeps                 bool      `name:"no_deps" default:"False"`
	NoInstall              bool      `name:"no_install" default:"False"`
	NoDownload             bool      `name:"no_download" default:"False"`
	InstallOptions         any       `name:"install_options" default:"None"`
	GlobalOptions          any       `name:"global_options" default:"None"`
	User                   any       `name:"user" default:"None"`
	Cwd                    any       `name:"cwd" default:"None"`
	PreReleases            bool      `name:"pre_releases" default:"False"`
	Cert                   any       `name:"cert" default:"None"`
	AllowAllExternal       bool      `name:"allow_all_external" default:"False"`
	AllowExternal          any       `name:"allow_external" default:"None"`
	AllowUnverified        any       `name:"allow_unverified" default:"None"`
	ProcessDependencyLinks bool      `name:"process_dependency_links" default:"False"`
	EnvVars                any       `name:"env_vars" default:"None"`
	UseVT                  bool      `name:"use_vt" default:"False"`
	TrustedHost            any       `name:"trusted_host" default:"None"`
	NoCacheDir             bool      `name:"no_cache_dir" default:"False"`
	CacheDir               any       `name:"cache_dir" default:"None"`
	NoBinary               any       `name:"no_binary" default:"None"`
	ExtraArgs              any       `name:"extra_args" default:"None"`
	Kwargs                 *data.Map `kwargs:"kwargs"`
}

// installed installs Python packages.
//
// name, pkgs, requirements, editable
//
//	A package, optionally with a version, or a list of packages; requirements files; sources to
//	install in editable mode.
//
// bin_env, user, cwd, env_vars
//
//	A virtual environment, a python or a pip; the user, working directory and environment
//	variables for pip.
//
// upgrade, force_reinstall, ignore_installed
//
//	Upgrade to the newest version; reinstall; install regardless of what is installed.
//
// index_url, extra_index_url, no_index, find_links, proxy and all others
//
//	As in the function pip.install.
//
//	django:
//	  pip.installed:
//	    - name: django >= 4.2, < 5
//	    - bin_env: /srv/site/venv
func (m *module) installed(ctx context.Context, a installedArgs) (change.Result, error) {
	i := &installCall{m: m, a: a, pkgs: []string{data.Str(a.Name)}, changes: &data.Map{}}
	if data.Truth(a.PipBin) && !data.Truth(a.BinEnv) {
		i.a.BinEnv = a.PipBin
	}
	if data.Truth(a.Pkgs) {
		list, ok := a.Pkgs.([]any)
		if !ok {
			return change.Refuse(a.Name, "pkgs argument must be formatted as a list")
		}
		i.pkgs = texts(list)
	}
	return change.Thing[*installCall]{
		Name: strings.Join(i.pkgs, ";"),
		Look: func(ctx context.Context) (*installCall, error) { return i, i.look(ctx) },
		Wants: func(i *installCall) *data.Map {
			return change.When(i.asIs() || len(i.wanted) > 0, data.NewMap("pkgs", i.pkgs))
		},
		Apply:   func(ctx context.Context, i *installCall) error { return i.apply(ctx) },
		Changed: func(_, i *installCall) *data.Map { return i.changes },
		Say:     i.comment,
		Silent:  true,
		Trust:   true, // pip may not list what it installed
	}.Ensure(ctx)
}

// kwargs returns the arguments for the module's pip.install.
func (i *installCall) kwargs(ctx context.Context, pkgs string) *data.Map {
	a := i.a
	kwargs := data.NewMap("pkgs", pkgs, "saltenv", change.CallOf(ctx).SaltEnv,
		"disable_version_check", true, "cache_dir", a.CacheDir,
		"requirements", a.Requirements,
		"bin_env", a.BinEnv,
		"use_wheel", a.UseWheel,
		"no_use_wheel", a.NoUseWheel,
		"log", a.Log,
		"proxy", a.Proxy,
		"timeout", a.Timeout,
		"editable", a.Editable,
		"find_links", a.FindLinks,
		"index_url", a.IndexURL,
		"extra_index_url", a.ExtraIndexURL,
		"no_index", a.NoIndex,
		"mirrors", a.Mirrors,
		"build", a.Build,
		"target", a.Target,
		"download", a.Download,
		"download_cache", a.DownloadCache,
		"source", a.Source,
		"upgrade", a.Upgrade,
		"force_reinstall", a.ForceReinstall,
		"ignore_installed", a.IgnoreInstalled,
		"exists_action", a.ExistsAction,
		"no_deps", a.NoDeps,
		"no_install", a.NoInstall,
		"no_download", a.NoDownload,
		"install_options", a.InstallOptions,
		"global_options", a.GlobalOptions,
		"user", a.User,
		"cwd", a.Cwd,
		"pre_releases", a.PreReleases,
		"cert", a.Cert,
		"allow_all_external", a.AllowAllExternal,
		"allow_external", a.AllowExternal,
		"allow_unverified", a.AllowUnverified,
		"process_dependency_links", a.ProcessDependencyLinks,
		"env_vars", a.EnvVars,
		"use_vt", a.UseVT,
		"trusted_host", a.TrustedHost,
		"no_cache_dir", a.NoCacheDir,
		"no_binary", a.NoBinary,
		"extra_args", a.ExtraArgs)
	for k, v := range a.Kwargs.All() {
		if name := data.Str(k); !strings.HasPrefix(name, "__") {
			kwargs.Set(name, v)
		}
	}
	return kwargs
}
