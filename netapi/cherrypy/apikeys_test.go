package cherrypy_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/netapitest"
	"github.com/brineproject/brine/internal/test/oidctest"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/cherrypy"
	"github.com/brineproject/brine/netapi/oidc"
)

// keyOf makes an API key.
func keyOf(t *testing.T, s *netapitest.Site, name string, rights ...any) string {
	t.Helper()
	secret, _, err := s.Gate.Tokens.(*auth.Tokens).AddKey(auth.APIKey{Name: name, Rights: rights})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestAPIKeys(t *testing.T) {
	s := netapitest.Start(t, door(), "main", "m1")
	key := keyOf(t, s, "ci", "test.*", "@jobs")
	keeper, caller := keyOf(t, s, "keeper", "@wheel"), keyOf(t, s, "caller", "@hooks")
	const ping, remove = `{"client": "local", "tgt": "m1", "fun": "test.ping"}`, `{"client": "local", "tgt": "m1", "fun": "file.remove", "arg": ["/nothere"]}`
	for _, header := range []string{"X-Auth-Token", "Authorization"} {
		value := key
		if header == "Authorization" {
			value = "Bearer " + key
		}
		do := func(method, path, body string) *netapitest.Reply {
			return s.Do(t, method, path, body, "Content-Type", asJSON, "Accept", asJSON, header, value)
		}
		do("POST", "/", ping).Want(t, header+" /", 200, `"m1": true`)
		do("POST", "/run", ping).Want(t, header+" /run", 200, `"m1": true`)
		do("POST", "/", remove).Want(t, header+" out of scope", 401, "")
		do("POST", "/", `{"client": "runner", "fun": "manage.up"}`).Want(t, header+" runner", 401, "")
		do("POST", "/", `{"client": "wheel", "fun": "key.list_all"}`).Want(t, header+" wheel", 401, "")
		do("POST", "/", `{"client": "runner", "fun": "auth.mk_key", "name": "x", "rights": [".*"]}`).Want(t, header+" mk_key", 401, "")
		do("GET", "/jobs", "").Want(t, header+" /jobs", 200, "return")
		do("GET", "/stats", "").Want(t, header+" /stats", 200, "")
		do("GET", "/keys", "").Want(t, header+" /keys", 401, "")
		s.Do(t, "GET", "/keys", "", "Accept", asJSON, header, strings.Replace(value, key, keeper, 1)).
			Want(t, header+" /keys with the right", 200, "minions_pre")
		s.Do(t, "GET", "/keys/m1", "", "Accept", asJSON, header, strings.Replace(value, key, keeper, 1)).
			Want(t, header+" /keys/m1", 200, "m1")
		do("POST", "/hook/x", "{}").Want(t, header+" /hook", 403, "@hooks")
		s.Do(t, "POST", "/hook/x", "{}", "Content-Type", asJSON, header, strings.Replace(value, key, caller, 1)).
			Want(t, header+" /hook with the right", 200, "")
		do("POST", "/logout", "{}").Want(t, header+" /logout", 400, "del_key")
		do("POST", "/token", `{"eauth": "key", "username": "ci", "password": "`+key+`"}`).Want(t, header+" /token", 401, "")
	}
	s.Do(t, "POST", "/run", `{"client": "local", "tgt": "m1", "fun": "test.ping", "token": "`+key+`"}`, "Content-Type", asJSON).
		Want(t, "as token", 200, "m1")
	s.Do(t, "POST", "/", ping, "Content-Type", asJSON, "Cookie", "session_id="+key).Want(t, "as cookie", 401, "")
	s.Do(t, "POST", "/", ping, "Content-Type", asJSON, "Authorization", "Basic "+key).Want(t, "as Basic", 401, "")
	got := s.Do(t, "POST", "/", `{"client": "local", "tgt": "m1", "fun": "test.arg"}`, "Content-Type", asJSON, "X-Auth-Token", key)
	if strings.Contains(string(got.Body), key) {
		t.Errorf("the minion is told the key: %s", got.Body)
	}
	s.Gate.Door.ACL = aclOf(t, "ci: [10.0.0.1]")
	s.Do(t, "POST", "/", ping, "Content-Type", asJSON, "X-Auth-Token", key).Want(t, "api_acl", 401, "")
	s.Do(t, "POST", "/run", ping, "Content-Type", asJSON, "X-Auth-Token", key).Want(t, "api_acl of /run", 401, "")
	s.Gate.Door.ACL = nil

	end, body := openStream(t, s, key)
	defer end()
	if _, err := s.Gate.Tokens.(*auth.Tokens).DeleteKey("ci"); err != nil {
		t.Fatal(err)
	}
	s.Do(t, "POST", "/", ping, "Content-Type", asJSON, "X-Auth-Token", key).Want(t, "a deleted key", 401, "has been deleted")
	s.Do(t, "POST", "/run", ping, "Content-Type", asJSON, "Authorization", "Bearer "+key).
		Want(t, "a deleted key at /run", 401, "The API key "+auth.KeyID(key)+" has been deleted")
	s.Do(t, "POST", "/run", strings.Replace(ping, "{", `{"token": "`+key+`", `, 1), "Content-Type", asJSON).
		Want(t, "a deleted key in an order", 401, "has been deleted")
	if err := fire(t, s, "after/deletion"); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := body.ReadString('\n')
		if strings.Contains(line, "after/deletion") {
			t.Error("an event reaches a stream whose key was deleted")
		}
		if err != nil {
			return
		}
	}
}

