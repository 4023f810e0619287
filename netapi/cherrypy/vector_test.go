package cherrypy_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/netapitest"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/cherrypy"
)

// door is the kind of door that these tests open.
func door() netapitest.Door {
	return netapitest.Door{
		Section: func(s *netapi.Settings) *netapi.Door { return s.Cherrypy },
		Open: func(p netapitest.Parts) (http.Handler, error) {
			return cherrypy.New(cherrypy.Options{Gate: p.Gate, Door: p.Door, Hub: p.Hub, Fire: p.Fire, Ready: p.Ready,
				Log: p.Log})
		},
	}
}

// TestVectors replays what real clients exchanged with salt-api of Salt 3006.0, against Brine's
// master and minions. better lists where our answer is another one, and why.
func TestVectors(t *testing.T) {
	used := map[string]bool{}
	s := netapitest.Start(t, door(), "main", "m1", "m2")
	replay := func(t *testing.T, s *netapitest.Site, conf, group string) {
		p := &netapitest.Replay{Site: s, Conf: conf, Better: better(), Used: used, Page: comparePage,
			Before: func(t *testing.T, e *netapitest.Exchange) func() { return before(t, s, e) }}
		p.Run(t, netapitest.Exchanges(t, group))
	}
	for _, group := range []string{"01-root-negotiation", "02-login", "03-lowstate", "04-permissions", "05-convenience",
		"06-keys", "07-token-run", "08-hook", "09-static-app-stats", "10-events", "15-saltgui-calls", "16-wheel-async-ssh"} {
		t.Run(group, func(t *testing.T) {
			replay(t, s, "main", group)
		})
	}
	for _, conf := range []string{"V1", "V2", "V3", "V4"} {
		t.Run("12-options "+conf, func(t *testing.T) {
			replay(t, netapitest.Start(t, door(), conf, "m1", "m2"), conf, "12-options")
		})
	}
	t.Run("14-down", func(t *testing.T) {
		if err := s.Minions["m2"].Stop(); err != nil {
			t.Fatal(err)
		}
		replay(t, s, "main", "14-down")
	})
	for name := range better() {
		if !used[name] {
			t.Errorf("%s is listed as better, but no exchange has that name", name)
		}
	}
}

// makeKey makes the key of a minion that is not there.
func makeKey(t *testing.T, s *netapitest.Site, id string) {
	t.Helper()
	got := s.Do(t, "POST", "/", `{"client": "wheel", "fun": "key.gen_accept", "id_": "`+id+`"}`, "Content-Type", "application/json",
		"X-Auth-Token", s.LogIn(t, "saltdev"))
	if got.Status != http.StatusOK {
		t.Fatalf("make a key: %d %s", got.Status, got.Body)
	}
}

// forget deletes keys.
func forget(t *testing.T, s *netapitest.Site, ids ...string) {
	t.Helper()
	for _, id := range ids {
		s.Do(t, "POST", "/", `{"client": "wheel", "fun": "key.delete", "match": "`+id+`"}`, "Content-Type", "application/json",
			"X-Auth-Token", s.LogIn(t, "saltdev"))
	}
}

// before makes what was there at the time of an exchange.
func before(t *testing.T, s *netapitest.Site, e *netapitest.Exchange) (after func()) {
	switch e.Name {
	case "low-wheel-reject":
		makeKey(t, s, "gen1")
		return func() { forget(t, s, "gen1") }
	case "keys-post-again-noforce":
		makeKey(t, s, "genk")
	case "keys-post-force-json":
		return func() { forget(t, s, "genk") }
	}
	return func() {}
}

// comparePage compares the text of an error, which is a page in Salt and JSON for clients of JSON here.
func comparePage(t *testing.T, e *netapitest.Exchange, got *netapitest.Reply) {
	t.Helper()
	text := regexp.MustCompile(`(?s)<p>(.*?)</p>`).FindStringSubmatch(e.Response.Body)
	if text == nil {
		return
	}
	if want := text[1]; !strings.Contains(unescapeHTML(string(got.Body)), unescapeHTML(want)) {
		t.Errorf("body %s, want the text %q", got.Body, want)
	}
}

func unescapeHTML(s string) string {
	return strings.NewReplacer("&#39;", "'", "&#x27;", "'", "&quot;", `"`, `\"`, `"`, "&amp;", "&").Replace(s)
}
