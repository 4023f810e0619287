package pip

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type installArgs struct {
	Pkgs                   any       `name:"pkgs" default:"None"`
	Requirements           any       `name:"requirements" default:"None"`
	BinEnv                 any       `name:"bin_env" default:"None"`
	UseWheel               bool      `name:"use_wheel" default:"False"`
	NoUseWheel             bool      `name:"no_use_wheel" default:"False"`
	Log                    any       `name:"log" default:"None"`
	Proxy                  any       `name:"proxy" default:"None"`
	Timeout                any       `name:"timeout" default:"None"`
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
	GlobalOptions          any       `name:"global_options" default:"None"`
	InstallOptions         any       `name:"install_options" default:"None"`
	User                   any       `name:"user" default:"None"`
	Cwd                    any       `name:"cwd" default:"None"`
	PreReleases            bool      `name:"pre_releases" default:"False"`
	Cert                   any       `name:"cert" default:"None"`
	AllowAllExternal       bool      `name:"allow_all_external" default:"False"`
	AllowExternal          any       `name:"allow_external" default:"None"`
	AllowUnverified        any       `name:"allow_unverified" default:"None"`
	ProcessDependencyLinks bool      `name:"process_dependency_links" default:"False"`
	Saltenv                string    `name:"saltenv" default:"'base'"`
	EnvVars                any       `name:"env_vars" default:"None"`
	UseVT                  bool      `name:"use_vt" default:"False"`
	TrustedHost            any       `name:"trusted_host" default:"None"`
	NoCacheDir             bool      `name:"no_cache_dir" default:"False"`
	ExtraArgs              any       `name:"extra_args" default:"None"`
	CacheDir               any       `name:"cache_dir" default:"None"`
	NoBinary               any       `name:"no_binary" default:"None"`
	DisableVersionCheck    bool      `name:"disable_version_check" default:"False"`
	Kwargs                 *data.Map `kwargs:"kwargs"`
}

// install installs packages and returns the result of pip: pid, retcode, stdout, stderr.
//
// pkgs, requirements, editable
//
//	Packages, requirements files, or sources to install in editable mode: lists, or texts
//	separated by commas. A requirements file may be a salt:// URL.
//
// bin_env, user, cwd, env_vars
//
//	bin_env is a virtual environment, a python or a pip. user, cwd and env_vars set the user,
//	the directory and the environment variables of pip.
//
// index_url, extra_index_url, no_index, find_links, proxy, trusted_host, cert, timeout
//
//	Where to find packages and how to fetch them.
//
// upgrade, force_reinstall, ignore_installed, no_deps, pre_releases, target, source, no_binary,
// cache_dir, no_cache_dir, global_options, install_options, extra_args and similar
//
//	Options of pip install.
//
// CLI Example:
//
//	salt '*' pip.install 'markdown,django==4.2'
//	salt '*' pip.install requirements=/path/to/requirements.txt bin_env=/path/to/virtualenv
func (m *module) install(ctx context.Context, a installArgs) (any, error) {
	args, err := a.options(m)
	if err != nil {
		return nil, err
	}
	files, drop, failed, err := m.requirements(ctx, a.Requirements, a.Saltenv, a.User)
	defer drop()
	if err != nil || failed != nil {
		return orNil(failed), err
	}
	pkgs := words(a.Pkgs)
	if len(pkgs) == 0 && !data.Truth(a.Requirements) && !data.Truth(a.Editable) {
		return data.NewMap("retcode", int64(0), "stdout", "No packages to install."), nil
	}
	argv := append(append([]any{"install"}, files...), args...)
	if err := packages.Names(pkgs...); err != nil {
		return nil, err
	}
	for _, pkg := range pkgs {
		argv = append(argv, strings.ReplaceAll(data.Str(pkg), ";", ","))
	}
	editable, err := a.editables()
	if err != nil {
		return nil, err
	}
	argv = append(argv, editable...)
	if data.Truth(a.TrustedHost) {
		argv = append(argv, "--trusted-host", data.Str(a.TrustedHost))
	}
	if argv, err = extra(argv, a.ExtraArgs); err != nil {
		return nil, err
	}
	return resultMap(m.run(ctx, place{a.BinEnv, a.User, a.Cwd, a.EnvVars, a.Kwargs}, argv...))
}