// TestEventsOfAPIKeys checks that a key without the right to events reads those of its own jobs alone.
func TestEventsOfAPIKeys(t *testing.T) {
	s := netapitest.Start(t, door(), "main", "m1")
	own, all := keyOf(t, s, "own", "test.*"), keyOf(t, s, "all", "@events")
	until := func(key, tag string) (lines string) {
		t.Helper()
		end, body := openStream(t, s, key)
		defer end()
		if err := fire(t, s, "secret/of/others"); err != nil {
			t.Fatal(err)
		}
		if key == own {
			s.Do(t, "POST", "/", `{"client": "local", "tgt": "m1", "fun": "test.ping"}`, "Content-Type", asJSON, "X-Auth-Token", own).
				Want(t, "order", 200, "m1")
		}
		for !strings.Contains(lines, tag) {
			line, err := body.ReadString('\n')
			if err != nil {
				t.Fatalf("%v after %s", err, lines)
			}
			lines += line
		}
		return lines
	}
	if lines := until(own, "/ret/m1"); strings.Contains(lines, "secret/of/others") {
		t.Errorf("the key reads the events of others: %s", lines)
	}
	until(all, "secret/of/others")
}

// aclOf returns the option api_acl with users.
func aclOf(t *testing.T, users string) *netapi.ACL {
	t.Helper()
	name, from, _ := strings.Cut(users, ": ")
	list := data.NewMap(name, data.Values([]string{strings.Trim(from, "[]")}))
	s, findings := netapi.ReadSettings(data.NewMap("rest_cherrypy", data.NewMap("port", int64(1), "disable_ssl", true,
		"api_acl", data.NewMap("users", list))))
	for _, f := range findings {
		if !f.Doubt {
			t.Fatal(f)
		}
	}
	return s.Cherrypy.ACL
}

