package yumpkg

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/testrpm"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/pkgresource"
	"github.com/brineproject/brine/modules/rpm"
	"github.com/brineproject/brine/render"
)

type nameArgs2 struct {
	Name  any
	Other any `default:"None"`
}

func plugin(name string, funcs ...loader.Func) loader.Plugin {
	return loader.Plugin{Name: name,
		New: func(*loader.Env) (*loader.Module, error) { return &loader.Module{Funcs: funcs}, nil }}
}

// A host is a system of the Red Hat family.
type host struct {
	*testrpm.Host
	t      *testing.T
	root   string
	opts   *data.Map
	grains *data.Map
	r      *loader.Registry
}

func grains() *data.Map {
	return data.NewMap("os", "CentOS", "os_family", "RedHat", "osarch", "x86_64",
		"osmajorrelease", int64(8), "osrelease", "8", "shell", "/bin/sh")
}

// newHost returns a system with real packages.
func newHost(t *testing.T, program string) *host {
	t.Helper()
	h := &host{Host: testrpm.New(t, program), t: t, opts: &data.Map{}, grains: grains()}
	h.root = h.Root
	must(t, os.WriteFile(filepath.Join(h.root, "etc/dnf/dnf.conf"), []byte("[main]\ngpgcheck=1\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(h.root, "etc/yum.repos.d/try.repo"),
		[]byte("[try]\nname=Try\nbaseurl=file:///x\n[off]\nname=Off\nbaseurl=x\nenabled=0\n"), 0o644))
	h.registry(cmd.Plugin(render.Brought{}), rpm.Plugin())
	return h
}

func (h *host) registry(more ...loader.Plugin) {
	h.t.Helper()
	must(h.t, os.MkdirAll(filepath.Join(h.root, "cache"), 0o755))
	h.opts.Set("cachedir", "/cache")
	env := &loader.Env{Root: h.root, Opts: h.opts, Grains: func() *data.Map { return h.grains }}
	r, err := loader.NewRegistry(env, append(more, Plugin(), pkgresource.Plugin(),
		plugin("config", loader.F("valid_fileproto", func(_ context.Context, a nameArgs2) (any, error) {
			return strings.Contains(data.Str(a.Name), "://"), nil
		}),
			loader.F("get", func(_ context.Context, a nameArgs2) (any, error) { return a.Other, nil })),
		plugin("file", loader.F("file_exists", func(_ context.Context, a nameArgs2) (any, error) {
			_, err := os.Stat(data.Str(a.Name))
			return err == nil, nil
		}))))
	must(h.t, err)
	h.r = r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (h *host) call(fun string, args []any, words ...any) (any, error) {
	return h.r.Invoke(h.t.Context(), "pkg."+fun, args, data.NewMap(words...))
}

// is calls a function and compares its result, or the text of its error.
func (h *host) is(want any, fun string, args []any, words ...any) {
	h.t.Helper()
	got, err := h.call(fun, args, words...)
	if err != nil {
		got = calls.Text(err)
	}
	if !data.Equal(got, want) {
		h.t.Errorf("%s %s %s gives\n%s\nwant\n%s", fun, data.Repr(args), data.Repr(words),
			data.Repr(got), data.Repr(want))
	}
}

// ran compares the program's calls since the last check.
func (h *host) ran(want ...string) {
	h.t.Helper()
	if got := h.Calls(); !slices.Equal(got, want) {
		h.t.Errorf("it ran %q, want %q", got, want)
	}
}

func changes(triples ...string) *data.Map {
	m := &data.Map{}
	for t := range slices.Chunk(triples, 3) {
		m.Set(t[0], data.NewMap("old", t[1], "new", t[2]))
	}
	return m
}

func TestInstallAndRemove(t *testing.T) {
	h := newHost(t, "dnf")
	files := h.Build(testrpm.Pkg{Name: "hello", Version: "1.0", Release: "1"},
		testrpm.Pkg{Name: "hello", Version: "2.0", Release: "1"},
		testrpm.Pkg{Name: "other", Version: "1", Release: "1", Epoch: "2"})
	h.is("", "version", []any{"hello"})
	h.is(changes("hello", "", "1.0-1"), "install", []any{"hello"}, "version", "1.0-1")
	h.ran("-y --best --allowerasing install hello-1.0-1")
	h.is(&data.Map{}, "install", []any{"hello"}, "version", "1.0-1")
	h.Calls()
	h.is("1.0-1", "version", []any{"hello"})
	h.is("2.0-1", "latest_version", []any{"hello"}, "refresh", false)
	h.ran("--quiet list available hello")
	h.is(true, "upgrade_available", []any{"hello"}, "refresh", false)
	h.is(data.NewMap("hello", "2.0-1"), "list_upgrades", nil)
	h.is(changes("hello", "1.0-1", "2.0-1"), "install", []any{"hello"})
	h.is(&data.Map{}, "install", []any{"hello"})
	h.is("", "latest_version", []any{"hello"})
	h.is(data.NewMap(), "list_upgrades", nil)
	h.is(changes("hello", "2.0-1", "1.0-1"), "install", nil, "pkgs", []any{data.NewMap("hello", "<2")})
	h.is(changes("hello", "1.0-1", "2.0-1"), "install", nil, "pkgs", []any{data.NewMap("hello", "2.*")})
	h.is(changes("other", "", "2:1-1"), "install", nil, "sources", []any{data.NewMap("other", files[2])})
	h.is(&data.Map{}, "install", nil, "sources", []any{data.NewMap("other", files[2])})
	h.Calls()
	h.is(changes("hello", "2.0-1", "2.0-1"), "install", []any{"hello"}, "reinstall", true)
	h.ran("-y reinstall hello")
	h.is("salt.exceptions.CommandExecutionError: Error occurred installing package(s). Additional info follows:\n\nchanges:\n    ----------\nerrors:\n"+
		"    - Error: Unable to find a match: nothing", "install", []any{"nothing"})
	h.is("salt.exceptions.CommandExecutionError: Error occurred installing package(s). Additional info follows:\n\nchanges:\n    ----------\nerrors:\n"+
		"    - No version matching 'hello>=3' could be found (available: 2.0-1, 1.0-1)", "install",
		[]any{"hello"}, "version", ">=3")
	h.is(data.NewMap("hello", "2.0-1", "other", "2:1-1"), "list_pkgs", nil)
	h.is(&data.Map{}, "remove", []any{"hello"}, "pkgs", []any{data.NewMap("hello", "1.0-1")})
	h.Calls()
	h.is(changes("other", "2:1-1", ""), "remove", nil, "pkgs", []any{data.NewMap("other", "2:1-1")})
	h.ran("-y remove other-1-1")
	h.is(changes("hello", "2.0-1", ""), "purge", []any{"hel*"})
	h.is(&data.Map{}, "remove", []any{"hello"})
}

func TestUpgrade(t *testing.T) {
	h := newHost(t, "dnf")
	h.Install(h.Build(testrpm.Pkg{Name: "hello", Version: "1.0", Release: "1"},
		testrpm.Pkg{Name: "other", Version: "1", Release: "1"})...)
	h.Build(testrpm.Pkg{Name: "hello", Version: "2.0", Release: "1"})
	h.is(changes("hello", "1.0-1", "2.0-1"), "upgrade", nil, "security", true, "exclude", "kernel*")
	h.ran("--quiet --assumeyes clean expire-cache", "--quiet --assumeyes check-update",
		"--quiet -y --exclude=kernel* --security upgrade")
	h.is(&data.Map{}, "upgrade", nil, "refresh", false, "fromrepo", "try", "minimal", false)
	h.ran("--quiet -y --disablerepo=* --enablerepo=try upgrade")
	h.is(&data.Map{}, "update", nil, "refresh", false, "setopt", "a=1,obsoletes=1", "skip_verify", true)
	h.ran("--quiet -y --setopt a=1 --setopt obsoletes=False --nogpgcheck upgrade")
}

func TestRefresh(t *testing.T) {
	h := newHost(t, "dnf")
	h.Install(h.Build(testrpm.Pkg{Name: "hello", Version: "1.0", Release: "1"})...)
	tag := filepath.Join(h.root, "cache/pkg_refresh")
	must(t, os.WriteFile(tag, nil, 0o644))
	h.is(nil, "refresh_db", nil, "enablerepo", []any{"a", "b"}, "disablerepo", "c")
	h.ran("--quiet --assumeyes clean expire-cache --disablerepo=c --enablerepo=a --enablerepo=b",
		"--quiet --assumeyes check-update --disablerepo=c --enablerepo=a --enablerepo=b")
	if _, err := os.Stat(tag); err == nil {
		t.Error("the mark for a refresh is still there")
	}
	h.Build(testrpm.Pkg{Name: "hello", Version: "2.0", Release: "1"})
	h.is(true, "refresh_db", nil)
	h.is(true, "clean_metadata", nil, "check_update", false)
	h.Calls()
	h.grains.Set("osmajorrelease", int64(7))
	h.is(true, "refresh_db", nil)
	h.ran("--quiet --assumeyes clean expire-cache",
		"--quiet --assumeyes check-update --setopt=autocheck_running_kernel=false")
}

func TestLists(t *testing.T) {
	h := newHost(t, "dnf")
	h.Install(h.Build(testrpm.Pkg{Name: "hello", Version: "1.0", Release: "1", Epoch: "1"})...)
	h.Build(testrpm.Pkg{Name: "hello", Version: "2.0", Release: "10"},
		testrpm.Pkg{Name: "hello", Version: "2.0", Release: "9"},
		testrpm.Pkg{Name: "other", Version: "1", Release: "1"})
	for range 2 {
		h.is(data.NewMap("hello", []any{"1:1.0-1"}), "list_pkgs", nil, "versions_as_list", true)
		h.is(data.NewMap("hello", []any{data.NewMap("version", "1.0", "arch", "noarch", "epoch",
			"1")}), "list_pkgs", nil, "attr", "epoch")
		h.is(data.NewMap(), "list_pkgs", nil, "removed", true)
		h.is(data.NewMap("hello", []any{"1:1.0-1", "2.0-10", "2.0-9"}), "list_repo_pkgs", []any{"hello"})
		h.is(data.NewMap("try", data.NewMap("hello", []any{"1:1.0-1", "2.0-10", "2.0-9"},
			"other", []any{"1-1"})), "list_repo_pkgs", nil, "byrepo", true, "fromrepo", "try")
		h.is(data.NewMap("hello", "", "other", "1-1", "none", ""),
			"latest_version", []any{"hello", "other", "none"})
		h.is("", "available_version", nil)
		h.is("hello", "owner", []any{"/etc/hello.conf"})
		h.is(data.NewMap("errors", []any{}, "files", []any{"/etc/hello.conf", "/usr/share/hello"}),
			"file_list", []any{"hello"})
		h.is(data.NewMap("errors", []any{},
			"packages", data.NewMap("hello", []any{"/etc/hello.conf", "/usr/share/hello"})),
			"file_dict", []any{"hello"})
		h.is(data.NewMap(), "verify", []any{"hello"})
		h.is(data.NewMap(), "modified", []any{"hello"})
		h.is(data.NewMap("/etc/none", "N/A", "/etc/dnf/dnf.conf", "Not managed"),
			"diff", []any{"/etc/none", "/etc/dnf/dnf.conf"})
		h.is(data.NewMap("hello", data.NewMap("version", "1.0", "source", "hello-1.0-1.src.rpm")),
			"info_installed", []any{"hello"}, "attr", "version,source_rpm")
		h.is(int64(-1), "version_cmp", []any{"1.0", "1:0.1"})
		h.is(int64(1), "version_cmp", []any{"1.0", "1:0.1"}, "ignore_epoch", true)
		h.is("zsh", "normalize_name", []any{"zsh.x86_64"})
		h.is(data.NewMap("name", "zsh", "arch", "i686"), "parse_arch", []any{"zsh.i686"})
		h.is(data.NewMap("name", "zsh", "arch", nil), "parse_arch", []any{"zsh"})
		h.is("salt.exceptions.CommandExecutionError: systemd is required to list outdated services.", "services_need_restart", nil)
	}
}

func TestHolds(t *testing.T) {
	h := newHost(t, "dnf")
	h.Install(h.Build(testrpm.Pkg{Name: "hello", Version: "1.0", Release: "1"},
		testrpm.Pkg{Name: "other", Version: "1", Release: "1"})...)
	h.Build(testrpm.Pkg{Name: "hello", Version: "2.0", Release: "1"})
	h.is("salt.exceptions.SaltInvocationError: Cannot proceed, python3-dnf-plugin-versionlock is not installed.", "hold", []any{"hello"})
	h.Install(h.Build(testrpm.Pkg{Name: "python3-dnf-plugin-versionlock", Version: "4", Release: "1"})...)
	outcome := func(name string, result any, comment string, c ...any) *data.Map {
		return data.NewMap(name, data.NewMap("name", name, "changes", data.NewMap(c...),
			"result", result, "comment", comment))
	}
	h.is("salt.exceptions.SaltInvocationError: One of name, pkgs, or sources must be specified.", "hold", nil)
	h.is(outcome("hello", true, "Package hello is now being held.", "new", "hold", "old", ""),
		"hold", []any{"hello"})
	h.is(outcome("hello", true, "Package hello is already set to be held."), "hold", nil,
		"pkgs", []any{data.NewMap("hello", nil)})
	h.is(outcome("none", false, "Package none was unable to be held."), "hold", []any{"none"})
	h.is([]any{"hello-0:1.0-1.*"}, "list_holds", nil)
	h.is([]any{"hello"}, "get_locked_packages", nil, "full", false)
	h.is("salt.exceptions.CommandExecutionError: Error occurred installing package(s). Additional info follows:\n\nchanges:\n    ----------\nerrors:\n"+
		"    - The following package(s) could not be updated because they are being held: hello. Set 'update_holds' to True to temporarily unhold these packages "+
		"so that they can be updated.", "install", []any{"hello"})
	h.is(changes("hello", "1.0-1", "2.0-1"), "install", []any{"hello"}, "update_holds", true)
	h.is([]any{"hello-0:2.0-1.*"}, "list_holds", nil)
	h.opts.Set("test", true)
	h.is(outcome("hello", nil, "Package hello is set to be unheld."), "unhold", []any{"hello"})
	h.is(outcome("other", nil, "Package other is set to be held."), "hold", []any{"other"})
	h.opts.Set("test", false)
	h.is(outcome("hello", true, "Package hello is no longer held.", "new", "", "old", "hold"),
		"unhold", []any{"hello"})
	h.is(outcome("hello", true, "Package hello is not being held."), "unhold", []any{"hello"})
}

type runArgs struct {
	Cmd    []string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// fakeHost returns a system whose programs print the texts in answers, which are stored by command
// line.
func fakeHost(t *testing.T, program string, answers map[string]string) *host {
	t.Helper()
	h := &host{t: t, root: t.TempDir(), opts: &data.Map{}, grains: grains()}
	bin := t.TempDir()
	for _, name := range []string{program, "rpm", "yumdownloader"} {
		must(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755))
	}
	t.Setenv("PATH", bin)
	h.registry(plugin("cmd", loader.F("run_all", func(_ context.Context, a runArgs) (any, error) {
		out, ok := answers[strings.Join(a.Cmd, " ")]
		code := int64(0)
		if !ok {
			code = 1
		}
		return data.NewMap("retcode", code, "stdout", out, "stderr", ""), nil
	})))
	return h
}

// The texts are the output of yum on CentOS 7 (some are in
// tests/pytests/unit/modules/test_yumpkg.py of Salt).
func TestGroups(t *testing.T) {
	h := fakeHost(t, "yum", map[string]string{
		"yum grouplist hidden": "Available Environment Groups:\n   Minimal Install\nInstalled Groups:\n   Console\n   Core\nAvailable Groups:\n   Perl Support\n" +
			"Available Language Groups:\n   German Support [de]\nDone\n",
		"yum --quiet groupinfo Perl Support": "\nGroup: Perl Support\n Group-Id: perl\n Description: Basic support for: Perl.\n Description: Perl\n Mandatory Packages:\n   =perl\n" +
			"   +perl-core\n Default Packages:\n   -perl-homedir\n Optional Packages:\n    perl-Date\n",
		"yum --quiet groupinfo Minimal": "Environment Group: Minimal Install\n Environment-Id: minimal\n Description: Basic.\n Mandatory Groups:\n   +core\n Optional Groups:\n    core\n   +perl\n",
		"yum --quiet groupinfo @core":   "Group: Core\n Group-Id: core\n Mandatory Packages:\n    bash\n   +yum\n",
		"yum --quiet groupinfo @perl":   "Group: Perl Support\n Group-Id: perl\n Default Packages:\n    perl\n",
		"yum --quiet groupinfo none":    "",
		"rpm -qa --queryformat %{NAME}_|-%{EPOCH}_|-%{VERSION}_|-%{RELEASE}_|-%{ARCH}_|-(none)_|-%{INSTALLTIME}\n": "bash_|-(none)_|-4_|-1_|-x86_64_|-(none)_|-1\n" +
			"perl_|-(none)_|-5_|-1_|-x86_64_|-(none)_|-1\nperl-core_|-(none)_|-5_|-1_|-x86_64_|-(none)_|-1\n",
	})
	for range 2 {
		h.is(data.NewMap("installed", []any{"Console", "Core"}, "available", []any{"Perl Support"},
			"installed environments", []any{}, "available environments", []any{"Minimal Install"},
			"available languages", data.NewMap("German Support [de]",
				data.NewMap("name", "German Support", "language", "de"))), "group_list", nil)
		h.is(data.NewMap("mandatory", []any{"perl", "perl-core"}, "optional", []any{"perl-Date"},
			"default", []any{"perl-homedir"}, "conditional", []any{},
			"type", "package group", "group", "Perl Support", "id", "perl", "description", "Perl"),
			"group_info", []any{"Perl Support"})
		h.is(data.NewMap("mandatory", []any{"core"}, "optional", []any{"core", "perl"},
			"default", []any{}, "conditional", []any{}, "type", "environment group", "group",
			"Minimal Install", "id", "minimal", "description", "Basic."), "group_info", []any{"Minimal"})
		h.is(data.NewMap("mandatory", []any{"bash", "yum"}, "optional", []any{},
			"default", []any{"perl"}, "conditional", []any{}, "type", "environment group", "group",
			"Minimal Install", "id", "minimal", "description", "Basic."), "group_info",
			[]any{"Minimal", true})
		h.is("salt.exceptions.CommandExecutionError: Group 'none' not found", "group_info", []any{"none"})
		none := data.NewMap("installed", []any{}, "not installed", []any{})
		h.is(data.NewMap("mandatory", data.NewMap("installed", []any{"bash"},
			"not installed", []any{"yum"}), "optional", none,
			"default", data.NewMap("installed", []any{"perl"}, "not installed", []any{}),
			"conditional", none), "group_diff", []any{"Minimal"})
		h.is(&data.Map{}, "group_install", []any{"Perl Support"}, "skip", "perl-homedir")
		h.is("salt.exceptions.SaltInvocationError: no groups specified", "groupinstall", []any{""})
	}
}

func TestPatches(t *testing.T) {
	h := fakeHost(t, "yum", map[string]string{"yum --quiet updateinfo list all": "i my-fake-patch-not-installed-1234 recommended    spacewalk-usix-2.7.5.2-2.2.noarch\n" +
		"  my-fake-patch-not-installed-1234 recommended    spacewalksd-5.0.26.2-21.2.x86_64\n" +
		"i my-fake-patch-installed-1234 recommended        my-package-one-1.1-0.1.x86_64\nupdateinfo list done\n"})
	installed := data.NewMap("installed", true, "summary", []any{"my-package-one-1.1-0.1.x86_64"})
	for range 2 {
		h.is(data.NewMap("my-fake-patch-not-installed-1234", data.NewMap("installed", false, "summary",
			[]any{"spacewalk-usix-2.7.5.2-2.2.noarch", "spacewalksd-5.0.26.2-21.2.x86_64"}),
			"my-fake-patch-installed-1234", installed), "list_patches", nil)
		h.is(data.NewMap("my-fake-patch-installed-1234", installed), "list_installed_patches", nil)
		h.is("salt.exceptions.CommandExecutionError: Advisory id \"x\" not found", "install", nil,
			"advisory_ids", []any{"x"})
	}
}

func TestYumHolds(t *testing.T) {
	h := fakeHost(t, "yum", map[string]string{
		"rpm -qa --queryformat %{NAME}_|-%{EPOCH}_|-%{VERSION}_|-%{RELEASE}_|-%{ARCH}_|-(none)_|-%{INSTALLTIME}\n": "yum-plugin-versionlock_|-(none)_|-1_|-1_|-noarch_|-(none)_|-1\n",
		"yum versionlock list":                                  "Loaded plugins: fastestmirror, versionlock\n0:bar-2:1.0.0-3.el7.*\n2:vim-enhanced-7.4.629-5.el6.*\nversionlock list done\n",
		"yum versionlock delete 2:vim-enhanced-7.4.629-5.el6.*": "",
	})
	for range 2 {
		h.is([]any{"0:bar-2:1.0.0-3.el7.*", "2:vim-enhanced-7.4.629-5.el6.*"}, "list_holds", nil)
		h.is([]any{"bar", "vim-enhanced"}, "list_holds", nil, "full", false)
		h.is(data.NewMap("vim-enhanced",
			data.NewMap("name", "vim-enhanced", "changes", data.NewMap("new", "", "old", "hold"),
				"result", true, "comment", "Package vim-enhanced is no longer held.")), "unhold",
			[]any{"vim-enhanced"})
	}
}

func TestDNF5(t *testing.T) {
	h := fakeHost(t, "dnf5", map[string]string{
		"dnf5 versionlock list": "# Added by 'versionlock add' command on 2024-10-28 11:25:19\nPackage name: bash\nevr = 5.2.32-1.fc41\n",
		"rpm -qa --queryformat %{NAME}_|-%{EPOCH}_|-%{VERSION}_|-%{RELEASE}_|-%{ARCH}_|-(none)_|-%{INSTALLTIME}\n": "bash_|-(none)_|-5_|-1_|-x86_64_|-(none)_|-1\n",
		"dnf5 --quiet list --upgrades":                "Available upgrades\nbash.x86_64 5.2.32-1.fc41 updates\n",
		"dnf5 --quiet list --available bash":          "Available packages\nbash.x86_64 5.2.32-1.fc41 updates\n",
		"dnf5 -y install --best --allowerasing x":     "",
		"dnf5 --quiet --assumeyes clean expire-cache": "",
	})
	for range 2 {
		h.is([]any{"bash"}, "list_holds", nil, "full", false)
		h.is(data.NewMap("bash", "5.2.32-1.fc41"), "list_updates", nil)
		h.is("5.2.32-1.fc41", "latest_version", []any{"bash"}, "refresh", false)
		h.is(&data.Map{}, "install", []any{"x"})
	}
}

func TestServicesNeedRestart(t *testing.T) {
	h := fakeHost(t, "dnf", map[string]string{"dnf --quiet needs-restarting": "123 : /usr/bin/firewalld\n456 : /usr/bin/bash\n789 : gone\n"})
	h.is("salt.exceptions.CommandExecutionError: systemd is required to list outdated services.",
		"services_need_restart", nil)
	for path, text := range map[string]string{"/run/systemd/system/x": "",
		"/proc/123/cgroup": "0::/system.slice/firewalld.service\n",
		"/proc/456/cgroup": "0::/user.slice/x.scope\n"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(h.root, path)), 0o755))
		must(t, os.WriteFile(filepath.Join(h.root, path), []byte(text), 0o644))
	}
	for range 2 {
		h.is([]any{"firewalld"}, "services_need_restart", nil)
	}
}

