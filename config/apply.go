package config

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/accounts"
)

// An assembly computes the effective options of a role from the defaults and the options that were
// set. Its steps are those of salt.config.apply_master_config and apply_minion_config, in the same
// order.
type assembly struct {
	role   role
	opts   *data.Map
	set    *data.Map // set by files
	report *Report
	env    func(string) string
	host   host
}

func (a *assembly) text(name string) string {
	v := a.opts.Value(name)
	if v == nil {
		return ""
	}
	return data.Str(v)
}

func (a *assembly) warn(name, format string, args ...any) {
	a.report.warn(a.report.Sources[name], format, args...)
}

// doubt adds findings, all of them doubts, to the warnings.
func (a *assembly) doubt(name string, err error) {
	if err := a.report.Judge(name, err); err != nil {
		a.warn(name, "%v", err) // not a doubt after all
	}
}

func (a *assembly) run() {
	a.opts.Set("__role", string(a.role))
	a.logDir()
	update(a.opts, a.set)
	a.saltenv()
	a.opts.Set("__cli", filepath.Base(os.Args[0]))
	a.backends()
	if a.role == minionRole {
		a.identify()
		a.idDirs()
	}
	a.dirs()
	if a.role == masterRole {
		a.identify()
		a.master()
	}
	a.prependRoot()
	a.common()
}

// logDir applies log_dir to log_file.
func (a *assembly) logDir() {
	dir := a.set.Text("log_dir")
	if dir == "" {
		return
	}
	file := a.set.Text("log_file")
	switch {
	case file == "":
		a.set.Set("log_file", filepath.Join(dir, filepath.Base(a.text("log_file"))))
	case !filepath.IsAbs(file):
		a.set.Set("log_file", filepath.Join(dir, file))
	}
}

func (a *assembly) saltenv() {
	old, ok := a.opts.Get("environment")
	switch {
	case !ok:
	case a.opts.Value("saltenv") != nil:
		a.warn("environment", "environment: the option saltenv is set too; environment is left out")
		a.opts.Set("environment", a.opts.Value("saltenv"))
	default:
		a.warn("environment", "environment: the option is now called saltenv; %s is used as saltenv", data.Str(old))
		a.opts.Set("saltenv", old)
	}
}

// backends replaces old names of file server back ends by the current ones: git is gitfs.
func (a *assembly) backends() {
	list, _ := a.opts.Value("fileserver_backend").([]any)
	list = slices.Clone(list)
	for i, v := range list {
		if s, ok := v.(string); ok && slices.Contains([]string{"git", "hg", "svn", "minion"}, s) {
			list[i] = s + "fs"
		}
	}
	a.opts.Set("fileserver_backend", list)
}

// idDirs appends the id to the directories that append_minionid_config_dirs names.
func (a *assembly) idDirs() {
	id := a.text("id")
	for _, name := range words(a.opts.Value("append_minionid_config_dirs")) {
		p := a.text(name)
		switch name {
		case "pki_dir", "cachedir", "extension_modules":
			a.opts.Set(name, filepath.Join(p, id))
		case "default_include":
			a.opts.Set(name, filepath.Join(filepath.Dir(p), id, filepath.Base(p)))
		case "pidfile":
			a.opts.Set(name, filepath.Join(filepath.Dir(p), "salt", id, filepath.Base(p)))
		}
	}
}

// dirs derives the directories that depend on others.
func (a *assembly) dirs() {
	cache := a.text("cachedir")
	if len(a.text("sock_dir")) > len(cache)+10 { // the path of a socket is short
		a.opts.Set("sock_dir", filepath.Join(cache, ".salt-unix"))
	}
	if a.role == masterRole {
		a.opts.Set("token_dir", filepath.Join(cache, "tokens"))
		a.opts.Set("syndic_dir", filepath.Join(cache, "syndics"))
	}
	if a.text("extension_modules") == "" {
		a.opts.Set("extension_modules", filepath.Join(cache, "extmods"))
	}
	if list, _ := a.opts.Value("utils_dirs").([]any); len(list) == 0 {
		a.opts.Set("utils_dirs", []any{filepath.Join(a.text("extension_modules"), "utils")})
	}
}

func (a *assembly) master() {
	if auth, _ := a.opts.Value("external_auth").(*data.Map); auth.Has("rest") {
		if a.opts.Value("keep_acl_in_token") != true {
			a.warn("external_auth", "external_auth: the backend rest needs keep_acl_in_token, which is now on")
		}
		a.opts.Set("keep_acl_in_token", true)
	}
	for _, name := range []string{"file_ignore_regex", "file_ignore_glob"} {
		if s, ok := a.opts.Value(name).(string); ok {
			a.opts.Set(name, listOf(s))
		}
	}
	peer, _ := a.opts.Value("peer").(*data.Map)
	if n, ok := toInt(a.opts.Value("worker_threads")); ok && n < 3 && peer.Len() > 0 {
		a.warn("worker_threads", "worker_threads: %d is too few for peer; 3 are used", n)
		a.opts.Set("worker_threads", int64(3))
	}
	a.opts.Set("auto_accept", a.opts.Value("auto_accept") == true)
	a.opts.Set("nodegroups", groups(a.opts.Value("nodegroups")))
}

func listOf(s string) []any {
	if s == "" {
		return []any{}
	}
	return []any{s}
}

