package master

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/cluster"
	spools "github.com/brineproject/brine/cluster/spool"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/compress"
	"github.com/brineproject/brine/payload/typed"
	"github.com/brineproject/brine/returners"
)

// returnsLog is a stream of returns in memory, with the contract of cluster.Returns.
type returnsLog struct {
	*streamLog
	mu         sync.Mutex
	fault      error               // of Add
	limit      int                 // of one return; 0 means none
	unanswered int                 // so many returns are stored without an answer
	more       map[uint64][][]byte // further returns of entries
}

func newReturnsLog() *returnsLog { return &returnsLog{streamLog: newStreamLog()} }

func (l *returnsLog) Add(ctx context.Context, body []byte) (uint64, error) {
	l.mu.Lock()
	fault, limit := l.fault, l.limit
	silent := l.unanswered > 0
	if silent {
		l.unanswered--
	}
	l.mu.Unlock()
	if fault != nil {
		return 0, fault
	}
	if limit > 0 && len(body) > limit {
		return 0, fmt.Errorf("%w: %d bytes", cluster.ErrTooLarge, len(body))
	}
	at, _, err := l.Publish(ctx, "", body)
	if silent && err == nil {
		err = fmt.Errorf("%w: no answer", cluster.ErrUnavailable)
	}
	return at, err
}

func (l *returnsLog) Subscribe(ctx context.Context, after uint64, handle func(cluster.ReturnEntry) error) error {
	return l.streamLog.Subscribe(ctx, after, func(p cluster.Publication) error {
		e := cluster.ReturnEntry{Sequence: p.Serial, Problem: p.Problem}
		if p.Problem == nil {
			l.mu.Lock()
			e.Returns = append([][]byte{p.Body}, l.more[p.Serial]...)
			l.mu.Unlock()
		}
		return handle(e)
	})
}

func (l *returnsLog) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = err
}

// put adds an entry of several returns, as a member does whose returns come together.
func (l *returnsLog) put(t *testing.T, bodies ...[]byte) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streamLog.mu.Lock()
	defer l.streamLog.mu.Unlock()
	l.more = map[uint64][][]byte{l.last + 1: bodies[1:]}
	l.append(cluster.Publication{Body: bodies[0]})
}

// A returnMember is a master of a cluster with both streams in memory.
type returnMember struct {
	*orderMember
	returns *returnStream
	seen    *eventbus.Subscription
	disk    string      // the directory of the spool
	noCount atomic.Bool // there is no quorum
	halt    func()
}

// returnPair starts two masters, of which only the first takes orders until the second one runs.
func returnPair(t *testing.T) (orders *streamLog, returns *returnsLog, a, b *returnMember) {
	orders, returns = newStreamLog(), newReturnsLog()
	a, b = returns.idle(t, orders, "a"), returns.idle(t, orders, "b")
	a.run(t)
	b.run(t)
	return orders, returns, a, b
}

func (l *returnsLog) Identity(context.Context) (string, error) { return "s", nil }

func (l *returnsLog) idle(t testing.TB, orders *streamLog, name string) *returnMember {
	t.Helper()
	m := &returnMember{orderMember: orders.idle(t, name, "", "web1", "db1")}
	m.requests = newRequests(m.parts, m.pub)
	dir := t.TempDir()
	done, err := openPosition(filepath.Join(dir, "returns"), streamView{"s", 1, "k"}, silent(t))
	must(t, err)
	m.disk = filepath.Join(dir, "spool")
	s, err := spools.Open(m.disk, 0)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	m.returns = &returnStream{base: m.parts.base, member: name, log: l, ret: m.parts.returning,
		orders: m.orders, done: done, spool: s, quorum: func() error {
			if m.noCount.Load() {
				return cluster.ErrUnavailable
			}
			return nil
		}}
	m.orders.quorum = m.returns.quorum
	m.returns.pending.quota = m.parts.returning.quota
	m.parts.returning.cluster = newMemberReturns(m.returns, m.orders)
	m.seen = m.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/job/", "end"},
		Match: func(tag string) bool { return tag == "end" || strings.Contains(tag, "/ret/") }})
	t.Cleanup(m.seen.Close)
	return m
}

