// Package pip is Salt's state pip: packages of Python (salt/states/pip_state.py).
//
// What differs: use_wheel and no_use_wheel, which no pip since 10 knows, are always refused; names of packages are the same whatever
// their case, dots, dashes and underscores, as pip has it.
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

// installed has packages installed.
//
// name, pkgs, requirements, editable
//
//	A package, with version if that matters, or a list of them; files of requirements; sources that are installed as they stand.
//
// bin_env, user, cwd, env_vars
//
//	A virtual environment, a python or a pip; who runs it, where, and with which variables.
//
// upgrade, force_reinstall, ignore_installed
//
//	Bring it to the newest version; install it again; whatever is installed.
//
// index_url, extra_index_url, no_index, find_links, proxy and all others
//
//	As in pip.install of the modules.
//
//	django:
//	  pip.installed:
//	    - name: django >= 4.2, < 5
//	    - bin_env: /srv/site/venv
func (m *module) installed(ctx context.Context, a installedArgs) (change.Result, error) {
	i := &installing{m: m, a: a, pkgs: []string{data.Str(a.Name)}, changes: &data.Map{}}
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
	return change.Thing[*installing]{
		Name: strings.Join(i.pkgs, ";"),
		Look: func(ctx context.Context) (*installing, error) { return i, i.look(ctx) },
		Wants: func(i *installing) *data.Map {
			return change.When(i.asIs() || len(i.wanted) > 0, data.NewMap("pkgs", i.pkgs))
		},
		Apply:   func(ctx context.Context, i *installing) error { return i.apply(ctx) },
		Changed: func(_, i *installing) *data.Map { return i.changes },
		Say:     i.say,
		Silent:  true,
		Trust:   true, // pip need not show what it has installed
	}.Ensure(ctx)
}

// kwargs returns the arguments of the module's pip.install.
func (i *installing) kwargs(ctx context.Context, pkgs string) *data.Map {
	a := i.a
	kwargs := data.NewMap("pkgs", pkgs, "saltenv", change.CallOf(ctx).SaltEnv, "disable_version_check", true, "cache_dir", a.CacheDir,
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
