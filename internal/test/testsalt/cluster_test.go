package testsalt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/testnats"
	"github.com/brineproject/brine/job"
)

// A pool is a cluster of masters on one NATS server.
type pool struct {
	nats *testnats.Cluster
	dir  string
	key  string
	// change changes the configuration of the members that are started next; nil leaves it
	change func(*config.Master)
}

func newPool(t *testing.T) *pool {
	t.Helper()
	p := &pool{nats: testnats.Start(t, testnats.Options{}), dir: Dir(t)}
	p.key = filepath.Join(p.dir, "cluster.key")
	if err := cluster.NewKey(p.key); err != nil {
		t.Fatal(err)
	}
	return p
}

// start starts a member. A later start with the same name continues with its files.
func (p *pool) start(t *testing.T, name string, extra *data.Map) *Master {
	t.Helper()
	cfg := MasterConfig(filepath.Join(p.dir, name))
	cfg.ID, cfg.KeySize = name, 2048
	cfg.Cluster = data.NewMap("servers", data.Values(p.nats.URLs()), "member", name, "key", p.key,
		"replicas", int64(1), "lease_seconds", int64(2),
		"publications_max_bytes", int64(16<<20), "returns_max_bytes", int64(64<<20))
	if extra != nil {
		cfg.Schedule = extra
	}
	if p.change != nil {
		p.change(cfg)
	}
	return StartMaster(t, cfg)
}

// minion starts a minion of a member and waits for its start event there.
func (p *pool) minion(t *testing.T, m *Master, id string) *Minion {
	t.Helper()
	events := m.Listen(t, "salt/minion/"+id+"/start")
	defer events.Close()
	cfg := MinionConfig(filepath.Join(p.dir, id), id, m.Address)
	cfg.KeySize = 2048
	n := StartMinion(t, cfg)
	AwaitEvent(t, events, "salt/minion/"+id+"/start")
	return n
}

// control calls a runner or wheel function and returns its result.
func (m *Master) control(t *testing.T, kind, fun string, args ...any) any {
	t.Helper()
	done, err := m.Client(t).Control(t.Context(), kind, fun, args, nil)
	if err != nil {
		t.Fatalf("%s: %v", fun, err)
	}
	return done.Value("return")
}

// awaitFor tries until a condition holds; after a minute the test fails.
func awaitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("a minute has passed without: %s", what)
		}
	}
}

// awaitPresent waits until a master counts exactly the minions of ids as connected, and has accepted
// their keys: in a cluster the two become known on the other members at different times.
func awaitPresent(t *testing.T, m *Master, ids ...string) {
	t.Helper()
	awaitFor(t, fmt.Sprintf("%q are connected to %s and accepted", ids, m.Config.ID), func() bool {
		if !slices.Equal(data.TextsOf(m.control(t, "runner", "manage.present")), ids) {
			return false
		}
		all, _ := m.control(t, "wheel", "key.list_all").(*data.Map)
		accepted := data.TextsOf(all.Value("minions"))
		return !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(accepted, id) })
	})
}

// wantAll orders a ping and holds that all minions answer.
func wantAll(t *testing.T, m *Master, ids ...string) {
	t.Helper()
	got := m.run(t, "*", "glob", "test.ping")
	for _, id := range ids {
		if got[id] != true {
			t.Errorf("ping from %s: %v, want %q", m.Config.ID, got, ids)
		}
	}
	if len(got) != len(ids) {
		t.Errorf("ping from %s: %v, want %q", m.Config.ID, got, ids)
	}
}

// lines counts the lines of a file; no file has none.
func lines(file string) int {
	text, _ := os.ReadFile(file)
	return strings.Count(string(text), "\n")
}