// run lets a member follow both streams, and hand on what is on its disk.
func (m *returnMember) run(t testing.TB) {
	t.Helper()
	m.orderMember.run(t)
	m.store(t)
}

// store lets a member follow the stream of returns.
func (m *returnMember) store(t testing.TB) {
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { m.returns.run(ctx) })
	work.Go(func() { m.returns.handOn(ctx) })
	var once sync.Once
	m.halt = func() { once.Do(func() { cancel(); work.Wait() }) }
	t.Cleanup(m.halt)
}

// settle waits until a member has stored what the streams have.
func (m *returnMember) settle(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	must(t, m.orders.catchUp(ctx))
	if err := m.returns.catchUp(ctx); err != nil {
		t.Fatalf("returns of %s: %v", m.orders.member, err)
	}
}

// kept returns the minions whose returns for a job are stored.
func (m *returnMember) kept(id job.ID) (minions []string) {
	list, _ := m.jobs.Returns(context.Background(), id)
	for _, r := range list {
		minions = append(minions, r.Minion)
	}
	slices.Sort(minions)
	return minions
}

// announced returns the tags of returns since the last call.
func (m *returnMember) announced(t *testing.T) []string {
	t.Helper()
	return returnTags(t, m.bench, m.seen)
}

func retTag(id job.ID, minion string) []string {
	return []string{"salt/job/" + string(id) + "/ret/" + minion}
}

// wantReturn holds that members have a return and have announced it once since the last look.
func wantReturn(t *testing.T, id job.ID, minion string, members ...*returnMember) {
	t.Helper()
	for _, m := range members {
		m.settle(t)
		same(t, "kept by "+m.orders.member, m.kept(id), []string{minion})
		same(t, "announced by "+m.orders.member, m.announced(t), retTag(id, minion))
	}
}

// TestReturnsReachAllMembers has a minion return to another member than that which took the order,
// and then again: with the same value, and with another one.
func TestReturnsReachAllMembers(t *testing.T) {
	_, _, a, b := returnPair(t)
	id := jids(1)[0]
	a.order(t, t.Context(), id)
	b.send(t, "_return", "web1", returnOf("web1", id, "first"))
	wantReturn(t, id, "web1", a, b)
	for _, value := range []string{"first", "second"} {
		a.send(t, "_return", "web1", returnOf("web1", id, value))
		for _, m := range []*returnMember{a, b} {
			m.settle(t)
			if tags := m.announced(t); len(tags) > 0 {
				t.Errorf("%q again: %s announces %q", value, m.orders.member, tags)
			}
			same(t, "kept", m.kept(id), []string{"web1"})
		}
	}
	if !a.says("refused") {
		t.Error("the log does not say that the second value is refused")
	}
}

// TestReturnsOfOneEntry has an entry with returns of two minions, one that cannot be read, and a second return of
// the first minion with another value: all members keep the first one.
func TestReturnsOfOneEntry(t *testing.T) {
	_, log, a, b := returnPair(t)
	id := jids(1)[0]
	a.order(t, t.Context(), id)
	bodyOf := func(minion, value string) []byte {
		load, err := loadBytes(returnOf(minion, id, value))
		must(t, err)
		body, err := typed.Marshal(&clusterReturn{Member: "c", JID: string(id), Minion: minion, Load: load, After: 1,
			Nonce: rand.Text()})
		must(t, err)
		return body
	}
	bodies := [][]byte{bodyOf("web1", "first"), []byte("rubbish"), bodyOf("leaf1", "its own")}
	for i := range 20 {
		bodies = append(bodies, bodyOf("web1", fmt.Sprint("value ", i)))
	}
	log.put(t, bodies...)
	for _, m := range []*returnMember{a, b} {
		m.settle(t)
		same(t, "kept by "+m.orders.member, m.kept(id), []string{"leaf1", "web1"})
		tags := m.announced(t)
		slices.Sort(tags)
		same(t, "announced by "+m.orders.member, tags, slices.Concat(retTag(id, "leaf1"), retTag(id, "web1")))
		list, err := m.jobs.Returns(t.Context(), id)
		must(t, err)
		for _, r := range list {
			if r.Minion == "web1" && !bytes.Contains(r.Load, []byte("first")) {
				t.Errorf("%s keeps %q", m.orders.member, r.Load)
			}
		}
		if !m.says("return 2 of entry 1") || !m.says("refused") {
			t.Errorf("%s does not tell what it ignores", m.orders.member)
		}
	}
}

