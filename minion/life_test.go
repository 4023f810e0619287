package minion_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/minion"
)

// A fleet is a master and one minion of it.
type fleet struct {
	master *testsalt.Master
	minion *testsalt.Minion
	events *eventbus.Client
	early  []eventbus.Event // of jobs, before the minion's start event: its schedule is faster now and then
	dir    string           // of the minion
}

func startFleet(t *testing.T, change func(*config.Minion)) *fleet {
	t.Helper()
	return startFleetWith(t, change, func(*minion.Options) {})
}

// startFleetWith is startFleet with other options of the minion.
func startFleetWith(t *testing.T, change func(*config.Minion), options func(*minion.Options), ofMaster ...func(*config.Master)) *fleet {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	mc := testsalt.MasterConfig(testsalt.Dir(t))
	for _, set := range ofMaster {
		set(mc)
	}
	f := &fleet{master: testsalt.StartMaster(t, mc), dir: testsalt.Dir(t)}
	f.events = f.master.Listen(t)
	cfg := testsalt.MinionConfig(f.dir, "web1", f.master.Address)
	if change != nil {
		change(cfg)
	}
	o := testsalt.MinionOptions(t, cfg)
	options(&o)
	f.minion = testsalt.StartMinionWith(t, cfg, o)
	for tag := ""; tag != "salt/minion/web1/start"; {
		e := testsalt.AwaitEvent(t, f.events, "")
		if tag = e.Tag; strings.HasPrefix(tag, "salt/job/") {
			f.early = append(f.early, e)
		}
	}
	return f
}

