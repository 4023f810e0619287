package master

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/batch"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// A gate stands for the streams of a cluster, on which this master orders jobs: it lets orders pass
// until it has a fault.
type gate struct {
	orderLog
	b *bench

	mu      sync.Mutex
	orders  func(o *order, sent *sentJob) error // nil lets all pass
	leading error
	taken   []*order
}

func (g *gate) order(ctx context.Context, o *order, sent *sentJob) (*sentJob, error) {
	g.mu.Lock()
	g.taken = append(g.taken, o)
	check := g.orders
	g.mu.Unlock()
	if check != nil {
		if err := check(o, sent); err != nil {
			return nil, err
		}
	}
	return sent, g.b.batches.pub.carryOut(ctx, o, sent)
}

func (g *gate) mayLead(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leading
}

func (g *gate) shut(leading error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leading = leading
}

// TestDeposedLeaderLeavesItsBatch passes the fence of a leader whose context has not ended yet: while a
// step is at work, and while the last one is.
func TestDeposedLeaderLeavesItsBatch(t *testing.T) {
	for name, steps := range map[string]int{"before another step": 1, "before the end": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, "a", "b")
				g := &gate{b: b}
				b.batches.pub.cluster = g
				ctx, cancel := context.WithCancel(t.Context())
				c := crewOf(ctx, b, map[string]time.Duration{"a": time.Second, "b": time.Second}, nil)
				events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
				end := b.runBatches(t)
				id := b.order(t, "publish_batch", "kwargs", batchOptions("batch", "1")).Text("jid")
				for range steps {
					until(t, events, "step")
				}
				g.shut(cluster.ErrStale)
				time.Sleep(time.Minute)
				if _, err := b.batches.bank.Fetch(batchBank, id); err != nil {
					t.Errorf("the record that the new leader needs: %v", err)
				}
				if n := b.batches.count(); n > 0 || len(c.ran) != steps {
					t.Errorf("%d batches run here, %q ran the job", n, c.ran)
				}
				end()
				g.shut(nil) // the new leader
				end = b.runBatches(t)
				done := until(t, events, "done")
				same(t, "done", ids(done.Value("done_minions")), []string{"a", "b"})
				same(t, "error", done.Text("error"), "")
				events.Close()
				end()
				cancel()
			})
		})
	}
}

// A stepGate is a gate that knows which steps have passed.
type stepGate struct {
	*gate
	steps batchSteps
}

func (g *stepGate) order(ctx context.Context, o *order, sent *sentJob) (*sentJob, error) {
	done, err := g.gate.order(ctx, o, sent)
	if err == nil {
		g.steps.note(sent.id, o, time.Now())
	}
	return done, err
}

func (g *stepGate) unsent(id job.ID, active []string) []string { return g.steps.unsent(id, active) }

// TestStepThatWasNotSent lets a leader die after it has noted a step and before it has sent it. Under the next
// leader the minions of that step get the job. Those of earlier steps do not get it again.
func TestStepThatWasNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, "a", "b", "c")
		g := &stepGate{gate: &gate{b: b}}
		steps := 0
		g.orders = func(_ *order, sent *sentJob) error {
			if sent.step {
				steps++
			}
			if steps == 2 {
				return cluster.ErrStale
			}
			return nil
		}
		b.batches.pub.cluster = g
		ctx, cancel := context.WithCancel(t.Context())
		c := crewOf(ctx, b, map[string]time.Duration{"a": time.Second, "b": time.Second, "c": time.Second}, nil)
		events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
		end := b.runBatches(t)
		b.order(t, "publish_batch", "kwargs", batchOptions("batch", "1"))
		for range 2 {
			until(t, events, "step")
		}
		time.Sleep(time.Minute)
		same(t, "ran under the first leader", c.ran, []string{"a"})
		end()
		end = b.runBatches(t) // the next leader
		done := until(t, events, "done")
		same(t, "done", ids(done.Value("done_minions")), []string{"a", "b", "c"})
		same(t, "not answering", ids(done.Value("timedout_minions")), []string{})
		same(t, "ran in all", c.ran, []string{"a", "b", "c"})
		events.Close()
		end()
		cancel()
	})
}

