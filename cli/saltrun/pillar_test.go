package saltrun_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pillar"
)

// pillarPlace is the host of a master with a pillar and one known minion.
func pillarPlace(t *testing.T, more string) string {
	t.Helper()
	need.Root(t, "since the configuration names root as the user of the master")
	dir := place(t, more)
	text, err := os.ReadFile(filepath.Join(dir, "master"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"master": string(text) + "pillar_roots: {base: [" + dir + "/pillar], dev: [" +
			dir + "/dev]}\n",
		"pillar/top.sls": "base:\n  'os:Debian': [{match: grain}, {order: 2}, b]\n  '*': [a]\n",
		"pillar/a.sls":   "a: '{{ grains.get('fqdn', grains.get('id')) }} {{ grains.get('role', '-') }}'\n",
		"pillar/b.sls":   "b: {{ salt['test.echo']('x') }}\n",
		"dev/top.sls":    "dev: {'*': [d]}\n", "dev/d.sls": "d: 1\n",
		"etc/salt/pki/master/minions/web1": "x",
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bank, err := localfs.Open(filepath.Join(dir, "var/cache/salt/master"))
	if err != nil {
		t.Fatal(err)
	}
	defer bank.Close()
	raw, err := payload.MarshalBin(data.NewMap("grains", data.NewMap("id", "web1", "os", "Debian"),
		"pillar", data.NewMap()))
	if err != nil {
		t.Fatal(err)
	}
	if err := bank.Store("minions/web1", "data", raw); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRunnerPillar compiles without a master, with the cached grains of its minions.
func TestRunnerPillar(t *testing.T) {
	dir := pillarPlace(t, "")
	for _, tt := range []struct{ args, want string }{
		{"pillar.show_pillar web1", `{"a": "web1 -", "b": "x", "d": 1}`},
		{"pillar.show_pillar", `{"a": "* -", "d": 1}`},
		{"pillar.show_pillar web1 pillarenv=base role=web", `{"a": "web1 web", "b": "x"}`},
		{"pillar.show_pillar other pillarenv=dev saltenv=dev", `{"d": 1}`},
		{"pillar.show_top", `{"base": {"*": ["a"], "os:Debian": [{"match": "grain"}, "b"]}, "dev": {"*": ["d"]}}`},
		{"pillar.show_top web1 saltenv=base",
			`{"base": {"*": ["a"], "os:Debian": [{"match": "grain"}, "b"]}, "dev": {"*": ["d"]}}`},
		{"pillar.show_pillar_cache web1", "false"},
		{"pillar.clear_pillar_cache web1", "false"},
	} {
		for range 2 { // the second changes nothing
			out, errs, code := run(t, dir,
				append([]string{"--out=json", "--out-indent=-1"}, strings.Fields(tt.args)...)...)
			if strings.TrimSpace(out) != tt.want || code != 0 {
				t.Errorf("%s: %q %q %d, want %s", tt.args, out, errs, code, tt.want)
			}
		}
	}
}

// TestRunnerPillarShowsAndClearsTheCache reads the pillar_cache that a master wrote to disk.
func TestRunnerPillarShowsAndClearsTheCache(t *testing.T) {
	dir := pillarPlace(t, "pillar_cache: true\n")
	saved, err := pillar.OpenSaved(data.NewMap("pillar_cache_backend", "disk", "pillar_cache_ttl",
		int64(time.Hour/time.Second), "cachedir", filepath.Join(dir, "var/cache/salt/master")))
	if err != nil {
		t.Fatal(err)
	}
	for env, v := range map[string]string{"": "all", "dev": "of dev"} {
		if err := saved.Put("web1", env, data.NewMap("p", v)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ args, want string }{
		{"pillar.show_pillar_cache", `{"web1": {"p": "all"}}`},
		{"pillar.show_pillar_cache w* pillarenv=dev", `{"web1": {"p": "of dev"}}`},
		{"pillar.show_pillar_cache db*", `{}`},
		{"pillar.clear_pillar_cache db*", `{}`},
		{"pillar.show_pillar_cache web1", `{"web1": {"p": "all"}}`},
		{"pillar.clear_pillar_cache web1", `{}`},
		{"pillar.clear_pillar_cache web1", `{}`},
		{"pillar.show_pillar_cache web1", `{}`},
	} {
		out, errs, code := run(t, dir,
			append([]string{"--out=json", "--out-indent=-1"}, strings.Fields(tt.args)...)...)
		if strings.TrimSpace(out) != tt.want || code != 0 {
			t.Errorf("%s: %q %q %d, want %s", tt.args, out, errs, code, tt.want)
		}
	}
}