func (f *fleet) await(t *testing.T, tag string) *data.Map {
	t.Helper()
	m, err := testsalt.AwaitEvent(t, f.events, tag).Map()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// order publishes a job for the minion.
func (f *fleet) order(t *testing.T, r client.Request) string {
	t.Helper()
	r.Target, r.Kind, r.Timeout = "web1", "glob", 10*time.Second
	j, err := f.master.Client(t).Publish(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return string(j.ID)
}

// run orders a job and returns the event of its return.
func (f *fleet) run(t *testing.T, fun string, arg ...any) *data.Map {
	t.Helper()
	return f.await(t, "salt/job/"+f.order(t, client.Request{Fun: fun, Arg: arg})+"/ret/web1")
}

// restart ends the master and starts it again with the same keys and ports.
func (f *fleet) restart(t *testing.T) {
	t.Helper()
	f.events.Close()
	f.master.Stop(t)
	f.master = testsalt.StartMaster(t, f.master.Config)
	f.events = f.master.Listen(t)
}

func TestJobLife(t *testing.T) {
	f := startFleet(t, nil)
	ret := f.run(t, "test.arg", "a", data.NewMap("__kwarg__", true, "k", int64(1)))
	want := data.NewMap("args", []any{"a"}, "kwargs", data.NewMap("k", int64(1)))
	got, _ := ret.Value("return").(*data.Map)
	if !data.Equal(got.Value("args"), want.Value("args")) || ret.Value("retcode") != int64(0) ||
		ret.Value("success") != true {
		t.Errorf("return of test.arg: %s", data.Repr(ret))
	}
	ret = f.run(t, "test.no_such")
	if ret.Value("retcode") != int64(1) || ret.Value("success") != false || ret.Text("out") != "nested" {
		t.Errorf("return of a function that is missing: %s", data.Repr(ret))
	}
	if left := files(t, filepath.Join(f.dir, "cache", "proc")); len(left) > 0 {
		t.Errorf("files of jobs that have ended: %v", left)
	}
}

func TestMasterRestartsBetweenJobs(t *testing.T) {
	f := startFleet(t, nil)
	f.run(t, "test.ping")
	f.restart(t)
	f.await(t, "salt/auth")
	if ret := f.run(t, "test.ping"); ret.Value("return") != true {
		t.Errorf("after the restart: %s", data.Repr(ret))
	}
}

func TestReturnWaitsForTheMaster(t *testing.T) {
	f := startFleet(t, nil)
	jid := f.order(t, client.Request{Fun: "test.sleep", Arg: []any{int64(1)}})
	f.await(t, "salt/job/"+jid+"/new")
	awaitFile(t, filepath.Join(f.dir, "cache", "proc", jid), true)
	f.master.Stop(t)
	awaitFile(t, filepath.Join(f.dir, "cache", "proc", jid), false)
	if spooled(t, f.dir) != 1 {
		t.Fatal("the return is not in the spool")
	}
	f.master = testsalt.StartMaster(t, f.master.Config)
	f.events = f.master.Listen(t)
	if ret := f.await(t, "salt/job/"+jid+"/ret/web1"); ret.Value("return") != true {
		t.Errorf("return: %s", data.Repr(ret))
	}
}

func TestKeyIsDeletedAndAcceptedAgain(t *testing.T) {
	f := startFleet(t, nil)
	f.run(t, "test.ping")
	keys := filepath.Join(f.master.Config.PKIDir)
	f.master.Config.AutoAccept = false
	f.restart(t) // now a new key waits
	if err := os.Remove(filepath.Join(keys, "minions", "web1")); err != nil {
		t.Fatal(err)
	}
	f.restart(t)
	awaitFile(t, filepath.Join(keys, "minions_pre", "web1"), true)
	if err := os.Rename(filepath.Join(keys, "minions_pre", "web1"),
		filepath.Join(keys, "minions", "web1")); err != nil {
		t.Fatal(err)
	}
	for m := f.await(t, "salt/auth"); m.Text("act") != "accept"; m = f.await(t, "salt/auth") {
	}
	if ret := f.run(t, "test.ping"); ret.Value("return") != true {
		t.Errorf("after the key was accepted again: %s", data.Repr(ret))
	}
}

func TestMinionEndsWithinABoundAndReturnsWhatItEnded(t *testing.T) {
	f := startFleet(t, nil)
	jid := f.order(t, client.Request{Fun: "test.sleep", Arg: []any{int64(60)}})
	awaitFile(t, filepath.Join(f.dir, "cache", "proc", jid), true)
	start := time.Now()
	if err := f.minion.Stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("the minion took %s to end", took)
	}
	ret := f.await(t, "salt/job/"+jid+"/ret/web1")
	if ret.Value("retcode") == int64(0) {
		t.Errorf("return of a job that was ended: %s", data.Repr(ret))
	}
}

func TestKillJob(t *testing.T) {
	f := startFleet(t, nil)
	jid := f.order(t, client.Request{Fun: "test.sleep", Arg: []any{int64(60)}})
	awaitFile(t, filepath.Join(f.dir, "cache", "proc", jid), true)
	if ret := f.run(t, "saltutil.find_job", jid); ret.Value("return").(*data.Map).Text("jid") != jid {
		t.Errorf("find_job: %s", data.Repr(ret))
	}
	f.order(t, client.Request{Fun: "saltutil.kill_job", Arg: []any{jid}})
	if ret := f.await(t, "salt/job/"+jid+"/ret/web1"); ret.Value("success") != false {
		t.Errorf("return of the job that was killed: %s", data.Repr(ret))
	}
	if ret := f.run(t, "saltutil.find_job", jid); ret.Value("return").(*data.Map).Len() != 0 {
		t.Errorf("find_job after that: %s", data.Repr(ret))
	}
}

func TestOneJobAtATimeStillAnswersQuestions(t *testing.T) {
	f := startFleet(t, func(cfg *config.Minion) { cfg.ProcessCountMax = 1 })
	first := f.order(t, client.Request{Fun: "test.sleep", Arg: []any{int64(60)}})
	awaitFile(t, filepath.Join(f.dir, "cache", "proc", first), true)
	second := f.order(t, client.Request{Fun: "test.ping"})
	awaitFile(t, filepath.Join(f.dir, "cache", "proc", second), true)
	if ret := f.run(t, "saltutil.find_job", second); ret.Value("return").(*data.Map).Text("jid") != second {
		t.Errorf("find_job of a job that waits: %s", data.Repr(ret))
	}
	f.order(t, client.Request{Fun: "saltutil.kill_job", Arg: []any{first}})
	if ret := f.await(t, "salt/job/"+second+"/ret/web1"); ret.Value("return") != true {
		t.Errorf("the job that waited: %s", data.Repr(ret))
	}
}

func TestWhatIsNotAllowed(t *testing.T) {
	f := startFleet(t, func(cfg *config.Minion) { cfg.Return = []string{"nowhere"} })
	jid := f.order(t, client.Request{Fun: "test.ping",
		Kwargs: data.NewMap("module_executors", []any{"docker"})})
	ret := f.await(t, "salt/job/"+jid+"/ret/web1")
	if want := "ERROR executing 'test.ping': Executor 'docker' is not available"; ret.Value("return") != want {
		t.Errorf("another executor: %s", data.Repr(ret))
	}
}

func TestBlackout(t *testing.T) {
	dir := testsalt.Dir(t)
	master := testsalt.StartMaster(t, testsalt.MasterConfig(testsalt.Dir(t)))
	f := &fleet{master: master, events: master.Listen(t), dir: dir}
	cfg := testsalt.MinionConfig(dir, "web1", master.Address)
	cfg.Grains = data.NewMap("minion_blackout", true, "minion_blackout_whitelist", []any{"test.ping"})
	testsalt.StartMinion(t, cfg)
	f.await(t, "salt/minion/web1/start")
	if ret := f.run(t, "test.ping"); ret.Value("return") != true {
		t.Errorf("on the whitelist: %s", data.Repr(ret))
	}
	ret := f.run(t, "test.echo", "x")
	want := "ERROR executing 'test.echo': Minion in blackout mode. Set 'minion_blackout' to False in pillar or grains to resume operations. Only " +
		"saltutil.refresh_pillar allowed in blackout mode."
	if ret.Value("return") != want || ret.Value("retcode") != int64(1) {
		t.Errorf("not on the whitelist: %s", data.Repr(ret))
	}
}

func TestEventsOnTheMinionsBus(t *testing.T) {
	f := startFleet(t, nil)
	sockets, err := eventbus.MinionSockets(f.minion.Config.SockDir, "web1", f.minion.Config.HashType)
	if err != nil {
		t.Fatal(err)
	}
	bus, err := eventbus.Dial(t.Context(), sockets, eventbus.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	fire := func(tag string, body *data.Map) {
		if err := bus.Fire(t.Context(), tag, body); err != nil {
			t.Fatal(err)
		}
	}
	fire("fire_master", data.NewMap("tag", "my/tag", "data", data.NewMap("x", int64(1)),
		"events", nil, "pretag", nil))
	if m := f.await(t, "my/tag"); m.Text("id") != "web1" {
		t.Errorf("event that was forwarded: %s", data.Repr(m))
	}
	fire("module_refresh", data.NewMap("notify", true))
	testsalt.AwaitEvent(t, bus, "/salt/minion/minion_mod_refresh_complete")
	fire("pillar_refresh", data.NewMap())
	testsalt.AwaitEvent(t, bus, "/salt/minion/minion_pillar_refresh_complete")
	fire("environ_setenv", data.NewMap("environ", data.NewMap("BRINE_TEST_ENV", "x"),
		"false_unsets", false, "clear_all", false))
	fire("module_refresh", data.NewMap("notify", true)) // after it, the one before is done
	testsalt.AwaitEvent(t, bus, "/salt/minion/minion_mod_refresh_complete")
	defer os.Unsetenv("BRINE_TEST_ENV")
	if os.Getenv("BRINE_TEST_ENV") != "x" {
		t.Error("environ_setenv has no effect")
	}
}

func TestPing(t *testing.T) {
	f := startFleet(t, func(cfg *config.Minion) { cfg.PingInterval = 50 * time.Millisecond })
	f.await(t, "minion_ping")
}

func TestPanicInAJob(t *testing.T) {
	master := testsalt.StartMaster(t, testsalt.MasterConfig(testsalt.Dir(t)))
	f := &fleet{master: master, events: master.Listen(t), dir: testsalt.Dir(t)}
	cfg := testsalt.MinionConfig(f.dir, "web1", master.Address)
	o := testsalt.MinionOptions(t, cfg)
	o.Plugins = append(o.Plugins, loader.Plugin{Name: "bad", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F("panics", func(context.Context, loader.NoArgs) (any, error) { panic("oops") }),
			loader.F("unsendable", func(context.Context, loader.NoArgs) (any, error) { return make(chan int), nil }),
		}}, nil
	}})
	m, err := minion.New(t.Context(), cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- m.Run(ctx, func() {}) }()
	defer func() { stop(); <-done }()
	f.await(t, "salt/minion/web1/start")
	for _, fun := range []string{"bad.panics", "bad.unsendable"} {
		ret := f.run(t, fun)
		if ret.Value("retcode") != int64(1) || ret.Value("success") != false {
			t.Errorf("%s: %s", fun, data.Repr(ret))
		}
	}
	if ret := f.run(t, "test.ping"); ret.Value("return") != true {
		t.Errorf("after the panic: %s", data.Repr(ret))
	}
}

