package ipset_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	module "github.com/brineproject/brine/modules/ipset"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/ipset"
)

// TestRuns replays results of Salt 3006.18 with real sets in a network of its own: test mode, real
// runs, and test mode again. own.json has what differs from Salt: comments and empty sets.
// One result of runs.json does, too: a test of absent is None as soon as one entry would be removed, and
// in Salt the last entry decides.
func TestRuns(t *testing.T) {
	if !need.Network(t, "ipset list") {
		return
	}
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin())
	states.Replay(t, "testdata/runs.json", "", runs.Equal)
	states.Replay(t, "testdata/own.json", "", runs.Equal)
}

// The states compare an entry with what the kernel makes of it: an address is no network, nomatch and
// marks count, and of a range all that is there is removed.
func TestMembers(t *testing.T) {
	if !need.Network(t, "ipset list") {
		return
	}
	states := runs.New(t, &loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin())
	run := func(test bool, fun, name string, kwargs *data.Map, want any, changes int) {
		t.Helper()
		got := states.Run(t, test, "ipset."+fun, name, kwargs)
		if got.Value("result") != want || got.Value("changes").(*data.Map).Len() != changes {
			t.Errorf("%s %s (test %v): %s", fun, data.Repr(kwargs), test, data.Repr(got))
		}
	}
	twice := func(fun, set, entry string, more *data.Map) {
		t.Helper()
		kwargs := data.NewMap("set_name", set, "entry", entry)
		kwargs.Update(more)
		run(true, fun, "n", kwargs, nil, 0)
		run(false, fun, "n", kwargs, true, 1)
		run(false, fun, "n", kwargs, true, 0)
		run(true, fun, "n", kwargs, true, 0)
	}
	run(false, "set_present", "nets", data.NewMap("set_type", "hash:net"), true, 1)
	run(false, "set_present", "ips", data.NewMap("set_type", "hash:ip", "comment", true, "skbinfo", true), true,
		1)
	twice("present", "nets", "10.0.0.7", nil)
	twice("present", "nets", "10.0.0.0/24", nil) // in Salt the address counts as the network
	twice("present", "nets", "10.9.0.0/16", data.NewMap("nomatch", true))
	run(true, "absent", "n", data.NewMap("set_name", "nets", "entry", "10.9.0.0/16"), true, 0)
	twice("absent", "nets", "10.9.0.0/16 nomatch", nil)
	inside := data.NewMap("set_name", "nets", "entry", "10.0.0.8")
	run(false, "absent", "n", inside, false, 0) // the network has it
	twice("absent", "nets", "10.0.0.0/24", nil)
	twice("absent", "nets", "10.0.0.7", nil)
	twice("present", "ips", "10.0.0.2", data.NewMap("comment", "two words", "skbmark", "0x10/0xff"))
	twice("present", "ips", "10.0.0.9", nil)
	twice("absent", "ips", "10.0.0.0/30", data.NewMap("comment", "another"))
	twice("absent", "ips", "10.0.0.9", nil)
	run(false, "set_present", "all", data.NewMap("set_type", "list:set"), true, 1)
	twice("present", "nets", "192.0.2.0/24", nil)
	twice("present", "all", "nets", nil)
	run(false, "set_absent", "nets", &data.Map{}, false, 0) // it is in use, and keeps its entries
	run(false, "present", "n", data.NewMap("set_name", "nets", "entry", "192.0.2.0/24"), true, 0)
	run(false, "set_absent", "all", &data.Map{}, true, 1)
	run(false, "set_absent", "nets", &data.Map{}, true, 1)
	run(false, "set_absent", "ips", &data.Map{}, true, 1)
}