// TestReturnForAJobThatIsNotKnownYet has a minion return to a member that is behind: the return waits for
// the order, and is none of a job that nobody ordered.
func TestReturnForAJobThatIsNotKnownYet(t *testing.T) {
	orders, log := newStreamLog(), newReturnsLog()
	a, b := log.idle(t, orders, "a"), log.idle(t, orders, "b")
	a.run(t)
	id := jids(1)[0]
	a.order(t, t.Context(), id)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.send(t, "_return", "web1", returnOf("web1", id, true))
	}()
	b.run(t)
	<-ended
	wantReturn(t, id, "web1", a, b)
	for _, m := range []*returnMember{a, b} {
		j, err := m.jobs.Job(t.Context(), id)
		must(t, err)
		if isOwn(j) {
			t.Errorf("%s has it as a job that nobody ordered", m.orders.member)
		}
	}
}

// TestReturnBeforeItsOrder lets the stream of returns be ahead of that of orders on one member: the return
// has been read, and waits.
func TestReturnBeforeItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orders, log := newStreamLog(), newReturnsLog()
		a, b := log.idle(t, orders, "a"), log.idle(t, orders, "b")
		a.run(t)
		id := jids(1)[0]
		a.order(t, t.Context(), id)
		a.send(t, "_return", "web1", returnOf("web1", id, true))
		b.store(t)
		synctest.Wait()
		if got := b.kept(id); len(got) > 0 || b.returns.done.now() > 0 {
			t.Errorf("stored before the order: %q, done to %d", got, b.returns.done.now())
		}
		b.orderMember.run(t)
		wantReturn(t, id, "web1", a, b)
	})
}

// TestOwnJobsOfMinions sends results of salt-call and for jobs that nobody knows: they have the same
// ids everywhere, and count on the member that took them.
func TestOwnJobsOfMinions(t *testing.T) {
	_, _, a, b := returnPair(t)
	a.send(t, "_return", "web1", returnOf("web1", job.Req, true))
	a.settle(t)
	b.settle(t)
	ids := a.jobs.all()
	if len(ids) != 1 {
		t.Fatalf("jobs of a: %q", ids)
	}
	same(t, "jobs of b", b.jobs.all(), ids)
	wantReturn(t, ids[0], "web1", a, b)
	same(t, "used on a", a.used("web1"), 1)
	same(t, "used on b", b.used("web1"), 0)
}

// used returns how many returns count for the quota of a minion.
func (m *returnMember) used(minion string) int {
	q := m.parts.returning.quota
	q.mu.Lock()
	defer q.mu.Unlock()
	if u := q.used[minion]; u != nil {
		return int(u.jobs + 0.5)
	}
	return 0
}

// TestRepeatedOwnReturnsCountOnce sends the result of a job that nobody ordered several times.
func TestRepeatedOwnReturnsCountOnce(t *testing.T) {
	_, _, a, b := returnPair(t)
	id := job.NewID(time.Now().UTC().Add(-time.Hour))
	for i := range 6 {
		if i > 3 {
			a.settle(t)
		}
		a.send(t, "_return", "web1", returnOf("web1", id, true))
	}
	wantReturn(t, id, "web1", a, b)
	same(t, "used on a", a.used("web1"), 1)
}

// TestSecondReturnOfAnOwnJobComesFirst stores the second return of a job that nobody ordered before the
// first, as members do that store many at one time.
func TestSecondReturnOfAnOwnJobComesFirst(t *testing.T) {
	orders, log, a, _ := returnPair(t)
	id := job.NewID(time.Now().UTC().Add(-time.Hour))
	for _, minion := range []string{"web1", "db1"} {
		a.send(t, "_return", minion, returnOf(minion, id, true))
		a.settle(t)
	}
	c := log.idle(t, orders, "c")
	for _, at := range []uint64{2, 1} {
		r, err := parseReturn(log.entries[at].Body)
		must(t, err)
		_, err = c.returns.apply(t.Context(), r, at)
		must(t, err)
	}
	same(t, "kept", c.kept(id), []string{"db1", "web1"})
}

