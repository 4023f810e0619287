package auth

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// clock is a time that a test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func openTokens(t testing.TB, dir string, c *clock) *Tokens {
	t.Helper()
	s, err := OpenTokens(dir, "sha256", c.now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestTokensOfSalt reads files that Salt's localfs wrote, one of them with md5 as hash_type.
func TestTokensOfSalt(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/tokens")); err != nil {
		t.Fatal(err)
	}
	s := openTokens(t, dir, &clock{time.Unix(1767225601, 0)})
	for name, want := range map[string]*data.Map{
		"93990d8d8446918fc7cb596126522f0341772107e71e044edb7c921a6dd1a5ac": data.NewMap("start",
			1767225600.5, "expire", 1767268800.5, "name", "fred", "eauth", "pam",
			"groups", []any{"web", "ops"}, "token",
			"93990d8d8446918fc7cb596126522f0341772107e71e044edb7c921a6dd1a5ac"),
		"302797bf2ec5a74bb38a384589f81968": data.NewMap("start", 1767225600.5,
			"expire", 1767268800.5, "name", "fréd", "eauth", "ldap",
			"auth_list", []any{data.NewMap("web*", []any{"test.*"}), "@runner"}, "token",
			"302797bf2ec5a74bb38a384589f81968"),
	} {
		m, err := s.Get(name)
		if err != nil || !data.Equal(m, want) {
			t.Errorf("%s: %s, %v", name, data.Repr(m), err)
		}
		raw, _ := os.ReadFile(filepath.Join(dir, name))
		if ours, err := payload.Marshal(m); err != nil || string(ours) != string(raw) {
			t.Errorf("%s: we would write\n%x\nSalt wrote\n%x", name, ours, raw)
		}
	}
}

// TestCVE2021_3144 moves the clock over the expiry of a token, and to the very second: the first
// use fails.
func TestCVE2021_3144(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration
		holds bool
	}{
		{"a second before", 12*time.Hour - time.Second, true}, {"at the second", 12 * time.Hour,
			false}, {"a second after", 12*time.Hour + time.Second, false},
		{"a year after", 9000 * time.Hour, false}, {"with the clock set back", -time.Hour, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &clock{time.Unix(1800000000, 0)}
			o := options(t, somebody())
			o.Now = c.now
			g := newGate(t, o)
			m, err := g.NewToken(t.Context(), login("fred", "secret"), nil)
			if err != nil {
				t.Fatal(err)
			}
			c.at = c.at.Add(tt.after)
			_, err = g.Identify(t.Context(), Credentials{Kind: ByToken, Token: m.Text("token")})
			if (err == nil) != tt.holds {
				t.Errorf("Identify = %v", err)
			}
			if _, err := os.Stat(filepath.Join(o.TokenDir, m.Text("token"))); (err == nil) != tt.holds {
				t.Errorf("the file: %v", err)
			}
		})
	}
}

// TestCVE2020_11652 names files outside of token_dir, and inside files that are no tokens: nothing
// is read or deleted.
func TestCVE2020_11652(t *testing.T) {
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	c := &clock{time.Unix(1800000000, 0)}
	s := openTokens(t, tokens, c)
	old, err := payload.Marshal(data.NewMap("name", "root", "eauth", "pam", "expire", 1.0, "start", 1.0))
	if err != nil {
		t.Fatal(err)
	}
	hex := strings.Repeat("a", 64)
	files := []string{filepath.Join(dir, "x"), filepath.Join(tokens, "x"),
		filepath.Join(tokens, strings.Repeat("a", 31)), filepath.Join(tokens,
			strings.Repeat("A", 64)), filepath.Join(tokens, hex+".tmp")}
	for _, f := range files {
		if err := os.WriteFile(f, old, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"../x", "x", "./x", "..", ".", "", "/etc/passwd", filepath.Join(dir, "x"),
		"..\\x", "a/../../x", strings.Repeat("a", 31), strings.Repeat("A", 64), hex + ".tmp", hex +
			"\n", hex + "\x00", strings.Repeat("a", 129), "../tokens/" + hex}
	for _, name := range names {
		if m, err := s.Get(name); err == nil {
			t.Errorf("Get(%q) = %s", name, data.Repr(m))
		}
		if err := s.Delete(name); err == nil {
			t.Errorf("Delete(%q) does something", name)
		}
	}
	for _, f := range files {
		if _, err := os.Stat(f); err != nil {
			t.Errorf("%s is gone", f)
		}
	}
}

func TestStrangeFilesAmongTokens(t *testing.T) {
	dir := t.TempDir()
	c := &clock{time.Unix(1800000000, 0)}
	s := openTokens(t, dir, c)
	good := data.NewMap("name", "fred", "eauth", "people", "start", 1.0, "expire", 1800001000.0)
	if err := s.Add(good); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, good.Text("token")))
	if err != nil {
		t.Fatal(err)
	}
	name := func(c string) string { return strings.Repeat(c, 64) }
	secret := filepath.Join(t.TempDir(), "secret")
	for file, content := range map[string][]byte{name("0"): nil, name("1"): raw,
		name("2"): raw[:len(raw)/2], name("3"): []byte("\xc0"), name("4"): append(raw, 0), secret: raw} {
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, name("5")), 0o700),
		os.Symlink(secret, filepath.Join(dir, name("6")))); err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		if m, err := s.Get(name(string(rune('0' + n)))); !errors.Is(err, ErrNoToken) {
			t.Errorf("file %d is a token: %s, %v", n, data.Repr(m), err)
		}
	}
	if _, err := os.Stat(secret); err != nil {
		t.Error("what a link leads to is gone")
	}
	if _, err := s.Get(good.Text("token")); err != nil {
		t.Errorf("the good one: %v", err)
	}
	if n, err := s.Clean(t.Context()); err != nil || n != 0 {
		t.Errorf("Clean = %d, %v; the damaged ones are gone before", n, err)
	}
	c.at = c.at.Add(time.Hour)
	if n, err := s.Clean(t.Context()); err != nil || n != 1 {
		t.Errorf("Clean = %d, %v, want the one that has expired", n, err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v: its listing tells tokens", info.Mode())
	}
}