// TestLoginAtProvider logs in at a provider, from the first address to an order that the master carries
// out with the rights of the user and of their group.
func TestLoginAtProvider(t *testing.T) {
	there := oidctest.Start(t)
	d := door()
	d.Edit = func(conf string) string {
		return strings.Replace(conf, "external_auth:\n", "external_auth:\n  oidc: {ann: ['test.*'], 'ops%': ['@jobs']}\n", 1)
	}
	d.Open = func(p netapitest.Parts) (http.Handler, error) {
		p.Door.OIDC = &netapi.OIDC{Issuer: there.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret,
			RedirectURL: "https://salt.example.com/oidc/callback", Scopes: []string{"openid"}, UsernameClaim: "preferred_username",
			GroupsClaim: "groups"}
		provider, err := oidc.New(oidc.Options{Settings: p.Door.OIDC})
		if err != nil {
			return nil, err
		}
		return cherrypy.New(cherrypy.Options{Gate: p.Gate, Door: p.Door, Hub: p.Hub, Fire: p.Fire, Ready: p.Ready, OIDC: provider, Log: p.Log})
	}
	s := netapitest.Start(t, d, "main", "m1")
	begin := func(next string) (cookie, query string) {
		got := s.Do(t, "GET", "/oidc/login"+next, "", "Accept", "text/html,*/*")
		got.Want(t, "login", 303, "")
		set := got.Header.Get("Set-Cookie")
		for _, flag := range []string{"HttpOnly", "SameSite=Lax", "Path=/oidc", "Secure", "Max-Age=600"} {
			if !strings.Contains(set, flag) {
				t.Errorf("the cookie %q lacks %s", set, flag)
			}
		}
		cookie, _, _ = strings.Cut(set, ";")
		return cookie, there.Approve(t, got.Header.Get("Location")).Encode()
	}
	cookie, query := begin("?next=/%23minions")
	got := s.Do(t, "GET", "/oidc/callback?"+query, "", "Cookie", cookie, "Accept", "text/html,*/*")
	if got.Status != 303 || got.Header.Get("Location") != "/#minions" || !strings.Contains(strings.Join(got.Header.Values("Set-Cookie"), "\n"), "session_id=") {
		t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
	}
	s.Do(t, "GET", "/oidc/callback?"+query, "", "Cookie", cookie).Want(t, "a second time", 400, "finished already")

	cookie, query = begin("")
	got = s.Do(t, "GET", "/oidc/callback?"+query, "", "Cookie", cookie, "Accept", asJSON)
	var answer struct {
		Return []struct {
			Token, User, Eauth string
			Perms              []string
		}
	}
	if err := json.Unmarshal(got.Body, &answer); err != nil || len(answer.Return) != 1 || answer.Return[0].User != "ann" ||
		answer.Return[0].Eauth != "oidc" || strings.Join(answer.Return[0].Perms, " ") != "@jobs test.*" {
		t.Fatalf("%d %s, %v", got.Status, got.Body, err)
	}
	session := answer.Return[0].Token
	order(t, s, session, `{"client": "local", "tgt": "m1", "fun": "test.ping"}`).Want(t, "right of the user", 200, `"m1": true`)
	order(t, s, session, `{"client": "runner", "fun": "jobs.active"}`).Want(t, "right of the group", 200, "")
	order(t, s, session, `{"client": "local", "tgt": "m1", "fun": "cmd.run", "arg": ["id"]}`).Want(t, "no right", 401, "")
	s.Do(t, "POST", "/login", `{"eauth": "oidc", "username": "ann", "password": "x"}`, "Content-Type", asJSON).
		Want(t, "a password", 401, "")

	cookie, query = begin("")
	s.Do(t, "GET", "/oidc/callback?"+query, "").Want(t, "without the cookie", 400, "begin again")
	s.Do(t, "GET", "/oidc/callback?state=x&error=access_denied", "", "Cookie", cookie).Want(t, "another state", 400, "state")
	s.Gate.Door.ACL = aclOf(t, "ann: [10.0.0.1]")
	s.Do(t, "GET", "/oidc/callback?"+query, "", "Cookie", cookie).Want(t, "api_acl", 401, "No permission")
	s.Gate.Door.ACL = nil
	s.Gate.Door.Addresses = []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	s.Do(t, "GET", "/oidc/login", "").Want(t, "authorized_ips", 403, "Bad IP")
	s.Gate.Door.Addresses = nil
	s.Do(t, "GET", "/oidc/login?next=//evil.example", "").Want(t, "next elsewhere", 400, "next")
	s.Do(t, "POST", "/oidc/callback", "").Want(t, "POST", 405, "")
	s.Do(t, "GET", "/oidc/other", "").Want(t, "no such page", 404, "")
}
