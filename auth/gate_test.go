package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
)

// people is a system that knows its users by name.
type people struct {
	passwords map[string]string
	groups    map[string][]string
	takes     time.Duration // a login

	mu   sync.Mutex
	seen []Login
}

func (p *people) Login(ctx context.Context, l Login) (bool, error) {
	p.mu.Lock()
	p.seen = append(p.seen, l)
	p.mu.Unlock()
	select {
	case <-time.After(p.takes):
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return p.passwords[l.Name] == l.Password, nil
}

func (p *people) Groups(_ context.Context, l Login) ([]string, error) { return p.groups[l.Name], nil }

func (p *people) logins() []Login {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

func quiet(t testing.TB) logrus.FieldLogger {
	log := logrus.New()
	log.SetOutput(t.Output())
	return log
}

// me is who the tests run as.
func me(t testing.TB) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// options are those of a master with users of all kinds: fred at the system people, and ann in its
// group web.
func options(t testing.TB, p *people) Options {
	dir := t.TempDir()
	return Options{
		User: me(t), CacheDir: dir, TokenDir: filepath.Join(dir, "tokens"), HashType: "sha256",
		VerifyClients: true, TokenExpire: 12 * time.Hour,
		ExternalAuth: data.NewMap("people", data.NewMap("fred", []any{"test.*", "@jobs"},
			"web%", []any{data.NewMap("web*", []any{"test.ping"})},
			"^file", "x"), "closed", data.NewMap("fred", []any{".*"})),
		System: func(name string) (System, error) {
			if name == "people" {
				return p, nil
			}
			return nil, errors.New("out of order")
		},
		Targets: fleet{"web1": {}, "web2": {}, "db1": {}}.targets, Log: quiet(t),
	}
}

func somebody() *people {
	return &people{passwords: map[string]string{"fred": "secret", "ann": "pw", "bob": "pw2"},
		groups: map[string][]string{"ann": {"users", "web"}}}
}

func newGate(t testing.TB, o Options) *Gate {
	t.Helper()
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.tokens.Close() })
	return g
}

