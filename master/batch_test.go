package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/batch"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
)

// A crew answers the jobs that are announced on the bus of a bench, as minions do.
type crew struct {
	b       *bench
	work    map[string]time.Duration // how long the job of a minion takes; forever when negative
	code    map[string]int64
	mu      sync.Mutex
	working map[string]bool
	most    int
	ran     []string // who ran the job, in order
}

// crewOf starts a crew that works until ctx ends.
func crewOf(ctx context.Context, b *bench, work map[string]time.Duration, code map[string]int64) *crew {
	c := &crew{b: b, work: work, code: code, working: map[string]bool{}}
	jobs := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "crew", Prefixes: []string{"salt/job/"}})
	go func() {
		defer jobs.Close()
		for e := range jobs.All(ctx) {
			if m, err := e.Map(); err == nil && strings.HasSuffix(e.Tag, "/new") {
				for _, id := range m.Value("minions").([]any) {
					go c.answer(ctx, id.(string), m)
				}
			}
		}
	}()
	return c
}

func (c *crew) answer(ctx context.Context, id string, m *data.Map) {
	jid, fun := m.Text("jid"), m.Text("fun")
	var value any = true
	switch fun {
	case "test.ping":
	case "saltutil.find_job":
		value = c.state(id)
	default:
		c.mu.Lock()
		c.ran = append(c.ran, id)
		c.working[id] = true
		c.most = max(c.most, len(c.working))
		c.mu.Unlock()
		if c.work[id] < 0 {
			return
		}
		select {
		case <-time.After(c.work[id]):
		case <-ctx.Done():
			return
		}
		c.mu.Lock()
		delete(c.working, id)
		c.mu.Unlock()
	}
	c.give(jid, id, data.NewMap("jid", jid, "id", id, "fun", fun, "return", value,
		"retcode", c.code[id], "success", true))
}

func (c *crew) state(id string) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.working[id] && c.work[id] >= 0 {
		return data.NewMap("pid", int64(1))
	}
	return data.NewMap()
}

// give keeps a return and announces it.
func (c *crew) give(jid, id string, load *data.Map) {
	raw, err := payload.MarshalBin(load)
	if err == nil {
		_, err = c.b.jobs.SaveReturn(context.Background(), job.ID(jid),
			&returners.Return{Minion: id, Load: raw})
	}
	if err != nil {
		panic(err)
	}
	if err := c.b.bus.Fire(eventbus.Tagify("job", jid, "ret", id), load); err != nil {
		panic(err)
	}
}

// order sends an order for a batch and returns the reply's load.
func (b *bench) order(t *testing.T, cmd string, fields ...any) *data.Map {
	t.Helper()
	load := data.NewMap(append([]any{"cmd", cmd, "tgt", "*", "tgt_type", "glob", "fun", "test.echo",
		"arg", []any{"x"}, "ret", "", "jid", "", "key", b.key, "user", "root"}, fields...)...)
	body, err := payload.Marshal(data.NewMap("enc", "clear", "load", load, "version", int64(3)))
	if err != nil {
		t.Fatal(err)
	}
	v, err := payload.UnmarshalText(b.ask(body), payload.WireLimits())
	if err != nil {
		t.Fatal(err)
	}
	m, _ := v.(*data.Map)
	if inner, ok := m.Value("load").(*data.Map); ok {
		return inner
	}
	return m
}

func batchOptions(fields ...any) *data.Map {
	return data.NewMap(append([]any{"batch", "2", "timeout", int64(5),
		"gather_job_timeout", int64(2), "metadata", data.NewMap("why", "test")}, fields...)...)
}

