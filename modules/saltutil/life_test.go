package saltutil_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/saltutil"
)

// house is a master and a minion of ours, and salt-call on their host.
type house struct {
	t      *testing.T
	master *testsalt.Master
	call   *loader.Registry
	bus    *eventbus.Client // of the minion
}

func newHouse(t *testing.T) *house {
	t.Helper()
	dir := testsalt.Dir(t)
	h := &house{t: t, master: testsalt.StartMaster(t, testsalt.MasterConfig(filepath.Join(dir, "m")))}
	events := h.master.Listen(t, "salt/minion/web1/start")
	cfg := testsalt.MinionConfig(filepath.Join(dir, "n"), "web1", h.master.Address)
	testsalt.StartMinion(t, cfg)
	testsalt.AwaitEvent(t, events, "salt/minion/web1/start")
	opts := cfg.Map()
	var err error
	if h.call, err = loader.NewRegistry(&loader.Env{Opts: opts},
		[]loader.Plugin{saltutil.Plugin()}); err != nil {
		t.Fatal(err)
	}
	sockets, err := eventbus.MinionSockets(cfg.SockDir, cfg.ID, cfg.HashType)
	if err != nil {
		t.Fatal(err)
	}
	h.bus, err = eventbus.Dial(t.Context(), sockets,
		eventbus.ClientOptions{Subscribe: eventbus.SubscribeOptions{Prefixes: []string{"/salt/minion/job_signal"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.bus.Close() })
	return h
}

// start publishes a job and returns its id and a channel for its result.
func (h *house) start(fun string, arg ...any) (jid string, result func() client.Result) {
	h.t.Helper()
	c := h.master.Client(h.t)
	job, err := c.Publish(h.t.Context(), client.Request{Target: "web1", Kind: "glob", Fun: fun, Arg: arg})
	if err != nil {
		h.t.Fatal(err)
	}
	return string(job.ID), func() client.Result {
		ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
		defer cancel()
		for r, err := range c.Results(ctx, job,
			client.Wait{Timeout: 30 * time.Second, Gather: 10 * time.Second, ShowSilent: true}) {
			if err != nil || r.Missing {
				h.t.Fatalf("%s: %v, %v", fun, r, err)
			}
			return r
		}
		h.t.Fatalf("%s: no result", fun)
		return client.Result{}
	}
}

func (h *house) run(fun string, arg ...any) any {
	h.t.Helper()
	_, result := h.start(fun, arg...)
	return result().Value
}

// sleeper starts a job that does not end by itself.
func (h *house) sleeper() (jid string, result func() client.Result) {
	h.t.Helper()
	jid, result = h.start("test.sleep", int64(600))
	for range 1000 {
		if found, _ := h.run("saltutil.find_job", jid).(*data.Map); found.Len() > 0 {
			return jid, result
		}
	}
	h.t.Fatal("the job does not begin")
	return "", nil
}

func (h *house) expect(what string, got, want any) {
	h.t.Helper()
	if data.Repr(got) != data.Repr(want) {
		h.t.Errorf("%s gives %s, want %s", what, data.Repr(got), data.Repr(want))
	}
}

func TestJobsOfALiveMinion(t *testing.T) {
	h := newHouse(t)
	pid := strconv.Itoa(os.Getpid())
	h.expect("running", h.run("saltutil.running"), []any{})
	jid, result := h.sleeper()
	found := h.run("saltutil.find_job", jid).(*data.Map)
	h.expect("fun", found.Value("fun"), "test.sleep")
	h.expect("pid", data.Str(found.Value("pid")), pid)
	h.expect("is_running", h.run("saltutil.is_running", "test.sl*"), []any{found})
	h.expect("running", h.run("saltutil.running"), []any{found})
	h.expect("kill_job", h.run("saltutil.kill_job", jid), "Signal 9 sent to job "+jid+" at pid "+pid)
	result()
	h.expect("find_job", h.run("saltutil.find_job", jid), data.NewMap())
	h.expect("term_all_jobs", h.run("saltutil.term_all_jobs"), []any{})
}

// TestSignalByEvent signals a job like salt-call, which must be another process to see the job as
// one of a minion.
func TestSignalByEvent(t *testing.T) {
	h := newHouse(t)
	jid, result := h.sleeper()
	for _, tt := range []struct {
		jid     string
		running bool
	}{{"20200101000000000000", false}, {jid, true}} {
		if err := h.bus.Fire(t.Context(), "job_signal",
			data.NewMap("jid", tt.jid, "signal", int64(15), "ends", true)); err != nil {
			t.Fatal(err)
		}
		event := testsalt.AwaitEvent(t, h.bus, "/salt/minion/job_signal_complete/"+tt.jid)
		body, err := event.Map()
		if err != nil {
			t.Fatal(err)
		}
		h.expect("job_signal "+tt.jid, body.Value("running"), tt.running)
	}
	result()
	h.expect("running", h.run("saltutil.running"), []any{})
}

func TestRefreshOfALiveMinion(t *testing.T) {
	h := newHouse(t)
	h.expect("refresh_pillar", h.run("saltutil.refresh_pillar", "wait=True", "timeout=20"), true)
	h.expect("refresh_modules", h.run("saltutil.refresh_modules", "async=False"), true)
	h.expect("refresh_grains", h.run("saltutil.refresh_grains"), true)
	res := h.call.Call(t.Context(), "saltutil.refresh_pillar",
		loader.WireArgs([]string{"wait=True", "timeout=20"}), loader.CallOptions{})
	h.expect("refresh_pillar of salt-call", res.Value, true)
}

func TestOrderToALiveMaster(t *testing.T) {
	h := newHouse(t)
	dir := t.TempDir()
	cfg := h.master.Config
	body := strings.Join([]string{"interface: 127.0.0.1", "ret_port: " + strconv.Itoa(cfg.RetPort),
		"cachedir: " + cfg.CacheDir, "sock_dir: " + cfg.SockDir, "user: root", "timeout: 20"}, "\n")
	if err := os.WriteFile(filepath.Join(dir, "master"), []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	minion := testsalt.MinionConfig(dir, "web1", h.master.Address)
	minion.ConfFile = filepath.Join(dir, "minion")
	env := &loader.Env{Opts: minion.Map(),
		Host: loader.Host{Order: cli.OrderOf(minion, func(string) string { return "" })}}
	r, err := loader.NewRegistry(env, []loader.Plugin{saltutil.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Invoke(t.Context(), "saltutil.cmd", []any{"*", "test.echo", []any{"hi"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := got.(*data.Map).Value("web1").(*data.Map)
	h.expect("cmd", answer.Value("ret"), "hi")
	h.expect("retcode", answer.Value("retcode"), int64(0))
	none, err := r.Invoke(t.Context(), "saltutil.cmd", []any{"nobody", "test.ping"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.expect("cmd to nobody", none, data.NewMap())
}
