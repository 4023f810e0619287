package vault

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testvault"
	"github.com/brineproject/brine/loader"
)

// A host is a minion whose master answers vault.generate_token.
type host struct {
	*testvault.Server
	env    *loader.Env
	log    *logtest.Hook
	answer func() any // of the master
	asked  []any      // arguments of the last request to the master
	times  int
}

func newHost(t *testing.T, opts ...any) *host {
	t.Helper()
	log, told := logtest.NewNullLogger()
	h := &host{Server: testvault.Start(t), log: told}
	h.Allow("web", "v1/app", "v2/data/app")
	dir := t.TempDir()
	h.env = &loader.Env{Log: log, Grains: func() *data.Map { return data.NewMap("id", "web1") },
		Opts: data.NewMap("id", "web1", "cachedir", dir, "pki_dir", dir)}
	h.env.Opts.Update(data.NewMap(opts...))
	h.env.Call = func(_ context.Context, fun string, args []any, _ *data.Map) (any, error) {
		if fun != "publish.runner" || args[0] != "vault.generate_token" {
			t.Errorf("call of %s %s", fun, data.Repr(args))
		}
		h.asked, _ = args[1].([]any)
		h.times++
		return h.answer(), nil
	}
	return h
}

// token returns an answer of a master with a new token for the policy web.
func (h *host) token(t *testing.T, uses int64, backend string) *data.Map {
	t.Helper()
	c := Read(data.NewMap("vault", data.NewMap("url", h.URL, "auth", data.NewMap("method", "token",
		"token", testvault.Root, "uses", uses, "token_backend", backend))))
	ret, err := NewIssuer().Token(t.Context(), c, Order{Minion: "web1", Policies: []string{"web"}}, Choice{})
	if err != nil {
		t.Fatal(err)
	}
	return ret
}

// testKey is the key of all minions and masters of the tests.
var testKey = sync.OnceValues(func() (*crypto.PrivateKey, error) { return crypto.GenerateKey(2048) })

func (h *host) key(t *testing.T, file string) *crypto.PublicKey {
	t.Helper()
	k, err := testKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.env.Opts.Text("pki_dir"), file), k.PEM(""), 0o600); err != nil {
		t.Fatal(err)
	}
	return k.Public()
}

// read reads the secret app of both stores.
func (h *host) read(t *testing.T, ctx context.Context) {
	t.Helper()
	for _, path := range []string{"v1/app", "v2/app"} {
		s := Of(ctx, h.env)
		a, err := s.Request(ctx, "GET", s.KV(ctx, path).Data, nil)
		if err != nil || a.Status != 200 {
			t.Errorf("%s: %v, %v", path, a, err)
		}
	}
}

func (h *host) saved() string {
	text, _ := os.ReadFile(cacheFile(h.env))
	return string(text)
}

// TestTokensOfTheMaster reads with tokens of one use and of several, in one job and in the next.
func TestTokensOfTheMaster(t *testing.T) {
	for _, tt := range []struct {
		name, backend string
		uses          int64
		first, second int // tokens that the master made after the first and the second job
		saved         bool
	}{
		{"one use, session", "session", 1, 4, 8, false},
		{"one use, disk", "disk", 1, 4, 8, false},
		{"ten uses, session", "session", 10, 1, 2, false},
		{"ten uses, disk", "disk", 10, 1, 1, true},
		{"unlimited, session", "session", 0, 1, 2, false},
		{"unlimited, disk", "disk", 0, 1, 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t)
			pub := h.key(t, "minion.pem")
			h.answer = func() any { return h.token(t, tt.uses, tt.backend) }
			for _, want := range []int{tt.first, tt.second} {
				h.read(t, loader.WithContext(t.Context(), &loader.Context{}))
				if h.times != want {
					t.Errorf("%d tokens, want %d", h.times, want)
				}
			}
			if got := strings.Contains(h.saved(), `"token"`); got != tt.saved {
				t.Errorf("saved: %s", h.saved())
			}
			sig, ok := h.asked[1].([]byte)
			raw, err := base64.StdEncoding.DecodeString(string(sig))
			if !ok || err != nil || pub.Verify([]byte("web1"), raw, crypto.SHA1Sign) != nil {
				t.Errorf("signature %v, %v", h.asked[1], err)
			}
			if got := data.Repr([]any{h.asked[0], h.asked[2], h.asked[3], h.asked[4]}); got != "['web1', False, None, None]" {
				t.Errorf("arguments %s", got)
			}
		})
	}
}

