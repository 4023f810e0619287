package key

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
)

// shelf returns the wheel module on top of a real tree: a and b pending, c accepted, d rejected.
func shelf(t *testing.T) (*loader.Registry, *pki.Dir, *[]string, string) {
	t.Helper()
	dir := t.TempDir()
	tree, err := pki.Open(filepath.Join(dir, "pki"), pki.Options{})
	if err != nil {
		t.Fatal(err)
	}
	master, err := tree.LoadOrCreate("master", 2048, "")
	if err != nil {
		t.Fatal(err)
	}
	pem := master.Public().PEM()
	for id, s := range map[string]pki.State{"a": pki.Pending, "b": pki.Pending, "c": pki.Accepted,
		"d": pki.Rejected} {
		if err := tree.Put(s, id, pem); err != nil {
			t.Fatal(err)
		}
	}
	fired := &[]string{}
	env := &loader.Env{Opts: data.NewMap("hash_type", "sha256",
		"cachedir", filepath.Join(dir, "cache"), "rotate_aes_key", true,
		"master_pubkey_signature", "sig", "master_sign_key_name", "master_sign")}
	env.Host.FireMaster = func(_ context.Context, tag string, body *data.Map) error {
		*fired = append(*fired, tag+" "+body.Text("act")+" "+body.Text("id"))
		return nil
	}
	if err := os.MkdirAll(filepath.Join(dir, "cache/minions/c"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin(tree)})
	if err != nil {
		t.Fatal(err)
	}
	return r, tree, fired, dir
}

func expect(t *testing.T, r *loader.Registry, want, fun string, args ...any) {
	t.Helper()
	got, err := r.Invoke(t.Context(), "key."+fun, args, nil)
	if err != nil || data.Repr(got) != want {
		t.Errorf("%s%v is %s, %v, want %s", fun, args, data.Repr(got), err, want)
	}
}

func TestKeysAreListed(t *testing.T) {
	r, _, _, _ := shelf(t)
	for range 2 {
		expect(t, r, "{'minions': ['c'], 'minions_pre': ['a', 'b'], 'minions_rejected': ['d'], 'minions_denied': [], 'local': ['master.pem', 'master.pub']}", "list_all")
		expect(t, r, "{'minions_pre': ['a', 'b']}", "list", "un")
		expect(t, r, "{'minions_denied': []}", "list", "denied")
		expect(t, r, "{}", "list", "nosuch")
		expect(t, r, "{'minions': ['c'], 'minions_pre': ['a']}", "name_match", "a,c")
		expect(t, r, "{'minions_pre': ['a', 'b']}", "glob_match", []any{"[ab]"})
	}
	v, err := r.Invoke(t.Context(), "key.finger", []any{"c"}, nil)
	own, err2 := r.Invoke(t.Context(), "key.finger_master", nil, nil)
	if err != nil || err2 != nil || len(data.Repr(v)) != len("{'minions': {'c': ''}}")+95 ||
		!strings.HasPrefix(data.Repr(own), "{'local': {'master.pub': '") {
		t.Errorf("fingers %s, %s, %v, %v", data.Repr(v), data.Repr(own), err, err2)
	}
}

// TestKeysAreChanged compares with Salt: the result lists the matching keys by their new state.
func TestKeysAreChanged(t *testing.T) {
	r, _, fired, dir := shelf(t)
	for range 2 {
		expect(t, r, "{'minions': ['a']}", "accept", "a")
	}
	expect(t, r, "{'minions_rejected': ['d']}", "accept", "d")
	expect(t, r, "{'minions': ['d']}", "accept", "d", true)
	expect(t, r, "{'minions': ['b']}", "accept_dict", data.NewMap("minions_pre", []any{"b"}))
	expect(t, r, "{'minions': ['b']}", "reject", "b")
	expect(t, r, "{'minions_rejected': ['b']}", "reject", "b", true)
	for range 2 {
		expect(t, r, "{}", "delete", "c")
	}
	expect(t, r, "{}", "delete_dict", data.NewMap("minions", []any{"a", "d"}))
	want := "salt/key accept a|salt/key accept d|salt/key accept b|salt/key reject b|salt/key delete c|salt/key delete a|salt/key delete d"
	if got := strings.Join(*fired, "|"); got != want {
		t.Errorf("fired %s, want %s", got, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "cache/minions/c")); err == nil {
		t.Error("what was known of c is still there")
	}
	if _, err := os.Stat(filepath.Join(dir, "cache/.dfn")); err != nil {
		t.Errorf("no new session key was asked for: %v", err)
	}
	for _, bad := range []any{data.NewMap("minions", []any{"../../x"}),
		data.NewMap("nosuch", []any{"a"}), data.NewMap("minions", "a")} {
		if _, err := r.Invoke(t.Context(), "key.delete_dict", []any{bad}, nil); err == nil {
			t.Errorf("delete_dict takes %s", data.Repr(bad))
		}
	}
}

func TestPairsAreMade(t *testing.T) {
	r, tree, _, dir := shelf(t)
	v, err := r.Invoke(t.Context(), "key.gen_accept", []any{"new"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair := v.(*data.Map)
	private, err := crypto.ParsePrivateKey([]byte(pair.Text("priv")), "")
	if err != nil || private.Public().PEM() != pair.Text("pub") {
		t.Errorf("the pair does not fit: %v", err)
	}
	if kept, err := tree.Get(pki.Accepted, "new"); err != nil ||
		crypto.CleanPEM(kept) != crypto.CleanPEM(pair.Text("pub")) {
		t.Errorf("kept %q, %v", kept, err)
	}
	expect(t, r, "{}", "gen_accept", "new")
	for _, id := range []string{"../x", "a/b", ""} {
		if _, err := r.Invoke(t.Context(), "key.gen_accept", []any{id}, nil); err == nil {
			t.Errorf("a key for %q", id)
		}
		if _, err := r.Invoke(t.Context(), "key.gen_keys", []any{dir, id}, nil); err == nil && id != "" {
			t.Errorf("a pair called %q", id)
		}
	}
	expect(t, r, "'No usable private-key found'", "gen_signature", nil, nil, nil)
	expect(t, r, "True", "gen_signature", nil, nil, nil, true)
	expect(t, r, "False", "gen_signature", nil, nil, nil, true)
	if _, err := os.Stat(filepath.Join(dir, "pki/sig")); err != nil {
		t.Error(err)
	}
}