// TestMembersKnowTheStepsOfABatch has another member tell which minions no step has reached.
func TestMembersKnowTheStepsOfABatch(t *testing.T) {
	l := newStreamLog()
	a, b := l.member(t, "a", "", "web1", "web2"), l.member(t, "b", "", "web1", "web2")
	ids := jids(3)
	save := func(id job.ID) {
		load := a.load([]any{"web1", "web2"}, "list", "test.ping", []any{})
		load.Set("jid", string(id))
		must(t, a.pub.save(t.Context(), load, data.NewMap(), &returners.Job{ID: id, Minions: []string{"web1", "web2"}}))
	}
	step := func(id job.ID, target string) {
		pub := &job.Publication{JID: id, Target: []any{target}, TargetType: "list", Fun: []string{"test.ping"}}
		load := a.load([]any{target}, "list", "test.ping", []any{})
		raw, err := payload.MarshalBin(load)
		must(t, err)
		own := &returners.Job{ID: id, Load: raw, Minions: []string{target}}
		_, err = a.orders.order(t.Context(), &order{pub: pub, load: load, kwargs: data.NewMap(), own: own, record: own},
			&sentJob{id: id, recipients: recipients{step: true, ids: own.Minions}})
		must(t, err)
	}
	all := []string{"web1", "web2"}
	save(ids[0])
	step(ids[0], "web1")
	step(ids[1], "web1") // of a batch whose record was not seen
	save(ids[2])
	for name, m := range map[string]*orderMember{"its own": a, "another": b} {
		m.await(t)
		same(t, name+" member, after a step", m.orders.unsent(ids[0], all), []string{"web2"})
		same(t, name+" member, without the record", m.orders.unsent(ids[1], all), []string(nil))
		same(t, name+" member, before the first step", m.orders.unsent(ids[2], all), all)
	}
	l.put(t, cluster.Publication{Problem: cluster.ErrUnknownKey})
	b.await(t)
	same(t, "after an entry that cannot be read", b.orders.unsent(ids[0], all), []string(nil))
}

// TestStepsBehindSyndicsAreToldApart orders two steps whose minions are all behind a syndic, of which this
// master knows some or none: both are taken. The same step is not taken twice.
func TestStepsBehindSyndicsAreToldApart(t *testing.T) {
	l := newStreamLog()
	m := l.member(t, "a", "", "low")
	id := jids(1)[0]
	step := func(target string, known ...string) error {
		pub := &job.Publication{JID: id, Target: []any{target}, TargetType: "list", Fun: []string{"test.ping"}}
		own := &returners.Job{ID: id, Load: []byte{0x80}}
		record := *own
		record.Minions = known
		o := &order{pub: pub, load: data.NewMap("tgt", []any{target}), kwargs: data.NewMap(), own: own, record: &record}
		_, err := m.orders.order(t.Context(), o, &sentJob{id: id, recipients: recipients{step: true}})
		return err
	}
	must(t, step("leaf1", "leaf1"))
	must(t, step("leaf2", "leaf2"))
	must(t, step("leaf3"))
	must(t, step("leaf4"))
	if err := step("leaf2", "leaf2"); !errors.Is(err, errTaken) {
		t.Errorf("the second step once more: %v", err)
	}
}

