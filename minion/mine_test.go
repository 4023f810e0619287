package minion_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/payload"
)

// awaitScheduled returns the return of a job of the schedule.
func (f *fleet) awaitScheduled(t *testing.T, name string) *data.Map {
	t.Helper()
	for _, e := range f.early {
		load, err := e.Map()
		if err != nil {
			t.Fatal(err)
		}
		if load.Text("schedule") == name {
			return load
		}
	}
	load := f.await(t, "salt/job/")
	for load.Text("schedule") != name {
		load = f.await(t, "salt/job/")
	}
	return load
}

// TestMineAfterTheStart has a minion send its mine by itself, and reads it by another.
func TestMineAfterTheStart(t *testing.T) {
	f := startFleet(t, func(cfg *config.Minion) {
		cfg.MineFunctions = data.NewMap("test.ping", []any{},
			"who", []any{data.NewMap("mine_function", "grains.get"), "id"},
			"ours", data.NewMap("mine_function", "test.echo", "text", "x", "allow_tgt", "web*"))
		cfg.MineReturnJob = true
	})
	if load := f.awaitScheduled(t, "__mine_interval"); load.Text("fun") != "mine.update" ||
		load.Value("return") != true || load.Value("success") != true {
		t.Fatalf("the job returns %s", data.Repr(load))
	}
	raw, err := os.ReadFile(filepath.Join(f.master.Config.CacheDir, "minions/web1/mine.p"))
	if err != nil {
		t.Fatal(err)
	}
	want := data.NewMap("test.ping", true, "who", "web1",
		"ours", data.NewMap("__data__", "x", "__saltmine_acl__", int64(1), "allow_tgt", "web*"))
	if v, err := payload.UnmarshalText(raw, payload.WireLimits()); err != nil || !data.Equal(v, want) {
		t.Errorf("the master keeps %s, %v", data.Repr(v), err)
	}
	testsalt.StartMinion(t, testsalt.MinionConfig(testsalt.Dir(t), "db1", f.master.Address))
	f.await(t, "salt/minion/db1/start")
	for _, tt := range []struct{ minion, fun, want string }{
		{"db1", "test.ping,who", "{'test.ping': {'web1': True}, 'who': {'web1': 'web1'}}"},
		{"db1", "ours", "{}"},
		{"web1", "ours", "{'web1': 'x'}"},
	} {
		if got := f.ask(t, tt.minion, "mine.get", "*", tt.fun); got != tt.want {
			t.Errorf("%s reads %s: %s, want %s", tt.minion, tt.fun, got, tt.want)
		}
	}
}

// ask gives an order to a minion and returns its answer in Python's form.
func (f *fleet) ask(t *testing.T, id, fun string, args ...any) string {
	t.Helper()
	c := f.master.Client(t)
	j, err := c.Publish(t.Context(),
		client.Request{Target: id, Kind: "glob", Fun: fun, Arg: args, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range c.Results(t.Context(), j,
		client.Wait{Timeout: 20 * time.Second, Gather: 5 * time.Second}) {
		if err != nil {
			t.Fatal(err)
		}
		return data.Repr(r.Value)
	}
	t.Fatalf("no answer of %s", id)
	return ""
}

func TestMineCanBeSwitchedOff(t *testing.T) {
	for name, change := range map[string]func(*config.Minion){
		"mine_enabled":  func(cfg *config.Minion) { cfg.MineEnabled = false },
		"mine_interval": func(cfg *config.Minion) { cfg.MineInterval = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			f := startFleet(t, func(cfg *config.Minion) {
				cfg.MineFunctions = data.NewMap("test.ping", []any{})
				cfg.Schedule = data.NewMap("beat", data.NewMap("function", "test.ping", "seconds", int64(1)))
				change(cfg)
			})
			f.awaitScheduled(t, "beat")
			if _, err := os.Stat(filepath.Join(f.master.Config.CacheDir,
				"minions/web1/mine.p")); !os.IsNotExist(err) {
				t.Errorf("there is a mine: %v", err)
			}
		})
	}
}

// TestPeersOfOurs has minions give orders to each other, by way of their master.
func TestPeersOfOurs(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	cfg := testsalt.MasterConfig(testsalt.Dir(t))
	cfg.Peer = data.NewMap("web1", []any{`test\..*`, `schedule\.add`})
	f := &fleet{master: testsalt.StartMaster(t, cfg)}
	f.events = f.master.Listen(t)
	for _, id := range []string{"web1", "db1"} {
		testsalt.StartMinion(t, testsalt.MinionConfig(testsalt.Dir(t), id, f.master.Address))
		f.await(t, "salt/minion/"+id+"/start")
	}
	for _, tt := range []struct {
		id   string
		fun  string
		args []any
		want string
	}{
		{"web1", "publish.publish", []any{"*", "test.ping"}, "{'db1': True, 'web1': True}"},
		{"web1", "publish.full_data", []any{"db1", "test.echo", "x"}, "{'db1': {'ret': 'x'}}"},
		{"web1", "publish.publish", []any{"*", "grains.get", "id"}, "{}"},
		{"db1", "publish.publish", []any{"*", "test.ping"}, "{}"},
		{"web1", "schedule.add", []any{"beat", "function=test.ping", "hours=1", "persist=False"},
			"{'comment': 'Added job: beat to schedule.', 'result': True, 'changes': {'beat': 'added'}}"},
		{"web1", "schedule.copy", []any{"beat", "db1"},
			"{'comment': 'Copied Job beat from schedule to minion(s).', 'result': True, 'minions': ['db1']}"},
		{"web1", "schedule.move", []any{"beat", "nobody"},
			"{'comment': 'no servers answered the published schedule.add command', 'result': False}"},
	} {
		got := f.ask(t, tt.id, tt.fun, tt.args...)
		if got != tt.want && got != "{'web1': True, 'db1': True}" {
			t.Errorf("%s %s %v: %s, want %s", tt.id, tt.fun, tt.args, got, tt.want)
		}
	}
}
