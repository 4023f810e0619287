package auth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// ciKey is a key for some functions.
func ciKey() APIKey {
	return APIKey{Name: "ci", Comment: "builds", Rights: []any{"test.*",
		data.NewMap("web*", []any{"state.apply"}), "@jobs"}}
}

func addKey(t *testing.T, s *Tokens, k APIKey) (string, APIKey) {
	t.Helper()
	secret, k, err := s.AddKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return secret, k
}

func TestKeyIsFoundByItsSecretAlone(t *testing.T) {
	dir, c := t.TempDir(), &clock{time.Unix(1800000000, 0)}
	s := openTokens(t, dir, c)
	secret, k := addKey(t, s, ciKey())
	if len(secret) != 64 || strings.Contains(secret, k.ID) {
		t.Errorf("secret %s, id %s", secret, k.ID)
	}
	m, err := s.Get(secret)
	if err != nil || m.Text("name") != "ci" || m.Text("eauth") != "key" || m.Text("token") != secret {
		t.Errorf("Get = %s, %v", data.Repr(m), err)
	}
	files, err := s.List()
	if err != nil || len(files) != 1 || !strings.HasPrefix(files[0], k.ID) {
		t.Fatal(files, err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, files[0]))
	if err != nil || strings.Contains(string(raw), secret) || strings.Contains(files[0], secret) {
		t.Errorf("the store has the secret: %q, %v", raw, err)
	}
	if m, err := s.Get(files[0]); !errors.Is(err, ErrNoToken) {
		t.Errorf("the name of the file is a token: %s", data.Repr(m))
	}
	for _, wrong := range []string{strings.ToUpper(secret), secret[:63], secret + "0", strings.Repeat("0", 64), k.ID} {
		if m, err := s.Get(wrong); !errors.Is(err, ErrNoToken) {
			t.Errorf("Get(%s) = %s", wrong, data.Repr(m))
		}
	}
	if n, err := s.Clean(t.Context()); n != 0 || err != nil {
		t.Errorf("Clean deletes %d, %v", n, err)
	}
	if _, err := s.Get(secret); err != nil {
		t.Error("the key is gone")
	}
}

// The names of files of tokens are the tokens; the hash of a token is none.
func TestHashOfATokenIsNoToken(t *testing.T) {
	c := &clock{time.Unix(1800000000, 0)}
	s := openTokens(t, t.TempDir(), c)
	secret := strings.Repeat("ab", 32)
	m := data.NewMap("start", 1.0, "expire", 1900000000.0, "name", "ann", "eauth", "pam", "token", fileOfKey(secret))
	raw, err := payload.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.write(fileOfKey(secret), raw); err != nil {
		t.Fatal(err)
	}
	if m, err := s.Get(secret); !errors.Is(err, ErrNoToken) {
		t.Errorf("Get = %s", data.Repr(m))
	}
}

func TestKeysAreListedAndDeleted(t *testing.T) {
	dir, c := t.TempDir(), &clock{time.Unix(1800000000, 0)}
	s := openTokens(t, dir, c)
	never := APIKey{Name: "never", User: "ann", Rights: []any{".*"}}
	secret, made := addKey(t, s, never)
	other := ciKey()
	other.Expire = c.at.Add(time.Hour)
	_, ci := addKey(t, s, other)
	if err := s.Add(data.NewMap("start", 1.0, "expire", 1900000000.0, "name", "fred", "eauth", "pam")); err != nil {
		t.Fatal(err)
	}
	all, err := s.Keys()
	if err != nil || len(all) != 2 || all[0].Name != "ci" || all[1].User != "ann" || !all[1].Expire.IsZero() ||
		!all[0].Expire.Equal(other.Expire) || all[0].Comment != "builds" || !all[1].Used.IsZero() ||
		!data.Equal(all[0].Rights, other.Rights) {
		t.Fatalf("%+v, %v", all, err)
	}
	c.at = c.at.Add(10 * time.Minute)
	if _, err := s.Get(secret); err != nil {
		t.Fatal(err)
	}
	if all, _ := s.Keys(); !all[1].Used.Equal(c.at) {
		t.Errorf("used %v, want %v", all[1].Used, c.at)
	}
	if _, err := s.DeleteKey(ci.ID); err != nil {
		t.Error(err)
	}
	if k, err := s.DeleteKey("never"); err != nil || k.ID != made.ID {
		t.Error(k, err)
	}
	if _, err := s.Get(secret); !errors.Is(err, ErrNoToken) {
		t.Errorf("a deleted key: %v", err)
	}
	if _, err := s.DeleteKey("never"); !errors.Is(err, ErrNoToken) {
		t.Errorf("deleted twice: %v", err)
	}
	if files, _ := s.List(); len(files) != 1 {
		t.Errorf("left: %v", files)
	}
}

