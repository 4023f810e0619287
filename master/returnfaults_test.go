package master

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/transport"
)

// TestReturnOfAnUnknownJobWithoutQuorum sends it to a member that has lost the cluster: it goes to the disk
// at once.
func TestReturnOfAnUnknownJobWithoutQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orders, log := newStreamLog(), newReturnsLog()
		m := log.idle(t, orders, "a")
		orders.put(t, cluster.Publication{Problem: cluster.ErrSealed})
		m.noCount.Store(true)
		begin := time.Now()
		m.send(t, "_return", "web1", returnOf("web1", jids(1)[0], true))
		if took := time.Since(begin); took > 0 || m.returns.spool.Len() != 1 {
			t.Errorf("it takes %s; %d returns are on disk", took, m.returns.spool.Len())
		}
	})
}

// TestReturnOfAnUnknownJobLeavesItsWorker lets a return wait for its order on the only worker that takes
// requests: another request is answered meanwhile.
func TestReturnOfAnUnknownJobLeavesItsWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orders, log := newStreamLog(), newReturnsLog()
		m := log.idle(t, orders, "a")
		orders.put(t, cluster.Publication{Problem: cluster.ErrSealed})
		var crew *transport.Crew[func(context.Context)]
		crew = transport.NewCrew(1, func(do func(context.Context)) {
			do(transport.WithAside(t.Context(), crew))
		})
		ret := commandOf(t, "_return", "web1", returnOf("web1", jids(1)[0], true))
		crew.Submit(func(ctx context.Context) {
			if _, err := m.requests.Encrypted(ctx, ret); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		begin, answered := time.Now(), make(chan time.Duration, 1)
		crew.Queue() <- func(context.Context) { answered <- time.Since(begin) }
		if took := <-answered; took > 0 {
			t.Errorf("another request waits %s", took)
		}
		crew.Dismiss(time.Minute)
	})
}

// TestWaitsForOrdersAreLimited has more returns of unknown jobs than may wait: one goes to the stream at
// once.
func TestWaitsForOrdersAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orders, log := newStreamLog(), newReturnsLog()
		m := log.idle(t, orders, "a")
		orders.put(t, cluster.Publication{Problem: cluster.ErrSealed})
		var waits sync.WaitGroup
		defer waits.Wait()
		for _, id := range jids(mostCatchUps + 1) {
			ret := commandOf(t, "_return", "web1", returnOf("web1", id, true))
			waits.Go(func() {
				if _, err := m.requests.Encrypted(t.Context(), ret); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n, _ := log.Last(t.Context()); n != 1 {
			t.Errorf("%d returns do not wait, want 1", n)
		}
	})
}

// TestAttemptsOfAnOwnReturnCountOnce fills the disk for some attempts to store the result of a job that
// nobody ordered.
func TestAttemptsOfAnOwnReturnCountOnce(t *testing.T) {
	_, _, a, _ := returnPair(t)
	a.send(t, "_return", "web1", returnOf("web1", job.Req, 1))
	a.settle(t)
	jobs := &fullJobs{JobCache: a.jobs, full: true, tried: make(chan struct{})}
	a.parts.returning.jobs = jobs
	a.send(t, "_return", "web1", returnOf("web1", job.Req, 2))
	<-jobs.tried // others are not counted
	awaitOpen(t, func() bool { return a.says("trying again") })
	jobs.mu.Lock()
	jobs.full = false
	jobs.mu.Unlock()
	a.settle(t)
	same(t, "used on a", a.used("web1"), 2)
}

// TestLostAnswersToOwnReturns loses the answer about a return that the stream has: the repetition that
// follows is the same return, and counts.
func TestLostAnswersToOwnReturns(t *testing.T) {
	_, log, a, b := returnPair(t)
	log.unanswered = 1
	id := job.NewID(time.Now().UTC().Add(-time.Hour))
	a.send(t, "_return", "web1", returnOf("web1", id, true))
	awaitOpen(t, func() bool { return a.returns.spool.Len() == 0 })
	wantReturn(t, id, "web1", a, b)
	same(t, "used on a", a.used("web1"), 1)
	b.send(t, "_return", "web1", returnOf("web1", id, true)) // the minion moves, and repeats it
	b.settle(t)
	same(t, "used on b", b.used("web1"), 0)
}

