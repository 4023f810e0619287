package influxdb_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/daemon"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
	module "github.com/brineproject/brine/modules/influxdb"
	state "github.com/brineproject/brine/states/influxdb"
)

func shelf(t *testing.T, port string) *runs.Shelf {
	opts := data.NewMap("id", "web1", "influxdb.port", port)
	s := runs.New(t, &loader.Env{Opts: opts}, []loader.Plugin{config.Plugin(), module.Plugin()},
		state.Database(),
		state.User(), state.RetentionPolicy(), state.ContinuousQuery())
	s.Run(t, false, "influxdb_database.present", "db", nil)
	return s
}

// testdata/runs.json has the results of Salt 3006.18 with InfluxDB 1.6.7, whose port stands as brine_. Each
// state then runs again, in test mode too.
func TestRuns(t *testing.T) {
	need.Time(t, "InfluxDB syncs each change to disk")
	port := daemon.Influxd(t)
	shelf(t, port).Settle(t, "testdata/runs.json", port, runs.Equal)
}

func TestOwn(t *testing.T) {
	need.Time(t, "InfluxDB syncs each change to disk")
	s := shelf(t, daemon.Influxd(t))
	for _, c := range []struct {
		fun    string
		kwargs *data.Map
		texts  [3]string
	}{
		{"influxdb_user.present", data.NewMap("passwd", "pw"),
			[3]string{"User x will be created", "Created user x", "User x is present and up to date"}},
		{"influxdb_retention_policy.present", data.NewMap("database", "db", "duration", "36h"),
			[3]string{" x is absent and will be created", "retention policy x has been created",
				"retention policy x is already present"}},
		{"influxdb_retention_policy.present", data.NewMap("database", "db", "duration", "INF"),
			[3]string{" x is present and set to be changed", "retention policy x has been changed",
				"retention policy x is already present"}},
	} {
		for i, want := range []string{c.texts[0], c.texts[1], c.texts[2], c.texts[2]} {
			got := s.Run(t, i == 0 || i == 3, c.fun, "x", c.kwargs)
			if got.Text("comment") != want || i > 1 && data.Truth(got.Value("changes")) || i == 1 &&
				!data.Truth(got.Value("changes")) {
				t.Errorf("%s, run %d: %s", c.fun, i, data.Repr(got))
			}
		}
	}
	got := s.Run(t, true, "influxdb_retention_policy.present", "x", data.NewMap("database", "db", "duration",
		"bogus"))
	if got.Value("result") != false {
		t.Error(data.Repr(got))
	}
}