// until returns the body of the first event whose tag ends so.
func until(t *testing.T, s *eventbus.Subscription, what string) *data.Map {
	t.Helper()
	for e := range s.All(t.Context()) {
		if strings.HasPrefix(e.Tag, "salt/batch/") && strings.HasSuffix(e.Tag, "/"+what) {
			m, err := e.Map()
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
	}
	t.Fatalf("no event %s", what)
	return nil
}

func ids(v any) []string {
	list, _ := v.([]any)
	out := []string{}
	for _, id := range list {
		out = append(out, id.(string))
	}
	return out
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// runBatches runs the part that runs batches, with all minions connected; the function it returns
// ends it.
func (b *bench) runBatches(t *testing.T) (end func()) {
	ids, err := b.keys.List(pki.Accepted)
	if err != nil {
		t.Fatal(err)
	}
	b.wire.connect(ids...)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.batches.serve(ctx) }()
	return func() { cancel(); <-done }
}

func TestBatchRunsInTheMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, "a", "b", "c", "d")
		ctx, cancel := context.WithCancel(t.Context())
		c := crewOf(ctx, b, map[string]time.Duration{"a": 3 * time.Second, "b": time.Minute,
			"d": -1}, map[string]int64{"c": 3})
		events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
		end := b.runBatches(t)
		reply := b.order(t, "publish_batch", "kwargs", batchOptions())
		if !data.Truth(reply.Value("batch")) ||
			!slices.Equal(ids(reply.Value("minions")), []string{"a", "b", "c", "d"}) {
			t.Fatalf("reply %s", data.Repr(reply))
		}
		start := until(t, events, "start")
		same(t, "available", ids(start.Value("available_minions")), []string{"a", "b", "c", "d"})
		same(t, "metadata", start.Value("metadata").(*data.Map).Text("why"), "test")
		same(t, "first", ids(until(t, events, "step").Value("minions")), []string{"a", "b"})
		done := until(t, events, "done")
		same(t, "done", ids(done.Value("done_minions")), []string{"a", "b", "c"})
		same(t, "failed", ids(done.Value("failed_minions")), []string{"c"})
		same(t, "silent", ids(done.Value("timedout_minions")), []string{"d"})
		same(t, "at one time", c.most, 2)
		returns, err := b.jobs.Returns(t.Context(), job.ID(reply.Text("jid")))
		if err != nil || len(returns) != 3 {
			t.Errorf("%d returns under the id of the batch, %v", len(returns), err)
		}
		kept, err := b.jobs.Job(t.Context(), job.ID(reply.Text("jid")))
		if err != nil || !slices.Equal(kept.Minions, []string{"a", "b", "c", "d"}) {
			t.Errorf("the record has %v, %v", kept, err)
		}
		if v, err := payload.UnmarshalText(kept.Load, payload.WireLimits()); err != nil ||
			v.(*data.Map).Value("tgt") != "*" {
			t.Errorf("the record's load is %s, %v", data.Repr(v), err)
		}
		if left, err := b.batches.bank.List(batchBank); err != nil || len(left) > 0 {
			t.Errorf("records left: %v, %v", left, err)
		}
		events.Close()
		end()
		cancel()
	})
}

func TestBatchGoesOnAfterARestartOfTheMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, "a", "b", "c", "d")
		ctx, cancel := context.WithCancel(t.Context())
		c := crewOf(ctx, b, map[string]time.Duration{"a": time.Second, "b": 10 * time.Second,
			"c": time.Second}, nil)
		events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
		end := b.runBatches(t)
		id := b.order(t, "publish_batch", "kwargs", batchOptions("batch", "1")).Text("jid")
		until(t, events, "step")
		until(t, events, "step") // a is done, b at work
		end()
		time.Sleep(30 * time.Second) // b answers while no master is there
		if len(b.batches.running) > 0 {
			t.Errorf("%d batches are held by a master that has ended", len(b.batches.running))
		}
		end = b.runBatches(t)
		done := until(t, events, "done")
		same(t, "done", ids(done.Value("done_minions")), []string{"a", "b", "c", "d"})
		same(t, "who ran it", c.ran, []string{"a", "b", "c", "d"})
		if returns, err := b.jobs.Returns(t.Context(), job.ID(id)); err != nil || len(returns) != 4 {
			t.Errorf("%d returns, %v", len(returns), err)
		}
		events.Close()
		end()
		cancel()
	})
}

func TestBatchStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, "a", "b", "c")
		ctx, cancel := context.WithCancel(t.Context())
		c := crewOf(ctx, b, map[string]time.Duration{"a": 3 * time.Second}, nil)
		events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
		end := b.runBatches(t)
		id := b.order(t, "publish_batch", "kwargs", batchOptions("batch", "1")).Text("jid")
		until(t, events, "step")
		if r := b.order(t, "stop_batch", "jid", id, "key", "wrong"); r.Has("stopped") {
			t.Errorf("a stranger stopped the batch: %s", data.Repr(r))
		}
		if r := b.order(t, "stop_batch", "jid", "20200101000000000000"); data.Truth(r.Value("stopped")) {
			t.Error("a batch that is not there was stopped")
		}
		for range 2 {
			if r := b.order(t, "stop_batch", "jid", id); !data.Truth(r.Value("stopped")) {
				t.Errorf("reply %s", data.Repr(r))
			}
		}
		synctest.Wait()
		end() // what was stopped stays so after a restart
		end = b.runBatches(t)
		done := until(t, events, "done")
		same(t, "done", ids(done.Value("done_minions")), []string{"a"})
		same(t, "not started", ids(done.Value("not_started")), []string{"b", "c"})
		same(t, "who ran it", c.ran, []string{"a"})
		events.Close()
		end()
		cancel()
	})
}

func TestBatchIsRefused(t *testing.T) {
	acl := func(c *config.Master) {
		c.PublisherACLBlacklist = data.NewMap("modules", []any{"test.nothing"})
	}
	b := newBench(t, acl, "a")
	for _, c := range []struct {
		name   string
		fields []any
		want   string
	}{
		{"no key", []any{"key", ""}, "AuthenticationError"},
		{"another's key", []any{"key", strings.Repeat("x", 40), "user", "nobody"}, "AuthenticationError"},
		{"a function on the blacklist", []any{"fun", "test.nothing"}, "AuthorizationError"},
		{"no size", []any{"kwargs", data.NewMap()}, "SaltInvocationError"},
		{"size nought", []any{"kwargs", batchOptions("batch", int64(0))}, "SaltInvocationError"},
		{"no target", []any{"tgt", nil}, "SaltInvocationError"},
	} {
		fields := append([]any{"kwargs", batchOptions()}, c.fields...)
		reply := b.order(t, "publish_batch", fields...)
		e, _ := reply.Value("error").(*data.Map)
		if e.Text("name") != c.want {
			t.Errorf("%s: reply %s, want %s", c.name, data.Repr(reply), c.want)
		}
	}
	if n := len(b.wire.messages()); n > 0 || len(b.jobs.all()) > 0 || len(b.batches.running) > 0 {
		t.Errorf("%d publications went out, jobs %v, %d batches", n, b.jobs.all(), len(b.batches.running))
	}
}

func TestDamagedRecordOfABatchIsDropped(t *testing.T) {
	b := newBench(t, nil, "a")
	good, err := batch.NewRun(batch.Plan{Size: batch.Size{Number: 1}},
		[]string{"a"}).Marshal(data.NewMap("owner", "root"))
	if err != nil {
		t.Fatal(err)
	}
	for i, record := range [][]byte{{}, {0xc1}, good[:len(good)/2], good} { // the last has no load
		if err := b.batches.bank.Store(batchBank, fmt.Sprint("2026010100000000000", i), record); err != nil {
			t.Fatal(err)
		}
	}
	if found, whole := b.batches.resume(); len(found) > 0 || !whole {
		t.Errorf("%d batches are taken up", len(found))
	}
	if left, err := b.batches.bank.List(batchBank); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestBatchOutlastsARestartDuringItsFirstPing ends the master before any minion has answered the
// ping, and starts a new one to which the minions reconnect after some seconds: no minion is lost.
func TestBatchOutlastsARestartDuringItsFirstPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, "a", "b", "c")
		events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
		end := b.runBatches(t)
		id := b.order(t, "publish_batch", "kwargs", batchOptions()).Text("jid")
		if _, err := b.batches.bank.Fetch(batchBank, id); err != nil {
			t.Errorf("the record of a batch whose id was given: %v", err)
		}
		synctest.Wait()
		time.Sleep(time.Second)
		end()
		port := &crowd{}
		// c was away before
		who := newPresence(port, map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"},
			b.parts.settings, time.Now)
		b.batches.pub.presence = who
		end = b.runBatches(t)
		time.Sleep(4 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		c := crewOf(ctx, b, nil, nil)
		port.connect("a@10.0.0.1", "b@10.0.0.2", "c@10.0.0.3")
		done := until(t, events, "done")
		same(t, "done", ids(done.Value("done_minions")), []string{"a", "b", "c"})
		same(t, "how many ran it", len(c.ran), 3)
		events.Close()
		end()
		cancel()
	})
}

