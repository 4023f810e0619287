package mongodb_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/config"
	module "github.com/brineproject/brine/modules/mongodb"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/mongodb"
)

// Each state runs in test mode, twice, and in test mode again over testdata/bin/mongosh.
func TestStates(t *testing.T) {
	need.Program(t, "node")
	need.Time(t, "each call starts node")
	runs.Programs(t)
	s := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), config.Plugin(), module.Plugin()}, state.Database(),
		state.User())
	m := data.NewMap
	for _, c := range []struct {
		fun, name string
		kwargs    *data.Map
		texts     [3]string
		changes   string
	}{
		{"mongodb_user.present", "bob", m("passwd", "marker", "database", "shop", "roles", []any{"read"}),
			[3]string{
				"User bob is not present and needs to be created", "User bob has been created",
				"User bob is already present"},
			"{'bob': 'Present'}"},
		{"mongodb_user.present", "bob", m("passwd", "marker", "database", "shop", "roles", []any{"readWrite"}),
			[3]string{
				"User bob is present and its roles need to be changed", "User bob has been changed",
				"User bob is already present"},
			"{'bob': {'database': 'shop', 'roles': {'old': ['read'], 'new': ['readWrite']}}}"},
		{"mongodb_user.absent", "bob", m("database", "shop"),
			[3]string{"User bob is present and needs to be removed",
				"User bob has been removed", "User bob is not present"}, "{'bob': 'Absent'}"},
		{"mongodb_database.absent", "shop", m(), [3]string{"Database shop is present and needs to be removed",
			"Database shop has been removed", "Database shop is not present"}, "{'shop': 'Absent'}"},
	} {
		for i, want := range []string{c.texts[0], c.texts[1], c.texts[2], c.texts[2]} {
			got := s.Run(t, i == 0 || i == 3, c.fun, c.name, c.kwargs)
			changes := "{}"
			if i == 1 {
				changes = c.changes
			}
			if got.Text("comment") != want || data.Repr(got.Value("changes")) != changes {
				t.Errorf("%s, run %d: %s", c.fun, i, data.Repr(got))
			}
		}
	}
	for fun, kwargs := range map[string]*data.Map{"mongodb_user.present": m("passwd", "x", "port", int64(1)),
		"mongodb_user.absent": m("port", int64(1)), "mongodb_database.absent": m("port", int64(1))} {
		if got := s.Run(t, true, fun, "x", kwargs); got.Value("result") != false {
			t.Errorf("%s without a server: %s", fun, data.Repr(got))
		}
	}
	if got := s.Run(t, true, "mongodb_user.present", "x", m("passwd", "x", "port",
		"y")); got.Text("comment") != "Port (y) is not an integer." {
		t.Error(data.Repr(got))
	}
}
