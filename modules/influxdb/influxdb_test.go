package influxdb_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/daemon"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/modules/influxdb"
)

func registry(t *testing.T, opts ...any) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap(opts...)},
		[]loader.Plugin{config.Plugin(), influxdb.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// testdata/calls.json has the results of Salt 3006.18 with InfluxDB 1.6.7, each call after the one before.
// ROOT is its port.
func TestCalls(t *testing.T) {
	need.Time(t, "InfluxDB syncs each change to disk")
	port := daemon.Influxd(t)
	r := registry(t, "influxdb.port", port)
	for _, c := range [][]any{{"create_db", "mydb"}, {"create_user", "bob", "pw"},
		{"create_retention_policy", "mydb", "week", "7d", int64(1)},
		{"create_continuous_query", "mydb", "cq", "SELECT mean(v) INTO a FROM b GROUP BY time(5m)"}} {
		got, err := r.Invoke(t.Context(), "influxdb."+c[0].(string), c[1:], nil)
		if err != nil || got != true {
			t.Fatalf("%v gives %v, %v", c, got, err)
		}
	}
	points := "sensors,r=1 v=1.5 1577836800000000000\nsensors,r=2 v=2 1577836801000000000\n"
	a, err := http.Post("http://127.0.0.1:"+port+"/write?db=mydb", "text/plain", strings.NewReader(points))
	if err != nil || a.StatusCode != http.StatusNoContent {
		t.Fatalf("write points: %v, %v", a, err)
	}
	a.Body.Close()
	replay.Check(t, "testdata/calls.json",
		replay.Options{Root: port, Plugins: []loader.Plugin{config.Plugin(), influxdb.Plugin()}})
	for _, c := range []struct {
		fun  string
		args []any
		want any
	}{
		{"drop_continuous_query", []any{"mydb", "cq"}, true}, {"continuous_query_exists", []any{"mydb", "cq"},
			false},
		{"drop_retention_policy", []any{"mydb", "week"}, true}, {"retention_policy_exists", []any{"mydb", "week"},
			false},
		{"remove_user", []any{"bob"}, true}, {"user_exists", []any{"bob"}, false},
		{"create_user", []any{`a"b\`, `it's`, true}, true}, {"user_exists", []any{`a"b\`}, true},
		{"drop_db", []any{"mydb"}, true}, {"db_exists", []any{"mydb"}, false},
	} {
		if got, err := r.Invoke(t.Context(), "influxdb."+c.fun, c.args, nil); err != nil || got != c.want {
			t.Errorf("%s %s gives %v, %v", c.fun, data.Repr(c.args), got, err)
		}
	}
}

// No password is part of an address or of an error, and nothing but durations and privileges is part of a
// query without quotes.
func TestSecrets(t *testing.T) {
	s := fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		if strings.Contains(r.Body, "SHOW+USERS") {
			return &fakeweb.Answer{Body: `{"results": [{"series": [{"columns": ["user"], "values": [["bob"]]}]}]}`}
		}
		return &fakeweb.Answer{Status: 503}
	})
	host, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	r := registry(t, "influxdb.host", host, "influxdb.port", port, "influxdb.password", "marker")
	_, err := r.Invoke(t.Context(), "influxdb.set_user_password", []any{"bob", "marker"}, nil)
	if err == nil || err.Error() != "503:" && err.Error() != "503: " {
		t.Errorf("a server that refuses gives %v", err)
	}
	for _, q := range s.Take() {
		if q.Query != "" || q.Path != "/query" {
			t.Errorf("sent %s", q.Line())
		}
	}
	for _, c := range [][]any{{"create_retention_policy", "d", "n", "7d; DROP DATABASE d", int64(1)},
		{"alter_retention_policy", "d", "n", "7d", "1 DEFAULT"}, {"grant_privilege", "d", "ALL TO eve --", "bob"},
		{"create_continuous_query", "d", "n", "SELECT 1", "1m BEGIN"}} {
		_, err := r.Invoke(t.Context(), "influxdb."+c[0].(string), c[1:], nil)
		if loader.KindOf(err) != loader.KindInvocation || len(s.Take()) > 0 {
			t.Errorf("%v gives %v", c, err)
		}
	}
	if _, err := r.Invoke(t.Context(), "influxdb.list_dbs", nil, data.NewMap("bogus",
		1)); loader.KindOf(err) != loader.KindType {
		t.Errorf("an unknown argument gives %v", err)
	}
}
