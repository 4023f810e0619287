package vault_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testvault"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/runners/vault"
)

// A bench is a master with the minion web1, whose grains and pillar it knows.
type bench struct {
	*testvault.Server
	dir            string
	keys           *pki.Dir
	bank           cache.Bank
	master, minion *crypto.PrivateKey
	compiled       []pillar.Request
	compile        func(ctx context.Context) (*data.Map, error)
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{Server: testvault.Start(t), dir: t.TempDir()}
	var err error
	if b.keys, err = pki.Open(b.dir, pki.Options{}); err != nil {
		t.Fatal(err)
	}
	bank, err := localfs.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bank.Close() })
	b.bank = bank
	b.master, b.minion = key(t, 0), key(t, 1)
	if err := b.keys.Put(pki.Accepted, "web1", b.minion.Public().PEM()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "master.pub"), []byte(b.master.Public().PEM()), 0o600); err != nil {
		t.Fatal(err)
	}
	raw, err := payload.Marshal(data.NewMap("grains", data.NewMap("id", "web1", "os", "Debian",
		"roles", []any{"Web", "db"}, "n", int64(3)),
		"pillar", data.NewMap("team", "Ops", "deep", data.NewMap("l", []any{"a", "b"}))))
	if err == nil {
		err = b.bank.Store("minions/web1", "data", raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// testKeys are the keys of the master, of web1 and of somebody else.
var testKeys = sync.OnceValues(func() (all [3]*crypto.PrivateKey, err error) {
	for i := range all {
		if all[i], err = crypto.GenerateKey(2048); err != nil {
			return all, err
		}
	}
	return all, nil
})

func key(t *testing.T, i int) *crypto.PrivateKey {
	t.Helper()
	all, err := testKeys()
	if err != nil {
		t.Fatal(err)
	}
	return all[i]
}

// Compile implements vault.Compiler.
func (b *bench) Compile(ctx context.Context, r pillar.Request) (*data.Map, error) {
	b.compiled = append(b.compiled, r)
	if b.compile == nil {
		return data.NewMap("team", "compiled"), nil
	}
	return b.compile(ctx)
}

// runner returns the runners of a master with an option vault.
func (b *bench) runner(t *testing.T, option *data.Map) *loader.Registry {
	t.Helper()
	if option != nil {
		option = option.Clone()
		option.Set("url", b.URL)
	}
	env := &loader.Env{Opts: data.NewMap("__role", "master", "minion_data_cache", true, "pki_dir",
		b.dir, "vault", option)}
	r, err := loader.NewRegistry(env, []loader.Plugin{vault.Plugin(vault.Needs{Keys: b.keys, Bank: b.bank,
		Compiler: b})})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sign returns the signature of an id in base64.
func sign(t *testing.T, k *crypto.PrivateKey, id string) string {
	t.Helper()
	sig, err := k.Sign([]byte(id), crypto.SHA1Sign)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(sig)
}

func cases(t *testing.T, file string) []*vectors.Case {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode(src)
	list, ok := v.([]any)
	if err != nil || !ok || len(list) == 0 {
		t.Fatalf("%s: %v", file, err)
	}
	return vectors.Cases(t, list)
}

// testdata/tokens.json has the results of Salt 3006.18 and the requests that it sent, with a server
// like testvault. X stands for the token and the time.
func TestTokens(t *testing.T) {
	for _, c := range cases(t, "testdata/tokens.json") {
		t.Run(c.Name, func(t *testing.T) { checkToken(t, c.On(t)) })
	}
}

func checkToken(t *testing.T, c *vectors.Case) {
	c.Only("name", "vault", "by", "id", "kwargs", "result", "error", "created")
	b := newBench(t)
	option := c.Object("vault").Clone()
	option.Set("policies_cache_time", int64(0))
	var sig any
	switch by := c.Text("by"); by {
	case "minion":
		sig = []byte(sign(t, b.minion, "web1"))
	case "text":
		sig = sign(t, b.minion, "web1")
	case "master":
		sig = []byte(sign(t, b.master, "web1"))
	default:
		sig = []byte(sign(t, key(t, 2), "web1"))
	}
	got, err := b.runner(t, option).Invoke(t.Context(), "vault.generate_token", []any{c.Text("id"), sig},
		c.Object("kwargs"))
	if c.Has("error") {
		e, ok := err.(*loader.Error)
		if !ok || e.Class+": "+e.Text != c.Text("error") {
			t.Errorf("got %v, want %s", err, c.Text("error"))
		}
	} else {
		checkResult(t, b, got, err, c.Object("result"))
	}
	sent, err := json.Marshal(b.Created())
	if err != nil {
		t.Fatal(err)
	}
	made, err := vectors.Decode(sent)
	if want := c.Value("created"); err != nil || made != nil && !data.Equal(made, want) || made == nil && len(want.([]any)) > 0 {
		t.Errorf("requests %s, %v\nwant %s", data.Repr(made), err, data.Repr(want))
	}
}

func checkResult(t *testing.T, b *bench, got any, err error, want *data.Map) {
	t.Helper()
	m, ok := got.(*data.Map)
	if err != nil || !ok {
		t.Fatalf("got %v, %v", got, err)
	}
	m = m.Clone()
	for _, k := range []string{"token", "issued"} {
		if data.Truth(m.Value(k)) {
			m.Set(k, "X")
		}
	}
	if m.Value("url") == b.URL {
		m.Set("url", "URL")
	}
	if !data.Equal(m, want) {
		t.Errorf("got %s\nwant %s", data.Repr(m), data.Repr(want))
	}
}

// testdata/policies.json has the results of Salt 3006.18.
func TestPolicies(t *testing.T) {
	b := newBench(t)
	for _, c := range cases(t, "testdata/policies.json") {
		c.Only("name", "policies", "args", "value")
		option := data.NewMap("policies_cache_time", int64(0))
		if v := c.Value("policies"); v != nil {
			option.Set("policies", v)
		}
		for range 2 {
			got, err := b.runner(t, option).Invoke(t.Context(), "vault.show_policies",
				[]any{c.Text("args")}, nil)
			if err != nil || !data.Equal(got, c.Value("value")) {
				t.Errorf("%s: %s, %v", c.Name, data.Repr(got), err)
			}
		}
	}
	if len(b.compiled) > 0 {
		t.Errorf("%d pillars were compiled", len(b.compiled))
	}
}

// The pillar is compiled only if a policy has a value of it, and as policies_refresh_pillar says.
func TestRefreshOfThePillar(t *testing.T) {
	for _, tt := range []struct {
		name, id string
		refresh  any
		policy   string
		want     string
		compiled int
	}{
		{"the master has it", "web1", nil, "{pillar[team]}", "['ops']", 0},
		{"always", "web1", true, "{pillar[team]}", "['compiled']", 1},
		{"always, but none is used", "web1", true, "{minion}", "['web1']", 0},
		{"the master has none", "db1", nil, "{pillar[team]}", "['compiled']", 1},
		{"never", "db1", false, "{pillar[team]}", "[]", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			r := b.runner(t, data.NewMap("policies", []any{tt.policy}, "policies_refresh_pillar", tt.refresh))
			got, err := r.Invoke(t.Context(), "vault.show_policies", []any{tt.id}, nil)
			if err != nil || data.Repr(got) != tt.want || len(b.compiled) != tt.compiled {
				t.Errorf("%s, %v, %d compiled", data.Repr(got), err, len(b.compiled))
			}
			for _, q := range b.compiled {
				if q.ID != tt.id || q.ExtraMinionData.Value("_vault_runner_is_compiling_pillar_templates") != true {
					t.Errorf("compiled with %v", q)
				}
			}
		})
	}
}

// A pillar that needs a token while it is compiled for the policies of tokens is an error.
func TestCycle(t *testing.T) {
	b := newBench(t)
	r := b.runner(t, data.NewMap("policies", []any{"{pillar[team]}"}, "policies_refresh_pillar", true,
		"auth", data.NewMap("method", "token", "token", testvault.Root)))
	var inner any
	b.compile = func(ctx context.Context) (*data.Map, error) {
		var err error
		inner, err = r.Invoke(ctx, "vault.generate_token", []any{"web1", sign(t, b.minion, "web1")}, nil)
		return data.NewMap("team", "x"), err
	}
	if _, err := r.Invoke(t.Context(), "vault.generate_token",
		[]any{"web1", sign(t, b.minion, "web1")}, nil); err != nil {
		t.Fatal(err)
	}
	m, _ := inner.(*data.Map)
	if !strings.HasPrefix(m.Text("error"), "Cyclic dependency detected") {
		t.Errorf("inside: %s", data.Repr(inner))
	}
}

func TestPoliciesAreCached(t *testing.T) {
	b := newBench(t)
	r := b.runner(t, data.NewMap("policies", []any{"{pillar[team]}"}, "policies_refresh_pillar", true))
	for range 3 {
		if got, err := r.Invoke(t.Context(), "vault.show_policies", []any{"web1"}, nil); err != nil ||
			data.Repr(got) != "['compiled']" {
			t.Errorf("%s, %v", data.Repr(got), err)
		}
	}
	if _, err := r.Invoke(t.Context(), "vault.show_policies", []any{"web1"}, data.NewMap("expire", int64(0))); err != nil {
		t.Error(err)
	}
	if len(b.compiled) != 2 {
		t.Errorf("%d compiled", len(b.compiled))
	}
}

// An id is never part of a path: only accepted keys count.
func TestIDsAreKeysOnly(t *testing.T) {
	b := newBench(t)
	r := b.runner(t, data.NewMap("auth", data.NewMap("method", "token", "token", testvault.Root)))
	if err := b.keys.Put(pki.Pending, "new", b.minion.Public().PEM()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"../minions/web1", "../master.pub", "new", "none", "", "web1/../web1"} {
		if v, err := r.Invoke(t.Context(), "vault.generate_token", []any{id, sign(t, b.minion, id)}, nil); err == nil {
			t.Errorf("%q: %s", id, data.Repr(v))
		}
	}
	if n := len(b.Created()); n > 0 {
		t.Errorf("%d tokens", n)
	}
}

func TestTokensAreHiddenInEvents(t *testing.T) {
	f, _ := newBench(t).runner(t, nil).Func("vault.generate_token")
	spec := f.Spec()
	if len(spec.SecretResult) != 1 || spec.SecretResult[0] != loader.SecretAll || len(spec.Secrets) != 1 {
		t.Errorf("%v, %v", spec.SecretResult, spec.Secrets)
	}
}

func TestUnseal(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		keys []any
		want string
	}{
		{[]any{"k1", "k2", "k3"}, "True"}, {[]any{"k1"}, "False"}, {[]any{"bad"}, "False"},
	} {
		b.Seal("k1", "k2")
		got, err := b.runner(t, data.NewMap("keys", tt.keys)).Invoke(t.Context(), "vault.unseal", nil, nil)
		if err != nil || data.Repr(got) != tt.want {
			t.Errorf("%v: %s, %v", tt.keys, data.Repr(got), err)
		}
	}
	if _, err := b.runner(t, data.NewMap()).Invoke(t.Context(), "vault.unseal", nil, nil); err == nil {
		t.Error("no keys unseal")
	}
}
