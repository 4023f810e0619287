package pkg_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/aptpkg"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/modules/dpkg"
	"github.com/brineproject/brine/modules/pkgresource"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/pkg"
)

// programs simulate dpkg and apt. The lines of DIR/status have selection, state, name and version,
// those of DIR/repo name and version.
var programs = map[string]string{
	"dpkg-query": `awk '{print $1, "ok", $2, $3, $4, "amd64"}' DIR/status`,
	"dpkg": `case $1 in
--get-selections) awk '{print $3 "\t" $1}' DIR/status;;
--set-selections) while read -r name wish; do awk -v n="$name" -v w="$wish" '$3 == n {$1 = w} {print}' DIR/status > DIR/s; mv DIR/s DIR/status; done;;
esac`,
	"apt-cache": `shift 2; for name; do v=$(awk -v n="$name" '$1 == n {print $2}' DIR/repo); test -z "$v" || printf '%s:\n  Installed: x\n  Candidate: %s\n  Version table:\n' "$name" "$v"; done`,
	"apt-get": `echo "$*" >> DIR/calls
action=
while test $# -gt 0; do
  case $1 in
  -o|-t) shift;;
  -*) ;;
  install|remove|purge|update|upgrade) action=$1;;
  broken) echo "E: Unable to locate package broken" >&2; exit 100;;
  *) name=${1%%=*}; version=$(awk -v n="$name" '$1 == n {print $2}' DIR/repo)
    test "$1" = "$name" || version=${1#*=}
    awk -v n="$name" '$3 == n' DIR/status > DIR/was
    awk -v n="$name" '$3 != n' DIR/status > DIR/s
    case $action in
    install) echo "install installed $name $version" >> DIR/s;;
    remove) test ! -s DIR/was || echo "deinstall config-files $name $version" >> DIR/s;;
    esac
    mv DIR/s DIR/status;;
  esac
  shift
done`,
}

type host struct {
	t      *testing.T
	dir    string
	states *loader.Registry
	ctx    context.Context
}

func newHost(t *testing.T, status, repo string) *host {
	t.Helper()
	h := &host{t: t, dir: t.TempDir(), ctx: loader.WithContext(t.Context(), &loader.Context{})}
	for name, body := range programs {
		h.write(name, "#!/bin/sh\n"+strings.ReplaceAll(body, "DIR", h.dir)+"\n", 0o755)
	}
	h.write("status", status, 0o644)
	h.write("repo", repo, 0o644)
	t.Setenv("PATH", h.dir+":"+os.Getenv("PATH"))
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg"), 0o755); err != nil {
		t.Fatal(err)
	}
	// dpkg's status file is elsewhere here; its modification time shows changes
	if err := os.Symlink(filepath.Join(h.dir, "status"),
		filepath.Join(root, "var/lib/dpkg/status")); err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Root: root, Opts: data.NewMap("id", "web1", "cachedir", "/"),
		Grains: func() *data.Map { return data.NewMap("os_family", "Debian", "osarch", "amd64", "cpuarch", "x86_64") }}
	funcs, err := loader.NewRegistry(env,
		[]loader.Plugin{aptpkg.Plugin(), cmd.Plugin(render.Brought{}), config.Plugin(),
			dpkg.Plugin(), pkgresource.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	if h.states, err = loader.NewRegistry(funcs.Env(), []loader.Plugin{pkg.Plugin()}); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *host) write(name, text string, mode os.FileMode) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), mode); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(h.dir, name))
	return string(text)
}

func (h *host) run(ctx context.Context, fun string, kwargs *data.Map) *data.Map {
	h.t.Helper()
	ret, err := h.states.Invoke(ctx, "pkg."+fun, nil, data.Clone(kwargs).(*data.Map))
	if err != nil {
		h.t.Fatalf("%s %s: %v", fun, data.Repr(kwargs), err)
	}
	return ret.(*data.Map)
}