// TestGoneMinions checks that no minion is gone while a connection may be any minion's, and that
// those of before a restart are expected for some seconds.
func TestGoneMinions(t *testing.T) {
	now := time.Unix(1e9, 0)
	c := &crowd{}
	p := newPresence(c, map[string]string{"old": "10.0.0.9"}, newSettings(config.DefaultMaster()),
		func() time.Time { return now })
	p.note("web1", from("10.0.0.1"))
	all := []string{"web1", "web2", "old"}
	c.connect("web1@10.0.0.1")
	same(t, "gone", p.gone(all), []string{"web2", "old"})
	same(t, "expected", p.returning(all), []string{"old"})
	c.connect("web1@10.0.0.1", "10.0.0.7")
	same(t, "beside a stranger", len(p.gone(all)), 0)
	now = now.Add(returnTime)
	same(t, "expected later", len(p.returning(all)), 0)
}

// TestReturnsInAGapCount lets the master not read while it publishes, as without a quorum, until its queue
// has no room for a return: the minion is not called silent, and its return counts once.
func TestReturnsInAGapCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, "a", "b", "c")
		var id string
		steps := 0
		b.batches.pub.cluster = &gate{b: b, orders: func(_ *order, sent *sentJob) error {
			if !sent.step {
				return nil
			}
			if steps++; steps < 2 {
				return nil
			}
			for range 20_000 { // more than the queue takes; b's return comes after them
				if err := b.bus.FireMapHere(eventbus.Tagify("job", id, "ret", "x"), data.Raw{0x80}); err != nil {
					return err
				}
			}
			time.Sleep(10 * time.Second)
			return nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		c := crewOf(ctx, b, map[string]time.Duration{"b": 3 * time.Second}, nil)
		events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
		end := b.runBatches(t)
		id = "20260101000000000001"
		b.order(t, "publish_batch", "jid", id, "kwargs", batchOptions())
		done := until(t, events, "done")
		same(t, "done", ids(done.Value("done_minions")), []string{"a", "b", "c"})
		same(t, "silent", ids(done.Value("timedout_minions")), []string{})
		c.mu.Lock()
		same(t, "who ran it", slices.Sorted(slices.Values(c.ran)), []string{"a", "b", "c"})
		c.mu.Unlock()
		events.Close()
		end()
		cancel()
	})
}

// TestBatchHostHearsReturnsToItsJobsAlone fires more foreign events than a queue takes.
func TestBatchHostHearsReturnsToItsJobsAlone(t *testing.T) {
	b := newBench(t, nil, "a")
	id := job.ID("20260101000000000001")
	h := newBatchHost(b.batches, newBatchJob(id, data.NewMap(), batch.Plan{}, queue.Owner{}))
	defer h.Close()
	h.jobs.add("20260101000000000002")
	for range 20_000 {
		must(t, b.bus.FireMapHere("salt/job/20260101000000000003/ret/a", data.Raw{0x80}))
		must(t, b.bus.FireMapHere("salt/job/20260101000000000001/prog/a/1", data.Raw{0x80}))
	}
	for _, of := range []string{"20260101000000000001", "20260101000000000002"} {
		must(t, b.bus.FireMapHere(eventbus.Tagify("job", of, "ret", "a"), data.Raw{0x80}))
		r, err := h.Next(t.Context())
		must(t, err)
		same(t, "job", string(r.Job), of)
	}
}