// groups returns nodegroups as one map; it may also be written as a list of small maps.
func groups(v any) *data.Map {
	all := &data.Map{}
	switch v := v.(type) {
	case *data.Map:
		return v
	case []any:
		for _, e := range v {
			if m, ok := e.(*data.Map); ok {
				update(all, m)
			}
		}
	}
	return all
}

// common is the last step for both roles.
func (a *assembly) common() {
	a.opts.Set("open_mode", a.opts.Value("open_mode") == true)
	a.opts.Set("file_roots", a.roots("file_roots", "/srv/salt"))
	a.opts.Set("pillar_roots", a.roots("pillar_roots", "/srv/pillar"))
	a.opts.Set("hash_type", strings.ToLower(a.text("hash_type")))
	if a.text("ipc_write_buffer") == "dynamic" {
		a.opts.Set("ipc_write_buffer", dynamicBuffer())
	}
	switch a.opts.Value("ssl") {
	case false:
		a.opts.Set("ssl", nil)
	case true:
		a.opts.Set("ssl", &data.Map{})
	}
	if rest, ok := strings.CutPrefix(a.text("ssh_config_file"), "~/"); ok {
		a.opts.Set("ssh_config_file", filepath.Join(accounts.Home(a.env), rest))
	}
	if a.role == minionRole {
		if !a.opts.Has("beacons") {
			a.opts.Set("beacons", &data.Map{})
		}
		if !a.opts.Has("__cachedir") {
			a.opts.Set("__cachedir", a.opts.Value("cachedir"))
		}
	}
}

// roots returns the directories of each environment, with patterns replaced by their matches.
func (a *assembly) roots(name, otherwise string) *data.Map {
	roots, ok := a.opts.Value(name).(*data.Map)
	if !ok {
		a.warn(name, "%s: expected a mapping of environments to lists of directories, got %s; the default is used; "+
			"write %s: {base: [%s]}", name,
			describe(a.opts.Value(name)), name, localPath(otherwise))
		return data.NewMap("base", []any{localPath(otherwise)})
	}
	out := &data.Map{}
	for env, v := range roots.All() {
		dirs, ok := v.([]any)
		if !ok && v != nil {
			f := Expected("a list of directories", v,
				fmt.Sprintf("it has none; write %s: [%s]", data.Str(env), localPath(otherwise)))
			a.doubt(name, Doubt(Below(env, f)))
		}
		out.Set(data.Str(env), expandDirs(dirs))
	}
	return out
}

func expandDirs(dirs []any) []any {
	out := make([]any, 0, len(dirs))
	for _, v := range dirs {
		pattern, ok := v.(string)
		if !ok || !strings.ContainsAny(pattern, "*?[") {
			out = append(out, v)
			continue
		}
		found, err := filepath.Glob(pattern)
		if err != nil {
			out = append(out, v)
		}
		for _, dir := range found {
			out = append(out, dir)
		}
	}
	return out
}

// prependRoot prepends root_dir to paths that are relative or lie below the default root
// (salt.config.prepend_root_dir).
func (a *assembly) prependRoot() {
	names := []string{"pki_dir", "cachedir", "sock_dir", "extension_modules", "pidfile"}
	logs := []string{"log_file", "key_logfile"}
	if a.role == masterRole {
		names = append(names, "autosign_file", "autoreject_file", "token_dir", "syndic_dir",
			"sqlite_queue_dir",
			"autosign_grains_dir", "api_pidfile", "syndic_pidfile")
		logs = append(logs, "ssh_log_file", "api_logfile", "syndic_log_file")
	}
	for _, name := range logs {
		if s, ok := a.opts.Value(name).(string); ok && isPath(s) {
			names = append(names, name)
		}
	}
	root, err := filepath.Abs(a.text("root_dir"))
	if err != nil {
		root = a.text("root_dir")
	}
	for _, name := range names {
		// an empty path means no file; Salt would make it the root directory
		if v, ok := a.opts.Get(name); ok && v != nil && v != "" {
			a.opts.Set(name, underRoot(data.Str(v), root, localLayout().root))
			a.report.rooted = append(a.report.rooted, name)
		}
	}
}

// isPath distinguishes a path from the address of a log, such as udp://loghost:10514.
func isPath(s string) bool {
	u, err := url.Parse(s)
	return err != nil || u.Scheme == "" || len(u.Scheme) == 1
}

// underRoot returns p below root, without adding root twice. A path that begins with the default
// root first loses that prefix. If p begins with both roots, the longer one is removed.
func underRoot(p, root, byDefault string) string {
	byDefault = strings.TrimSuffix(byDefault, string(filepath.Separator))
	ofDefault, inDefault := below(p, byDefault)
	ofRoot, inRoot := below(p, root)
	switch {
	case inRoot && (!inDefault || strings.Contains(root, byDefault)):
		p = ofRoot
	case inDefault:
		p = ofDefault
	case runtime.GOOS == "windows" && filepath.VolumeName(p) == "":
	case filepath.IsAbs(p):
		return p
	}
	return filepath.Join(root, p)
}

// below returns the part of p after dir.
func below(p, dir string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(p, strings.TrimSuffix(dir, string(filepath.Separator)))
	return rest, ok && strings.HasPrefix(rest, string(filepath.Separator))
}

// dynamicBuffer returns half of the larger of 10 MiB and a twentieth of the memory.
func dynamicBuffer() int64 {
	return max(totalMemory()/20, 10<<20) / 2
}
