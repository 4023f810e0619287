package apkpkg

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testpkg"
)

// A system has packages and prints the same output as apk 2.14.
type system struct{ installed, repo map[string]string }

func (s *system) apk(args []string) testpkg.Answer {
	var b strings.Builder
	words := slices.DeleteFunc(slices.Clone(args[2:]),
		func(w string) bool { return strings.HasPrefix(w, "-") })
	newer := func() (names []string) {
		for _, n := range slices.Sorted(maps.Keys(s.installed)) {
			if v, ok := s.repo[n]; ok && v != s.installed[n] {
				names = append(names, n)
			}
		}
		return names
	}
	switch strings.Join(args[1:min(3, len(args))], " ") {
	case "update":
		if len(s.repo) == 0 {
			return testpkg.Answer{Code: 1, Out: "ERROR: no repositories"}
		}
	case "info -v":
		for _, n := range slices.Sorted(maps.Keys(s.installed)) {
			fmt.Fprintf(&b, "%s-%s\n", n, s.installed[n])
		}
	case "upgrade -s", "upgrade":
		for i, n := range newer() {
			fmt.Fprintf(&b, "(%d/%d) Upgrading %s (%s -> %s)\n", i+1, len(newer()), n,
				s.installed[n], s.repo[n])
		}
		if len(args) == 2 {
			for _, n := range newer() {
				s.installed[n] = s.repo[n]
			}
		}
		b.WriteString("OK: 10 MiB in 15 packages\n")
	case "info -L":
		fmt.Fprintf(&b, "%s-1 contains:\nbin/%s\netc/x\n\n", args[3], args[3])
		if s.installed[args[3]] == "" {
			return testpkg.Answer{Code: 1}
		}
	case "info -W":
		if args[3] == "/bin/bash" {
			return testpkg.Answer{Out: "/bin/bash is owned by bash-5.2-r0\n"}
		}
		return testpkg.Answer{Code: 1, Out: "ERROR: " + args[3] + ": Could not find owner package"}
	default:
		return s.change(args[1], words)
	}
	return testpkg.Answer{Out: b.String()}
}

func (s *system) change(verb string, words []string) testpkg.Answer {
	if verb == "search" {
		words = []string{strings.TrimSpace(words[len(words)-1])}
		if v := s.repo[words[0]]; v != "" {
			return testpkg.Answer{Out: words[0] + "-doc-" + v + "\n" + words[0] + "-" + v + "\n"}
		}
		return testpkg.Answer{}
	}
	for _, w := range words {
		name, version, _ := strings.Cut(w, "=")
		switch {
		case verb == "del":
			delete(s.installed, name)
		case s.repo[name] == "" || version != "" && version != s.repo[name]:
			return testpkg.Answer{Code: 1, Stderr: "ERROR: unable to select packages:\n  " + w +
				" (no such package)"}
		default:
			s.installed[name] = s.repo[name]
		}
	}
	return testpkg.Answer{}
}

func newHost(t *testing.T) (*testpkg.Host, *system) {
	s := &system{map[string]string{"busybox": "1.36.1-r5", "ca-certificates-bundle": "20240226-r0"},
		map[string]string{"busybox": "1.36.1-r6", "bash": "5.2-r0"}}
	return testpkg.New(t, data.NewMap("os_family", "Alpine"), s.apk, Plugin()), s
}

func TestQueries(t *testing.T) {
	h, _ := newHost(t)
	for range 2 {
		h.Is(data.NewMap("busybox", "1.36.1-r5", "ca-certificates-bundle", "20240226-r0"), "list_pkgs", nil)
		h.Is(data.NewMap("busybox", []any{"1.36.1-r5"}, "ca-certificates-bundle",
			[]any{"20240226-r0"}), "list_pkgs", nil, "versions_as_list", true)
		h.Is(data.NewMap(), "list_pkgs", nil, "removed", true)
		h.Is("1.36.1-r5", "version", []any{"busybox"})
		h.Is("1.36.1-r6", "latest_version", []any{"busybox"})
		h.Is(data.NewMap("busybox", "1.36.1-r6", "bash", "5.2-r0", "none", ""),
			"latest_version", []any{"busybox", "bash", "none"}, "refresh", false)
		h.Is(data.NewMap("busybox", "1.36.1-r6"), "list_upgrades", nil)
		h.Is(true, "refresh_db", nil)
		h.Is(data.NewMap("errors", []any{},
			"packages", data.NewMap("busybox", []any{"bin/busybox", "etc/x"})), "file_dict",
			[]any{"busybox", "none"})
		h.Is("Package name should be provided", "file_list", nil)
		h.Is(data.NewMap("/bin/bash", "bash-5.2-r0", "/x", "Could not find owner package"),
			"owner", []any{"/bin/bash", "/x"})
		h.Is("You must provide a path", "owner", nil)
	}
}

func TestChanges(t *testing.T) {
	h, s := newHost(t)
	h.Is(testpkg.Changes("bash", "", "5.2-r0", "busybox", "1.36.1-r5", "1.36.1-r6"),
		"install", []any{"bash,busybox"})
	h.RanOne("apk add -u bash busybox")
	h.Is(data.NewMap(), "install", []any{"bash"}, "version", "5.2-r0", "refresh", true)
	h.RanOne("apk add -u bash=5.2-r0")
	h.Is(data.NewMap(), "install", nil, "pkgs", []any{data.NewMap("bash", "5.2-r0"), "busybox"})
	h.Is(data.NewMap(), "install", nil)
	h.Is("salt.exceptions.CommandExecutionError: Problem encountered installing package(s). Additional info follows:\n\nchanges:\n    ----------\nerrors:\n"+
		"    - ERROR: unable to select packages:\n        none (no such package)", "install", []any{"none"})
	h.Is("", "latest_version", []any{"bash"})
	s.repo["bash"] = "5.3-r0"
	h.Is(data.NewMap("changes", testpkg.Changes("bash", "5.2-r0", "5.3-r0"), "result", true,
		"comment", ""), "upgrade", nil)
	h.Is(data.NewMap("changes", data.NewMap(), "result", true, "comment", ""), "upgrade", nil)
	h.Is(data.NewMap("changes", data.NewMap(), "result", true, "comment", ""),
		"upgrade", []any{"bash"}, "refresh", false)
	h.RanOne("apk add -u bash")
	h.Is(testpkg.Changes("bash", "5.3-r0", ""), "remove", []any{"bash"})
	h.Is(data.NewMap(), "remove", []any{"bash"})
	h.Is(data.NewMap(), "remove", nil)
	h.Is(testpkg.Changes("busybox", "1.36.1-r6", ""), "purge", nil, "pkgs", []any{"busybox"})
	h.RanOne("apk del --purge busybox")
	s.repo = nil
	h.Is("salt.exceptions.CommandExecutionError: Problem encountered installing package(s). Additional info follows:\n\nchanges:\n    False\nerrors:\n    - ERROR: no repositories", "refresh_db", nil)
}

func TestOtherSystems(t *testing.T) {
	if h := testpkg.New(t, data.NewMap("os_family", "Debian"), nil, Plugin()); h.Has("install") {
		t.Error("there is a module")
	}
}

func FuzzOutputs(f *testing.F) {
	f.Add("(1/2) Upgrading musl (1 -> 2)\nbusybox-1.36.1-r5\n")
	f.Fuzz(func(t *testing.T, text string) {
		_ = upgrades(text)
		if name, version, ok := split(text); ok && name+"-"+version != text {
			t.Errorf("%q becomes %q and %q", text, name, version)
		}
	})
}
