package cache

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/runners"
)

// shelf returns the runner of a master with the minions web1, whose data are cached, and db1, of
// which nothing is known.
func shelf(t *testing.T, more ...any) (*loader.Registry, string) {
	t.Helper()
	dir := t.TempDir()
	keys, err := pki.Open(filepath.Join(dir, "pki"), pki.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := crypto.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"web1", "db1"} {
		if err := keys.Put(pki.Accepted, id, key.Public().PEM()); err != nil {
			t.Fatal(err)
		}
	}
	bank, err := localfs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bank.Close() })
	for name, v := range map[string]*data.Map{"data": data.NewMap("grains",
		data.NewMap("os", "Debian"), "pillar", data.NewMap("p", int64(1))),
		"mine": data.NewMap("f", int64(1), "g", "x")} {
		raw, err := payload.MarshalBin(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := bank.Store("minions/web1", name, raw); err != nil {
			t.Fatal(err)
		}
	}
	opts := data.NewMap(append([]any{"minion_data_cache", true, "cachedir", dir}, more...)...)
	r, err := loader.NewRegistry(&loader.Env{Opts: opts},
		[]loader.Plugin{Plugin(Needs{Keys: keys, Bank: bank})})
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

func expect(t *testing.T, r *loader.Registry, want, fun string, args ...any) {
	t.Helper()
	got, err := r.Invoke(t.Context(), "cache."+fun, args, nil)
	if err != nil || data.Repr(got) != want {
		t.Errorf("%s%v is %s, %v, want %s", fun, args, data.Repr(got), err, want)
	}
}

func TestCachedMinionData(t *testing.T) {
	r, _ := shelf(t)
	for range 2 {
		expect(t, r, "{'db1': {}, 'web1': {'os': 'Debian'}}", "grains", "*")
		expect(t, r, "{'web1': {'p': 1}}", "pillar")
		expect(t, r, "{'web1': {'p': 1}}", "pillar", "os:Debian and web1 or web1", "compound")
		expect(t, r, "{}", "grains", "nosuch")
		expect(t, r, "{'web1': {'f': 1, 'g': 'x'}}", "mine")
		expect(t, r, "{'db1': {}}", "mine", "db1")
	}
}

func TestNoCacheWithoutTheOption(t *testing.T) {
	r, _ := shelf(t, "minion_data_cache", false)
	expect(t, r, "{'web1': {}}", "grains", "web1")
	expect(t, r, "{'web1': {}}", "mine", "web1")
}

// TestClear clears one part after the other; the second time changes nothing.
func TestClear(t *testing.T) {
	r, _ := shelf(t)
	expect(t, r, "False", "clear_all")
	expect(t, r, "False", "clear_mine_func", "web1")
	for range 2 {
		expect(t, r, "True", "clear_grains", "web1")
		expect(t, r, "{'web1': {}}", "grains", "web1")
		expect(t, r, "{'web1': {'p': 1}}", "pillar", "web1")
	}
	for range 2 {
		expect(t, r, "True", "clear_mine_func", "web1", "glob", "f")
		expect(t, r, "{'web1': {'g': 'x'}}", "mine", "web1")
	}
	for range 2 {
		expect(t, r, "True", "clear_all", "*")
		expect(t, r, "{'db1': {}, 'web1': {}}", "pillar", "*")
		expect(t, r, "{'web1': {}}", "mine", "web1")
	}
}

func TestBanks(t *testing.T) {
	r, dir := shelf(t)
	for range 2 {
		expect(t, r, "None", "store", "a/b", "k", data.NewMap("x", []any{int64(1)}))
		expect(t, r, "{'x': [1]}", "fetch", "a/b", "k")
		expect(t, r, "['k']", "list", "a/b")
	}
	expect(t, r, "{}", "fetch", "a/b", "nosuch")
	expect(t, r, "{'x': [1]}", "fetch", "a/b", "k", dir)
	expect(t, r, "True", "flush", "a/b", "k")
	expect(t, r, "False", "flush", "a/b", "k")
	expect(t, r, "False", "flush", "a/b")
	for _, bank := range []string{"../x", "/etc", "a/../../b", ""} {
		if _, err := r.Invoke(t.Context(), "cache.store", []any{bank, "k", "v"}, nil); err == nil {
			t.Errorf("bank %q is taken", bank)
		}
	}
	for _, key := range []string{"../x", "a/b", ""} {
		if _, err := r.Invoke(t.Context(), "cache.store", []any{"a", key, "v"}, nil); err == nil {
			t.Errorf("key %q is taken", key)
		}
	}
	if _, err := r.Invoke(t.Context(), "cache.store", []any{"a", "k", "v", "relative"}, nil); err == nil {
		t.Error("a relative cachedir is taken")
	}
}

func TestWhatThereIsNot(t *testing.T) {
	r, _ := shelf(t)
	for fun, arg := range map[string]string{"cloud": "x", "clear_git_lock": "gitfs"} {
		if _, err := r.Invoke(t.Context(), "cache."+fun, []any{arg}, nil); err == nil {
			t.Errorf("%s does something", fun)
		} else if _, ok := err.(*runners.UnableError); !ok {
			t.Errorf("%s: %v", fun, err)
		}
	}
	if _, err := r.Invoke(t.Context(), "cache.clear_git_lock", []any{"x"}, nil); err == nil ||
		err.Error() != "Invalid role 'x'" {
		t.Errorf("another role: %v", err)
	}
}

// A minion's pillar goes to the caller, and neither to the bus nor to the job cache.
func TestPillarIsForTheCallerAlone(t *testing.T) {
	r, dir := shelf(t)
	const marker = "a-word-of-the-pillar"
	bank, err := localfs.Open(dir)
	must(t, err)
	defer bank.Close()
	raw, err := payload.MarshalBin(data.NewMap("pillar", data.NewMap("motd", marker, marker, []any{marker})))
	must(t, err)
	must(t, bank.Store("minions/web1", "data", raw))
	var cachedPart []string
	client := runners.New(runners.Options{Kind: runners.Runner, Functions: r, Log: logrus.New(),
		Fire: func(_ context.Context, _ string, body *data.Map) error {
			cachedPart = append(cachedPart, data.Repr(body))
			return nil
		},
		Keep: func(_ context.Context, d *runners.Done) error {
			cachedPart = append(cachedPart, data.Repr(d.Data))
			return nil
		}})
	for _, tt := range []struct {
		fun  string
		args []any
		gets bool
	}{
		{"cache.pillar", []any{"web1"}, true},
		{"cache.fetch", []any{"minions/web1", "data"}, true},
		{"cache.store", []any{"own", "text", marker}, false},
		{"cache.fetch", []any{"own", "text"}, true},
	} {
		cachedPart = nil
		done := client.Run(t.Context(), runners.Call{Fun: tt.fun, Args: tt.args, JID: "20261122010203040506"})
		if got := strings.Contains(data.Repr(done.Value("return")), marker); got != tt.gets ||
			done.Value("success") != true {
			t.Errorf("%s gives its caller %s", tt.fun, data.Repr(done))
		}
		if all := strings.Join(cachedPart, "\n"); len(cachedPart) != 3 || strings.Contains(all, marker) {
			t.Errorf("%s %v is told of as\n%s", tt.fun, tt.args, all)
		}
	}
	cachedPart = nil
	client.Run(t.Context(), runners.Call{Fun: "cache.fetch", Args: []any{"../x", "y"},
		JID: "20261122010203040506"})
	if all := strings.Join(cachedPart, "\n"); !strings.Contains(all, "Traceback") {
		t.Errorf("a fault is told of as\n%s", all)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