func TestKeyExpiresAtItsSecond(t *testing.T) {
	c := &clock{time.Unix(1800000000, 0)}
	s := openTokens(t, t.TempDir(), c)
	k := ciKey()
	k.Expire = c.at.Add(time.Hour)
	secret, _ := addKey(t, s, k)
	c.at = k.Expire
	if _, err := s.Get(secret); !errors.Is(err, ErrNoToken) {
		t.Errorf("Get = %v", err)
	}
	if files, _ := s.List(); len(files) != 0 {
		t.Errorf("left: %v", files)
	}
}

func TestDeleteTokenTakesAKey(t *testing.T) {
	s := openTokens(t, t.TempDir(), &clock{time.Unix(1800000000, 0)})
	secret, _ := addKey(t, s, ciKey())
	if err := s.Delete(secret); err != nil {
		t.Fatal(err)
	}
	if all, _ := s.Keys(); len(all) != 0 {
		t.Errorf("left: %v", all)
	}
}

func TestWrongKeysAreNotMade(t *testing.T) {
	c := &clock{time.Unix(1800000000, 0)}
	s := openTokens(t, t.TempDir(), c)
	addKey(t, s, ciKey())
	for name, change := range map[string]func(*APIKey){
		"a name that is there":      func(*APIKey) {},
		"no name":                   func(k *APIKey) { k.Name = "" },
		"a name like an id":         func(k *APIKey) { k.Name = "0123456789ab" },
		"a name with a line feed":   func(k *APIKey) { k.Name = "a\nb" },
		"a user with a line feed":   func(k *APIKey) { k.Name, k.User = "x", "a\nb" },
		"a user that is a group":    func(k *APIKey) { k.Name, k.User = "x", "ops%" },
		"a long comment":            func(k *APIKey) { k.Name, k.Comment = "x", strings.Repeat("x", 2000) },
		"no rights":                 func(k *APIKey) { k.Name, k.Rights = "x", nil },
		"a right that is no regexp": func(k *APIKey) { k.Name, k.Rights = "x", []any{"test.("} },
		"a right that is a number":  func(k *APIKey) { k.Name, k.Rights = "x", []any{int64(1)} },
		"large rights":              func(k *APIKey) { k.Name, k.Rights = "x", []any{strings.Repeat("x", 1<<17)} },
		"already expired":           func(k *APIKey) { k.Name, k.Expire = "x", c.at },
	} {
		k := ciKey()
		change(&k)
		if _, _, err := s.AddKey(k); err == nil {
			t.Errorf("%s: a key is made", name)
		}
	}
	all, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	s.census.most = len(all)
	if _, _, err := s.AddKey(APIKey{Name: "more", Rights: []any{".*"}}); !errors.Is(err, errFull) {
		t.Errorf("a full store: %v", err)
	}
}