func TestDisabledMaster(t *testing.T) {
	cfg := testsalt.MinionConfig(testsalt.Dir(t), "web1", "127.0.0.1:4506")
	cfg.MasterType = "disable"
	m := testsalt.StartMinion(t, cfg)
	sockets, err := eventbus.MinionSockets(cfg.SockDir, "web1", cfg.HashType)
	if err != nil {
		t.Fatal(err)
	}
	awaitFile(t, strings.TrimPrefix(sockets.Pull, "ipc://"), true)
	if err := m.Stop(); err != nil {
		t.Errorf("a minion without a master: %v", err)
	}
}

func TestWrongFingerprintEndsTheMinion(t *testing.T) {
	master := testsalt.StartMaster(t, testsalt.MasterConfig(testsalt.Dir(t)))
	cfg := testsalt.MinionConfig(testsalt.Dir(t), "web1", master.Address)
	cfg.MasterFinger = strings.Repeat("00:", 31) + "00"
	m, err := minion.New(t.Context(), cfg, testsalt.MinionOptions(t, cfg))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Run(t.Context(), func() {}); !errors.Is(err, channel.ErrFingerprint) {
		t.Errorf("Run = %v", err)
	}
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func spooled(t *testing.T, dir string) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "cache", "spool", "*", "*.ret"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// awaitFile waits until a file is there, or is not there any more.
func awaitFile(t *testing.T, file string, there bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		_, err := os.Stat(file)
		if (err == nil) == there {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", file, err)
		}
		time.Sleep(2 * time.Millisecond) // files send no events
	}
}