// TestStopBeforeTheMasterResumesItsBatches stops a batch of an earlier master right after a restart: the stop
// lasts.
func TestStopBeforeTheMasterResumesItsBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, "a", "b", "c")
		ctx, cancel := context.WithCancel(t.Context())
		c := crewOf(ctx, b, map[string]time.Duration{"a": 3 * time.Second}, nil)
		events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
		end := b.runBatches(t)
		id := b.order(t, "publish_batch", "kwargs", batchOptions("batch", "1")).Text("jid")
		until(t, events, "step")
		end()
		if r := b.order(t, "batch_state", "jid", id); r.Value("running") != true {
			t.Errorf("state of a batch that will be resumed: %s", data.Repr(r))
		}
		if r := b.order(t, "stop_batch", "jid", id); !data.Truth(r.Value("stopped")) {
			t.Errorf("reply %s", data.Repr(r))
		}
		end = b.runBatches(t)
		done := until(t, events, "done")
		same(t, "not started", ids(done.Value("not_started")), []string{"b", "c"})
		same(t, "who ran it", c.ran, []string{"a"})
		synctest.Wait()
		left, err := b.batches.bank.List(stopBank)
		must(t, err)
		same(t, "notes left", len(left), 0)
		events.Close()
		end()
		cancel()
	})
}

// TestStateOfABatch asks for the state of batches: their owner and root learn it, others nothing. The end is
// known after a restart too.
func TestStateOfABatch(t *testing.T) {
	watchBatches(t, func(t *testing.T, w *watched) {
		state := func(who func(*bench) *data.Map, id string) *data.Map {
			load := who(w.bench)
			return w.order(t, "batch_state", "jid", id, "user", load.Value("user"), "key", load.Value("key"),
				"kwargs", load.Value("kwargs"))
		}
		id := w.begin(t, fredLoad, "2")
		forgotten := newWatchers(0) // as after a restart: who ordered with a login is not recalled
		w.batches.pub.watchers = forgotten
		for _, who := range []func(*bench) *data.Map{rootLoad, fredLoad} {
			if r := state(who, id); r.Value("running") != true || r.Has("end") {
				t.Errorf("while it runs: %s", data.Repr(r))
			}
		}
		until(t, w.events, "done")
		synctest.Wait()
		w.restart(t, func() {})
		for _, who := range []func(*bench) *data.Map{rootLoad, fredLoad} {
			r := state(who, id)
			end, _ := r.Value("end").(*data.Map)
			if r.Value("running") != false || end.Has("metadata") {
				t.Errorf("after the end: %s", data.Repr(r))
			}
			same(t, "done", ids(end.Value("done_minions")), []string{"a", "b", "c"})
		}
		unknown := state(rootLoad, "20200101000000000000")
		if unknown.Value("running") != false || unknown.Has("end") {
			t.Errorf("an unknown batch: %s", data.Repr(unknown))
		}
		same(t, "a path", errorName(state(fredLoad, "../orders/x")), "AuthorizationError")
		same(t, "another user", errorName(state(daemonLoad, id)), "AuthorizationError")
		w.batches.pub.watchers.remember(job.ID(id), initiator{name: "daemon", uid: eventbus.NoUser})
		same(t, "who may read the events", state(daemonLoad, id).Has("end"), true)
	})
}

// TestEndsOfBatchesAreDropped keeps one end more than are kept: the one written first is dropped.
func TestEndsOfBatchesAreDropped(t *testing.T) {
	b := newBench(t, nil, "a")
	all := jids(maxEnds + 1)
	for i, id := range slices.Backward(all) {
		must(t, b.batches.keepEnd(&batchJob{id: id}, data.NewMap("error", "x")))
		if i == maxEnds {
			time.Sleep(20 * time.Millisecond) // the clock of the file system is coarse
		}
	}
	left, err := b.batches.bank.List(endBank)
	must(t, err)
	same(t, "how many are kept", len(left), maxEnds)
	end, _, err := b.batches.readEnd(all[maxEnds])
	must(t, err)
	same(t, "the first is kept", end != nil, false)
}

