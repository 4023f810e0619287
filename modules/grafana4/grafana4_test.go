package grafana4_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/exchange"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/modules/grafana4"
)

func plugins() []loader.Plugin { return []loader.Plugin{config.Plugin(), grafana4.Plugin()} }

// testdata/calls.json has the requests and results of Salt 3006.18.
func TestCalls(t *testing.T) {
	exchange.Check(t, "testdata/calls.json", exchange.Options{Modules: plugins(), Opts: data.NewMap(
		"grafana", data.NewMap("grafana_url", "URL", "grafana_user", "admin", "grafana_password", "marker"),
		"other", data.NewMap("grafana_url", "URL", "grafana_token", "marker"))})
}

// Errors contain no secret, and nothing is sent for a profile that is not complete or a part that is no name.
func TestErrors(t *testing.T) {
	s := fakeweb.New(t, func(fakeweb.Request) *fakeweb.Answer { return &fakeweb.Answer{Body: "no JSON"} })
	r, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}}, plugins())
	if err != nil {
		t.Fatal(err)
	}
	full := data.NewMap("grafana_url", s.URL, "grafana_user", "admin", "grafana_password", "marker")
	for _, c := range []struct {
		fun     string
		profile any
		args    []any
		want    string
		sent    int
	}{
		{"get_users", "none", nil, "lacks grafana_url", 0},
		{"get_users", data.NewMap("grafana_url", s.URL), nil, "lacks grafana_token", 0},
		{"get_users", full, nil, "not JSON", 1},
		{"get_user_data", full, []any{"../admin"}, "not fit for an address", 0},
		{"get_users", data.NewMap("grafana_url", "http://u:marker@127.0.0.1:1", "grafana_token", "marker"), nil,
			"refused", 0},
	} {
		_, err := r.Invoke(t.Context(), "grafana4."+c.fun, c.args, data.NewMap("profile", c.profile))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "marker") {
			t.Errorf("%s with %s: %v, want %s", c.fun, data.Repr(c.profile), err, c.want)
		}
		if n := len(s.Take()); n != c.sent {
			t.Errorf("%s sent %d requests", c.fun, n)
		}
	}
}