func orNil(m *data.Map) any {
	if m == nil {
		return nil
	}
	return m
}

func resultMap(ran calls.Ran, err error) (any, error) { return orNil(ran.Map), err }

// editables returns the options for sources to install in editable mode.
func (a installArgs) editables() (argv []any, err error) {
	egg := regexp.MustCompile(`(?:#|#.*?&)egg=([^&]+)`)
	for _, v := range words(a.Editable) {
		entry := data.Str(v)
		if entry != "." && !strings.HasPrefix(entry, "file://") && !strings.HasPrefix(entry, "/") &&
			!egg.MatchString(entry) {
			return nil, loader.Execution("You must specify an egg for this editable")
		}
		argv = append(argv, "--editable", entry)
	}
	return argv, nil
}

// extra appends further arguments: texts, or dictionaries of options and values.
func extra(argv []any, v any) ([]any, error) {
	list, _ := v.([]any)
	for _, arg := range list {
		one, ok := arg.(*data.Map)
		if !ok {
			argv = append(argv, data.Str(arg))
			continue
		}
		for key, value := range one.All() {
			switch value.(type) {
			case *data.Map, []any:
				return nil, loader.TypeError("Too many levels in: %s", data.Str(key))
			}
			argv = append(argv, data.Str(key), data.Str(value))
		}
	}
	return argv, nil
}

// options returns the options of pip install.
func (a installArgs) options(m *module) (argv []any, err error) {
	value := func(option string, v any) {
		if data.Truth(v) {
			argv = append(argv, option, data.Str(v))
		}
	}
	flag := func(option string, set bool) {
		if set {
			argv = append(argv, option)
		}
	}
	if data.Truth(a.NoBinary) {
		list := []string{}
		for _, name := range words(a.NoBinary) {
			list = append(list, data.Str(name))
		}
		value("--no-binary", strings.Join(list, ","))
	}
	value("--log", a.Log)
	value("--proxy", m.proxy(a.Proxy))
	if err := timeout(a.Timeout); err != nil {
		return nil, err
	}
	value("--timeout", a.Timeout)
	sources, err := a.sources()
	if err != nil {
		return nil, err
	}
	argv = append(argv, sources...)
	flag("--disable-pip-version-check", a.DisableVersionCheck)
	value("--build", a.Build)
	if a.Target == nil {
		a.Target = os.Getenv("VENV_PIP_TARGET")
	}
	value("--target", a.Target)
	value("--download", a.Download)
	if !data.Truth(a.DownloadCache) {
		a.DownloadCache = a.CacheDir
	}
	value("--cache-dir", a.DownloadCache)
	value("--source", a.Source)
	flag("--upgrade", a.Upgrade)
	flag("--force-reinstall", a.ForceReinstall)
	flag("--ignore-installed", a.IgnoreInstalled)
	if action := data.Str(a.ExistsAction); data.Truth(a.ExistsAction) {
		if len(action) != 1 || !strings.Contains("siwb", strings.ToLower(action)) {
			return nil, loader.Execution("The exists_action pip option only supports the values s, i, w, and b. '%s' is not valid.", action)
		}
		value("--exists-action", action)
	}
	flag("--no-deps", a.NoDeps)
	flag("--no-install", a.NoInstall)
	flag("--no-download", a.NoDownload)
	flag("--no-cache-dir", a.NoCacheDir)
	flag("--pre", a.PreReleases)
	value("--cert", a.Cert)
	for _, v := range words(a.GlobalOptions) {
		value("--global-option", v)
	}
	for _, v := range words(a.InstallOptions) {
		value("--install-option", v)
	}
	return argv, nil
}