// TestManyEndsOfBatchesAreDropped has more ends than are kept, as after some batches have ended at once: the
// next one that ends leaves as many as are kept, and is one of them.
func TestManyEndsOfBatchesAreDropped(t *testing.T) {
	b := newBench(t, nil, "a")
	all := jids(maxEnds + 4)
	for _, id := range all[1:] {
		must(t, b.batches.bank.Store(endBank, string(id), []byte("x")))
	}
	must(t, b.batches.keepEnd(&batchJob{id: all[0]}, data.NewMap("error", "x")))
	left, err := b.batches.bank.List(endBank)
	must(t, err)
	same(t, "how many are kept", len(left), maxEnds)
	same(t, "the latest is kept", slices.Contains(left, string(all[0])), true)
}

// An angryBank panics once when it is used for something.
type angryBank struct {
	cache.Bank
	angry func(what, bank string) bool
	once  sync.Once
}

func (a *angryBank) Store(bank, key string, value []byte) error {
	a.heed("store", bank)
	return a.Bank.Store(bank, key, value)
}

func (a *angryBank) Fetch(bank, key string) ([]byte, error) {
	a.heed("fetch", bank)
	return a.Bank.Fetch(bank, key)
}

func (a *angryBank) heed(what, bank string) {
	if a.angry(what, bank) {
		a.once.Do(func() { panic("a fault") })
	}
}

// TestFaultOfABatchIsTold has the master panic in a batch: who follows it learns of that, also by asking. The
// batch goes on after a restart, unless it was stopped meanwhile.
func TestFaultOfABatchIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		angry   func(what, bank string) bool
		stopped bool
		ran     []string
	}{
		"at the end":             {func(what, bank string) bool { return bank == endBank && what == "store" }, false, []string{"a", "b"}},
		"at the start":           {func(_, bank string) bool { return bank == stopBank }, false, []string{"a", "b"}},
		"before the second step": {nthStore(batchBank, 3), false, []string{"a", "b"}},
		"and is stopped":         {nthStore(batchBank, 3), true, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, "a", "b")
				good := b.batches.bank
				ctx, cancel := context.WithCancel(t.Context())
				c := crewOf(ctx, b, nil, nil)
				events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
				end := b.runBatches(t)
				b.batches.bank = &angryBank{Bank: good, angry: tt.angry}
				id := b.order(t, "publish_batch", "kwargs", batchOptions("batch", "1")).Text("jid")
				same(t, "error", until(t, events, "done").Text("error"), errPanic.Error())
				synctest.Wait()
				r := b.order(t, "batch_state", "jid", id)
				told, _ := r.Value("end").(*data.Map)
				if r.Value("running") != false || told.Text("error") != errPanic.Error() {
					t.Errorf("state: %s", data.Repr(r))
				}
				if again := b.order(t, "publish_batch", "jid", id, "kwargs", batchOptions()); data.Truth(again.Value("batch")) {
					t.Error("another batch gets its id")
				}
				if tt.stopped {
					if r := b.order(t, "stop_batch", "jid", id); !data.Truth(r.Value("stopped")) {
						t.Errorf("stop: %s", data.Repr(r))
					}
				}
				end()
				b.batches.bank = good
				end = b.runBatches(t)
				same(t, "done", ids(until(t, events, "done").Value("done_minions")), tt.ran)
				same(t, "who ran it", c.ran, tt.ran)
				synctest.Wait()
				if r := b.order(t, "batch_state", "jid", id); r.Value("running") != false || !r.Has("end") ||
					r.Value("end").(*data.Map).Has("error") {
					t.Errorf("state after the end: %s", data.Repr(r))
				}
				events.Close()
				end()
				cancel()
			})
		})
	}
}

// nthStore returns what is true from the nth time that something is stored in a bank.
func nthStore(in string, nth int) func(what, bank string) bool {
	n := 0
	return func(what, bank string) bool {
		if what == "store" && bank == in {
			n++
		}
		return n >= nth && what == "store"
	}
}

// An unreadBank cannot read records of batches while it is bad, as with too many open files, or not even list
// them.
type unreadBank struct {
	cache.Bank
	bad, listBad atomic.Bool
}