// TestStepThatTheClusterHas sends a step that an earlier attempt has stored: the minions behind the
// syndic are waited for.
func TestStepThatTheClusterHas(t *testing.T) {
	b := newTierBench(t, nil, "own")
	b.start(t, "low", "leaf1", "leaf2")
	g := &gate{b: b.bench, orders: func(*order, *sentJob) error { return errTaken }}
	b.batches.pub.cluster = g
	load := b.load([]any{"leaf1", "leaf2", "own"}, "list", "test.ping", []any{})
	load.Set("jid", string(fresh()))
	h := newBatchHost(b.batches, newBatchJob(job.ID(load.Text("jid")), load, batch.Plan{}, queue.Owner{Full: true}))
	defer h.Close()
	h.led = t.Context()
	h.engine = batch.Resume(batch.Options{}, batch.NewRun(batch.Plan{}, nil), h.job.id)
	sent, err := h.Publish(t.Context(), batch.Order{Main: true, Target: load.Value("tgt"), Kind: "list"})
	must(t, err)
	same(t, "minions", sent.Minions, []string{"leaf1", "leaf2", "own"})
}

// TestQuestionsOfABatchAreAskedAnew has the cluster not answer to a ping that it has stored: the ping
// goes out once more under an id of its own, and the batch ends as it should.
func TestQuestionsOfABatchAreAskedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, "a")
		taken := map[job.ID]bool{}
		g := &gate{b: b}
		g.orders = func(o *order, sent *sentJob) error {
			again := taken[sent.id]
			taken[sent.id] = true
			switch {
			case sent.step:
			case again:
				return errTaken
			case len(taken) == 1: // it is stored, and its acknowledgement is lost
				return cluster.ErrUnavailable
			}
			return nil
		}
		b.batches.pub.cluster = g
		ctx, cancel := context.WithCancel(t.Context())
		crewOf(ctx, b, nil, nil)
		events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
		end := b.runBatches(t)
		b.order(t, "publish_batch", "kwargs", batchOptions())
		done := until(t, events, "done")
		same(t, "done", ids(done.Value("done_minions")), []string{"a"})
		same(t, "error", done.Text("error"), "")
		events.Close()
		end()
		cancel()
	})
}

// TestRecordOfABatchIsWrittenOnce records the job of a batch twice, as a leader does that follows one
// that ended after its record; a record of another job under the id is refused.
func TestRecordOfABatchIsWrittenOnce(t *testing.T) {
	l := newStreamLog()
	m := l.member(t, "a", "", "web1")
	all := newBatches(m.parts.base, m.batches.bank, m.pub)
	ids := jids(2)
	record := func(id job.ID, fun string) error {
		load := m.load("web1", "glob", fun, []any{})
		load.Set("jid", string(id))
		load = withoutSecrets(load, nil)
		h := newBatchHost(all, newBatchJob(id, load, batch.Plan{}, queue.Owner{Full: true}))
		defer h.Close()
		h.led = t.Context()
		h.engine = batch.Resume(batch.Options{}, batch.NewRun(batch.Plan{}, []string{"web1"}), id)
		return h.record(t.Context())
	}
	must(t, record(ids[0], "test.ping"))
	must(t, record(ids[0], "test.ping"))
	must(t, record(ids[1], "test.ping"))
	if err := record(ids[1], "test.echo"); !errors.Is(err, errTaken) {
		t.Errorf("another job under the id: %v", err)
	}
}

// leads makes a bench a member of a cluster that leads until end is called.
func (b *bench) leads() (end func()) {
	b.batches.lead = newLeadership()
	led, cancel := context.WithCancel(context.Background())
	begun, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		b.batches.lead.lead(led, cluster.Token{Number: 1}, func() { close(begun) })
	}()
	<-begun
	return func() { cancel(); <-ended }
}

