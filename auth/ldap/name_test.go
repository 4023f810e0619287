package ldap

import (
	"os/user"
	"path/filepath"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
)

// testSpelling logs fred in under every spelling that the server takes: he is fred, with the rights
// of fred and not those of everybody, by password and by token, and the blacklist knows him.
func (s *server) testSpelling(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	log := logrus.New()
	log.SetOutput(t.Output())
	for way, settings := range map[string][]any{"direct": direct, "through": through} {
		d, dir := opened(t, s.options(settings...)), t.TempDir()
		g, err := auth.New(auth.Options{
			User: me.Username, CacheDir: dir, TokenDir: filepath.Join(dir, "tokens"),
			HashType: "sha256", TokenExpire: time.Hour, Log: log,
			ExternalAuth: data.NewMap("ldap", data.NewMap("fred", []any{"test.ping"},
				"*", []any{".*"})), Blacklist: data.NewMap("users", []any{"fred"}),
			System: func(string) (auth.System, error) { return d, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Tokens().Close() })
		taken := 0
		for _, name := range []string{"fred", "FRED", "Fred", "fred ", " fred", "ｆｒｅｄ"} {
			if ok, _ := d.Login(t.Context(), auth.Login{Name: name, Password: "secret"}); !ok {
				continue // a spelling that the server does not take
			}
			taken++
			c := auth.FromLogin(data.NewMap("eauth", "ldap", "username", name, "password", "secret"))
			m, err := g.NewToken(t.Context(), c, nil)
			if err != nil {
				t.Fatalf("%s: %q: %v", way, name, err)
			}
			for _, c := range []auth.Credentials{c, {Kind: auth.ByToken, Token: m.Text("token")}} {
				who, err := g.Identify(t.Context(), c)
				if err != nil || who.Name != "fred" || !g.Blocked(who.Name, "test.ping") {
					t.Errorf("%s: %q by %v: %+v, %v", way, name, c.Kind, who, err)
					continue
				}
				if who.MayPublish(auth.Publication{Fun: "cmd.run", Arg: []any{"id"},
					Minions: []string{"web1"}}) {
					t.Errorf("%s: %q by %v has the rights of everybody", way, name, c.Kind)
				}
			}
			stands, err := g.Stand(t.Context(), c)
			if err != nil || stands.Name != "fred" {
				t.Errorf("%s: %q stands as %q, %v", way, name, stands.Name, err)
			}
		}
		if taken < 3 {
			t.Errorf("%s: the server takes %d spellings: the test shows nothing", way, taken)
		}
	}
}

// TestNamesInTemplates takes the attribute by which a filter finds users.
func TestNamesInTemplates(t *testing.T) {
	for template, want := range map[string]string{
		"uid={{ username }},ou=people,dc=example,dc=org":       "uid",
		"(&(objectClass=person)(sAMAccountName={{username}}))": "sAMAccountName",
		"(|(mail={{ username }})(uid={{ username }}))":         "mail", "{{ username }}@example.org": "uid",
		"CN={{username}},dc=x": "CN",
	} {
		if got := nameOf(template); got != want {
			t.Errorf("%s: %s, want %s", template, got, want)
		}
	}
}