// TestTokenFieldsAreTheServers asks for tokens with fields that are not the caller's to choose.
func TestTokenFieldsAreTheServers(t *testing.T) {
	c := &clock{time.Unix(1800000000, 0)}
	o := options(t, somebody())
	o.Now = c.now
	override := data.NewMap("people", []any{"ann"})
	for _, tt := range []struct {
		name         string
		override     any
		user, pw     string
		asked        any
		life         float64
		keep, groups bool
	}{
		{"nothing asked", nil, "fred", "secret", nil, 43200, false, false},
		{"a life that may not be chosen", false, "fred", "secret", int64(99), 43200, false, false},
		{"a life", true, "fred", "secret", int64(99), 99, false, false},
		{"a life of a user who may", override, "ann", "pw", 99.5, 99.5, false, true},
		{"a life of another user", override, "fred", "secret", int64(99), 43200, false, false},
		{"a negative life", true, "fred", "secret", int64(-5), 43200, false, false},
		{"a text as life", true, "fred", "secret", "99", 43200, false, false},
		{"an endless life", true, "fred", "secret", 1e300, mostLife, false, false},
		{"with rights that no system gives", nil, "fred", "secret", nil, 43200, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o.TokenExpireOverride, o.KeepACLInToken = tt.override, tt.keep
			g := newGate(t, o)
			load := data.NewMap("eauth", "people", "username", tt.user, "password", tt.pw,
				"token", strings.Repeat("a", 64), "name", "root", "expire", 9e9, "start", 1,
				"auth_list", []any{".*"}, "groups", []any{"web"}, "key", "x", "user", "root")
			m, err := g.NewToken(t.Context(), FromLogin(load), tt.asked)
			if err != nil {
				t.Fatal(err)
			}
			start, _ := m.Value("start").(float64)
			if m.Text("name") != tt.user || start != 1.8e9 || m.Value("expire") != start+tt.life ||
				m.Has("groups") != tt.groups || m.Value("auth_list") != nil ||
				m.Text("token") == strings.Repeat("a", 64) {
				t.Errorf("token %s", data.Repr(m))
			}
			i, err := g.Identify(t.Context(), Credentials{Kind: ByToken, Token: m.Text("token")})
			if err != nil || i.Name != tt.user ||
				i.MayPublish(Publication{Fun: "cmd.run", Minions: []string{"web1"}}) {
				t.Errorf("%+v, %v", i, err)
			}
			if tt.user == "ann" && !i.MayPublish(Publication{Fun: "test.ping", Minions: []string{"web1"}}) {
				t.Error("the groups of a token are forgotten")
			}
		})
	}
}

func TestTokensAreNotAlike(t *testing.T) {
	s := openTokens(t, t.TempDir(), &clock{time.Unix(1800000000, 0)})
	seen := map[string]bool{}
	for range 500 {
		m := data.NewMap("name", "fred", "eauth", "people", "expire", 1.9e9)
		if err := s.Add(m); err != nil {
			t.Fatal(err)
		}
		if tok := m.Text("token"); seen[tok] || !IsTokenName(tok) {
			t.Fatalf("token %q", tok)
		}
		seen[m.Text("token")] = true
	}
	all, err := s.List()
	if err != nil || len(all) != 500 {
		t.Errorf("List: %d, %v", len(all), err)
	}
	for tok := range seen {
		if err := errors.Join(s.Delete(tok), s.Delete(tok)); err != nil {
			t.Fatal(err)
		}
	}
	if all, err = s.List(); err != nil || len(all) > 0 {
		t.Errorf("List: %d, %v", len(all), err)
	}
}

