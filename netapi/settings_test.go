package netapi

import (
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
		"{}": "wrong: rest_cherrypy: there is no door: salt-api needs the section rest_cherrypy with a port",
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