// TestReturnOfAJobWithoutCache announces a return and does not store it.
func TestReturnOfAJobWithoutCache(t *testing.T) {
	_, _, a, b := returnPair(t)
	load := a.load("web1", "list", "test.ping", []any{})
	load.Set("kwargs", data.NewMap("nocache", true))
	reply, err := a.pub.publish(t.Context(), commandOf(t, "publish", "", load))
	must(t, err)
	id := job.ID(reply.(*data.Map).Value("load").(*data.Map).Text("jid"))
	for i, jid := range []job.ID{id, job.NoCache} {
		b.send(t, "_return", "web1", returnOf("web1", jid, true))
		for _, m := range []*returnMember{a, b} {
			m.settle(t)
			if tags := m.announced(t); len(tags) != 1 {
				t.Errorf("return %d: %s announces %q", i, m.orders.member, tags)
			}
			if got := m.kept(jid); len(got) > 0 {
				t.Errorf("return %d: %s keeps it", i, m.orders.member)
			}
		}
	}
}

// TestReturnsWithoutQuorum loses the cluster in several ways: returns are acknowledged and wait on disk,
// and reach all members once it answers.
func TestReturnsWithoutQuorum(t *testing.T) {
	for name, change := range map[string]func(lost bool, l *returnsLog, m *returnMember){
		"no quorum": func(lost bool, _ *returnsLog, m *returnMember) { m.noCount.Store(lost) },
		"no answer": func(lost bool, l *returnsLog, _ *returnMember) {
			l.fail(map[bool]error{true: cluster.ErrUnavailable}[lost])
		},
		"full": func(lost bool, l *returnsLog, _ *returnMember) {
			l.fail(map[bool]error{true: cluster.ErrFull}[lost])
		},
		"behind": func(lost bool, _ *returnsLog, m *returnMember) {
			m.returns.last.Store(map[bool]uint64{true: mostBehind + 1}[lost])
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, log, a, b := returnPair(t)
			id := jids(1)[0]
			a.order(t, t.Context(), id)
			b.settle(t)
			change(true, log, b)
			b.send(t, "_return", "web1", returnOf("web1", id, true))
			b.send(t, "_return", "web1", returnOf("web1", job.Req, "own"))
			if n := b.returns.spool.Len(); n != 2 {
				t.Fatalf("%d returns are on disk, want 2", n)
			}
			if tags := b.announced(t); len(tags) > 0 {
				t.Errorf("announced %q", tags)
			}
			change(false, log, b)
			awaitOpen(t, func() bool { return b.returns.spool.Len() == 0 })
			for _, m := range []*returnMember{a, b} {
				m.settle(t)
				same(t, "kept by "+m.orders.member, m.kept(id), []string{"web1"})
				if tags := m.announced(t); len(tags) != 2 || !slices.Contains(tags, retTag(id, "web1")[0]) {
					t.Errorf("%s announces %q", m.orders.member, tags)
				}
			}
		})
	}
}

// TestLargeReturnStaysHere sends a return that the cluster does not take.
func TestLargeReturnStaysHere(t *testing.T) {
	_, log, a, b := returnPair(t)
	log.limit = 1000
	id := jids(1)[0]
	a.order(t, t.Context(), id)
	b.settle(t)
	noise := make([]byte, 2000)
	rand.Read(noise)
	b.send(t, "_return", "web1", returnOf("web1", id, noise))
	wantReturn(t, id, "web1", b)
	a.settle(t)
	if len(a.kept(id)) > 0 || !b.says("known to this master only") {
		t.Errorf("a keeps %q; b says so: %v", a.kept(id), b.says("known to this master only"))
	}
}

