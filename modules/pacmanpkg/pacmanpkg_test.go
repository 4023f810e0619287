package pacmanpkg

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testpkg"
)

// A system has packages and prints what pacman 6 does.
type system struct {
	installed, repo map[string]string
	broken          bool
}

func (s *system) pacman(args []string) testpkg.Answer {
	words := slices.DeleteFunc(slices.Clone(args[2:]),
		func(w string) bool { return strings.HasPrefix(w, "-") })
	var b strings.Builder
	switch args[1] {
	case "-Q":
		for _, n := range slices.Sorted(maps.Keys(s.installed)) {
			fmt.Fprintf(&b, "%s %s\n", n, s.installed[n])
		}
	case "-Sl":
		for _, n := range slices.Sorted(maps.Keys(s.repo)) {
			fmt.Fprintf(&b, "core %s %s [installed]\nextra %s 0.9-1\n", n, s.repo[n], n)
		}
	case "-Sy":
		if s.broken {
			return testpkg.Answer{Code: 1, Stderr: "error: failed to synchronize all databases"}
		}
		return testpkg.Answer{Out: ":: Synchronizing package databases...\n core downloading...\n extra is up to date\n"}
	case "-Sp":
		for _, n := range args[5:] {
			if s.repo[n] != "" && s.repo[n] != s.installed[n] {
				fmt.Fprintf(&b, "%s %s\n", n, s.repo[n])
			}
		}
	case "-Sgg":
		return testpkg.Answer{Out: "xorg a\nxorg b\nkde c\ngnome d\ngnome e\n"}
	case "-Qg":
		return testpkg.Answer{Out: "xorg a\nxorg b\ngnome d\n"}
	case "-Ql":
		return testpkg.Answer{Out: "bash /usr/\nbash /usr/bin/ba sh\nerror: package 'none' was not found\n", Code: 1}
	case "-Qqo":
		return testpkg.Answer{Out: "bash"}
	default:
		return s.change(args, words)
	}
	return testpkg.Answer{Out: b.String()}
}

func (s *system) change(args, words []string) testpkg.Answer {
	if slices.Contains(args, "-p") { // -S -p -u
		if s.broken {
			return testpkg.Answer{Code: 1, Stderr: "error: no database"}
		}
		out := ":: Starting full system upgrade...\n"
		for _, n := range slices.Sorted(maps.Keys(s.installed)) {
			if v := s.repo[n]; v != "" && v != s.installed[n] {
				out += n + " " + v + "\n"
			}
		}
		return testpkg.Answer{Out: out}
	}
	if args[1] == "-Su" || slices.Contains(args, "-u") {
		for n := range s.installed {
			if v := s.repo[n]; v != "" {
				s.installed[n] = v
			}
		}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "/mnt" })
	for _, w := range words {
		if strings.ContainsAny(w, "<>") {
			w, _, _ = strings.Cut(strings.ReplaceAll(w, "<", ">"), ">")
		}
		name, version, _ := strings.Cut(w, "=")
		name = strings.Trim(strings.TrimSuffix(strings.TrimPrefix(name, "/"), ".pkg.tar.zst"), "<>")
		switch {
		case strings.HasPrefix(args[1], "-R"):
			delete(s.installed, name)
		case s.repo[name] == "" || version != "" && version != s.repo[name]:
			return testpkg.Answer{Code: 1, Stderr: "error: target not found: " + w}
		default:
			s.installed[name] = s.repo[name]
		}
	}
	return testpkg.Answer{}
}

func newHost(t *testing.T) (*testpkg.Host, *system) {
	s := &system{installed: map[string]string{"a": "1-1", "d": "1-1"},
		repo: map[string]string{"a": "1-2", "bash": "5.2.032-1"}}
	return testpkg.New(t, data.NewMap("os_family", "Arch", "os", "Arch"), s.pacman, Plugin()), s
}