func keyOf(t testing.TB, o Options, name string) string {
	t.Helper()
	key, err := os.ReadFile(keyFile(o.CacheDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(key)
}

func login(name, password string) Credentials {
	return FromLogin(data.NewMap("eauth", "people", "username", name, "password", password))
}

// TestKeysProveTheirUsers goes through who may be whom with which key (wire protocol, 6.3).
func TestKeysProveTheirUsers(t *testing.T) {
	o := options(t, somebody())
	o.PublisherACL = data.NewMap("daemon", []any{"test.ping"}, "no.*", []any{},
		"nosuchuser", []any{".*"}, "../x", []any{".*"})
	g := newGate(t, o)
	root, daemon := keyOf(t, o, me(t)), keyOf(t, o, "daemon")
	for _, tt := range []struct {
		name, user, key string
		sudoACL         bool
		known, all      bool
	}{
		{"the master's user", me(t), root, false, true, true},
		{"root with the master's key", "root", root, false, true, true},
		{"root with a user's key", "root", daemon, false, false, false},
		{"the master's user with a user's key", me(t), daemon, false, false, false},
		{"a user of publisher_acl", "daemon", daemon, false, true, false},
		{"a user with another's key", "daemon", root[1:] + "x", false, false, false},
		{"a user without rights", "nobody", "x", false, false, false},
		{"anybody with root's key", "whoever", root, false, true, true},
		{"sudo", "sudo_daemon", root, false, true, true},
		{"sudo with a user's key", "sudo_daemon", daemon, false, false, false},
		{"sudo under sudo_acl", "sudo_daemon", root, true, true, false},
		{"sudo of a stranger under sudo_acl", "sudo_other", root, true, false, false},
		{"a user whom the system does not know", "nosuchuser", "", false, false, false},
		{"no key", "daemon", "", false, false, false},
		{"half a key", "daemon", daemon[:20], false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if me(t) != "root" && (tt.user == "whoever" || tt.user == "root" ||
				strings.HasPrefix(tt.user, "sudo_")) {
				need.Missing(t, "it takes root, as the user of the master")
			}
			o.SudoACL = tt.sudoACL
			if err := g.SetOptions(o); err != nil {
				t.Fatal(err)
			}
			i, err := g.Identify(t.Context(), FromLoad(data.NewMap("user", tt.user, "key", tt.key)))
			if (err == nil) != tt.known {
				t.Fatalf("Identify = %v, want known = %v", err, tt.known)
			}
			if err == nil && i.All() != tt.all {
				t.Errorf("all rights = %v, want %v", i.All(), tt.all)
			}
			if err != nil && (!errors.Is(err, ErrNotAuthenticated) ||
				err.Error() != `Authentication failure of type "user" occurred`) {
				t.Errorf("error %q", err)
			}
		})
	}
	if users := g.Users(); slices.Contains(users, "nosuchuser") || slices.Contains(users, "../x") ||
		!slices.Contains(users, "nobody") {
		t.Errorf("keys of %v", users)
	}
}

func TestKeyFilesAreOfTheirUsers(t *testing.T) {
	o := options(t, somebody())
	o.PublisherACL = data.NewMap("daemon", []any{"test.ping"})
	newGate(t, o)
	first := keyOf(t, o, "daemon")
	info, err := os.Stat(keyFile(o.CacheDir, "daemon"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	if os.Geteuid() == 0 && ownerOf(info) != "1" {
		t.Errorf("the key of daemon belongs to %s", ownerOf(info))
	}
	g := newGate(t, o)
	kept := keyOf(t, o, "daemon")
	if runtime.GOOS != "windows" && kept != first {
		t.Error("a start makes a new key in place of that of the last one")
	}
	o.PublisherACL = data.NewMap("daemon", []any{"test.ping"}, "bin", []any{".*"})
	if err := g.SetOptions(o); err != nil || keyOf(t, o, "daemon") != kept || keyOf(t, o, "bin") == "" {
		t.Errorf("a reload replaces keys, or makes none: %v", err)
	}
	o.PublisherACL = nil
	if err := g.SetOptions(o); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(keyFile(o.CacheDir, "daemon")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the key of a user without rights stays")
	}
	if _, err := g.Identify(t.Context(), FromLoad(data.NewMap("user", "daemon", "key", kept))); err == nil {
		t.Error("the key of a user without rights is good")
	}
}

// TestKeyFilesThatOthersMayKnowAreMadeAnew starts with key files of an earlier start that are not as it left them.
func TestKeyFilesThatOthersMayKnowAreMadeAnew(t *testing.T) {
	change := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, spoil := range map[string]func(file string){
		"readable by others": func(file string) { change(os.Chmod(file, 0o640)) },
		"chosen by somebody": func(file string) { change(os.WriteFile(file, []byte("secret"), 0o600)) },
		"empty":              func(file string) { change(os.Truncate(file, 0)) },
		"long":               func(file string) { change(os.Truncate(file, 1<<20)) },
		"a link": func(file string) {
			change(os.Rename(file, file+".other"))
			change(os.Symlink(file+".other", file))
		},
		"of another user": func(file string) {
			need.Root(t, "it changes the owner of a file")
			change(os.Chown(file, 2, -1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, somebody())
			o.PublisherACL = data.NewMap("daemon", []any{"test.ping"})
			newGate(t, o)
			first, file := keyOf(t, o, "daemon"), keyFile(o.CacheDir, "daemon")
			spoil(file)
			newGate(t, o)
			info, err := os.Lstat(file)
			if err != nil || info.Mode() != 0o600 || keyOf(t, o, "daemon") == first ||
				len(keyOf(t, o, "daemon")) != crypto.KeyStringSize {
				t.Errorf("the key stays: %v, %v", info.Mode(), err)
			}
		})
	}
}

// TestRefuseAlike refuses logins for every cause: the errors are equal, and all are as late.
func TestRefuseAlike(t *testing.T) {
	for _, c := range []Credentials{
		login("fred", "wrong"), login("mallory", "x"), login("fred", ""), login("fred", "a\x00b"),
		login("fred", strings.Repeat("x", 5000)),
		FromLogin(data.NewMap("eauth", "nosuch", "username", "fred", "password", "secret")),
		FromLogin(data.NewMap("eauth", "closed", "username", "fred", "password", "secret")),
		FromLogin(data.NewMap("eauth", int64(1), "username", "fred", "password", "secret")),
		FromLogin(data.NewMap("eauth", "people", "username", "fred", "password", []byte("secret"))),
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, options(t, somebody()))
			start := time.Now()
			_, err := g.Identify(t.Context(), c)
			since := time.Since(start)
			if want := "Authentication failure of type \"eauth\" occurred for user " +
				c.Fields.Text("username") + "."; err == nil || err.Error() != want {
				t.Errorf("%s: error %v, want %s", data.Repr(c.Fields), err, want)
			}
			if since < 750*time.Millisecond || since > 1250*time.Millisecond {
				t.Errorf("%s: refused after %v", data.Repr(c.Fields), since)
			}
		})
	}
}

