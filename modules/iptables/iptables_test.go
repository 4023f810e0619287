package iptables_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
)

// fake replaces iptables and ip6tables in tests that do not need the real programs.
const fake = `#!/bin/sh
case "$1" in
--help) echo "--wait -w"; [ -e "$0.old" ] || echo "--check -C";;
--version) echo "iptables v1.8.9 (nf_tables)";;
*) echo "$0 $*" >> "$LOG"; [ ! -e "$0.fails" ];;
esac
`

// programs creates a directory with the fake programs, puts it first in the search path, and
// returns it.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"iptables", "ip6tables"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(fake), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("LOG", filepath.Join(dir, "log"))
	return dir
}

func registry(t *testing.T, opts *data.Map) *loader.Registry {
	t.Helper()
	env := &loader.Env{Opts: opts,
		Grains: func() *data.Map { return data.NewMap("os", "Debian", "os_family", "Debian") }}
	r, err := loader.NewRegistry(env, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// testdata/build.json has rules that Salt 3006.0 built from handwritten and random arguments.
func TestBuildRule(t *testing.T) {
	dir := programs(t)
	calls.Check(t, "testdata/build.json", registry(t, data.NewMap()).Invoke, "@BIN@", dir)
}

// testdata/saved.json has the results of Salt 3006.0 for files of rules.
func TestSavedRules(t *testing.T) {
	programs(t)
	r := registry(t, data.NewMap())
	src, err := os.ReadFile("testdata/saved.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules")
	for _, c := range vectors.Cases(t, list.([]any)) {
		c.Only("fun", "args", "text", "value")
		if err := os.WriteFile(file, []byte(c.Text("text")), 0o600); err != nil {
			t.Fatal(err)
		}
		var args []any
		if c.Has("args") {
			args = c.List("args")
		}
		for range 2 {
			got, err := r.Invoke(t.Context(), c.Text("fun"), args, data.NewMap("conf_file", file))
			if err != nil || !data.Equal(got, c.Value("value")) {
				t.Errorf("%s of %q\n got %s, %v\nwant %s", c.Text("fun"), c.Text("text"),
					data.Repr(got), err, data.Repr(c.Value("value")))
			}
		}
	}
}

func TestInvalidSavedRules(t *testing.T) {
	programs(t)
	r := registry(t, data.NewMap())
	file := filepath.Join(t.TempDir(), "rules")
	for text, want := range map[string]string{
		":INPUT ACCEPT [0:0]\n":                          `a chain has a table, a policy and counters: ":INPUT ACCEPT [0:0]"`,
		"*filter\n:INPUT\n":                              `a chain has a table, a policy and counters: ":INPUT"`,
		"*filter\n:INPUT ACCEPT [0]\n":                   `a chain has two counters: ":INPUT ACCEPT [0]"`,
		"*filter\n-A INPUT -j X\n":                       `a rule stands below its chain: "-A INPUT -j X"`,
		"*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j 'X\n": `No closing quotation: "-A INPUT -j 'X"`,
		"*filter\n:INPUT ACCEPT [0:0]\n-AINPUT -j X\n":   `a rule has a chain: "-AINPUT -j X"`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := r.Invoke(t.Context(), "iptables.get_saved_rules", []any{file}, nil)
		if got := calls.Text(err); got != "salt.exceptions.CommandExecutionError: read saved iptables rules: "+want {
			t.Errorf("%q returned %s", text, got)
		}
	}
}

// testdata/live.json has consecutive calls of Salt 3006.0 in a fresh network namespace, with their
// results.
func TestLive(t *testing.T) {
	if !need.Network(t, "iptables-save", "ip6tables-save") {
		return
	}
	r, tmp := registry(t, data.NewMap("cachedir", t.TempDir())), t.TempDir()
	src, err := os.ReadFile("testdata/live.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode([]byte(strings.ReplaceAll(string(src), "@TMP@", tmp)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range vectors.Cases(t, list.([]any)) {
		var args []any
		kwargs := data.NewMap()
		if c.Has("args") {
			args = c.List("args")
		}
		if c.Has("kwargs") {
			kwargs = c.Object("kwargs")
		}
		got, err := r.Invoke(t.Context(), c.Text("fun"), args, kwargs)
		want := c.Map.Value("value")
		if c.Text("fun") == "iptables.version" {
			got, want = strings.HasPrefix(data.Str(got), "v1."), true
		}
		if err != nil || !data.Equal(got, want) {
			t.Errorf("%s %s %s\n got %s, %v\nwant %s", c.Text("fun"), data.Repr(args),
				data.Repr(kwargs), data.Repr(got), err, data.Repr(want))
		}
	}
}

// Lines that a setting excludes are not saved.
func TestSaveFilters(t *testing.T) {
	if !need.Network(t, "iptables-save", "ip6tables-save") {
		return
	}
	r, tmp := registry(t, data.NewMap("cachedir", t.TempDir(), "iptables.save_filters",
		[]any{"-j DOCKER", "([", "^-A FORWARD"})), t.TempDir()
	for _, rule := range [][]any{{"filter", "INPUT", "-p tcp -j ACCEPT"},
		{"filter", "FORWARD", "-p tcp -j ACCEPT"}} {
		if ok, err := r.Invoke(t.Context(), "iptables.append", rule, nil); ok != true || err != nil {
			t.Fatalf("append returned %v, %v", ok, err)
		}
	}
	file := filepath.Join(tmp, "sub", "rules")
	for range 2 {
		if _, err := r.Invoke(t.Context(), "iptables.save", []any{file}, nil); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(text), "-A FORWARD") ||
			!strings.Contains(string(text), "-A INPUT -p tcp -j ACCEPT") {
			t.Errorf("%v: %s", err, text)
		}
	}
}

// An iptables without --check is queried by means of a temporary chain.
func TestCheckWithoutOption(t *testing.T) {
	dir := programs(t)
	save := "#!/bin/sh\nprintf '%s\\n' '-A INPUT -p tcp -j ACCEPT' '-A 0xb21ebeef0001 -p tcp -j ACCEPT'\n"
	for name, text := range map[string]string{"iptables.old": "", "iptables-save": save} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := registry(t, data.NewMap())
	for chain, want := range map[string]bool{"INPUT": true, "OUTPUT": false} {
		for range 2 {
			if got, err := r.Invoke(t.Context(), "iptables.check",
				[]any{"filter", chain, "-p tcp -j ACCEPT"}, nil); got != want || err != nil {
				t.Errorf("check of %s returned %v, %v", chain, got, err)
			}
		}
	}
}

// A table that cannot be read is not treated as a table without chains.
func TestUnreadable(t *testing.T) {
	dir := programs(t)
	if err := os.WriteFile(filepath.Join(dir, "iptables-save"),
		[]byte("#!/bin/sh\necho broken >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := registry(t, data.NewMap())
	for fun, args := range map[string][]any{"check_chain": {"filter", "X"}, "get_rules": nil,
		"get_policy": {"filter", "INPUT"}, "save": {filepath.Join(dir, "out")}} {
		if got, err := r.Invoke(t.Context(), "iptables."+fun, args, nil); err == nil ||
			!strings.Contains(err.Error(), "broken") {
			t.Errorf("%s returned %v, %v", fun, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("a file was written")
	}
}

func TestNoProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r := registry(t, data.NewMap())
	if text := r.MissingText("iptables.version"); r.Has("iptables.version") ||
		!strings.Contains(text, "iptables not installed") {
		t.Errorf("got %s", text)
	}
}
