package zypperpkg

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testpkg"
)

// A system has packages and prints what zypper 1.14 does.
type system struct {
	t               *testing.T
	root            string
	installed, repo map[string]string
	locked          int // for how many more calls zypper is locked
}

func (s *system) run(args []string) testpkg.Answer {
	if args[0] == "rpm" {
		var b strings.Builder
		for _, n := range slices.Sorted(maps.Keys(s.installed)) {
			v, r, _ := strings.Cut(s.installed[n], "-")
			fmt.Fprintf(&b, "%s_|-(none)_|-%s_|-%s_|-x86_64_|-(none)_|-1487838485\n", n, v, r)
		}
		return testpkg.Answer{Out: b.String() + "gpg-pubkey_|-(none)_|-1_|-2_|-(none)_|-(none)_|-1\n"}
	}
	var words []string
	for i, w := range args[1:] {
		if !strings.HasPrefix(w, "-") && !slices.Contains([]string{"--root", "--from", "--repo"}, args[i]) {
			words = append(words, w)
		}
	}
	switch words[0] {
	case "refresh":
		return testpkg.Answer{Out: "Forcing raw metadata refresh\nRetrieving repository 'openSUSE-Leap' metadata [..done]\nBuilding repository 'openSUSE-Leap' cache [....done]\n" +
			"Repository 'openSUSE-Update' is up to date.\nAll repositories have been refreshed.\n"}
	case "list-updates":
		return testpkg.Answer{Out: `<?xml version='1.0'?>
<stream>
<message type="info">Loading repository data...</message>
<update-status version="0.6">
<update-list>
 <update name="SUSEConnect" edition="0.2.33-7.1" arch="x86_64" kind="package" ><summary>Utility &amp; more</summary><license></license></update>
 <update name="SUSE-SLE-1" edition="1" arch="noarch" kind="patch" ></update>
</update-list>
</update-status>
</stream>
`}
	case "info":
		return testpkg.Answer{Out: s.info(words[1:])}
	case "se", "search":
		return s.search(args, words)
	case "rr":
		must(s.t, os.Remove(filepath.Join(s.root, repoDir, words[1]+".repo")))
		return testpkg.Answer{Out: `<?xml version='1.0'?><stream><progress id="" name="Removing repository"/><message type="info">Repository 'x' has been removed.</message></stream>`}
	case "ar":
		must(s.t, os.WriteFile(filepath.Join(s.root, repoDir, words[2]+".repo"),
			[]byte("["+words[2]+"]\nname="+words[2]+"\nenabled=1\nautorefresh=0\nbaseurl="+words[1]+
				"\n"), 0o644))
	case "mr":
		file := filepath.Join(s.root, repoDir, words[len(words)-1]+".repo")
		text, err := os.ReadFile(file)
		must(s.t, err)
		if slices.Contains(args, "--disable") {
			text = []byte(strings.Replace(string(text), "enabled=1", "enabled=0", 1))
		}
		must(s.t, os.WriteFile(file, text, 0o644))
	case "al", "rl":
		s.lock(words[0], words[1:])
	default:
		return s.change(args, words)
	}
	return testpkg.Answer{Out: "<?xml version='1.0'?><stream></stream>"}
}

func (s *system) lock(verb string, names []string) {
	text := ""
	for _, n := range names {
		if verb == "al" {
			text += "\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: " + n + "\n"
		}
	}
	must(s.t, os.WriteFile(filepath.Join(s.root, "etc/zypp/locks"), []byte(text), 0o644))
}

func (s *system) info(names []string) string {
	var b strings.Builder
	b.WriteString("Loading repository data...\nReading installed packages...\n\n")
	for _, n := range names[1:] {
		status := "not installed"
		switch {
		case s.repo[n] == "":
			fmt.Fprintf(&b, "package '%s' not found.\n", n)
			continue
		case s.installed[n] == s.repo[n]:
			status = "up-to-date"
		case s.installed[n] != "":
			status = "out-of-date (version " + s.installed[n] + " installed)"
		}
		fmt.Fprintf(&b, "Information for package %s:\n---------------\nRepository: Pool\nName: %s\nVersion: %s\nArch: x86_64\nInstalled: %s\nStatus: %s\nDescription:\n  Text.\n\n",
			n, n, s.repo[n], map[bool]string{true: "Yes (automatically)",
				false: "No"}[s.installed[n] != ""], status)
	}
	return b.String()
}

