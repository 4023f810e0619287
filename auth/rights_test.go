package auth

import (
	"slices"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestPlacesOfRights(t *testing.T) {
	i := FromRights("ann", []any{"test.*", data.NewMap("web*", []any{"state.apply",
		data.NewMap("grains.item", []any{data.NewMap("args", []any{"os"})})}), data.NewMap("G@os:Debian", []any{"state.*"}),
		data.NewMap("@runner", []any{"jobs.*"})})
	for _, c := range []struct {
		fun        string
		args       []any
		everywhere bool
		targets    []string
	}{
		{"test.ping", nil, true, nil},
		{"state.apply", nil, false, []string{"web*", "G@os:Debian"}},
		{"state.highstate", nil, false, []string{"G@os:Debian"}},
		{"grains.item", []any{"os"}, false, []string{"web*"}},
		{"grains.item", nil, false, nil},
		{"cmd.run", nil, false, nil},
		{"test.ping,cmd.run", nil, false, nil},
		{"jobs.list_jobs", nil, false, nil},
	} {
		everywhere, targets := i.Places(c.fun, c.args)
		if everywhere != c.everywhere || !slices.Equal(targets, c.targets) {
			t.Errorf("Places(%s, %v) = %t, %v", c.fun, c.args, everywhere, targets)
		}
	}
	if err := i.MayRun(Runner, "jobs.list_jobs", nil, nil); err != nil {
		t.Error(err)
	}
	if err := i.MayRun(Wheel, "key.list_all", nil, nil); err == nil {
		t.Error("wheel functions are allowed")
	}
}