// TestBatchOfALeadThatBeginsMeanwhile has the lead begin while a batch is added, after the member has
// looked for records: the batch runs.
func TestBatchOfALeadThatBeginsMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, "a")
		b.batches.pub.cluster = &gate{b: b}
		b.batches.lead = newLeadership()
		bank := &watchedBank{Bank: b.batches.bank}
		b.batches.bank = bank
		ctx, cancel := context.WithCancel(t.Context())
		crewOf(ctx, b, nil, nil)
		events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
		led, over := context.WithCancel(ctx)
		var work sync.WaitGroup
		bank.stored = func() { // the record is there, and add has not ended
			work.Go(func() { b.batches.lead.lead(led, cluster.Token{Number: 1}, func() {}) })
			work.Go(func() { _ = b.batches.serve(led) })
			synctest.Wait()
		}
		b.wire.connect("a")
		b.order(t, "publish_batch", "kwargs", batchOptions())
		done := until(t, events, "done")
		same(t, "done", ids(done.Value("done_minions")), []string{"a"})
		events.Close()
		over()
		work.Wait()
		cancel()
	})
}

// A watchedBank calls stored once after the first record is stored. Its fault is that of all further
// changes.
type watchedBank struct {
	cache.Bank
	stored func()
	fault  error
}

func (w *watchedBank) Store(bank, key string, value []byte) error {
	if w.fault != nil {
		return w.fault
	}
	err := w.Bank.Store(bank, key, value)
	if do := w.stored; do != nil {
		w.stored = nil
		do()
	}
	return err
}

// TestStopOfABatchLastsUntilItsLeaderHeeds stops a batch on a member that does not lead: another one
// that leads later begins on no minion, and leaves no note. Without the cluster the stop is refused.
func TestStopOfABatchLastsUntilItsLeaderHeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, "a", "b")
		b.batches.pub.cluster = &gate{b: b}
		bank := &watchedBank{Bank: b.batches.bank}
		b.batches.bank = bank
		ctx, cancel := context.WithCancel(t.Context())
		c := crewOf(ctx, b, map[string]time.Duration{"a": time.Minute}, nil)
		events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
		over := b.leads()
		end := b.runBatches(t)
		id := b.order(t, "publish_batch", "kwargs", batchOptions("batch", "1")).Text("jid")
		until(t, events, "step")
		over() // nobody leads
		end()
		bank.fault = cluster.ErrUnavailable
		if r := b.order(t, "stop_batch", "jid", id); !r.Has("error") || data.Truth(r.Value("stopped")) {
			t.Errorf("a stop that is lost: %s", data.Repr(r))
		}
		bank.fault = nil
		if r := b.order(t, "stop_batch", "jid", id); !data.Truth(r.Value("stopped")) {
			t.Errorf("stop: %s", data.Repr(r))
		}
		over = b.leads()
		end = b.runBatches(t)
		done := until(t, events, "done")
		same(t, "done", ids(done.Value("done_minions")), []string{"a"})
		same(t, "not started", ids(done.Value("not_started")), []string{"b"})
		same(t, "who ran it", c.ran, []string{"a"})
		synctest.Wait()
		for _, name := range []string{batchBank, stopBank} {
			left, err := bank.List(name)
			must(t, err)
			same(t, "left in "+name, len(left), 0)
		}
		events.Close()
		over()
		end()
		cancel()
	})
}

// TestStopThatArrives has another member stop a batch that runs here, and one that has ended.
func TestStopThatArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, "a", "b")
		b.batches.pub.cluster = &gate{b: b}
		ctx, cancel := context.WithCancel(t.Context())
		crewOf(ctx, b, map[string]time.Duration{"a": time.Minute}, nil)
		events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
		over, end := b.leads(), b.runBatches(t)
		id := job.ID(b.order(t, "publish_batch", "kwargs", batchOptions("batch", "1")).Text("jid"))
		until(t, events, "step")
		b.batches.changed(stopBank, id) // a note that was removed
		synctest.Wait()
		must(t, b.batches.mark(id))
		b.batches.changed(stopBank, id)
		done := until(t, events, "done")
		same(t, "not started", ids(done.Value("not_started")), []string{"b"})
		synctest.Wait()
		must(t, b.batches.mark(id))
		b.batches.changed(stopBank, id)
		synctest.Wait()
		if b.batches.marked(id) {
			t.Error("the note about a batch that has ended stays")
		}
		events.Close()
		over()
		end()
		cancel()
	})
}