func (s *system) search(args, words []string) testpkg.Answer {
	if slices.Contains(args, "patch") || slices.Contains(args, "pattern") {
		return testpkg.Answer{Out: `<?xml version='1.0'?><stream><search-result><solvable-list><solvable status="installed" name="one" summary="One &lt; two" kind="patch"/>` +
			`<solvable status="not-installed" name="two" summary="Two" kind="patch"/></solvable-list></search-result></stream>`}
	}
	out := "<?xml version='1.0'?><stream><search-result><solvable-list>"
	for _, n := range slices.Sorted(maps.Keys(s.repo)) {
		if len(words) == 1 || words[1] == n {
			out += fmt.Sprintf(`<solvable status="not-installed" name="%s" kind="package" edition="%s" arch="x86_64" repository="Pool"/>`, n, s.repo[n])
			out += fmt.Sprintf(`<solvable status="not-installed" name="%s" kind="package" edition="0.9-1" arch="x86_64" repository="Old"/>`, n)
		}
	}
	return testpkg.Answer{Out: out + "</solvable-list></search-result></stream>"}
}

func (s *system) change(args, words []string) testpkg.Answer {
	if s.locked > 0 {
		s.locked--
		return testpkg.Answer{Code: lockedCode,
			Stderr: "System management is locked by the application with pid 1 (zypper)."}
	}
	for _, w := range words[1:] {
		name, version, _ := strings.Cut(strings.TrimSuffix(w, "-0.9-1.x86_64"), "=")
		name = strings.TrimRight(name, "<>")
		switch {
		case words[0] == "remove":
			delete(s.installed, name)
		case s.repo[name] == "":
			return testpkg.Answer{Code: 104, Out: "No provider of '" + w + "' found.\n"}
		case version == "0.9-1" && s.installed[name] != "" && !slices.Contains(args, "--force"):
			return testpkg.Answer{Out: "The selected package '" + name +
				"-0.9-1.x86_64' from repository 'Old' has lower version than the installed one.\n"}
		default:
			s.installed[name] = s.repo[name]
		}
	}
	if words[0] == "update" && len(words) == 1 {
		for n := range s.installed {
			s.installed[n] = s.repo[n]
		}
	}
	return testpkg.Answer{}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newHost(t *testing.T) (*testpkg.Host, *system) {
	bin := t.TempDir()
	must(t, os.WriteFile(filepath.Join(bin, "zypper"), []byte("#!/bin/sh\n"), 0o755))
	t.Setenv("PATH", bin)
	s := &system{t: t, installed: map[string]string{"vim": "7.4-1"},
		repo: map[string]string{"vim": "7.4-2", "zsh": "5.6-3"}}
	h := testpkg.New(t, data.NewMap("os_family", "Suse", "os", "SUSE", "osarch", "x86_64"), s.run, Plugin())
	s.root = h.Root
	must(t, os.MkdirAll(filepath.Join(s.root, repoDir), 0o755))
	must(t, os.WriteFile(filepath.Join(s.root, repoDir, "SLE.repo"),
		[]byte("[SLE]\nname=Update Repository\nenabled=1\nautorefresh=1\nbaseurl=http://somehost.com/update/\ntype=NONE\n"), 0o644))
	return h, s
}

func TestLooks(t *testing.T) {
	h, _ := newHost(t)
	for range 2 {
		h.Is(data.NewMap("vim", "7.4-1"), "list_pkgs", nil)
		h.Is(data.NewMap("vim", []any{data.NewMap("version", "7.4", "arch", "x86_64", "release",
			"1")}), "list_pkgs", nil, "attr", "release")
		h.Is("7.4-1", "version", []any{"vim"})
		h.Is("7.4-2", "latest_version", []any{"vim"})
		h.Is(data.NewMap("vim", "7.4-2", "zsh", "5.6-3", "none", ""),
			"available_version", []any{"zsh", "vim", "none"}, "refresh", false)
		h.Last("zypper --non-interactive --no-refresh info -t package none vim zsh")
		if h.Words[len(h.Words)-1].Value("env").(*data.Map).Text("ZYPP_READONLY_HACK") != "1" {
			t.Error("zypper is to take a lock for reading")
		}
		h.Is(true, "upgrade_available", []any{"vim"})
		h.Is(data.NewMap("zsh", data.NewMap("repository", "Pool", "version", "5.6-3", "arch",
			"x86_64", "installed", false, "status", "not installed")), "info_available", []any{"zsh"})
		h.Is(data.NewMap("SUSEConnect", "0.2.33-7.1"), "list_upgrades", nil, "fromrepo", "a")
		h.Last("zypper --non-interactive --xmlout --no-refresh list-updates --repo a")
		h.Is(data.NewMap("openSUSE-Leap", true, "openSUSE-Update", false), "refresh_db", nil)
		h.Last("zypper --non-interactive refresh --force")
		h.Is(data.NewMap("zsh", []any{"5.6-3", "0.9-1"}), "list_repo_pkgs", []any{"zsh"})
		h.Is(data.NewMap("Old", data.NewMap("zsh", []any{"0.9-1"})), "list_repo_pkgs", []any{"zsh"},
			"byrepo", true, "fromrepo", "Old")
		h.Is("salt.exceptions.CommandExecutionError: No packages found matching 'none'",
			"search", []any{"none"}, "match", "exact")
		h.Is(data.NewMap("one", data.NewMap("installed", true, "summary", "One < two"),
			"two", data.NewMap("installed", false, "summary", "Two")), "list_patches", nil)
		h.Is(data.NewMap("one", data.NewMap("installed", true, "summary", "One < two"),
			"two", data.NewMap("installed", false, "summary", "Two")), "list_patterns", nil)
		h.Is(data.NewMap("one", data.NewMap("installed", true, "summary", "One < two")),
			"list_installed_patches", nil)
		h.Is(int64(-1), "version_cmp", []any{"1.0-1", "1.0-2"})
		h.Is("zsh", "normalize_name", []any{"zsh.x86_64"})
	}
}

func TestChanges(t *testing.T) {
	h, s := newHost(t)
	h.Is(testpkg.Changes("zsh", "", "5.6-3"), "install", []any{"zsh"})
	h.RanOne("zypper --non-interactive --no-refresh install --auto-agree-with-licenses --name zsh")
	h.Is(data.NewMap(), "install", []any{"zsh"}, "version", "5.6*", "skip_verify", true,
		"no_recommends", true, "fromrepo", "Pool", "root", "/mnt")
	h.RanOne("zypper --non-interactive --root /mnt --no-gpg-checks --no-refresh install --auto-agree-with-licenses --name --force --force-resolution --from Pool --no-recommends zsh=5.6-3")
	h.Is(data.NewMap(), "install", nil, "pkgs", []any{data.NewMap("zsh", ">=5")}, "refresh", true)
	h.RanOne("zypper --non-interactive --no-refresh install --auto-agree-with-licenses --name zsh>=5")
	h.Is(data.NewMap(), "install", nil, "pkgs", []any{data.NewMap("zsh", "0.9-1")})
	h.RanOne("zypper --non-interactive --no-refresh install --auto-agree-with-licenses --name --force zsh-0.9-1.x86_64")
	h.Is("salt.exceptions.CommandExecutionError: Zypper command failure: No provider of 'none' found.", "install", []any{"none"})
	h.Is("salt.exceptions.CommandExecutionError: Zypper do not supports operator \"<>\".",
		"install", []any{"zsh"}, "version", "<>1")
	h.Is("salt.exceptions.CommandExecutionError: Advisory id \"x\" not found", "install", nil,
		"advisory_ids", []any{"x"})
	h.Is(testpkg.Changes("vim", "7.4-1", "7.4-2"), "upgrade", nil)
	h.Is(data.NewMap(), "upgrade", nil, "refresh", false, "dist_upgrade", true,
		"fromrepo", []any{"a"}, "novendorchange", true)
	h.RanOne("zypper --non-interactive --no-refresh dist-upgrade --auto-agree-with-licenses --from a --no-allow-vendor-change")
	s.repo["vim"] = ""
	h.Is("salt.exceptions.CommandExecutionError: Problem encountered upgrading packages. Additional info follows:\n\nchanges:\n    ----------\nresult:\n    ----------\n    pid:\n        1\n"+
		"    retcode:\n        104\n    stderr:\n    stdout:\n        No provider of 'vim' found.",
		"upgrade", []any{"vim"}, "refresh", false)
	h.Is(testpkg.Changes("zsh", "5.6-3", ""), "remove", nil, "pkgs", []any{"zsh", data.NewMap("vim", "1")})
	h.Is(data.NewMap(), "remove", []any{"zsh"})
	h.Is(testpkg.Changes("vim", "7.4-2", ""), "purge", []any{"vim"})
}

func TestHolds(t *testing.T) {
	h, _ := newHost(t)
	outcome := func(result bool, comment string, c ...any) *data.Map {
		return data.NewMap("vim", data.NewMap("name", "vim", "changes", data.NewMap(c...),
			"result", result, "comment", comment))
	}
	h.Is("salt.exceptions.CommandExecutionError: Name or packages must be specified.", "hold", nil)
	h.Is(data.NewMap(), "list_locks", nil)
	h.Is(outcome(true, "Package vim is now being held.", "new", "hold", "old", ""), "hold", []any{"vim"})
	h.Is(outcome(true, "Package vim is already set to be held."), "hold", nil,
		"pkgs", []any{data.NewMap("vim", nil)})
	h.Is(data.NewMap("vim", data.NewMap("type", "package", "match_type", "glob", "case_sensitive",
		"on")), "list_locks", nil)
	h.Is(outcome(false, "Unable to unhold package vim as it is held with the other version."),
		"unhold", nil, "pkgs", []any{data.NewMap("vim", "1")})
	h.Is(outcome(true, "Package vim is no longer held.", "new", "", "old", "hold"), "unhold", []any{"vim"})
	h.Is(outcome(true, "Package vim was already unheld."), "unhold", []any{"vim"})
}

func TestRepos(t *testing.T) {
	h, _ := newHost(t)
	sle := data.NewMap("name", "Update Repository", "enabled", true, "autorefresh", true, "baseurl",
		"http://somehost.com/update/", "type", nil, "alias", "SLE")
	web := data.NewMap("name", "web", "enabled", false, "autorefresh", false, "baseurl",
		"http://a/b", "alias", "web")
	for range 2 {
		h.Is(sle, "get_repo", []any{"SLE"})
		h.Is(data.NewMap(), "get_repo", []any{"none"})
		h.Is(data.NewMap("SLE", sle), "list_repos", nil)
		h.Is("salt.exceptions.CommandExecutionError: Repository 'web' not found, and neither 'baseurl' nor 'mirrorlist' was specified", "mod_repo", []any{"web"})
		h.Is("salt.exceptions.CommandExecutionError: Repository 'web' not found and URL for baseurl/mirrorlist is malformed", "mod_repo", []any{"web"}, "baseurl", "a")
		h.Is("salt.exceptions.CommandExecutionError: Repository 'web' already exists as 'SLE'.",
			"mod_repo", []any{"web"}, "url", "http://somehost.com/update/")
		h.Is("salt.exceptions.CommandExecutionError: Repository 'none' not found.", "del_repo", []any{"none"})
	}
	h.Is(web, "mod_repo", []any{"web"}, "baseurl", "http://a/b", "enabled", false,
		"gpgautoimport", true, "priority", int64(3))
	h.Last("zypper --non-interactive --xmlout --no-refresh --gpg-auto-import-keys refresh web")
	h.RanOne("zypper --non-interactive --xmlout --gpg-auto-import-keys mr --disable --priority=3 web")
	h.Is(web, "mod_repo", []any{"web"}, "enabled", false)
	moved := web.Clone()
	moved.Set("baseurl", "http://c")
	h.Is(moved, "mod_repo", []any{"web"}, "baseurl", "http://c")
	same := moved.Clone()
	same.Set("comment", "Specified arguments did not result in modification of repo")
	h.Is(same, "mod_repo", []any{"web"}, "baseurl", "http://c")
	h.Is(data.NewMap("web", true, "message", "Repository 'x' has been removed."), "del_repo", []any{"web"})
	h.Is("salt.exceptions.CommandExecutionError: Repository 'web' not found.", "del_repo", []any{"web"})
}

func TestOtherSystems(t *testing.T) {
	if h := testpkg.New(t, data.NewMap("os_family", "Debian"), nil, Plugin()); h.Has("install") {
		t.Error("there is a module")
	}
}

func FuzzOutputs(f *testing.F) {
	f.Add("<a><b c='d'>e</b></a>")
	f.Add("Information for package vim:\n----\nName: vim\nStatus: up-to-date\n")
	f.Fuzz(func(t *testing.T, text string) {
		if nodes, err := parseXML(text); err == nil && len(nodes) > len(text) {
			t.Errorf("%d elements", len(nodes))
		}
		_ = parseInfo(text)
		_ = parseLocks(text)
		_ = lowerVersions(text)
	})
}