// TestSlowSystems has a system that takes its time, then one that hangs: refusals are as late as
// that, within limits, and the rest is not held up.
func TestSlowSystems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := somebody()
		p.takes = 3 * time.Second
		g := newGate(t, options(t, p))
		start := time.Now()
		_, err := g.Identify(t.Context(), login("fred", "wrong"))
		if since := time.Since(start); err == nil || since < 3*time.Second || since > 4*time.Second {
			t.Errorf("%v after %v", err, since)
		}
		start = time.Now()
		_, err = g.Identify(t.Context(),
			FromLogin(data.NewMap("eauth", "nosuch", "username", "fred", "password", "secret")))
		if since := time.Since(start); err == nil || since < 2*time.Second {
			t.Errorf("who is not asked about is refused after %v, which tells", since)
		}
		p.takes = time.Hour
		start = time.Now()
		if _, err = g.Identify(t.Context(), login("fred", "secret")); err == nil ||
			time.Since(start) > 30*time.Second {
			t.Errorf("a system that hangs: %v after %v", err, time.Since(start))
		}
	})
}

func TestLoginsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := somebody()
		p.takes = 10 * time.Second
		g := newGate(t, options(t, p))
		var all sync.WaitGroup
		for range loginsWaiting {
			all.Go(func() { _, _ = g.Identify(t.Context(), login("fred", "wrong")) })
		}
		synctest.Wait()
		if n := len(p.logins()); n > loginsAtOnce {
			t.Errorf("the system is asked %d times at once", n)
		}
		start := time.Now()
		if _, err := g.Identify(t.Context(), login("fred", "wrong")); err == nil || time.Since(start) > 0 {
			t.Errorf("one too many: %v after %v", err, time.Since(start))
		}
		all.Wait()
		p.takes = 0
		if _, err := g.Identify(t.Context(), login("fred", "secret")); err != nil {
			t.Errorf("after a flood: %v", err)
		}
	})
}

// TestCVE2016_3176 sends random fields beside a login, with names that modules of PAM and LDAP
// would understand: a system sees name and password alone.
func TestCVE2016_3176(t *testing.T) {
	p := somebody()
	g := newGate(t, options(t, p))
	names := []string{"service", "token", "eauth_acl_module", "uri", "server", "binddn", "filter",
		"Username", "user", "key", "auth_list", "groups", "client", "cmd", "token_expire"}
	for range 300 {
		load := data.NewMap()
		for range mathrand.IntN(6) {
			load.Set(names[mathrand.IntN(len(names))], rand.Text())
		}
		load.Delete("token") // or it is no login
		load.Set("eauth", "people")
		load.Set("username", "fred")
		load.Set("password", "secret")
		i, err := g.Identify(t.Context(), FromKwargs(data.NewMap("user", "x", "key", "y"), load))
		if err != nil || i.Name != "fred" {
			t.Fatalf("%s: %v", data.Repr(load), err)
		}
		c := FromLoad(load)
		for _, name := range c.Fields.Keys() {
			if name != "username" && name != "password" {
				t.Fatalf("field %v goes on", name)
			}
		}
	}
	for _, l := range p.logins() {
		if l != (Login{"fred", "secret"}) {
			t.Fatalf("the system saw %+v", l)
		}
	}
}

func TestRightsOfUsersAndGroups(t *testing.T) {
	g := newGate(t, options(t, somebody()))
	for _, tt := range []struct {
		name, password string
		fun            string
		minions        []string
		may            bool
	}{
		{"fred", "secret", "test.ping", []string{"db1"}, true},
		{"fred", "secret", "cmd.run", []string{"db1"}, false},
		{"fred", "secret", "saltutil.find_job", []string{"db1"}, true},
		{"ann", "pw", "test.ping", []string{"web1", "web2"}, true},
		{"ann", "pw", "test.ping", []string{"web1", "db1"}, false},
		{"bob", "pw2", "test.ping", []string{"web1"}, false},
	} {
		i, err := g.Identify(t.Context(), login(tt.name, tt.password))
		if err != nil {
			t.Fatal(err)
		}
		if may := i.MayPublish(Publication{Fun: tt.fun, Minions: tt.minions}); may != tt.may || i.All() {
			t.Errorf("%s may %s on %v = %v, want %v", tt.name, tt.fun, tt.minions, may, tt.may)
		}
	}
}

