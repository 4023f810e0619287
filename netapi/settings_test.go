package netapi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

func settings(t *testing.T, text string) (*Settings, string) {
	t.Helper()
	v, err := yaml.Load([]byte(text), yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, findings := ReadSettings(v.(*data.Map))
	var all []string
	for _, f := range findings {
		word := "wrong: "
		if f.Doubt {
			word = "doubt: "
		}
		all = append(all, word+f.Error())
	}
	return s, strings.Join(all, "\n")
}

func TestSettings(t *testing.T) {
	s, found := settings(t, `
netapi_enable_clients: [local, runner]
rest_timeout: 10
rest_cherrypy:
  port: 8000
  host: 127.0.0.1
  disable_ssl: true
  webhook_url: /in
  webhook_disable_auth: true
  max_request_body_size: 1000
  enable_sessions: false
  root_prefix: /api
  authorized_ips: [10.0.0.1, '::ffff:10.0.0.2']
  api_acl: {users: {ann: ['*'], bob: [10.0.0.0/8]}}
  static: /srv
  static_path: /app/static
  max_orders: 7
  events: own
`)
	d := s.Cherrypy
	if found != "" || d.Port != 8000 || d.MaxBody != 1000 || d.Sessions || !d.OpenWebhook || d.WebhookURL != "/in" ||
		s.Timeout.Seconds() != 10 || len(d.Addresses) != 2 || d.MaxOrders != 7 || d.MaxOrdersPerUser != 100 || !d.OwnEvents || s.Tornado != nil {
		t.Errorf("%+v\n%+v\n%s", s, d, found)
	}
	for _, name := range []string{"ann", "bob", "eve"} {
		if got, want := d.ACL.Allows(name, here), name == "ann"; got != want {
			t.Errorf("%s may come: %v", name, got)
		}
	}
}

func TestWrongSettings(t *testing.T) {
	const cherrypy = "{netapi_enable_clients: [local], rest_cherrypy: {port: 1, disable_ssl: true, "
	for text, want := range map[string]string{
		"{}": "wrong: rest_cherrypy: no port to listen on: salt-api needs the section rest_cherrypy with a port",
		"{netapi_enable_clients: [locl], rest_cherrypy: {port: 1, disable_ssl: true}}":                  "is local meant?",
		"{rest_cherrypy: {port: 1, disable_ssl: true}}":                                                 "doubt: netapi_enable_clients: is not set",
		"{netapi_enable_clients: [local], rest_cherrypy: {port: 1}}":                                    "wrong: rest_cherrypy: has no ssl_crt and ssl_key",
		"{netapi_enable_clients: [local], rest_cherrypy: {port: 99999, disable_ssl: true}}":             "must be a whole number from 0 to 65535",
		"{netapi_enable_clients: [local], rest_cherrypy: {port: 1, disable_sl: true}}":                  "is disable_ssl meant?",
		"{netapi_enable_clients: [local], rest_cherrypy: 8000}":                                         "must be a dictionary of options",
		"{netapi_enable_clients: [local], rest_cherrypy: {port: 1, thread_pool: 3, disable_ssl: true}}": "has no effect",
		"{netapi_enable_clients: [local], rest_cherrypy: {port: 1, host: [], disable_ssl: true}}":       "must be a text",
		cherrypy + "api_acl: {users: {a: [x]}}}}":                                                       "'x' is no address and no network",
		cherrypy + "api_acl: {}}}":                                                                            "names no users",
		cherrypy + "authorized_ips: [x]}}":                                                                    "'x' is no address",
		cherrypy + "webhook_secrets: {github: short}}}":                                                       "at least 16 characters",
		"{netapi_enable_clients: local, rest_cherrypy: {port: 1, disable_ssl: true}}":                         "must be a list of clients",
		"{netapi_enable_clients: [local], rest_wsgi: {port: 1}, rest_cherrypy: {port: 1, disable_ssl: true}}": "rest_wsgi: has no effect",
	} {
		if _, found := settings(t, text); !strings.Contains(found, want) {
			t.Errorf("%s: %s\nwant %s", text, found, want)
		}
	}
}

func TestNewSettingsAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"root_prefix: api":                  "wrong: rest_cherrypy: root_prefix: must begin with a slash, or no address is below it; write /api",
		"webhook_url: /":                    "wrong: rest_cherrypy: webhook_url: hides the address / of the API; choose",
		"webhook_url: events/in":            "webhook_url: hides the address /events of",
		"webhook_url: /console":             "webhook_url: hides the address /console of",
		"app_path: /oidc":                   "app_path: hides the address /oidc of",
		"app_path: /login":                  "wrong: rest_cherrypy: app_path: hides the address /login of the API",
		"app_path: /hook":                   "wrong: rest_cherrypy: app_path: is a path of webhook_url too",
		"webhook_url: /app/hook":            "webhook_url: is a path of app_path too, by default",
		"static: /srv, static_path: /jobs/": "static_path: hides the address /jobs",
		"static: /srv, static_path: ''":     "static_path: hides the address / of",
		"max_orders: 0":                     "max_orders: must be a whole number from 1",
		"max_orders_per_user: x":            "max_orders_per_user: must be a whole number from 1",
		"events: mine":                      "events: must be all or own, not 'mine'",
	} {
		_, found := settings(t, "{netapi_enable_clients: [local], rest_cherrypy: {port: 1, disable_ssl: true, "+text+"}}")
		if !strings.Contains(found, want) {
			t.Errorf("%s: %s\nwant %s", text, found, want)
		}
	}
	_, found := settings(t, "{rest_tornado: {port: 1, disable_ssl: true, webhook_url: /all_events}}")
	if !strings.Contains(found, "rest_tornado: webhook_url: hides") {
		t.Error(found)
	}
}

func TestOIDCSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("hush\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(options, rest string) (*OIDC, string) {
		s, found := settings(t, "netapi_enable_clients: [local]\nexternal_auth: {oidc: {ann: ['.*']}}\n"+
			"rest_cherrypy: {port: 1, host: 127.0.0.1, disable_ssl: true, oidc: {"+options+"}"+rest+"}\n")
		return s.Cherrypy.OIDC, found
	}
	good := "issuer: 'https://login.example.com/a', client_id: api, client_secret_file: " + file +
		", redirect_url: 'https://salt.example.com/oidc/callback'"
	o, found := read(good, "")
	if found != "" || o.ClientSecret != "hush" || o.UsernameClaim != "preferred_username" || len(o.Scopes) != 3 {
		t.Errorf("%+v\n%s", o, found)
	}
	for _, c := range []struct{ old, new, want string }{
		{"https://login", "http://login", "issuer: must begin with https://"},
		{"https://login.example.com/a", "http://127.0.0.1:5556", ""},
		{"https://login.example.com/a", "login.example.com", "issuer: is no address"},
		{"client_id: api, ", "", "client_id: is missing"},
		{"client_id", "client_ids", "is client_id meant?"},
		{file, file + "x", "client_secret_file: " + file + "x is no file"},
		{"client_secret_file: " + file, "client_secret: 12345678", "client_secret: must be a text"},
		{"client_secret_file: " + file, "client_secret: hush", ""},
		{"client_secret_file: " + file, "client_secret: hush, client_secret_file: " + file, "remove one of the two"},
		{"client_secret_file: " + file + ", ", "", "client_secret_file: is missing"},
		{", redirect_url: 'https://salt.example.com/oidc/callback'", "", "redirect_url: is missing"},
		{"https://salt.example.com/oidc/callback", "http://salt.example.com/oidc/callback", "redirect_url: must begin with https://"},
		{"https://salt.example.com/oidc/callback", "https://salt.example.com/", "redirect_url: must be an address that ends in"},
		{"client_id: api", "client_id: api, scopes: [profile]", "scopes: lack openid"},
	} {
		_, found := read(strings.Replace(good, c.old, c.new, 1), "")
		if !strings.Contains(found, c.want) || c.want == "" && found != "" || strings.Contains(found, "hush") || strings.Contains(found, "12345678") {
			t.Errorf("%s: %q, want %q", c.new, found, c.want)
		}
	}
	if _, found := read(good, ", enable_sessions: false"); !strings.Contains(found, "needs sessions") {
		t.Error(found)
	}
	_, found = settings(t, "netapi_enable_clients: [local]\nrest_cherrypy: {port: 1, disable_ssl: true, oidc: {"+good+"}}\n")
	if !strings.Contains(found, "doubt: ") || !strings.Contains(found, "has no section oidc") {
		t.Error(found)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, found := read(good, ""); !strings.Contains(found, "doubt: ") || !strings.Contains(found, "every user") {
		t.Error(found)
	}
	if _, found := settings(t, "netapi_enable_clients: [local]\nrest_tornado: {port: 1, disable_ssl: true, oidc: {}}\n"); !strings.Contains(found, "there is no such option") {
		t.Error(found)
	}
}