// sources returns the options that control where packages come from.
func (a installArgs) sources() (argv []any, err error) {
	for _, v := range words(a.FindLinks) {
		link := data.Str(v)
		if _, err := os.Stat(link); err != nil && !isURL(link) {
			return nil, loader.Execution("'%s' is not a valid URL or path", link)
		}
		argv = append(argv, "--find-links", link)
	}
	if a.NoIndex && (data.Truth(a.IndexURL) || data.Truth(a.ExtraIndexURL)) {
		return nil, loader.Execution("'no_index' and ('index_url' or 'extra_index_url') are mutually exclusive.")
	}
	for _, one := range []struct {
		option string
		url    any
	}{{"--index-url", a.IndexURL}, {"--extra-index-url", a.ExtraIndexURL}} {
		if url := data.Str(one.url); data.Truth(one.url) {
			if !isURL(url) {
				return nil, loader.Execution("'%s' is not a valid URL", url)
			}
			argv = append(argv, one.option, url)
		}
	}
	if a.NoIndex {
		argv = append(argv, "--no-index")
	}
	if data.Truth(a.Mirrors) {
		return nil, loader.Execution("pip >= 7.0.0 does not support mirror argument: use index_url and/or extra_index_url instead")
	}
	return argv, nil
}

// proxy returns the given proxy, or that of the configuration unless the given one is False.
func (m *module) proxy(given any) any {
	opts := m.env.Opts
	if data.Truth(given) || given == false || !data.Truth(opts.Value("proxy_host")) ||
		!data.Truth(opts.Value("proxy_port")) {
		return given
	}
	host := data.Str(opts.Value("proxy_host")) + ":" + data.Str(opts.Value("proxy_port"))
	if data.Truth(opts.Value("proxy_username")) && data.Truth(opts.Value("proxy_password")) {
		host = data.Str(opts.Value("proxy_username")) + ":" +
			data.Str(opts.Value("proxy_password")) + "@" + host
	}
	return "http://" + host
}

func timeout(v any) error {
	if !data.Truth(v) {
		return nil
	}
	if _, err := strconv.Atoi(data.Str(v)); err != nil {
		return loader.Exception("ValueError",
			"'%s' is not a valid timeout, must be an integer", data.Str(v))
	}
	return nil
}

// requirements returns the options for requirements files, and drop, which removes the copies it
// made. If a file is missing, failed is the result of the call. For another user, it copies the
// files and those that they include to a directory of that user.
func (m *module) requirements(
	ctx context.Context, v any, saltenv string, user any,
) (argv []any, drop func(), failed *data.Map, err error) {
	drop = func() {}
	for _, item := range words(v) {
		file := data.Str(item)
		if strings.HasPrefix(file, "salt://") {
			cached, err := calls.CacheFile(ctx, m.env, calls.Source{Path: file, SaltEnv: saltenv})
			if err != nil {
				return nil, drop, nil, err
			}
			if cached == "" {
				return nil, drop, data.NewMap("result", false, "comment", "pip requirements file '"+
					file+"' not found"), nil
			}
			file = cached
			if data.Truth(user) { // who cannot read the cache; pip itself reads other files
				dir, err := os.MkdirTemp("", "__salt.tmp.")
				if err != nil {
					return nil, drop, nil, err
				}
				before := drop
				drop = func() { before(); os.RemoveAll(dir) }
				if err = m.copyFor(ctx, file, dir, user, map[string]bool{}); err == nil {
					err = calls.Chown(ctx, m.env, dir, user, nil)
				}
				if err != nil {
					return nil, drop, nil, err
				}
				file = filepath.Join(dir, filepath.Base(file))
			}
		}
		argv = append(argv, "--requirement", file)
	}
	return argv, drop, nil, nil
}

// copyFor copies a requirements file and those that it includes to a directory, and makes a user
// the owner of the copies.
func (m *module) copyFor(
	ctx context.Context, file, dir string, user any, seen map[string]bool,
) error {
	if seen[file] {
		return nil
	}
	seen[file] = true
	src, err := os.ReadFile(file)
	if err != nil {
		return loader.OSError(err)
	}
	to := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(to, src, 0o600); err != nil {
		return loader.OSError(err)
	}
	if err := calls.Chown(ctx, m.env, to, user, nil); err != nil {
		return err
	}
	for _, other := range named(string(src)) {
		if err := m.copyFor(ctx, filepath.Join(filepath.Dir(file), other), dir, user,
			seen); err != nil {
			return err
		}
	}
	return nil
}