// TestReturnsOnDiskDoNotHoldUpOthers has returns on disk that are too large for the cluster and that this
// member refuses: the return after them is handed on.
func TestReturnsOnDiskDoNotHoldUpOthers(t *testing.T) {
	_, log, a, b := returnPair(t)
	ids := jids(2)
	a.order(t, t.Context(), ids[0])
	a.order(t, t.Context(), ids[1])
	b.send(t, "_return", "web1", returnOf("web1", ids[0], "first"))
	b.settle(t)
	b.halt()
	b.noCount.Store(true)
	log.limit = 1000
	b.send(t, "_return", "web1", returnOf("web1", ids[0], strings.Repeat("x", 2000)))
	bad, err := typed.Marshal(&clusterReturn{Member: "b", JID: string(ids[1]), Minion: "web1",
		Load: append([]byte{0x93}, make([]byte, 2000)...)})
	must(t, err)
	must(t, b.returns.spool.Put(bad))
	b.send(t, "_return", "web1", returnOf("web1", ids[1], true))
	b.noCount.Store(false)
	must(t, b.returns.handOnAll(t.Context()))
	a.settle(t)
	same(t, "kept", a.kept(ids[1]), []string{"web1"})
	if n := b.returns.spool.Len(); n != 0 || !b.says("refused") {
		t.Errorf("%d returns stay on disk; the log says so: %v", n, b.says("refused"))
	}
}

// TestUnreadableReturnOnDiskIsSetAside makes the first file of the spool unreadable: the next one is handed
// on.
func TestUnreadableReturnOnDiskIsSetAside(t *testing.T) {
	_, _, a, b := returnPair(t)
	id := jids(1)[0]
	a.order(t, t.Context(), id)
	b.settle(t)
	b.halt()
	b.noCount.Store(true)
	must(t, b.returns.spool.Put([]byte("x")))
	b.send(t, "_return", "web1", returnOf("web1", id, true))
	files, err := os.ReadDir(b.disk)
	must(t, err)
	first := filepath.Join(b.disk, files[0].Name())
	must(t, os.Remove(first))
	must(t, os.Mkdir(first, 0o700))
	b.noCount.Store(false)
	must(t, b.returns.handOnAll(t.Context()))
	a.settle(t)
	same(t, "kept", a.kept(id), []string{"web1"})
	_, err = os.Stat(first + ".unreadable")
	if n := b.returns.spool.Len(); err != nil || n > 0 || !b.says("cannot be read") {
		t.Errorf("%v; %d entries stay; the log says so: %v", err, n, b.says("cannot be read"))
	}
}

// TestReturnsAtAMemberThatIsCutOff has minions return for a job that only the other member knows: one that
// the job is for, and one that it is not for. The first return waits for the order, whatever it would be
// without it; the second is refused.
func TestReturnsAtAMemberThatIsCutOff(t *testing.T) {
	for name, change := range map[string]func(*returnsLog, *returnMember){
		"as it is": func(*returnsLog, *returnMember) {},
		"whose minion has no quota left": func(_ *returnsLog, m *returnMember) {
			for m.parts.returning.quota.take("web1", 1) {
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				orders, log := newStreamLog(), newReturnsLog()
				a, b := log.idle(t, orders, "a"), log.idle(t, orders, "b")
				a.run(t)
				b.noCount.Store(true)
				change(log, b)
				used := b.used("web1")
				id := jids(1)[0]
				a.order(t, t.Context(), id)
				b.send(t, "_return", "web1", returnOf("web1", id, true))
				b.send(t, "_return", "db1", returnOf("db1", id, true))
				same(t, "on disk", b.returns.spool.Len(), 2)
				b.noCount.Store(false)
				b.store(t)
				synctest.Wait()
				if got := b.kept(id); len(got) > 0 {
					t.Errorf("stored before the order: %q", got)
				}
				b.orderMember.run(t)
				wantReturn(t, id, "web1", a, b)
				wantOrdered(t, id, a, b)
				same(t, "used by web1 on b", b.used("web1"), used)
				same(t, "used by db1 on b", b.used("db1"), 0)
			})
		})
	}
}