// TestReturnsThatAreNotExpected sends returns of a minion that a job was not for, at a member that did
// not take the order.
func TestReturnsThatAreNotExpected(t *testing.T) {
	_, log, a, b := returnPair(t)
	id := jids(1)[0]
	a.order(t, t.Context(), id)
	b.settle(t)
	for _, jid := range []job.ID{id, "../../etc/passwd", job.NewID(time.Now().UTC().Add(time.Hour))} {
		b.send(t, "_return", "db1", returnOf("db1", jid, true))
	}
	if last, _ := log.Last(t.Context()); last != 0 {
		t.Errorf("the stream has %d returns", last)
	}
	if tags := b.announced(t); len(tags) > 0 || len(b.jobs.all()) != 1 {
		t.Errorf("announced %q, jobs %q", tags, b.jobs.all())
	}
}

// TestReturnThatAnotherMemberHasAdmitted has a return of a minion that the record does not name: its
// member has admitted it, and the others add it.
func TestReturnThatAnotherMemberHasAdmitted(t *testing.T) {
	_, log, a, b := returnPair(t)
	id := jids(1)[0]
	a.order(t, t.Context(), id)
	load, err := loadBytes(returnOf("leaf1", id, true))
	must(t, err)
	body, err := typed.Marshal(&clusterReturn{Member: "c", JID: string(id), Minion: "leaf1", Load: load,
		After: 1})
	must(t, err)
	_, err = log.Add(t.Context(), body)
	must(t, err)
	wantReturn(t, id, "leaf1", a, b)
	j, err := b.jobs.Job(t.Context(), id)
	must(t, err)
	same(t, "minions", j.Minions, []string{"leaf1", "web1"})
}

// TestReturnOfALostStreamOfOrders has a return come from the disk of a member after NATS has lost its data: the
// order that its member knew last is of a stream that is gone, and nobody waits for it.
func TestReturnOfALostStreamOfOrders(t *testing.T) {
	_, log, a, _ := returnPair(t)
	id := jids(1)[0]
	a.order(t, t.Context(), id)
	must(t, a.orders.catchUp(t.Context()))
	a.orders.done.former["lost"] = true
	load, err := loadBytes(returnOf("web1", id, true))
	must(t, err)
	body, err := typed.Marshal(&clusterReturn{Member: "b", JID: string(id), Minion: "web1", Load: load,
		After: 1000, Orders: "lost"})
	must(t, err)
	_, err = log.Add(t.Context(), body)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), cluster.DeposedTime)
	defer cancel()
	if err := a.returns.catchUp(ctx); err != nil {
		t.Fatal(err)
	}
	same(t, "kept", a.kept(id), []string{"web1"})
}

// TestReturnOnDiskOfALostStreamOfOrders hands on a return of a job that was unknown, and that came before NATS
// lost its data: the order may be in the new stream, under a lower number.
func TestReturnOnDiskOfALostStreamOfOrders(t *testing.T) {
	_, _, a, b := returnPair(t)
	id := jids(1)[0]
	a.order(t, t.Context(), id)
	b.settle(t)
	b.orders.done.former["lost"] = true
	load, err := loadBytes(returnOf("web1", id, true))
	must(t, err)
	r := &clusterReturn{Member: "b", JID: string(id), Minion: "web1", Load: load, After: 1000, Orders: "lost",
		Unsure: true, Nonce: "n"}
	must(t, b.returns.hand(t.Context(), r))
	if r.After >= 1000 || r.Orders == "lost" {
		t.Errorf("it waits for order %d of stream %q", r.After, r.Orders)
	}
	wantReturn(t, id, "web1", a, b)
}

// TestUnsureReturnOfAnothersOwnJob has a minion return for a job that another one started itself, at a member
// that does not know the job and has no quorum.
func TestUnsureReturnOfAnothersOwnJob(t *testing.T) {
	_, log, a, b := returnPair(t)
	b.noCount.Store(true)
	log.fail(cluster.ErrUnavailable)
	id := a.pub.ids.Next()
	own := returnOf("web1", job.Req, "own")
	own.Set(job.OwnID, string(id))
	b.send(t, "_return", "db1", returnOf("db1", id, "stolen"))
	log.fail(nil)
	a.send(t, "_return", "web1", own)
	a.settle(t)
	b.noCount.Store(false)
	awaitOpen(t, func() bool { return b.returns.spool.Len() == 0 })
	for _, m := range []*returnMember{a, b} {
		m.settle(t)
		same(t, "kept by "+m.orders.member, m.kept(id), []string{"web1"})
	}
}