func (u *unreadBank) Fetch(bank, key string) ([]byte, error) {
	if bank == batchBank && u.bad.Load() {
		return nil, errors.New("too many open files")
	}
	return u.Bank.Fetch(bank, key)
}

func (u *unreadBank) List(bank string) ([]string, error) {
	if bank == batchBank && u.listBad.Load() {
		return nil, errors.New("too many open files")
	}
	return u.Bank.List(bank)
}

// TestRecordThatCannotBeReadNowIsKept: until it can be read nobody says that the batch has ended, and then
// the batch runs, once.
func TestRecordThatCannotBeReadNowIsKept(t *testing.T) {
	for name, list := range map[string]bool{"the record": false, "the list": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, "a", "b")
				ctx, cancel := context.WithCancel(t.Context())
				c := crewOf(ctx, b, map[string]time.Duration{"b": 5 * rereadPause}, nil)
				events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
				end := b.runBatches(t)
				id := b.order(t, "publish_batch", "kwargs", batchOptions("batch", "1")).Text("jid")
				until(t, events, "step")
				end()
				bank := &unreadBank{Bank: b.batches.bank}
				b.batches.bank = bank
				bank.bad.Store(!list)
				bank.listBad.Store(list)
				end = b.runBatches(t)
				time.Sleep(3 * rereadPause)
				left, err := bank.Bank.List(batchBank)
				must(t, err)
				same(t, "left", left, []string{id})
				if r := b.order(t, "batch_state", "jid", id); r.Value("running") == false {
					t.Errorf("state: %s", data.Repr(r))
				}
				bank.bad.Store(false)
				bank.listBad.Store(false)
				same(t, "done", ids(until(t, events, "done").Value("done_minions")), []string{"a", "b"})
				time.Sleep(3 * rereadPause)
				same(t, "who ran it", c.ran, []string{"a", "b"})
				events.Close()
				end()
				cancel()
			})
		})
	}
}

// A measuredBank takes ends of batches that are not larger than their records.
type measuredBank struct {
	cache.Bank
	mu   sync.Mutex
	most int
}

func (m *measuredBank) Store(bank, key string, value []byte) error {
	m.mu.Lock()
	if bank == batchBank {
		m.most = max(m.most, len(value))
	}
	most := m.most
	m.mu.Unlock()
	if bank == endBank && len(value) > most {
		return fmt.Errorf("%w: %d bytes, the record had %d", cluster.ErrTooLarge, len(value), most)
	}
	return m.Bank.Store(bank, key, value)
}

// TestEndOfABatchIsKeptWhereItsRecordWas ends a batch of many minions, of which some fail, in a cluster whose
// messages have no more room than its record needs. Who asks gets the whole end.
func TestEndOfABatchIsKeptWhereItsRecordWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, code := make([]string, 60), map[string]int64{}
		for i := range all {
			all[i] = fmt.Sprintf("minion%03d", i)
			code[all[i]] = int64(i % 2)
		}
		b := newBench(t, nil, all...)
		b.batches.pub.cluster = &gate{b: b}
		b.batches.bank = &measuredBank{Bank: b.batches.bank}
		ctx, cancel := context.WithCancel(t.Context())
		crewOf(ctx, b, map[string]time.Duration{all[7]: -1}, code)
		events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
		over, end := b.leads(), b.runBatches(t)
		id := b.order(t, "publish_batch", "kwargs", batchOptions("batch", "100%")).Text("jid")
		done := until(t, events, "done")
		synctest.Wait()
		kept, _, err := b.batches.readEnd(job.ID(id))
		must(t, err)
		if kept == nil {
			t.Fatal("the end is not kept")
		}
		for key, v := range done.All() {
			if list, ok := v.([]any); ok {
				name := data.Str(key)
				same(t, name, ids(kept.Value(name)), ids(list))
			}
		}
		same(t, "a further list", kept.Has("unfinished_minions"), false)
		same(t, "done", len(ids(kept.Value("done_minions"))), len(all)-1)
		events.Close()
		over()
		end()
		cancel()
	})
}