// TestCVE2013_4435 goes through every form of a rule and every shape of a publication. What a rule
// allows is allowed as one function and in a list of allowed ones. Nothing else is, whatever the
// shape of fun.
func TestCVE2013_4435(t *testing.T) {
	f := fleet{"web1": {}, "db1": {}}
	rules := map[string]any{
		"name": "test.ping", "regular expression": "test\\.p.*g", "alternatives": "test.ping|test.pong",
		"target": data.NewMap("web*", []any{"test.ping"}), "arguments": data.NewMap("web1",
			[]any{data.NewMap("test.ping", data.NewMap("args", []any{"a"}))}),
		"kwargs": data.NewMap("web1", []any{data.NewMap("test.ping",
			data.NewMap("kwargs", data.NewMap("k", "v")))}),
		"runner": "@runner", "wheel": "@wheel", "runner function": data.NewMap("@runner", []any{"test.ping"}),
	}
	args := []any{"a", data.NewMap("__kwarg__", true, "k", "v")}
	for name, r := range rules {
		i := f.identity([]any{r})
		allowed := !strings.HasPrefix(name, "runner") && name != "wheel"
		for _, shape := range []struct {
			name string
			fun  any
			arg  []any
			good bool
		}{
			{"text", "test.ping", args, true},
			{"list", []any{"test.ping"}, []any{args}, true},
			{"list of two", []any{"test.ping", "test.ping"}, []any{args, args}, true},
			{"list with another first", []any{"cmd.run", "test.ping"}, []any{args, args}, false},
			{"list with another last", []any{"test.ping", "cmd.run"}, []any{args, args}, false},
			{"list with find_job", []any{"saltutil.find_job", "cmd.run"}, []any{args, args}, false},
			{"nested list", []any{[]any{"test.ping"}}, []any{args}, false},
			{"nested list beside it", []any{"test.ping", []any{"cmd.run"}}, []any{args, args}, false},
			{"comma text", "test.ping,cmd.run", args, false},
			{"text with a space", "test.ping cmd.run", args, false},
			{"text with a NUL", "test.ping\x00", args, false},
			{"text with a line feed", "test.ping\n", args, false},
			{"longer text", "test.pinger", args, false},
			{"text with something before it", "xtest.ping", args, false},
			{"bytes", []byte("test.ping"), args, false},
			{"bytes in a list", []any{[]byte("test.ping")}, []any{args}, false},
			{"map", data.NewMap("test.ping", "test.ping"), args, false},
			{"tuple", data.Tuple{"test.ping"}, []any{args}, false},
			{"number", int64(1), args, false},
			{"nothing", nil, args, false},
			{"empty list", []any{}, []any{}, false},
			{"too few arguments", []any{"test.ping", "test.ping"}, []any{args}, false},
			{"too many arguments", []any{"test.ping"}, []any{args, args}, false},
		} {
			got := i.MayPublish(Publication{Fun: shape.fun, Arg: shape.arg, Minions: []string{"web1"}})
			if got != (allowed && shape.good) {
				t.Errorf("rule %s, fun %s: %v", name, shape.name, got)
			}
			if fun, ok := shape.fun.(string); ok {
				err := i.MayRun(Runner, fun, []any{"a"}, data.NewMap("k", "v"))
				if (err == nil) != (shape.good &&
					(name == "runner" || name == "runner function")) &&
					!(name == "runner" && isFunction(fun)) {
					t.Errorf("rule %s, runner %q: %v", name, fun, err)
				}
			}
		}
	}
}

func TestUnderNarrowsOnly(t *testing.T) {
	f := fleet{"web1": {}}
	all := &Identity{full: true, gate: f.identity(nil).gate}
	ping, run := Publication{Fun: "test.ping", Minions: []string{"web1"}},
		Publication{Fun: "cmd.run", Minions: []string{"web1"}}
	if i := all.Under([]any{"test.ping"}); !i.MayPublish(ping) || i.MayPublish(run) || i.All() {
		t.Error("a list of a syndic does not narrow")
	}
	if i := all.Under(nil); !i.MayPublish(run) {
		t.Error("no list narrows")
	}
	if i := f.identity([]any{"test.ping"}).Under([]any{".*"}); i.MayPublish(run) {
		t.Error("a list that a caller gives widens his rights")
	}
}