// TestReturnsOfAnUnknownJobAreShort counts the bytes that the returns of a job from below take in the stream:
// none has the names of the other minions.
func TestReturnsOfAnUnknownJobAreShort(t *testing.T) {
	_, _, a, _ := returnPair(t)
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("web%05d.example.org", i)
	}
	r := a.returns.recordOf(&admitted{jid: jids(1)[0], minion: ids[7], raw: []byte{0x80}, own: true, fresh: true,
		job: &returners.Job{Load: []byte{0x80}, Minions: ids}})
	same(t, "minions", r.Job.Minions, ids[7:8])
}

// TestReturnsThatAreNotKeptLeaveRoom fills the room on disk with returns that no job cache keeps.
func TestReturnsThatAreNotKeptLeaveRoom(t *testing.T) {
	orders, returns := newStreamLog(), newReturnsLog()
	a, b := returns.idle(t, orders, "a"), returns.idle(t, orders, "b")
	small, err := spools.Open(t.TempDir(), 64<<10)
	must(t, err)
	t.Cleanup(func() { must(t, small.Close()) })
	b.returns.spool = small
	a.run(t)
	b.run(t)
	id := jids(1)[0]
	a.order(t, t.Context(), id)
	b.settle(t)
	b.noCount.Store(true)
	noise := make([]byte, 5000)
	rand.Read(noise)
	full := false
	for range 20 {
		r := b.returns.recordOf(&admitted{jid: job.NoCache, minion: "db1", raw: noise,
			job: &returners.Job{NoCache: true}})
		body, err := typed.Marshal(r)
		must(t, err)
		if err = b.returns.keepOnDisk(r, body); errors.Is(err, spools.ErrFull) {
			full = true
		} else {
			must(t, err)
		}
	}
	if used, limit := small.Bytes(); !full || used > limit/2 {
		t.Errorf("full: %t; %d bytes of %d are used", full, used, limit)
	}
	b.send(t, "_return", "web1", returnOf("web1", id, true))
	b.noCount.Store(false)
	awaitOpen(t, func() bool { return small.Len() == 0 && len(a.kept(id)) == 1 })
}

// TestDamagedReturnsAreSkipped writes what is no return into the stream.
func TestDamagedReturnsAreSkipped(t *testing.T) {
	_, log, a, b := returnPair(t)
	record := func(r clusterReturn) []byte {
		body, err := typed.Marshal(&r)
		must(t, err)
		return body
	}
	for name, p := range map[string]cluster.Publication{
		"not sealed":     {Problem: cluster.ErrSealed},
		"incomplete":     {Problem: cluster.ErrIncomplete},
		"unknown key":    {Problem: cluster.ErrUnknownKey},
		"no map":         {Body: []byte("\xc1")},
		"without a load": {Body: record(clusterReturn{JID: "20260101000000000000", Minion: "web1"})},
		"a bad load": {Body: record(clusterReturn{JID: "20260101000000000000", Minion: "db1",
			Load: []byte{0x93}})},
	} {
		t.Run(name, func(t *testing.T) {
			a.said.Reset()
			log.streamLog.put(t, p)
			a.settle(t)
			if p.Problem == cluster.ErrUnknownKey {
				if a.returns.done.unread == 0 {
					t.Error("the entry is not noted")
				}
				return
			}
			if errors.Is(p.Problem, cluster.ErrSealed) { // the cluster tells it
				same(t, "lines in the log", len(a.said.AllEntries()), 0)
			} else if !a.says("ignored") && !a.says("refused") {
				t.Error("the log does not say so")
			}
			if tags := a.announced(t); len(tags) > 0 || len(a.jobs.all()) > 0 {
				t.Errorf("announced %q, jobs %q", tags, a.jobs.all())
			}
		})
	}
	id := jids(1)[0]
	a.order(t, t.Context(), id)
	b.send(t, "_return", "web1", returnOf("web1", id, true))
	b.announced(t)
	a.settle(t)
	same(t, "kept", a.kept(id), []string{"web1"})
}