// TestRightsOfKeys holds the rights of a key, which are those in its entry, against every
// configuration that gives its user more.
func TestRightsOfKeys(t *testing.T) {
	for _, keep := range []bool{false, true} {
		o := options(t, somebody())
		o.KeepACLInToken = keep
		all := []any{".*", "@runner", "@wheel"}
		o.PublisherACL = data.NewMap("ci", all)
		o.ExternalAuth = data.NewMap("pam", data.NewMap("ci", all, "*", all), "key", data.NewMap("ci", all))
		o.PermissiveACL = true
		o.Targets = func(string) ([]string, error) { return []string{"web1", "web2"}, nil }
		g := newGate(t, o)
		secret, k := addKey(t, g.Tokens(), ciKey())
		c := Credentials{Kind: ByToken, Token: secret}
		who, err := g.Identify(t.Context(), c)
		if err != nil || who.Name != "ci" || who.All() {
			t.Fatal(who, err)
		}
		s, err := g.Stand(t.Context(), c)
		if err != nil || strings.Contains(s.Key, secret) {
			t.Fatal(s, err)
		}
		raw, err := s.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if s, err = ParseStanding(raw); err != nil {
			t.Fatal(err)
		}
		later, err := g.Now(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, who := range []*Identity{who, later} {
			hasScopeOfCI(t, who)
		}
		if _, err := g.Tokens().DeleteKey(k.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Identify(t.Context(), c); !errors.Is(err, ErrNotAuthenticated) {
			t.Errorf("a deleted key: %v", err)
		}
		if _, err := g.Now(t.Context(), s); !errors.Is(err, ErrNotAuthenticated) {
			t.Errorf("a job of a deleted key: %v", err)
		}
	}
}

func hasScopeOfCI(t *testing.T, who *Identity) {
	t.Helper()
	for _, c := range []struct {
		fun     string
		minions []string
		may     bool
	}{
		{"test.ping", []string{"db1"}, true}, {"state.apply", []string{"web1"}, true},
		{"state.apply", []string{"db1"}, false}, {"state.apply", nil, false}, {"cmd.run", []string{"web1"}, false},
	} {
		if may := who.MayPublish(Publication{Fun: c.fun, Minions: c.minions}); may != c.may {
			t.Errorf("%s on %v: %v", c.fun, c.minions, may)
		}
	}
	for fun, may := range map[string]bool{"jobs.list_jobs": true, "auth.mk_token": false, "auth.mk_key": false, "manage.up": false} {
		if err := who.MayRun(Runner, fun, nil, nil); (err == nil) != may {
			t.Errorf("%s: %v", fun, err)
		}
	}
	if who.MayRun(Wheel, "key.accept", nil, nil) == nil {
		t.Error("it may accept keys")
	}
}

// A system of external_auth cannot have the name of API keys: its tokens would be keys.
func TestNoSystemIsNamedKey(t *testing.T) {
	o := options(t, somebody())
	o.ExternalAuth = data.NewMap("key", data.NewMap("fred", []any{".*"}))
	g := newGate(t, o)
	l := Credentials{Kind: ByEauth, Eauth: "key", Fields: data.NewMap("username", "fred", "password", "secret")}
	if _, err := g.NewToken(context.Background(), l, nil); !errors.Is(err, ErrNotAuthenticated) {
		t.Errorf("NewToken = %v", err)
	}
	if err := CheckLogins(o.ExternalAuth, func(string) bool { return false }, func(string) error { return nil }); err == nil {
		t.Error("no finding")
	}
	if slices.Contains(SystemNames(), KeySystem) {
		t.Error("it is told to be a system")
	}
}

// TestTwoKeysHaveTwoNames makes keys of one name at the same time, as several programs do: each opens the
// store by itself.
func TestTwoKeysHaveTwoNames(t *testing.T) {
	dir := t.TempDir()
	c := &clock{time.Unix(1800000000, 0)}
	for round := range 20 {
		name := fmt.Sprint("ci", round)
		begin := make(chan struct{})
		var made atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			s := openTokens(t, dir, c)
			all.Go(func() {
				<-begin
				if _, _, err := s.AddKey(APIKey{Name: name, Rights: []any{"test.*"}}); err == nil {
					made.Add(1)
				}
			})
		}
		close(begin)
		all.Wait()
		if made.Load() != 1 {
			t.Fatalf("%d keys have the name %s", made.Load(), name)
		}
	}
}

// TestAllKeysOfANameAreDeleted checks that a key does not outlive its deletion because another has its name.
func TestAllKeysOfANameAreDeleted(t *testing.T) {
	dir := t.TempDir()
	s := openTokens(t, dir, &clock{time.Unix(1800000000, 0)})
	first, k, err := s.AddKey(APIKey{Name: "ci", Rights: []any{"test.*"}})
	if err != nil {
		t.Fatal(err)
	}
	second := strings.Repeat("cd", 32)
	raw, err := payload.Marshal(k.entry(fileOfKey(second)))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, fileOfKey(second)), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(second); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DeleteKey("ci"); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{first, second} {
		if _, err := s.Get(secret); !errors.Is(err, ErrNoToken) {
			t.Errorf("a deleted key: %v", err)
		}
	}
}