func TestLooks(t *testing.T) {
	h, s := newHost(t)
	for range 2 {
		h.Is(data.NewMap("a", "1-1", "d", "1-1"), "list_pkgs", nil)
		h.Is(data.NewMap("a", []any{"1-1"}, "d", []any{"1-1"}), "list_pkgs", nil,
			"versions_as_list", true, "root", "/mnt", "use_context", false)
		h.Last("pacman -Q -r /mnt")
		h.Is("1-1", "version", []any{"a"})
		h.Is("1-2", "latest_version", []any{"a"})
		h.Is(data.NewMap("a", "1-2", "none", ""), "available_version", []any{"a", "none"}, "refresh", true)
		h.Is(true, "upgrade_available", []any{"a"})
		h.Is(data.NewMap("a", "1-2"), "list_upgrades", nil)
		h.Is(data.NewMap("core", true, "extra", false), "refresh_db", nil)
		h.Is(data.NewMap("a", []any{"1-2", "0.9-1"}), "list_repo_pkgs", []any{"a*"})
		h.Is(data.NewMap("extra", data.NewMap("a", []any{"0.9-1"}, "bash", []any{"0.9-1"})),
			"list_repo_pkgs", nil, "byrepo", true, "fromrepo", "x, extra")
		h.Is(data.NewMap("installed", []any{"xorg"}, "partially_installed", []any{"gnome"},
			"available", []any{"kde"}), "group_list", nil)
		h.Is(data.NewMap("mandatory", []any{}, "optional", []any{}, "default",
			[]any{"a", "b", "c", "d", "e"}, "conditional", []any{}), "group_info", []any{"all"})
		none := data.NewMap("installed", []any{}, "not installed", []any{})
		h.Is(data.NewMap("mandatory", none, "optional", none, "default",
			data.NewMap("installed", []any{"a", "d"}, "not installed", []any{"b", "c", "e"}),
			"conditional", none), "group_diff", []any{"all"})
		h.Is(data.NewMap("errors", []any{"error: package 'none' was not found"},
			"files", []any{"/usr/", "/usr/bin/ba sh"}), "file_list", []any{"bash", "none"})
		h.Is(data.NewMap("errors", []any{"error: package 'none' was not found"},
			"packages", data.NewMap("bash", []any{"/usr/", "/usr/bin/ba sh"})), "file_dict", nil)
		h.Is("bash", "owner", []any{"/usr/bin/bash"})
		h.Is("", "owner", nil)
	}
	s.broken = true
	h.Is("salt.exceptions.CommandExecutionError: Error refreshing package database: error: failed to synchronize all databases", "refresh_db", nil)
	h.Is("salt.exceptions.CommandExecutionError: Error listing upgrades: error: no database",
		"list_upgrades", nil)
}

func TestChanges(t *testing.T) {
	h, s := newHost(t)
	h.Is(testpkg.Changes("bash", "", "5.2.032-1"), "install", []any{"bash"})
	h.RanOne("pacman -S --noprogressbar --noconfirm --needed bash")
	h.Is(data.NewMap(), "install", nil, "pkgs", []any{data.NewMap("bash", "5.2.*")},
		"refresh", true, "sysupgrade", false)
	h.RanOne("pacman -S --noprogressbar --noconfirm --needed bash=5.2.032-1")
	h.Is(testpkg.Changes("a", "1-1", "1-2"), "install", []any{"bash"}, "refresh", true, "version", ">=5")
	h.RanOne("pacman -S -y -u --noprogressbar --noconfirm --needed bash>=5")
	h.Is(testpkg.Changes("bash", "5.2.032-1", ""), "remove", []any{"bash,none"})
	h.Is(data.NewMap(), "remove", []any{"bash"})
	h.Is(testpkg.Changes("bash", "", "5.2.032-1"), "install", nil,
		"sources", []any{data.NewMap("bash", "/bash.pkg.tar.zst")})
	h.RanOne("pacman -U --noprogressbar --noconfirm /bash.pkg.tar.zst")
	h.Is(testpkg.Changes("bash", "5.2.032-1", ""), "purge", []any{"bash"})
	h.RanOne("pacman -Rsc --noprogressbar --noconfirm bash")
	const failed = "salt.exceptions.CommandExecutionError: Problem encountered installing package(s). Additional info follows:\n\nchanges:\n    ----------\nerrors:\n    - "
	h.Is(failed+"error: target not found: none", "install", []any{"none"})
	h.Is(failed+"No version matching '7*' found for package 'bash' (available: 5.2.032-1, 0.9-1)",
		"install", []any{"bash"}, "version", "7*")
	h.Is(failed+"Invalid wildcard for bash>7*", "install", []any{"bash"}, "version", ">7*")
	s.repo["a"] = "1-3"
	h.Is(testpkg.Changes("a", "1-2", "1-3"), "upgrade", nil, "refresh", true, "root", "/mnt")
	h.RanOne("pacman -Su --noprogressbar --noconfirm -y -r /mnt")
	h.Is(data.NewMap(), "upgrade", nil)
}

func TestOtherSystems(t *testing.T) {
	if h := testpkg.New(t, data.NewMap("os_family", "Debian"), nil, Plugin()); h.Has("install") {
		t.Error("there is a module")
	}
}

func FuzzOutputs(f *testing.F) {
	f.Add("core bash 5 [installed]\nbash 5\n", "core")
	f.Fuzz(func(t *testing.T, text, from string) {
		for _, v := range offered(text, from, nil, false).All() {
			if len(v.([]any)) == 0 {
				t.Error("a package without a version")
			}
		}
	})
}