// TestSpoolHasWhatIsNoReturn drops an entry on disk that cannot be read, and hands on the next.
func TestSpoolHasWhatIsNoReturn(t *testing.T) {
	_, _, a, b := returnPair(t)
	id := jids(1)[0]
	a.order(t, t.Context(), id)
	b.settle(t)
	b.noCount.Store(true)
	must(t, b.returns.spool.Put([]byte("\xc1")))
	b.send(t, "_return", "web1", returnOf("web1", id, true))
	b.halt()
	b.noCount.Store(false)
	must(t, b.returns.handOnAll(t.Context()))
	a.settle(t)
	same(t, "kept", a.kept(id), []string{"web1"})
	if n := b.returns.spool.Len(); n > 0 || !b.says("cannot be read") {
		t.Errorf("%d entries stay; it says so: %v", n, b.says("cannot be read"))
	}
}

// TestReturnsAfterAGap starts a member when an entry is gone from the middle of the stream.
func TestReturnsAfterAGap(t *testing.T) {
	orders, log, a, _ := returnPair(t)
	ids := jids(3)
	for _, id := range ids {
		a.order(t, t.Context(), id)
		a.send(t, "_return", "web1", returnOf("web1", id, true))
	}
	a.settle(t)
	log.lose(2)
	c := log.idle(t, orders, "c")
	c.run(t)
	c.settle(t)
	for i, want := range []int{1, 0, 1} {
		if got := c.kept(ids[i]); len(got) != want {
			t.Errorf("of job %d there are returns of %v, want %d", i+1, got, want)
		}
	}
	if !c.says("Returns are missing in the job cache") {
		t.Error("the log does not say that returns are missing")
	}
}

// TestStreamOfReturnsWithoutEntries starts members when all entries are gone.
func TestStreamOfReturnsWithoutEntries(t *testing.T) {
	orders, log, a, _ := returnPair(t)
	id := jids(1)[0]
	a.order(t, t.Context(), id)
	a.send(t, "_return", "web1", returnOf("web1", id, true))
	a.settle(t)
	log.drop(2)
	c := log.idle(t, orders, "c")
	c.run(t)
	c.settle(t)
}

// TestNewStreams replaces both streams: returns are stored as before, also those that name orders of
// the old stream, and after this member was behind.
func TestNewStreams(t *testing.T) {
	orders, log, a, b := returnPair(t)
	ids := jids(4)
	for _, id := range ids[:3] {
		a.order(t, t.Context(), id)
		a.send(t, "_return", "web1", returnOf("web1", id, true))
	}
	a.settle(t)
	b.settle(t)
	a.returns.last.Store(1 << 20)
	orders.renew()
	log.renew()
	a.order(t, t.Context(), ids[3])
	awaitOpen(t, func() bool { return a.returns.behind() == nil })
	load, err := loadBytes(returnOf("web1", ids[3], true))
	must(t, err)
	body, err := typed.Marshal(&clusterReturn{Member: "c", JID: string(ids[3]), Minion: "web1", Load: load,
		After: 50})
	must(t, err)
	log.streamLog.put(t, cluster.Publication{Body: body})
	for _, m := range []*returnMember{a, b} {
		m.settle(t)
		same(t, "kept by "+m.orders.member, m.kept(ids[3]), []string{"web1"})
	}
}

// awaitOpen waits until a condition holds.
func awaitOpen(t *testing.T, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !holds() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("it does not come about")
		}
	}
}

// TestReturnThatCannotBeStoredIsTriedAgain locks the job cache of one member for a while.
func TestReturnThatCannotBeStoredIsTriedAgain(t *testing.T) {
	_, _, a, b := returnPair(t)
	ids := jids(2)
	a.order(t, t.Context(), ids[0])
	b.settle(t)
	jobs := &lockedReturns{memoryJobs: b.jobs}
	jobs.locked.Store(true)
	b.parts.returning.jobs = jobs
	a.send(t, "_return", "web1", returnOf("web1", ids[0], true))
	awaitOpen(t, func() bool { return b.says("trying again") })
	if got := b.kept(ids[0]); len(got) > 0 || b.returns.done.now() > 0 {
		t.Errorf("kept %q", got)
	}
	jobs.locked.Store(false)
	wantReturn(t, ids[0], "web1", a, b)
}