// wantOrdered holds that members have a job as one that somebody ordered.
func wantOrdered(t *testing.T, id job.ID, members ...*returnMember) {
	t.Helper()
	for _, m := range members {
		j, err := m.jobs.Job(t.Context(), id)
		must(t, err)
		if isOwn(j) {
			t.Errorf("%s has it as a job that nobody ordered", m.orders.member)
		}
	}
}

// TestLargeReturnAtAMemberThatIsCutOff is one that the cluster does not take.
func TestLargeReturnAtAMemberThatIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orders, log := newStreamLog(), newReturnsLog()
		log.limit = 1000
		a, b := log.idle(t, orders, "a"), log.idle(t, orders, "b")
		a.run(t)
		b.noCount.Store(true)
		id := jids(1)[0]
		a.order(t, t.Context(), id)
		b.send(t, "_return", "web1", returnOf("web1", id, strings.Repeat("x", 2000)))
		b.noCount.Store(false)
		b.store(t)
		synctest.Wait()
		b.orderMember.run(t)
		awaitOpen(t, func() bool { return b.returns.spool.Len() == 0 })
		wantReturn(t, id, "web1", b)
		wantOrdered(t, id, b)
	})
}

// TestReturnsOfASyndicAtAMemberThatIsBehind has a syndic return for a job that the other member ordered:
// the member waits for the order, also if it has lost the cluster.
func TestReturnsOfASyndicAtAMemberThatIsBehind(t *testing.T) {
	for name, cutOff := range map[string]bool{"for a moment": false, "since it is cut off": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				orders, log := newStreamLog(), newReturnsLog()
				orders.change = func(c *config.Master) { c.OrderMasters = true }
				a, b := log.idle(t, orders, "a"), log.idle(t, orders, "b")
				a.run(t)
				for _, m := range []*returnMember{a, b} {
					must(t, m.keys.Put(pki.Accepted, "low", vectorKey(t, "web1").Public().PEM()))
					m.wire.connect("low")
					m.parts.presence.Note("low", "127.0.0.1")
					m.parts.syndics.announce("low")
					m.parts.syndics.add("low", []string{"leaf1"})
				}
				id := jids(1)[0]
				load := data.NewMap("tgt", "leaf1", "tgt_type", "glob", "fun", "test.ping", "user", "root")
				raw, err := payload.MarshalBin(load)
				must(t, err)
				o := &order{load: load, kwargs: data.NewMap(), own: &returners.Job{ID: id, Load: raw}}
				o.record = o.own
				_, err = a.orders.order(t.Context(), o, &sentJob{id: id})
				must(t, err)
				b.noCount.Store(cutOff)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					low := &tierBench{bench: b.bench}
					low.returns(t, "low", id, data.NewMap("fun", "other", "tgt", "*"), "leaf1")
				}()
				synctest.Wait()
				b.noCount.Store(false)
				b.run(t)
				<-ended
				awaitOpen(t, func() bool { return b.returns.spool.Len() == 0 })
				wantReturn(t, id, "leaf1", a, b)
				wantOrdered(t, id, a, b)
			})
		})
	}
}

// TestJobOfALowerMasterAtAMemberThatIsCutOff has a syndic return for a job that its own master ordered: the
// record of that master reaches all members.
func TestJobOfALowerMasterAtAMemberThatIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orders, log := newStreamLog(), newReturnsLog()
		orders.change = func(c *config.Master) { c.OrderMasters = true }
		a, b := log.idle(t, orders, "a"), log.idle(t, orders, "b")
		a.run(t)
		must(t, b.keys.Put(pki.Accepted, "low", vectorKey(t, "web1").Public().PEM()))
		b.wire.connect("low")
		b.parts.presence.Note("low", "127.0.0.1")
		b.parts.syndics.announce("low")
		b.parts.syndics.add("low", []string{"leaf1"})
		b.noCount.Store(true)
		id := jids(1)[0]
		low := &tierBench{bench: b.bench}
		low.returns(t, "low", id, data.NewMap("fun", "other", "tgt", "*", "tgt_type", "glob"), "leaf1")
		b.noCount.Store(false)
		b.run(t)
		awaitOpen(t, func() bool { return b.returns.spool.Len() == 0 })
		wantReturn(t, id, "leaf1", a, b)
		for _, m := range []*returnMember{a, b} {
			j, err := m.jobs.Job(t.Context(), id)
			must(t, err)
			load, err := payload.ParseFields(j.Load, payload.WireLimits())
			must(t, err)
			if fun, _ := load.Text("fun"); fun != "other" || !isOwn(j) {
				t.Errorf("%s has a job of %q", m.orders.member, fun)
			}
		}
	})
}