func TestTokensAreBounded(t *testing.T) {
	dir := t.TempDir()
	c := &clock{time.Unix(1800000000, 0)}
	s := openTokens(t, dir, c)
	s.census.most = 3
	add := func(s *Tokens) error {
		return s.Add(data.NewMap("name", "fred", "eauth", "people", "expire", 1.8e9+60))
	}
	if err := errors.Join(add(s), add(s), add(s)); err != nil {
		t.Fatal(err)
	}
	again := openTokens(t, dir, c)
	again.census.most = 3
	if err := add(s); !errors.Is(err, errFull) {
		t.Errorf("one too many: %v", err)
	}
	if err := add(again); !errors.Is(err, errFull) {
		t.Errorf("one too many after a start: %v", err)
	}
	c.at = c.at.Add(time.Hour)
	if n, err := s.Clean(t.Context()); n != 3 || err != nil || add(s) != nil {
		t.Errorf("Clean = %d, %v; no room afterwards", n, err)
	}
}

// TestTokensOfOneUserLeaveRoom checks that nobody can use up the tokens of all.
func TestTokensOfOneUserLeaveRoom(t *testing.T) {
	dir := t.TempDir()
	c := &clock{time.Unix(1800000000, 0)}
	s := openTokens(t, dir, c)
	s.census.mostOfName = 2
	add := func(s *Tokens, system, name string) error {
		return s.Add(data.NewMap("name", name, "eauth", system, "expire", 1.8e9+600))
	}
	if err := errors.Join(add(s, "pam", "fred"), add(s, "pam", "fred")); err != nil {
		t.Fatal(err)
	}
	err := add(s, "pam", "fred")
	if !errors.Is(err, errFull) || !strings.Contains(err.Error(), "fred (pam) has 2") {
		t.Errorf("one too many of a user: %v", err)
	}
	if err := errors.Join(add(s, "pam", "ann"), add(s, "ldap", "fred")); err != nil {
		t.Errorf("another user: %v", err)
	}
	again := openTokens(t, dir, c)
	again.census.mostOfName = 2
	if err := add(again, "pam", "fred"); !errors.Is(err, errFull) {
		t.Errorf("after a start: %v", err)
	}
	if _, _, err := again.AddKey(APIKey{Name: "ci", User: "fred", Rights: []any{".*"}}); err != nil {
		t.Errorf("a key for that user: %v", err)
	}
}

// TestTokensThatOthersDeleteMakeRoom checks that a store does not count what another program, such as the
// master, has deleted.
func TestTokensThatOthersDeleteMakeRoom(t *testing.T) {
	dir := t.TempDir()
	c := &clock{time.Unix(1800000000, 0)}
	s := openTokens(t, dir, c)
	s.census.most = 4
	other := openTokens(t, dir, c)
	for round := range 5 {
		var made []string
		for range 4 {
			m := data.NewMap("name", "ann", "eauth", "oidc", "expire", 1.8e9+600)
			if err := s.Add(m); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			made = append(made, m.Text("token"))
		}
		if err := s.Add(data.NewMap("name", "ann", "eauth", "oidc", "expire", 1.8e9+600)); !errors.Is(err, errFull) {
			t.Fatalf("one too many: %v", err)
		}
		for _, token := range made {
			if err := other.Delete(token); err != nil {
				t.Fatal(err)
			}
		}
		c.at = c.at.Add(2 * time.Second)
	}
}

// FuzzTokenFile reads any bytes as the file of a token.
func FuzzTokenFile(f *testing.F) {
	for _, name := range []string{"93990d8d8446918fc7cb596126522f0341772107e71e044edb7c921a6dd1a5ac", "302797bf2ec5a74bb38a384589f81968"} {
		raw, err := os.ReadFile(filepath.Join("testdata/tokens", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte("\x80"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := parseToken(raw)
		if err == nil && (m.Text("name") == "" || m.Text("eauth") == "" || expiry(m) <= 0) {
			t.Errorf("%q is a token: %s", raw, data.Repr(m))
		}
	})
}

// FuzzRules reads any value as a list of rights, which must not allow a function that no rule could
// mean, nor fail.
func FuzzRules(f *testing.F) {
	for _, list := range []any{[]any{"test.*", "@runner"},
		[]any{data.NewMap("web*", []any{"test.ping",
			data.NewMap("cmd.run", data.NewMap("args", []any{nil, "a.*"},
				"kwargs", data.NewMap("k", "v")))})},
		[]any{"(", data.NewMap("@jobs", "list")}, "x", []any{data.NewMap()}} {
		raw, err := payload.MarshalBin(list)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, "test.ping", "a")
	}
	f.Fuzz(func(t *testing.T, raw []byte, fun, arg string) {
		list, err := payload.UnmarshalText(raw, payload.WireLimits())
		if err != nil {
			return
		}
		i := fleet{"web1": {}}.identity(list)
		may := i.MayPublish(Publication{Fun: fun, Arg: []any{arg}, Minions: []string{"web1"}})
		if may && !isFunction(fun) {
			t.Errorf("%s allows %q", data.Repr(list), fun)
		}
		if twice := i.MayPublish(Publication{Fun: []any{fun, "a.nother"},
			Arg: []any{[]any{arg}, []any{}}, Minions: []string{"web1"}}); twice && !may && fun != findJob {
			t.Errorf("%s allows %q in a list alone", data.Repr(list), fun)
		}
		_ = i.MayRun(Wheel, fun, []any{arg}, data.NewMap())
	})
}