func TestRulesThatCannotBeReadAllowNothing(t *testing.T) {
	for _, list := range []any{nil, int64(1), true, []any{nil}, []any{int64(1)}, []any{[]any{".*"}},
		[]any{data.NewMap()}, []any{"("}, []any{"(?P<n>"},
		[]any{data.NewMap(".*", "x", "y", "z")}, []any{data.NewMap("*", nil)},
		[]any{data.NewMap("*", []any{int64(5)})}, []any{data.NewMap(int64(1), []any{".*"})},
		[]any{data.NewMap("*", []any{data.NewMap(".*", nil)})},
		[]any{data.NewMap("*", []any{data.NewMap(".*", data.NewMap("args", []any{data.NewMap()}))})},
		[]any{data.NewMap("*", []any{data.NewMap(".*", data.NewMap("kwargs", "x"))})}, "x)|(.*",
		[]any{"x)|(.*"}, []any{""}} {
		i := fleet{"web1": {}}.identity(list)
		if i.MayPublish(Publication{Fun: "test.ping", Arg: []any{"a"}, Minions: []string{"web1"}}) {
			t.Errorf("%s allows something", data.Repr(list))
		}
	}
}

func TestReloadAppliesAtOnce(t *testing.T) {
	o := options(t, somebody())
	g := newGate(t, o)
	token, err := g.NewToken(t.Context(), login("fred", "secret"), nil)
	if err != nil {
		t.Fatal(err)
	}
	by := Credentials{Kind: ByToken, Token: token.Text("token")}
	run := Publication{Fun: "cmd.run", Minions: []string{"web1"}}
	if i, err := g.Identify(t.Context(), by); err != nil || i.MayPublish(run) {
		t.Fatalf("before: %v", err)
	}
	o.ExternalAuth = data.NewMap("people", data.NewMap("fred", []any{"cmd.*"}))
	if err := g.SetOptions(o); err != nil {
		t.Fatal(err)
	}
	if i, err := g.Identify(t.Context(), by); err != nil || !i.MayPublish(run) {
		t.Errorf("with more rights: %v", err)
	}
	o.ExternalAuth = data.NewMap()
	if err := g.SetOptions(o); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Identify(t.Context(), by); !errors.Is(err, ErrNotAuthenticated) {
		t.Errorf("a token of a system that is off: %v", err)
	}
}

func TestBlacklistIsBounded(t *testing.T) {
	b := newBlacklist(data.NewMap("users", []any{"root"}, "modules", []any{"cmd.*"}))
	many := make([]any, maxListed+1)
	for i := range many {
		many[i] = fmt.Sprintf("test.f%d", i)
	}
	for name, fun := range map[string]any{"many": many, "long": strings.Repeat("x", maxListed+1),
		"a map": data.NewMap("test.ping", 1), "nothing": nil, "deep": []any{[]any{"cmd.run"}}} {
		if !b.blocks("fred", fun) {
			t.Errorf("%s is let through", name)
		}
	}
	if none := newBlacklist(data.NewMap()); none.blocks("root", many) {
		t.Error("an empty list blocks")
	}
}

// TestTimingOfKeys compares how long wrong keys take, for users who have a key and for those who
// have none.
func TestTimingOfKeys(t *testing.T) {
	o := options(t, somebody())
	g := newGate(t, o)
	key := keyOf(t, o, me(t))
	cases := map[string]Credentials{
		"first letter wrong": {User: me(t), HasUser: true, Key: "~" + key[1:]},
		"last letter wrong":  {User: me(t), HasUser: true, Key: key[:len(key)-1] + "~"},
		"no such user":       {User: "xxxx", HasUser: true, Key: key[:len(key)-1] + "~"},
	}
	medians := map[string]time.Duration{}
	samples := map[string][]time.Duration{}
	for range 1000 {
		for name, c := range cases {
			start := time.Now()
			for range 20 {
				if _, ok := g.keys.prove(c); ok {
					t.Fatal("a wrong key is right")
				}
			}
			samples[name] = append(samples[name], time.Since(start))
		}
	}
	for name, s := range samples {
		slices.Sort(s)
		medians[name] = s[len(s)/2]
	}
	all := slices.Sorted(maps.Values(medians))
	t.Logf("medians of 20 tries: %v", medians)
	if all[2] > 3*all[0] {
		t.Errorf("wrong keys take %v", medians)
	}
}