// TestReturnThatIsNotKeptIsAnnouncedOnce loses the answer about returns that go to no job cache. They are
// handed on from disk.
func TestReturnThatIsNotKeptIsAnnouncedOnce(t *testing.T) {
	_, log, a, b := returnPair(t)
	load := a.load("web1", "list", "test.ping", []any{})
	load.Set("kwargs", data.NewMap("nocache", true))
	reply, err := a.pub.publish(t.Context(), commandOf(t, "publish", "", load))
	must(t, err)
	ordered := job.ID(reply.(*data.Map).Value("load").(*data.Map).Text("jid"))
	b.settle(t)
	for name, id := range map[string]job.ID{"of a job without cache": ordered, "of no job": job.NoCache} {
		t.Run(name, func(t *testing.T) {
			for _, m := range []*returnMember{a, b} {
				m.settle(t)
				m.announced(t)
			}
			b.halt()
			log.mu.Lock()
			log.unanswered = 1
			log.mu.Unlock()
			b.send(t, "_return", "web1", returnOf("web1", id, true))
			same(t, "on disk", b.returns.spool.Len(), 1)
			b.store(t)
			awaitOpen(t, func() bool { return b.returns.spool.Len() == 0 })
			for _, m := range []*returnMember{a, b} {
				m.settle(t)
				if tags := m.announced(t); len(tags) != 1 {
					t.Errorf("%s announces %q", m.orders.member, tags)
				}
			}
		})
	}
}

// TestRepeatedReturnThatIsNotKept has a minion repeat a return that goes to no job cache at another member. Of
// two in one entry the second is a repetition, too.
func TestRepeatedReturnThatIsNotKept(t *testing.T) {
	_, _, a, b := returnPair(t)
	load := a.load("web1", "list", "test.ping", []any{})
	load.Set("kwargs", data.NewMap("nocache", true))
	reply, err := a.pub.publish(t.Context(), commandOf(t, "publish", "", load))
	must(t, err)
	id := job.ID(reply.(*data.Map).Value("load").(*data.Map).Text("jid"))
	for _, m := range []*returnMember{a, b, a} {
		m.send(t, "_return", "web1", returnOf("web1", id, true))
	}
	for _, m := range []*returnMember{a, b} {
		m.settle(t)
		same(t, "announced by "+m.orders.member, m.announced(t), retTag(id, "web1"))
	}
	for i, at := range []place{{9, "x"}, {9, "x"}, {9, "y"}, {10, "x"}} {
		if got := a.returns.seen.repeated("1 web1", at); got != (i > 1) {
			t.Errorf("place %d: repeated %t", i, got)
		}
	}
}

// TestReturnsAreAnnouncedOnceAfterALossOfNATS has the stream followed anew from before a return that is done.
func TestReturnsAreAnnouncedOnceAfterALossOfNATS(t *testing.T) {
	orders, log := newStreamLog(), newReturnsLog()
	m := log.idle(t, orders, "a")
	m.orderMember.run(t)
	for i, minion := range []string{"web1", "db1", "web1"} {
		load, err := loadBytes(returnOf(minion, job.NoCache, i))
		must(t, err)
		body, err := typed.Marshal(&clusterReturn{Member: "b", JID: string(job.NoCache), Minion: minion, Load: load})
		must(t, err)
		_, _, err = log.Publish(t.Context(), "", body)
		must(t, err)
	}
	m.returns.done.finish(1)
	m.returns.done.finish(3)
	m.store(t)
	m.settle(t)
	same(t, "announced", m.announced(t), retTag(job.NoCache, "db1"))
}
