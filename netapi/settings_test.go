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
`)
	d := s.Cherrypy
	if found != "" || d.Port != 8000 || d.MaxBody != 1000 || d.Sessions || !d.OpenWebhook || d.WebhookURL != "/in" ||
		s.Timeout.Seconds() != 10 || len(d.Addresses) != 2 || s.Tornado != nil {
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
