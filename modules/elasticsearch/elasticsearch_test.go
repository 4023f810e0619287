package elasticsearch_test

import (
	"context"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/exchange"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/modules/elasticsearch"
)

// cp is a module cp with one file.
func cp() loader.Plugin {
	type args struct {
		Path    string
		Saltenv string
	}
	return loader.Plugin{Name: "cp", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("get_file_str", func(_ context.Context, a args) (any,
			error) {
			if a.Path == "salt://body.json" && a.Saltenv == "base" {
				return `{"from": "file"}`, nil
			}
			return false, nil
		})}}, nil
	}}
}

func plugins() []loader.Plugin { return []loader.Plugin{config.Plugin(), cp(), elasticsearch.Plugin()} }

// testdata/calls.json has the requests and results of Salt 3006.18 with the library elasticsearch 7.17.
func TestCalls(t *testing.T) {
	exchange.Check(t, "testdata/calls.json", exchange.Options{Modules: plugins(), Opts: data.NewMap(
		"elasticsearch", data.NewMap("host", "URL", "username", "u", "password", "marker"))})
}

// The functions that Salt's cannot do with that library, and bodies from files.
func TestOwn(t *testing.T) {
	s := fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		if r.Line() == "GET /_scripts/a" {
			return &fakeweb.Answer{Body: `{"found": true, "script": {"lang": "mustache", "source": "{}"}}`}
		}
		if r.Method == "GET" || r.Method == "DELETE" {
			return nil
		}
		return &fakeweb.Answer{Body: `{"acknowledged": true}`}
	})
	r, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}}, plugins())
	if err != nil {
		t.Fatal(err)
	}
	m := data.NewMap
	for _, c := range []struct {
		fun    string
		args   []any
		kwargs *data.Map
		want   string
		sent   string
	}{
		{"search_template_get", []any{"a"}, m(),
			"{'found': True, 'script': {'lang': 'mustache', 'source': '{}'}, 'template': '{}'}",
			"GET /_scripts/a "},
		{"search_template_get", []any{"b"}, m(), "None", "GET /_scripts/b "},
		{"search_template_create", []any{"a", m("query", m())}, m(), "True",
			`PUT /_scripts/a {"script":{"lang":"mustache","source":{"query":{}}}}`},
		{"search_template_create", []any{"a", `{"script": {"lang": "x"}}`}, m(), "True",
			`PUT /_scripts/a {"script":{"lang":"x"}}`},
		{"search_template_delete", []any{"a"}, m(), "True", "DELETE /_scripts/a "},
		{"flush_synced", nil, m(), "{'acknowledged': True}", "POST /_flush/synced "},
		{"flush_synced", nil, m("index", []any{"a", "b"}), "{'acknowledged': True}", "POST /a,b/_flush/synced "},
		{"index_create", []any{"i"}, m("source", "salt://body.json"), "True", `PUT /i {"from": "file"}`},
		{"index_create", []any{"i"}, m("source", "salt://none.json"),
			"error: salt://none.json is not on the file server", ""},
		{"index_get", []any{"../_cluster"}, m(), "error: '../_cluster' is not fit for an address", ""},
		{"index_get_settings", nil, m("bogus", 1),
			"error: get_settings() got an unexpected keyword argument 'bogus'", ""},
	} {
		for range 2 {
			kwargs := c.kwargs.Clone()
			kwargs.Set("hosts", s.URL)
			got, err := r.Invoke(t.Context(), "elasticsearch."+c.fun, c.args, kwargs)
			text := data.Repr(got)
			if err != nil {
				text = "error: " + err.Error()
			}
			sent := ""
			for _, q := range s.Take() {
				sent += q.Line() + " " + q.Body
			}
			if text != c.want || sent != c.sent {
				t.Errorf("%s %s gives %s, sent %s", c.fun, data.Repr(c.args), text, sent)
			}
		}
	}
}

// A host that does not answer is passed over, a proxy is used, and no error has a secret.
func TestHosts(t *testing.T) {
	s := fakeweb.New(t, func(fakeweb.Request) *fakeweb.Answer { return &fakeweb.Answer{Body: "{}"} })
	r, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}}, plugins())
	if err != nil {
		t.Fatal(err)
	}
	at := strings.TrimPrefix(s.URL, "http://")
	host, port, _ := strings.Cut(at, ":")
	m := data.NewMap
	for _, c := range []struct {
		profile *data.Map
		want    string
	}{
		{m("host", []any{"127.0.0.1:1", at}), "{}"}, {m("host", m("host", host, "port", port)), "{}"},
		{m("hosts", "http://u:marker@"+at+"/"), "{}"},
		{m("host", "http://search.invalid:9200", "proxies", m("http", s.URL)), "{}"},
		{m("host", "http://u:marker@127.0.0.1:1"),
			"error: Could not connect to Elasticsearch host/ cluster ['http://127.0.0.1:1'] due to "},
		{m("host", "127.0.0.1:1", "use_ssl", true, "ca_certs", "/nonexistent"), "error: read trusted authorities"},
		{m("host", "http://"), "error: a host of Elasticsearch is not one"},
	} {
		got, err := r.Invoke(t.Context(), "elasticsearch.info", nil, m("profile", c.profile))
		text := data.Repr(got)
		if err != nil {
			text = "error: " + err.Error()
		}
		if !strings.HasPrefix(text, c.want) || strings.Contains(text, "marker") {
			t.Errorf("%s gives %s", data.Repr(c.profile), text)
		}
	}
	for _, fails := range []bool{false, true} {
		got, err := r.Invoke(t.Context(), "elasticsearch.ping", []any{fails}, m("hosts", "127.0.0.1:1"))
		if (err != nil) != fails || !fails && got != false {
			t.Errorf("ping gives %v, %v", got, err)
		}
	}
}