type lockedReturns struct {
	*memoryJobs
	locked atomic.Bool
}

func (l *lockedReturns) Job(ctx context.Context, id job.ID) (*returners.Job, error) {
	if l.locked.Load() {
		return nil, errLocked
	}
	return l.memoryJobs.Job(ctx, id)
}

// loadBytes returns a return as minions send it.
func loadBytes(load *data.Map) ([]byte, error) {
	load.Delete("cmd")
	return payload.MarshalBin(load)
}

// BenchmarkClusterReturn adds a return and stores it, through a stream in memory, for jobs of two sizes.
func BenchmarkClusterReturn(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ids := make([]string, n)
			for i := range ids {
				ids[i] = fmt.Sprintf("web%05d.example.org", i)
			}
			log := newReturnsLog()
			m := log.idle(b, newStreamLog(), "a")
			m.run(b)
			load, err := loadBytes(returnOf("web00001.example.org", "20260101000000000000", true))
			must(b, err)
			fields, err := payload.ParseFields(load, payload.WireLimits())
			must(b, err)
			for b.Loop() {
				j := &returners.Job{ID: m.pub.ids.Next(), Load: []byte{0x80}, Minions: ids}
				must(b, m.jobs.SaveJob(b.Context(), j))
				must(b, m.returns.add(b.Context(),
					&admitted{jid: j.ID, minion: ids[1], fields: fields, raw: load, job: j}))
				must(b, m.returns.catchUp(b.Context()))
			}
		})
	}
}

var _ clusterReturns = (*returnsLog)(nil)

// TestLongReturnIsShortInTheStream has a long return cross the stream, and one wait on disk for it.
func TestLongReturnIsShortInTheStream(t *testing.T) {
	_, log, a, b := returnPair(t)
	ids := jids(2)
	long := strings.Repeat("the file is in the correct state ", 600)
	for i, id := range ids {
		a.order(t, t.Context(), id)
		b.settle(t)
		b.noCount.Store(i == 1)
		ret := returnOf("web1", id, long)
		want, err := loadBytes(returnOf("web1", id, long))
		must(t, err)
		b.send(t, "_return", "web1", ret)
		b.noCount.Store(false)
		b.settle(t)
		awaitOpen(t, func() bool { return b.returns.spool.Len() == 0 && b.returns.done.now() == uint64(i+1) })
		wantReturn(t, id, "web1", a, b)
		for _, m := range []*returnMember{a, b} {
			list, err := m.jobs.Returns(t.Context(), id)
			if err != nil || len(list) != 1 || !sameValue(t, list[0].Load, want) {
				t.Errorf("%s has %d returns, %v", m.orders.member, len(list), err)
			}
		}
	}
	log.streamLog.mu.Lock()
	defer log.streamLog.mu.Unlock()
	for at, entry := range log.entries {
		if len(entry.Body) > len(long)/4 {
			t.Errorf("entry %d has %d bytes of a return of %d", at, len(entry.Body), len(long))
		}
	}
}

// sameValue reports whether two returns have the same value.
func sameValue(t *testing.T, a, b []byte) bool {
	t.Helper()
	var values []data.Raw
	for _, load := range [][]byte{a, b} {
		fields, err := payload.ParseFields(load, payload.WireLimits())
		must(t, err)
		values = append(values, fields.Raw("return"))
	}
	return len(values[0]) > 0 && bytes.Equal(values[0], values[1])
}

// TestReturnOfAWrongSizeIsRefused reads an entry whose load is not what it says.
func TestReturnOfAWrongSizeIsRefused(t *testing.T) {
	short, ok := compress.Encode(bytes.Repeat([]byte("text"), 1000))
	if !ok {
		t.Fatal("it became no shorter")
	}
	for _, r := range []clusterReturn{{Load: short, Size: 3999}, {Load: short, Size: -1}, {Load: short[:9], Size: 4000},
		{Load: short, Size: 1 << 40}} {
		if _, _, err := r.open(); !errors.Is(err, payload.ErrInvalid) {
			t.Errorf("%d bytes for %d: %v", len(r.Load), r.Size, err)
		}
	}
}
