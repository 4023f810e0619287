package grafana4_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/exchange"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
	module "github.com/brineproject/brine/modules/grafana4"
	"github.com/brineproject/brine/modules/pillar"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/states/grafana4"
)

func options() exchange.Options {
	m := data.NewMap
	return exchange.Options{
		Opts: m("id", "web1", "grafana", m("grafana_url", "URL", "grafana_user", "admin", "grafana_password",
			"marker")),
		Pillar: m("grafana_rows", m("default", m("height", "250px")), "grafana_panels", m("default", m("type",
			"graph")),
			"base", m("timezone", "utc", "tags", []any{"x"})),
		Modules: []loader.Plugin{config.Plugin(), pillar.Plugin(render.Brought{}), module.Plugin()},
		States:  []loader.Plugin{grafana4.Dashboard(), grafana4.Datasource(), grafana4.Org(), grafana4.User()},
		Write: func(key string) bool {
			return !strings.HasPrefix(key, "GET ") && !strings.HasPrefix(key, "POST /api/user/using/")
		},
	}
}

// testdata/runs.json has the requests and results of Salt 3006.18.
func TestRuns(t *testing.T) {
	exchange.Check(t, "testdata/runs.json", options())
}

// No password of a data source stands in the result, and one that Grafana does not show is not sent again.
func TestPasswords(t *testing.T) {
	listed, sent := false, 0
	s := fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		if r.Method != "GET" {
			listed = true
			sent++
			return &fakeweb.Answer{Body: "{}"}
		}
		if !listed {
			return &fakeweb.Answer{Body: "[]"}
		}
		return &fakeweb.Answer{Body: `[{"id": 1, "name": "d", "type": "graphite", "url": "u", "password": ""}]`}
	})
	o := options()
	opts := data.NewMap("id", "web1", "grafana", data.NewMap("grafana_url", s.URL, "grafana_token", "marker"))
	shelf := runs.New(t, &loader.Env{Opts: opts}, o.Modules, o.States...)
	kwargs := data.NewMap("type", "graphite", "url", "u", "password", "marker", "basic_auth_password", "marker")
	for i, changes := range []bool{true, false, false} {
		got := shelf.Run(t, i == 2, "grafana4_datasource.present", "d", kwargs)
		if got.Value("result") != true || data.Truth(got.Value("changes")) != changes ||
			strings.Contains(data.Repr(got), "marker") || sent != 1 {
			t.Errorf("run %d: %s, sent %d", i, data.Repr(got), sent)
		}
	}
}

// The pinned rows come first.
func TestPinnedRows(t *testing.T) {
	var body string
	s := fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		if r.Method == "POST" {
			body = r.Body
			return &fakeweb.Answer{Body: `{"status": "success"}`}
		}
		return nil
	})
	o := options()
	opts := data.NewMap("id", "web1", "grafana", data.NewMap("grafana_url", s.URL, "grafana_token", "marker"))
	pillar := data.NewMap("grafana_pinned_rows", []any{"B"})
	shelf := runs.New(t, &loader.Env{Opts: opts, Pillar: func() *data.Map { return pillar }}, o.Modules,
		o.States...)
	row := func(title string) any { return data.NewMap("title", title) }
	shelf.Run(t, false, "grafana4_dashboard.present", "web",
		data.NewMap("dashboard", data.NewMap("rows", []any{row("a"), row("b"), row("c")})))
	if want := `"rows": [{"title": "b"}, {"title": "a"}, {"title": "c"}]`; !strings.Contains(body, want) {
		t.Errorf("sent %s", body)
	}
}