const (
	status = "install installed bash 5.2\ndeinstall config-files mc 4.8\ninstall installed figlet 2.2.4\nhold installed sl 5\n"
	repo   = "bash 5.2\nfiglet 2.2.5\nhello 2.10-3\nsl 5\ntree 1:2.1\n"
)

func was(old, now string) *data.Map { return data.NewMap("old", old, "new", now) }

// The comments are those of Salt 3006.0 for the same packages on Debian 12.
func TestStates(t *testing.T) {
	for _, c := range []struct {
		fun, would, done, same string
		kwargs, changes        *data.Map
	}{
		{"installed", "The following packages would be installed/updated: hello",
			"The following packages were installed/updated: hello",
			"All specified packages are already installed", data.NewMap("name", "hello"),
			data.NewMap("hello", was("", "2.10-3"))},
		{"installed", "The following packages would be installed/updated: hello, tree",
			"The following packages were installed/updated: hello, tree=2.1\nThe following packages were already installed: bash",
			"All specified packages are already installed and are at the desired version",
			data.NewMap("name", "x", "pkgs", []any{"hello", data.NewMap("tree", "2.1"), "bash"}),
			data.NewMap("hello", was("", "2.10-3"), "tree", was("", "2.1"))},
		{"installed", "The following packages would be installed/updated: figlet",
			"1 targeted package was installed/updated.",
			"All specified packages are already installed and are at the desired version",
			data.NewMap("name", "figlet", "version", "2.2.5-0+nothing"),
			data.NewMap("figlet", was("2.2.4", "2.2.5-0+nothing"))},
		{"latest", "The following packages would be installed/upgraded: figlet",
			"The following packages were successfully installed/upgraded: figlet",
			"Package figlet is already up-to-date", data.NewMap("name", "figlet"),
			data.NewMap("figlet", was("2.2.4", "2.2.5"))},
		{"removed", "The following packages will be removed: figlet.", "All targeted packages were removed.",
			"All specified packages are already absent", data.NewMap("name", "figlet"),
			data.NewMap("figlet", was("2.2.4", ""))},
		{"purged", "The following packages will be purged: mc.",
			"The following packages were not installed: hello The following packages were purged: mc.",
			"None of the targeted packages are installed or partially installed",
			data.NewMap("name", "x", "pkgs", []any{"mc", "hello"}),
			data.NewMap("removed", data.NewMap("mc", was("4.8", "")), "installed", data.NewMap())},
		{"held", "The following package would be held: bash", "Package bash is now being held",
			"No changes made", data.NewMap("name", "bash"),
			data.NewMap("bash", data.NewMap("name", "bash", "changes", was("install", "hold"),
				"result", true, "comment", "Package bash is now being held."))},
		{"unheld", "The following package would be unheld: sl",
			"Package sl is no longer being held.", "No changes made", data.NewMap("name", "sl"),
			data.NewMap("sl", data.NewMap("name", "sl", "changes", was("hold", "install"),
				"result", true, "comment", "Package sl is no longer being held."))},
	} {
		t.Run(c.fun+" "+data.Repr(c.kwargs), func(t *testing.T) {
			h := newHost(t, status, repo)
			testMode := change.WithCall(h.ctx, &change.Call{Test: true, SaltEnv: "base", Low: &data.Map{}})
			if got := h.run(testMode, c.fun, c.kwargs); got.Value("result") != nil ||
				got.Value("comment") != c.would || h.read("status") != status {
				t.Errorf("test mode gives %s and leaves\n%s", data.Repr(got), h.read("status"))
			}
			if got := h.run(h.ctx, c.fun, c.kwargs); got.Value("result") != true ||
				got.Value("comment") != c.done || !data.Equal(got.Value("changes"), c.changes) {
				t.Errorf("the first run gives %s", data.Repr(got))
			}
			after := h.read("status")
			for _, ctx := range []context.Context{h.ctx, testMode} {
				got := h.run(ctx, c.fun, c.kwargs)
				if got.Value("result") != true || got.Value("comment") != c.same ||
					data.Truth(got.Value("changes")) || h.read("status") != after {
					t.Errorf("the second run gives %s", data.Repr(got))
				}
			}
		})
	}
}