// named returns the files that a requirements file includes.
func named(src string) (list []string) {
	for line := range strings.Lines(src) {
		line = strings.TrimSpace(regexp.MustCompile(`(?:^|\s+)#.*$`).ReplaceAllString(strings.TrimRight(line, "\r\n"), ""))
		if found := regexp.MustCompile(`(?:-r\s|--requirement[=\s])(.*)`).FindStringSubmatch(line); found != nil {
			list = append(list, strings.TrimSpace(found[1]))
		}
	}
	return list
}

type uninstallArgs struct {
	Pkgs         any    `default:"None"`
	Requirements any    `default:"None"`
	BinEnv       any    `default:"None"`
	Log          any    `default:"None"`
	Proxy        any    `default:"None"`
	Timeout      any    `default:"None"`
	User         any    `default:"None"`
	Cwd          any    `default:"None"`
	Saltenv      string `default:"'base'"`
	UseVT        bool   `name:"use_vt" default:"False"`
}

// uninstall removes packages, or those of requirements files, and returns the result of pip; see
// pip.install.
//
// CLI Example:
//
//	salt '*' pip.uninstall markdown,django
//	salt '*' pip.uninstall requirements=/path/to/requirements.txt bin_env=/path/to/virtualenv
func (m *module) uninstall(ctx context.Context, a uninstallArgs) (any, error) {
	if err := timeout(a.Timeout); err != nil {
		return nil, err
	}
	files, drop, failed, err := m.requirements(ctx, a.Requirements, a.Saltenv, a.User)
	defer drop()
	if err != nil || failed != nil {
		return orNil(failed), err
	}
	argv := append([]any{"uninstall", "-y"}, files...)
	for _, one := range []struct {
		option string
		v      any
	}{{"--log", a.Log}, {"--proxy", m.proxy(a.Proxy)}, {"--timeout", a.Timeout}} {
		if data.Truth(one.v) {
			argv = append(argv, one.option, data.Str(one.v))
		}
	}
	if err := packages.Names(words(a.Pkgs)...); err != nil {
		return nil, err
	}
	return resultMap(m.run(ctx, place{binEnv: a.BinEnv, user: a.User, cwd: a.Cwd},
		append(argv, words(a.Pkgs)...)...))
}

type upgradeArgs struct {
	BinEnv any  `default:"None"`
	User   any  `default:"None"`
	Cwd    any  `default:"None"`
	UseVT  bool `name:"use_vt" default:"False"`
}

// upgrade upgrades all installed packages, and returns result, changes and comment.
//
// CLI Example:
//
//	salt '*' pip.upgrade
func (m *module) upgrade(ctx context.Context, a upgradeArgs) (any, error) {
	p := place{binEnv: a.BinEnv, user: a.User, cwd: a.Cwd}
	installed := func() (*data.Map, error) {
		v, err := m.list(ctx, listArgs{BinEnv: a.BinEnv, User: a.User, Cwd: a.Cwd})
		list, _ := v.(*data.Map)
		return list, err
	}
	before, err := installed()
	if err != nil {
		return nil, err
	}
	list, err := m.listUpgrades(ctx, whereArgs{a.BinEnv, a.User, a.Cwd})
	if err != nil {
		return nil, err
	}
	good, comment := true, ""
	for name := range list.(*data.Map).All() {
		ran, err := m.run(ctx, p, "install", "-U", name)
		if err != nil {
			return nil, err
		}
		good = good && ran.Retcode == 0
		comment += ran.Stderr
	}
	after, err := installed()
	if err != nil {
		return nil, err
	}
	return data.NewMap("changes", difference(before, after), "result", good,
		"comment", comment), nil
}

// difference returns the old and new version of each package that changed.
func difference(before, after *data.Map) *data.Map {
	changes := data.NewMap()
	for name, old := range before.All() {
		if now, ok := after.Get(name); !ok {
			changes.Set(name, data.NewMap("old", old, "new", ""))
		} else if now != old {
			changes.Set(name, data.NewMap("old", old, "new", now))
		}
	}
	for name, now := range after.All() {
		if !before.Has(name) {
			changes.Set(name, data.NewMap("old", "", "new", now))
		}
	}
	return changes
}