// A token that Vault no longer knows is replaced, also if it was saved.
func TestRevokedTokens(t *testing.T) {
	h := newHost(t, "vault", data.NewMap("auth", data.NewMap("uses", int64(7), "ttl", "1h")))
	h.key(t, "minion.pem")
	h.answer = func() any { return h.token(t, 0, "disk") }
	h.read(t, t.Context())
	h.Revoke()
	h.read(t, t.Context())
	if h.times != 2 {
		t.Errorf("%d tokens", h.times)
	}
	if got := data.Repr(h.asked[3:]); got != "['1h', 7]" {
		t.Errorf("the wish of the minion is %s", got)
	}
	h.answer = func() any {
		h.Revoke()
		m := h.token(t, 0, "disk")
		h.Revoke()
		return m
	}
	h.Revoke()
	a, err := Of(t.Context(), h.env).Request(t.Context(), "GET", "v1/app", nil)
	if err != nil || a.Status != 403 || h.times != 3 || strings.Contains(h.saved(), `"token"`) {
		t.Errorf("%v, %v, %d tokens, saved %s", a, err, h.times, h.saved())
	}
}

// The file of Salt's minion is used, and Salt's minion can use ours.
func TestSavedByTheOther(t *testing.T) {
	h := newHost(t)
	h.answer = func() any { t.Error("the master is asked"); return nil }
	text := `{"url": "` + h.URL + `", "token": "s.root", "verify": null, "namespace": null, "uses": 3, "lease_duration": 99999999999,
		"issued": 1, "unlimited_use_token": false, "vault_secret_path_metadata": {"v1/x": {"path": "v1/", "type": "kv", "options": null}}}`
	if err := os.WriteFile(cacheFile(h.env), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Of(t.Context(), h.env)
	if kv := s.KV(t.Context(), "v1/app"); kv.V2 || h.Count("GET sys/internal/ui/mounts/v1/app") != 0 {
		t.Errorf("%v", kv)
	}
	if a, err := s.Request(t.Context(), "GET", "v1/app", nil); err != nil || a.Status != 200 {
		t.Errorf("%v, %v", a, err)
	}
	for _, want := range []string{`"uses": 2`, `"unlimited_use_token": false`, `"lease_duration": 99999999999`} {
		if !strings.Contains(h.saved(), want) {
			t.Errorf("%s is not in %s", want, h.saved())
		}
	}
}

// An expired token is not used.
func TestExpired(t *testing.T) {
	h := newHost(t)
	h.key(t, "minion.pem")
	h.answer = func() any { return h.token(t, 0, "disk") }
	if err := os.WriteFile(cacheFile(h.env),
		[]byte(`{"url": "`+h.URL+`", "token": "s.old", "lease_duration": 60, "issued": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	h.read(t, t.Context())
	if h.times != 1 || h.Count("GET v1/app") != 1 {
		t.Errorf("%d tokens, %d requests", h.times, h.Count("GET v1/app"))
	}
}

// Without a token of the master the error says why; Salt's texts are kept where it has one.
func TestRefusalsOfTheMaster(t *testing.T) {
	for _, tt := range []struct {
		answer any
		want   string
	}{
		{data.NewMap(), "peer_run does not allow vault.generate_token"}, {nil, "peer_run"},
		{"Exception occurred in runner", "Exception occurred in runner"},
		{data.NewMap("error", "Forbidden"), "{'error': 'Forbidden'}"},
		{data.NewMap("url", "http://x"), "no url or no token"},
	} {
		h := newHost(t)
		h.key(t, "minion.pem")
		h.answer = func() any { return tt.answer }
		if _, err := Of(t.Context(), h.env).Request(t.Context(), "GET", "v1/app", nil); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", data.Repr(tt.answer), err)
		}
	}
}

// TestLocalLogins reads with the option vault of the minion itself.
func TestLocalLogins(t *testing.T) {
	auth := func(pairs ...any) *data.Map { return data.NewMap(pairs...) }
	for _, tt := range []struct {
		name string
		auth *data.Map
		want string // the error; "" means none
		asks string
	}{
		{"token", auth("method", "token", "token", "s.root"), "", ""},
		{"approle", auth("method", "approle", "role_id", "role", "secret_id", "secret"), "", "POST auth/approle/login"},
		{"approle with a valid token", auth("method", "approle", "role_id", "role", "token", "s.root"), "",
			"GET auth/token/lookup-self"},
		{"approle with an old token", auth("method", "approle", "role_id", "role", "secret_id", "secret", "token", "s.old"),
			"", "POST auth/approle/login"},
		{"approle refused", auth("method", "approle", "role_id", "role", "secret_id", "hunter2"),
			"An error occurred while getting a token from approle", ""},
		{"wrapped", auth("method", "wrapped_token", "token", "s.wrap"), "", "POST sys/wrapping/unwrap"},
		{"unwrapped before", auth("method", "wrapped_token", "token", "s.root"), "", "POST sys/wrapping/lookup"},
		{"no token", auth("method", "token"), `could not find key "'token'" within`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, "file_client", "local")
			h.env.Opts.Set("vault", data.NewMap("url", h.URL+"/", "namespace", "ops", "auth", tt.auth))
			if tt.want != "" {
				_, err := Of(t.Context(), h.env).Request(t.Context(), "GET", "v1/app", nil)
				if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("%v", err)
				}
				return
			}
			for range 2 {
				h.read(t, loader.WithContext(t.Context(), &loader.Context{}))
			}
			if n := h.Count(tt.asks); tt.asks != "" && n != 1 {
				t.Errorf("%d times %s", n, tt.asks)
			}
			if got := h.Spaces(); len(got) != 1 || got[0] != "ops" {
				t.Errorf("namespaces %q", got)
			}
		})
	}
}

// On a master a minion's pillar is read with a token for the minion, and nothing is saved.
func TestOnTheMaster(t *testing.T) {
	h := newHost(t, "__role", "master")
	h.env.Opts.Set("vault", data.NewMap("url", h.URL, "auth", data.NewMap("method", "token", "token", "s.root")))
	pub := h.key(t, "master.pem")
	var words *data.Map
	runner := loader.Plugin{Name: "vault", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("generate_token",
			func(_ context.Context, a struct {
				Kwargs *data.Map `kwargs:"kwargs"`
			}) (any, error) {
				words = a.Kwargs
				return h.token(t, 0, "disk"), nil
			})}}, nil
	}}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{runner})
	if err != nil {
		t.Fatal(err)
	}
	h.env.Registries = map[string]*loader.Registry{"runners": r}
	h.read(t, t.Context())
	sig, _ := words.Value("signature").([]byte)
	raw, err := base64.StdEncoding.DecodeString(string(sig))
	if err != nil || pub.Verify([]byte("web1"), raw, crypto.SHA1Sign) != nil ||
		words.Value("impersonated_by_master") != true || words.Value("minion_id") != "web1" {
		t.Errorf("%s", data.Repr(words))
	}
	if h.saved() != "" {
		t.Errorf("saved %s", h.saved())
	}
	// without the grains of a minion the master uses its own login
	words = nil
	h.env.Grains = nil
	h.read(t, t.Context())
	if words != nil || h.saved() != "" {
		t.Errorf("%s, saved %s", data.Repr(words), h.saved())
	}
}

func FuzzSaved(f *testing.F) {
	f.Add([]byte(`{"url": "http://x", "token": "t", "uses": 3, "lease_duration": 5, "issued": 1}`))
	f.Add([]byte(`{"vault_secret_path_metadata": {"a": {"path": "a/"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := parseSaved(text)
		if s.mounts == nil || s.conn != nil && (s.conn.url == "" || s.conn.token == "") {
			t.Errorf("%v", s)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"data": {"path": "v2/", "type": "kv", "options": {"version": "2"}}}`), "v2/app")
	f.Fuzz(func(_ *testing.T, text []byte, path string) {
		a := &Answer{Status: 200, Body: parseBody(text)}
		kvOf(path, mountOf(a))
		_, _ = a.Data()
		a.denied()
	})
}