// The error output of apt-get is in the comment, and no change is reported.
func TestFailure(t *testing.T) {
	h := newHost(t, status, repo)
	for range 2 {
		got := h.run(h.ctx, "installed", data.NewMap("name", "broken"))
		want := "Problem encountered installing package(s). Additional info follows:\n\nerrors:\n    - E: Unable to locate package broken"
		if got.Value("result") != false || got.Value("comment") != want || data.Truth(got.Value("changes")) {
			t.Errorf("got %s", data.Repr(got))
		}
		if got := h.run(h.ctx, "latest",
			data.NewMap("name", "broken")); got.Value("result") != false ||
			got.Value("comment") != "No information found for 'broken'." {
			t.Errorf("got %s", data.Repr(got))
		}
	}
	h.write("dpkg-query", "#!/bin/sh\necho 'dpkg-query: error: broken' >&2; exit 2\n", 0o755)
	h.write("status", status+"\n", 0o644)
	if got := h.run(h.ctx, "removed", data.NewMap("name", "bash")); got.Value("result") != false {
		t.Errorf("without a look at what is installed: %s", data.Repr(got))
	}
}

// A held package can be changed, and is held again afterwards.
func TestHeldPackageIsChanged(t *testing.T) {
	h := newHost(t, status, "sl 6\n")
	for _, want := range []bool{true, false} {
		got := h.run(h.ctx, "installed", data.NewMap("name", "sl", "version", "6"))
		if got.Value("result") != true || data.Truth(got.Value("changes")) != want ||
			!strings.Contains(h.read("status"), "hold installed sl 6") {
			t.Errorf("got %s\n%s", data.Repr(got), h.read("status"))
		}
	}
}

// The package lists are refreshed once per run, by the first state that installs something.
func TestRefresh(t *testing.T) {
	h := newHost(t, status, repo)
	if done, err := h.states.Invoke(h.ctx, "pkg.mod_init",
		[]any{data.NewMap("state", "pkg", "fun", "installed")}, nil); err != nil || done != true {
		t.Fatalf("mod_init: %v, %v", done, err)
	}
	for _, name := range []string{"hello", "tree"} {
		h.run(h.ctx, "installed", data.NewMap("name", name))
	}
	if n := strings.Count(h.read("calls"), "update"); n != 1 {
		t.Errorf("refreshed %d times:\n%s", n, h.read("calls"))
	}
	if done, err := h.states.Invoke(h.ctx, "pkg.mod_init",
		[]any{data.NewMap("state", "pkg", "fun", "removed")}, nil); err != nil || done != false {
		t.Errorf("mod_init: %v, %v", done, err)
	}
}

func TestAggregate(t *testing.T) {
	h := newHost(t, status, repo)
	chunk := func(id string, more ...any) *data.Map {
		c := data.NewMap("state", "pkg", "fun", "installed", "__id__", id, "name", id)
		c.Update(data.NewMap(more...))
		return c
	}
	low := chunk("a", "version", "1", "__agg__", true)
	chunks := []any{low, chunk("b"), chunk("c", "pkgs", []any{"d", "b"}), chunk("e", "hold", true),
		chunk("f", "unless", "true"), chunk("a", "version", "2", "__id__", "other"), chunk("g",
			"fun", "removed"), chunk("h", "sources", []any{}), chunk("i")}
	running := data.NewMap("pkg_|-i_|-i_|-installed", true)
	got, err := h.states.Invoke(t.Context(), "pkg.mod_aggregate", []any{low, chunks, running}, nil)
	want := []any{data.NewMap("a", "1"), "b", "d"}
	if err != nil || !data.Equal(got.(*data.Map).Value("pkgs"), want) {
		t.Errorf("got %s, %v", data.Repr(got), err)
	}
}