// TestClusterActsAsOne has two masters with a minion each: keys, targets by id and by grain,
// returns and events work the same from both.
func TestClusterActsAsOne(t *testing.T) {
	p := newPool(t)
	a := p.start(t, "a", nil)
	b := p.start(t, "b", nil)
	p.minion(t, a, "on-a")
	p.minion(t, b, "on-b")
	for _, m := range []*Master{a, b} {
		awaitPresent(t, m, "on-a", "on-b")
	}
	wantAll(t, a, "on-a", "on-b")
	wantAll(t, b, "on-a", "on-b")
	for _, m := range []*Master{a, b} {
		all, _ := m.control(t, "wheel", "key.list_all").(*data.Map)
		if got := data.TextsOf(all.Value("minions")); !slices.Equal(got, []string{"on-a", "on-b"}) {
			t.Errorf("keys of %s: %q", m.Config.ID, got)
		}
	}
	t.Run("a grain of a minion elsewhere", func(t *testing.T) {
		awaitFor(t, "the grains of on-a are known on b", func() bool {
			j, err := b.Client(t).Publish(t.Context(),
				client.Request{Target: "id:on-a", Kind: "grain", Fun: "test.ping"})
			return err == nil && slices.Equal(j.Minions, []string{"on-a"})
		})
		if got := b.run(t, "id:on-a", "grain", "test.echo", "x"); len(got) != 1 || got["on-a"] != "x" {
			t.Errorf("echo by grain: %v", got)
		}
	})
	t.Run("a job is known on both", func(t *testing.T) {
		c := a.Client(t)
		j, err := c.Publish(t.Context(),
			client.Request{Target: "on-b", Kind: "glob", Fun: "test.echo", Arg: []any{"far"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*Master{a, b} {
			awaitFor(t, "the return on "+m.Config.ID, func() bool {
				found, _ := m.control(t, "runner", "jobs.lookup_jid", string(j.ID)).(*data.Map)
				return found.Value("on-b") == "far"
			})
		}
	})
	t.Run("an event is seen once", func(t *testing.T) {
		here, there := a.Listen(t, "test/"), b.Listen(t, "test/")
		fire := func(m *Master, tag string) {
			if err := fireOn(t, m, tag); err != nil {
				t.Fatal(err)
			}
		}
		fire(a, "test/first")
		AwaitEvent(t, there, "test/first")
		fire(b, "test/last")
		var onA []string
		for len(onA) == 0 || onA[len(onA)-1] != "test/last" {
			onA = append(onA, AwaitEvent(t, here, "test/").Tag)
		}
		if !slices.Equal(onA, []string{"test/first", "test/last"}) {
			t.Errorf("a has seen %q", onA)
		}
		if e := AwaitEvent(t, there, "test/"); e.Tag != "test/last" {
			t.Errorf("b has seen %s once more", e.Tag)
		}
	})
	t.Run("a rejected key", func(t *testing.T) {
		b.control(t, "wheel", "key.reject", "on-a")
		b.control(t, "wheel", "key.delete", "on-a")
		awaitFor(t, "a has dropped the key of on-a", func() bool {
			all, _ := a.control(t, "wheel", "key.list_all").(*data.Map)
			return slices.Equal(data.TextsOf(all.Value("minions")), []string{"on-b"})
		})
	})
}

// fireOn fires an event on the bus of a master, as a program on its host does.
func fireOn(t *testing.T, m *Master, tag string) error {
	t.Helper()
	got := m.control(t, "runner", "event.send", tag)
	if got != true {
		return fmt.Errorf("event.send returns %v", got)
	}
	return nil
}

// TestClusterMinionMoves has a minion return to another member than that which took the order, and a
// queued job wait for a minion that comes to another member.
func TestClusterMinionMoves(t *testing.T) {
	p := newPool(t)
	a := p.start(t, "a", nil)
	b := p.start(t, "b", nil)
	n := p.minion(t, a, "web1")
	awaitPresent(t, b, "web1")
	n.Stop()
	awaitPresent(t, a)
	awaitPresent(t, b)
	file := filepath.Join(p.dir, "ran")
	j, err := a.Client(t).Publish(t.Context(), client.Request{Target: "web1", Kind: "list", Fun: "cmd.run",
		Arg: []any{"echo x >> " + file}, Kwargs: data.NewMap("queue", int64(600))})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(j.Queued, []string{"web1"}) {
		t.Fatalf("queued for %q", j.Queued)
	}
	onA, onB := a.Listen(t, "salt/job/"), b.Listen(t, "salt/job/")
	p.minion(t, b, "web1")
	tag := eventbus.Tagify("job", string(j.ID), "ret", "web1")
	AwaitEvent(t, onA, tag)
	AwaitEvent(t, onB, tag)
	wantAll(t, a, "web1")
	if got := lines(file); got != 1 {
		t.Errorf("the queued job ran %d times", got)
	}
}

// batchEvents returns the minions of the steps of a batch until its end, and the end.
func batchSteps(t *testing.T, c *eventbus.Client, id job.ID) (steps [][]string, end *data.Map) {
	t.Helper()
	prefix := "salt/batch/" + string(id) + "/"
	for {
		e := AwaitEvent(t, c, prefix)
		m, err := e.Map()
		if err != nil {
			t.Fatal(err)
		}
		switch strings.TrimPrefix(e.Tag, prefix) {
		case "step":
			steps = append(steps, data.TextsOf(m.Value("minions")))
		case "done":
			return steps, m
		}
	}
}

func batchOf(file string, kwargs ...any) client.Request {
	return client.Request{Target: "*", Kind: "glob", Fun: "cmd.run",
		Arg:    []any{"echo x >> " + file + "; sleep 1"},
		Kwargs: data.NewMap(append([]any{"batch", "1", "timeout", int64(20)}, kwargs...)...)}
}

// TestClusterBatchOfAnotherMember orders batches on a member that does not lead: they run; one is
// stopped from there; and one goes on at the other member after its leader has ended.
func TestClusterBatchOfAnotherMember(t *testing.T) {
	p := newPool(t)
	a := p.start(t, "a", nil)
	b := p.start(t, "b", nil)
	ids := []string{"web1", "web2", "web3"}
	for _, id := range ids {
		p.minion(t, b, id)
	}
	awaitPresent(t, a, ids...)
	awaitPresent(t, b, ids...)
	t.Run("runs", func(t *testing.T) {
		file, events := filepath.Join(p.dir, "runs"), b.Listen(t, "salt/batch/")
		j, err := b.Client(t).PublishBatch(t.Context(), batchOf(file))
		if err != nil {
			t.Fatal(err)
		}
		steps, end := batchSteps(t, events, j.ID)
		if len(steps) != 3 || end.Text("error") != "" || lines(file) != 3 {
			t.Errorf("steps %q, end %s, ran %d times", steps, data.Repr(end), lines(file))
		}
	})
	t.Run("is stopped", func(t *testing.T) {
		file, events := filepath.Join(p.dir, "stopped"), b.Listen(t, "salt/batch/")
		r := batchOf(file)
		c := b.Client(t)
		j, err := c.PublishBatch(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		AwaitEvent(t, events, "salt/batch/"+string(j.ID)+"/step")
		if stopped, err := c.StopBatch(t.Context(), r, j.ID); !stopped || err != nil {
			t.Errorf("stop: %v, %v", stopped, err)
		}
		_, end := batchSteps(t, events, j.ID)
		if left := data.TextsOf(end.Value("not_started")); len(left) == 0 || lines(file)+len(left) != 3 {
			t.Errorf("not started: %q; ran %d times", left, lines(file))
		}
	})
	t.Run("outlives its leader", func(t *testing.T) {
		file, events := filepath.Join(p.dir, "outlives"), b.Listen(t, "salt/batch/")
		j, err := b.Client(t).PublishBatch(t.Context(), batchOf(file))
		if err != nil {
			t.Fatal(err)
		}
		AwaitEvent(t, events, "salt/batch/"+string(j.ID)+"/step")
		a.Stop(t)
		_, end := batchSteps(t, events, j.ID)
		done := data.TextsOf(end.Value("done_minions"))
		slices.Sort(done)
		if !slices.Equal(done, ids) || lines(file) != 3 {
			t.Errorf("end %s; ran %d times, want 3", data.Repr(end), lines(file))
		}
	})
}

// TestClusterWithoutQuorum stops the server: orders are refused with the reason, a return waits on the
// disk of its member, and appears on both once the server is back.
func TestClusterWithoutQuorum(t *testing.T) {
	p := newPool(t)
	a := p.start(t, "a", nil)
	b := p.start(t, "b", nil)
	p.minion(t, a, "web1")
	awaitPresent(t, b, "web1")
	gone, wait := filepath.Join(p.dir, "gone"), client.Request{Target: "web1", Kind: "glob", Fun: "cmd.run"}
	wait.Arg = []any{"while [ ! -e " + gone + " ]; do sleep 0.1; done; echo back"}
	acks := a.Listen(t, "salt/job/")
	j, err := a.Client(t).Publish(t.Context(), wait)
	if err != nil {
		t.Fatal(err)
	}
	AwaitEvent(t, acks, eventbus.Tagify("job", string(j.ID), "ack", "web1"))
	server := p.nats.Nodes[0]
	server.Stop(t)
	c := a.Client(t)
	awaitFor(t, "a knows that there is no quorum", func() bool {
		return strings.Contains(a.Master.Status(), "heartbeat")
	})
	_, err = c.Publish(t.Context(), client.Request{Target: "web1", Kind: "glob", Fun: "test.ping"})
	if err == nil || !strings.Contains(err.Error(), "not published") {
		t.Errorf("an order without a quorum: %v", err)
	}
	if err := os.WriteFile(gone, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	spool := filepath.Join(a.Config.CacheDir, "cluster", "spool")
	awaitFor(t, "the return is on disk", func() bool {
		list, err := os.ReadDir(spool)
		return err == nil && len(list) > 0
	})
	server.Continue(t)
	for _, m := range []*Master{a, b} {
		awaitFor(t, "the return on "+m.Config.ID, func() bool {
			found, _ := m.control(t, "runner", "jobs.lookup_jid", string(j.ID)).(*data.Map)
			return found.Value("web1") == "back"
		})
	}
	awaitFor(t, "orders are taken again", func() bool {
		_, err := b.Client(t).Publish(t.Context(), client.Request{Target: "web1", Kind: "glob", Fun: "test.ping"})
		return err == nil
	})
}

// TestClusterScheduleRunsOnce has two members with the same schedule: each time of it runs once.
func TestClusterScheduleRunsOnce(t *testing.T) {
	p := newPool(t)
	schedule := data.NewMap("tell", data.NewMap("function", "event.send", "args", []any{"test/tick"},
		"seconds", int64(2)))
	a := p.start(t, "a", schedule)
	b := p.start(t, "b", schedule)
	events := b.Listen(t, "test/tick")
	var at []time.Time
	for range 5 {
		AwaitEvent(t, events, "test/tick")
		at = append(at, time.Now())
	}
	for i := range at[1:] {
		if gap := at[i+1].Sub(at[i]); gap < time.Second {
			t.Errorf("%s between two runs, want about two seconds", gap)
		}
	}
	a.Stop(t)
	AwaitEvent(t, events, "test/tick")
	AwaitEvent(t, events, "test/tick")
}

// TestClusterSharesTokens makes an API key in the token directory of one master, as salt-run and
// salt-api do: the other master accepts it until it is deleted there.
func TestClusterSharesTokens(t *testing.T) {
	p := newPool(t)
	a := p.start(t, "a", nil)
	b := p.start(t, "b", nil)
	tokens, err := auth.OpenTokens(filepath.Join(a.Config.CacheDir, "tokens"), "sha256", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tokens.Close()
	secret, _, err := tokens.AddKey(auth.APIKey{Name: "ci", Rights: []any{"@wheel"}})
	if err != nil {
		t.Fatal(err)
	}
	use := func(m *Master) error {
		_, err := client.Wheel(t.Context(), m.requester(t), data.NewMap("token", secret), "key.list_all", nil, nil)
		return err
	}
	for _, m := range []*Master{a, b} {
		awaitFor(t, "the key is good on "+m.Config.ID, func() bool { return use(m) == nil })
	}
	other, err := auth.OpenTokens(filepath.Join(b.Config.CacheDir, "tokens"), "sha256", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.DeleteKey("ci"); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*Master{b, a} {
		awaitFor(t, "the key is refused on "+m.Config.ID, func() bool { return use(m) != nil })
	}
}