// TestBatchIsTakenUpAsItIs begins a batch that was read before it went on and ended: it runs once.
func TestBatchIsTakenUpAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, "a", "b")
		b.batches.pub.cluster = &gate{b: b}
		ctx, cancel := context.WithCancel(t.Context())
		c := crewOf(ctx, b, map[string]time.Duration{"a": time.Minute}, nil)
		events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
		over, end := b.leads(), b.runBatches(t)
		id := job.ID(b.order(t, "publish_batch", "kwargs", batchOptions("batch", "1")).Text("jid"))
		until(t, events, "start")
		early, err := b.batches.read(id)
		must(t, err)
		until(t, events, "step")
		end() // a is at work
		end = b.runBatches(t)
		until(t, events, "done")
		synctest.Wait()
		b.batches.begin <- early
		time.Sleep(time.Minute)
		c.mu.Lock()
		same(t, "who ran it", c.ran, []string{"a", "b"})
		c.mu.Unlock()
		events.Close()
		over()
		end()
		cancel()
	})
}

// TestLimitsOfBatchesInACluster orders batches on a member that does not lead: the limits hold for the
// records of the cluster.
func TestLimitsOfBatchesInACluster(t *testing.T) {
	b := newBench(t, nil, "a")
	b.batches.lead = newLeadership()
	load := b.load("*", "glob", "test.ping", []any{})
	add := func(owner queue.Owner) error {
		plan := batch.Plan{Size: batch.Size{Number: 1}}
		return b.batches.add(t.Context(), newBatchJob(b.parts.ids.Next(), load, plan, owner))
	}
	for range maxOwned {
		must(t, add(queue.Owner{Name: "pam/ann"}))
	}
	if err := add(queue.Owner{Name: "pam/ann"}); err == nil {
		t.Error("one user has more batches than are allowed")
	}
	must(t, add(queue.Owner{Name: "pam/bob"}))
	for range maxBatches - maxOwned - 1 {
		must(t, add(queue.Owner{Name: "root", Full: true}))
	}
	if err := add(queue.Owner{Name: "root", Full: true}); err == nil {
		t.Error("more batches are taken than are allowed")
	}
}

// TestBatchThatIsTooLargeForTheCluster orders batches of which only one has records that fit into a
// message: the other is refused before any minion is asked, with what to do.
func TestBatchThatIsTooLargeForTheCluster(t *testing.T) {
	all := make([]string, 50)
	for i := range all {
		all[i] = fmt.Sprintf("minion%03d", i)
	}
	b := newBench(t, nil, all...)
	b.batches.pub.cluster = &gate{b: b}
	b.batches.lead = newLeadership()
	b.batches.bank = &smallBank{Bank: b.batches.bank, most: 700}
	few := b.order(t, "publish_batch", "tgt", "minion00*", "kwargs", batchOptions())
	if !data.Truth(few.Value("batch")) {
		t.Errorf("a small batch: %s", data.Repr(few))
	}
	e, _ := b.order(t, "publish_batch", "kwargs", batchOptions()).Value("error").(*data.Map)
	if text := e.Text("message"); !strings.Contains(text, "50 minions") || !strings.Contains(text, "in parts") {
		t.Errorf("error %s", data.Repr(e))
	}
	left, err := b.batches.bank.List(batchBank)
	must(t, err)
	same(t, "records", left, []string{few.Text("jid")})
}

// A smallBank takes values up to a size.
type smallBank struct {
	cache.Bank
	most int
}

func (s *smallBank) Store(bank, key string, value []byte) error {
	if len(value) > s.most {
		return fmt.Errorf("%w: %d bytes", cluster.ErrTooLarge, len(value))
	}
	return s.Bank.Store(bank, key, value)
}