func TestDownload(t *testing.T) {
	h := fakeHost(t, "yum", map[string]string{})
	dir := filepath.Join(h.root, downloadDir)
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "httpd-1.rpm"), nil, 0o644))
	// The download removes the old file.
	h.is("salt.exceptions.CommandExecutionError: Unable to download any of the following packages: httpd", "download", []any{"httpd"})
	h.is("salt.exceptions.SaltInvocationError: No packages were specified", "download", nil)
	h.registry(plugin("cmd", loader.F("run_all", func(_ context.Context, a runArgs) (any, error) {
		return data.NewMap("retcode", int64(0), "stdout", "", "stderr", ""),
			os.WriteFile(filepath.Join(dir, "httpd-2.rpm"), nil, 0o644)
	})))
	for range 2 {
		h.is(data.NewMap("httpd", downloadDir+"/httpd-2.rpm"), "download", []any{"httpd"})
		h.is(data.NewMap("httpd", downloadDir+"/httpd-2.rpm", "_error",
			"The following package(s) failed to download: php"), "download", []any{"httpd", "php"})
	}
}

func TestRefuses(t *testing.T) {
	h := fakeHost(t, "yum", nil)
	for system, want := range map[string]bool{"CentOS": true, "Debian": false} {
		h.grains = data.NewMap("os", system,
			"os_family", map[bool]string{true: "RedHat", false: "Debian"}[want])
		h.registry()
		if h.r.Has("pkg.install") != want {
			t.Errorf("on %s there is a module: %v", system, !want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	h.grains = grains()
	h.registry()
	if got := h.r.MissingText("pkg.install"); got != "'pkg' __virtual__ returned False: DNF nor YUM found" {
		t.Errorf("it says %q", got)
	}
}
