package master

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// streamLog is a stream in memory, with the contract of cluster.Publications.
type streamLog struct {
	mu       sync.Mutex
	entries  map[uint64]cluster.Publication
	names    map[string]uint64
	first    uint64 // the oldest entry that is left
	last     uint64
	changed  chan struct{}
	loseAcks int                  // so many acknowledgements are lost, after which the write is repeated
	fault    error                // of Publish
	change   func(*config.Master) // of the members
}

func newStreamLog() *streamLog {
	return &streamLog{entries: map[uint64]cluster.Publication{}, names: map[string]uint64{}, first: 1,
		changed: make(chan struct{})}
}

func (l *streamLog) Publish(_ context.Context, name string, body []byte) (uint64, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault != nil {
		return 0, false, l.fault
	}
	if at, ok := l.names[name]; ok && name != "" {
		return at, true, nil
	}
	l.append(cluster.Publication{Body: slices.Clone(body)})
	if name != "" {
		l.names[name] = l.last
	}
	if l.loseAcks > 0 {
		l.loseAcks--
		return l.last, true, nil // the write that was repeated
	}
	return l.last, false, nil
}

// append adds an entry. The caller holds mu.
func (l *streamLog) append(p cluster.Publication) {
	l.last++
	p.Serial = l.last
	l.entries[l.last] = p
	l.wake()
}

func (l *streamLog) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// put adds an entry as another master writes it, without waiting for anybody.
func (l *streamLog) put(t *testing.T, p cluster.Publication) uint64 {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.append(p)
	return l.last
}

// drop removes the entries before a serial.
func (l *streamLog) drop(before uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.first < before {
		delete(l.entries, l.first)
		l.first++
	}
	l.wake()
}

// lose removes one entry.
func (l *streamLog) lose(serial uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.entries, serial)
}

func (l *streamLog) Identity(context.Context) (string, error) { return "s", nil }

// renew makes the stream a new one, without entries.
func (l *streamLog) renew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.entries)
	clear(l.names)
	l.first, l.last = 1, 0
	l.wake()
}

func (l *streamLog) Subscribe(
	ctx context.Context, after uint64, handle func(cluster.Publication) error,
) error {
	for ctx.Err() == nil {
		l.mu.Lock()
		p, ok := l.entries[after+1]
		first, last, changed := l.first, l.last, l.changed
		l.mu.Unlock()
		switch {
		case after > last:
			return fmt.Errorf("%w: it ends at %d, the position is %d", cluster.ErrRestarted, last, after)
		case after > 0 && first > after+1:
			return &cluster.Gap{First: after + 1, Last: first - 1}
		case after == 0 && first > 1 && last >= first:
			after = first - 1
		case ok:
			if err := handle(p); err != nil {
				return err
			}
			after++
		case after < last:
			return &cluster.Gap{First: after + 1, Last: after + 1}
		default:
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
	return nil
}

func (l *streamLog) First(context.Context) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first, nil
}

func (l *streamLog) Last(context.Context) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, nil
}

// An orderMember is a master of a cluster whose streams are in memory.
type orderMember struct {
	*bench
	pub    *publishing
	orders *orderStream
	said   *test.Hook
	stop   func()
}

// member starts a master on the log. dir keeps its position; "" means a new one.
func (l *streamLog) member(t testing.TB, name, dir string, accepted ...string) *orderMember {
	t.Helper()
	m := l.idle(t, name, dir, accepted...)
	m.run(t)
	return m
}

// idle makes a master that does not follow the log yet.
func (l *streamLog) idle(t testing.TB, name, dir string, accepted ...string) *orderMember {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	m := &orderMember{bench: newBench(t, func(c *config.Master) {
		c.ID = name
		if l.change != nil {
			l.change(c)
		}
	}, accepted...)}
	log := silent(t)
	m.said = test.NewLocal(log)
	m.parts.log = log
	m.pub = newPublishing(m.parts)
	done, err := openPosition(filepath.Join(dir, "orders"), streamView{"s", 1, "k"}, log)
	must(t, err)
	m.orders = &orderStream{base: m.parts.base, member: name, log: l, quorum: func() error { return nil },
		pub: m.pub, done: done, waiting: map[string]*placed{}, token: done.token}
	must(t, m.orders.begin(t.Context()))
	m.pub.cluster = memberOrders{m.orders, &onceNotes{now: time.Now}}
	return m
}

func (m *orderMember) run(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := m.orders.run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("the orders of %s end: %v", m.orders.member, err)
		}
	}()
	var once sync.Once
	m.stop = func() { once.Do(func() { cancel(); <-ended }) }
	t.Cleanup(m.stop)
}

// await waits until a member has carried out all that the log has.
func (m *orderMember) await(t *testing.T) {
	t.Helper()
	must(t, m.orders.catchUp(t.Context()))
}

// order publishes a ping and returns its reply.
func (m *orderMember) order(t *testing.T, ctx context.Context, jid job.ID) *data.Map {
	t.Helper()
	load := m.load("web1", "list", "test.ping", []any{})
	load.Set("jid", string(jid))
	reply, err := m.pub.publish(ctx, commandOf(t, "publish", "", load))
	must(t, err)
	return reply.(*data.Map).Value("load").(*data.Map)
}

// sent returns the jobs that a member has sent, with their serials.
func (m *orderMember) sent(t *testing.T) (ids []string, serials []int64) {
	t.Helper()
	for _, message := range m.wire.messages() {
		envelope, err := payload.ParseEnvelope(message.Body, payload.WireLimits())
		must(t, err)
		blob, _ := envelope.Blob()
		plain, err := m.parts.secrets.Shared().Open(blob, "")
		must(t, err)
		v, err := payload.UnmarshalText(plain, payload.WireLimits())
		must(t, err)
		ids = append(ids, v.(*data.Map).Text("jid"))
		serials = append(serials, v.(*data.Map).Value("serial").(int64))
	}
	return ids, serials
}

// says reports whether the log of a member has a line with a text.
func (m *orderMember) says(text string) bool {
	return slices.ContainsFunc(m.said.AllEntries(), func(e *logrus.Entry) bool {
		return strings.Contains(e.Message, text)
	})
}

func jids(n int) []job.ID {
	now := time.Now().UTC()
	ids := make([]job.ID, n)
	for i := range ids {
		ids[i] = job.NewID(now.Add(time.Duration(i) * time.Microsecond))
	}
	return ids
}

func texts(ids ...job.ID) []string {
	var all []string
	for _, id := range ids {
		all = append(all, string(id))
	}
	return all
}

// TestOrdersHaveOneOrderEverywhere has three members take orders at one time: all send them in the
// same order, under serials that rise.
func TestOrdersHaveOneOrderEverywhere(t *testing.T) {
	l := newStreamLog()
	var members []*orderMember
	for _, name := range []string{"a", "b", "c"} {
		members = append(members, l.member(t, name, "", "web1"))
	}
	var work sync.WaitGroup
	given := jids(30)
	for i, m := range members {
		work.Go(func() {
			for _, id := range given[10*i : 10*i+10] {
				if got := m.order(t, t.Context(), id).Text("jid"); got != string(id) {
					t.Errorf("job %s became %q", id, got)
				}
			}
		})
	}
	work.Wait()
	for _, m := range members {
		m.await(t)
	}
	first, serials := members[0].sent(t)
	if len(first) != 30 || !slices.IsSorted(serials) || len(slices.Compact(slices.Clone(serials))) != 30 {
		t.Fatalf("%d publications with the serials %d", len(first), serials)
	}
	for _, m := range members[1:] {
		ids, numbers := m.sent(t)
		same(t, "jobs of "+m.orders.member, ids, first)
		same(t, "serials of "+m.orders.member, numbers, serials)
		same(t, "records of "+m.orders.member, m.jobs.all(), members[0].jobs.all())
	}
}

func TestLostAcknowledgementSendsOnce(t *testing.T) {
	l := newStreamLog()
	m := l.member(t, "a", "", "web1")
	l.loseAcks = 1
	id := jids(1)[0]
	if got := m.order(t, t.Context(), id).Text("jid"); got != string(id) {
		t.Errorf("the job became %q", got)
	}
	ids, _ := m.sent(t)
	same(t, "sent", ids, texts(id))
}

// TestTakenIDGivesANewOne has two members give one id to two jobs.
func TestTakenIDGivesANewOne(t *testing.T) {
	l := newStreamLog()
	a, b := l.member(t, "a", "", "web1"), l.member(t, "b", "", "web1")
	id := jids(1)[0]
	a.order(t, t.Context(), id)
	b.await(t)
	// known to the stream, and not to the job cache
	delete(b.jobs.jobs, id)
	reply := b.order(t, t.Context(), id)
	if reply.Value("jid") != nil || !strings.Contains(reply.Text("error"), "id") {
		t.Errorf("an id that was given: %s", data.Repr(reply))
	}
	l.mu.Lock()
	now := job.NewID(time.Now().UTC())
	for i := range 2000 { // the ids that come next
		next := job.NewID(mustTime(t, now).Add(time.Duration(i) * time.Microsecond))
		l.names[string(next)] = 1
	}
	l.mu.Unlock()
	got := job.ID(b.order(t, t.Context(), "").Text("jid"))
	b.await(t)
	if ids, _ := b.sent(t); got == "" || !slices.Contains(ids, string(got)) {
		t.Errorf("a job without an id became %q, sent are %q", got, ids)
	}
}

func mustTime(t *testing.T, id job.ID) time.Time {
	t.Helper()
	at, err := id.Time()
	must(t, err)
	return at
}

func underToken(t *testing.T, n uint64) context.Context {
	return context.WithValue(t.Context(), tokenKey{}, n)
}

// TestEntriesOfAStaleLeaderAreVoid has a second member lead: what the first orders under its lead is
// sent by nobody, and a member that starts again knows that too.
func TestEntriesOfAStaleLeaderAreVoid(t *testing.T) {
	l, dir := newStreamLog(), t.TempDir()
	a, b := l.member(t, "a", "", "web1"), l.member(t, "b", "", "web1")
	c := l.member(t, "c", dir, "web1")
	ids := jids(5)
	must(t, a.orders.lead(t.Context(), 5))
	a.order(t, underToken(t, 5), ids[0])
	must(t, b.orders.lead(t.Context(), 9))
	stale := a.order(t, underToken(t, 5), ids[1])
	if stale.Value("jid") != nil || !strings.Contains(stale.Text("error"), errNotLeading.Error()) {
		t.Errorf("an order under an old lead: %s", data.Repr(stale))
	}
	if err := a.orders.lead(t.Context(), 5); !errors.Is(err, errNotLeading) {
		t.Errorf("an old lead begins anew: %v", err)
	}
	b.order(t, underToken(t, 9), ids[2])
	a.order(t, t.Context(), ids[3]) // an operator's
	c.await(t)
	must(t, c.orders.done.save())
	c.stop()
	again := l.member(t, "c", dir, "web1")
	again.await(t)
	if got := a.order(t, underToken(t, 5), ids[4]); got.Value("jid") != nil {
		t.Errorf("an order under an old lead: %s", data.Repr(got))
	}
	want := texts(ids[0], ids[2], ids[3])
	for _, m := range []*orderMember{a, b, c} {
		if m != c {
			m.await(t)
		}
		got, _ := m.sent(t)
		same(t, "sent by "+m.orders.member, got, want)
	}
	again.await(t)
	if got, _ := again.sent(t); len(got) > 0 || len(again.jobs.all()) > 0 {
		t.Errorf("after the restart %q are sent and %q recorded", got, again.jobs.all())
	}
}

// fullJobs is a job cache without room until it is given some.
type fullJobs struct {
	returners.JobCache
	mu    sync.Mutex
	full  bool
	tried chan struct{}
}

func (f *fullJobs) SaveJob(ctx context.Context, j *returners.Job) error {
	f.mu.Lock()
	full := f.full
	f.mu.Unlock()
	if full {
		select {
		case f.tried <- struct{}{}:
		default:
		}
		return errLocked
	}
	return f.JobCache.SaveJob(ctx, j)
}

// TestOrderThatCannotBeStoredIsTriedAgain fills the disk of one member: the order and those after it
// wait there, and are carried out in their order once there is room.
func TestOrderThatCannotBeStoredIsTriedAgain(t *testing.T) {
	l := newStreamLog()
	a := l.member(t, "a", "", "web1")
	b := l.idle(t, "b", "", "web1")
	jobs := &fullJobs{JobCache: b.jobs, full: true, tried: make(chan struct{}, 1)}
	b.pub.jobs = jobs
	b.run(t)
	ids := jids(2)
	a.order(t, t.Context(), ids[0])
	a.order(t, t.Context(), ids[1])
	<-jobs.tried
	if sent, _ := b.sent(t); len(sent) > 0 || b.orders.done.now() != 0 {
		t.Errorf("sent %q, done to %d", sent, b.orders.done.now())
	}
	if !b.says("trying again") {
		t.Error("the log does not say so")
	}
	jobs.mu.Lock()
	jobs.full = false
	jobs.mu.Unlock()
	b.await(t)
	sent, _ := b.sent(t)
	same(t, "sent", sent, texts(ids...))
}

// TestOrdersBeforeTheStartAreRecorded starts a member late: it records the jobs and does not send
// them.
func TestOrdersBeforeTheStartAreRecorded(t *testing.T) {
	l := newStreamLog()
	a := l.member(t, "a", "", "web1")
	ids := jids(3)
	a.order(t, t.Context(), ids[0])
	a.order(t, t.Context(), ids[1])
	b := l.member(t, "b", "", "web1")
	b.await(t)
	a.order(t, t.Context(), ids[2])
	b.await(t)
	sent, _ := b.sent(t)
	same(t, "sent", sent, texts(ids[2]))
	same(t, "recorded", b.jobs.all(), ids)
}

// TestOrdersOfAnUnknownKeyWaitForIt skips an entry that this member cannot read, and remembers it until the
// member has other cluster keys.
func TestOrdersOfAnUnknownKeyWaitForIt(t *testing.T) {
	l := newStreamLog()
	m := l.member(t, "a", "", "web1")
	unread := l.put(t, cluster.Publication{Problem: fmt.Errorf("%w: 00000007", cluster.ErrUnknownKey)})
	l.put(t, cluster.Publication{Problem: cluster.ErrSealed})
	m.await(t)
	if m.orders.done.now() != unread+1 || m.orders.done.unread != unread {
		t.Errorf("at %d, unread %d, want %d, %d", m.orders.done.now(), m.orders.done.unread, unread+1, unread)
	}
	if m.says("entry 1 of") {
		t.Error("the member logs each such entry")
	}
}

// TestDamagedOrdersAreSkipped writes what is no order into the stream.
func TestDamagedOrdersAreSkipped(t *testing.T) {
	l := newStreamLog()
	m := l.member(t, "a", "", "web1")
	nonces := 0
	record := func(r orderRecord) []byte {
		nonces++
		r.Nonce = fmt.Sprint(nonces) // or it would be a repetition
		body, err := r.marshal()
		must(t, err)
		return body
	}
	for name, p := range map[string]cluster.Publication{
		"not sealed":             {Problem: cluster.ErrSealed},
		"no map":                 {Body: []byte("\xc1")},
		"nothing":                {Body: nil},
		"an order without load":  {Body: record(orderRecord{Kind: kindOrder, JID: "20260101000000000000"})},
		"an order of a bad load": {Body: record(orderRecord{Kind: kindOrder, Load: []byte{0x93}})},
		"a bad publication": {Body: record(orderRecord{Kind: kindOrder, Load: []byte{0x80},
			Pub: []byte{0x80}})},
		"a bad publication again": {Body: record(orderRecord{Kind: kindAgain, Pub: []byte{0xc1}})},
	} {
		t.Run(name, func(t *testing.T) {
			m.said.Reset()
			l.put(t, p)
			m.await(t)
			if sent, _ := m.sent(t); len(sent) > 0 || len(m.jobs.all()) > 0 {
				t.Errorf("sent %q, recorded %q", sent, m.jobs.all())
			}
			if errors.Is(p.Problem, cluster.ErrSealed) { // the cluster tells it
				same(t, "lines in the log", len(m.said.AllEntries()), 0)
				return
			}
			if !m.says("ignored") {
				t.Errorf("the log says %d lines and not that it is ignored", len(m.said.AllEntries()))
			}
		})
	}
	id := jids(1)[0]
	m.order(t, t.Context(), id)
	sent, _ := m.sent(t)
	same(t, "sent", sent, texts(id))
}

// TestGapInTheStreamOfOrders drops entries while a member is away.
func TestGapInTheStreamOfOrders(t *testing.T) {
	l, dir := newStreamLog(), t.TempDir()
	a, b := l.member(t, "a", "", "web1"), l.member(t, "b", dir, "web1")
	ids := jids(5)
	a.order(t, t.Context(), ids[0])
	b.await(t)
	must(t, b.orders.done.save())
	b.stop()
	for _, id := range ids[1:4] {
		a.order(t, t.Context(), id)
	}
	l.drop(4)
	b = l.member(t, "b", dir, "web1")
	b.await(t)
	a.order(t, t.Context(), ids[4])
	b.await(t)
	same(t, "recorded", b.jobs.all(), ids[3:])
	sent, _ := b.sent(t)
	same(t, "sent", sent, texts(ids[4]))
	if !b.says("missing") {
		t.Error("the log does not say that jobs are missing")
	}
}

// TestMemberGoesOnAfterAGap starts a member when an entry is gone from the middle of the stream.
func TestMemberGoesOnAfterAGap(t *testing.T) {
	l := newStreamLog()
	a := l.member(t, "a", "", "web1")
	ids := jids(4)
	for _, id := range ids {
		a.order(t, t.Context(), id)
	}
	l.lose(2)
	b := l.member(t, "b", "", "web1")
	b.await(t)
	same(t, "recorded", b.jobs.all(), []job.ID{ids[0], ids[2], ids[3]})
	if !b.says("missing in the job cache") {
		t.Error("the log does not say that jobs are missing")
	}
}

// TestStreamWithoutEntriesIsCaughtUp starts members, new ones and one that was away, when all
// entries are gone.
func TestStreamWithoutEntriesIsCaughtUp(t *testing.T) {
	l, dir := newStreamLog(), t.TempDir()
	a, b := l.member(t, "a", "", "web1"), l.member(t, "b", dir, "web1")
	ids := jids(4)
	a.order(t, t.Context(), ids[0])
	b.await(t)
	must(t, b.orders.done.save())
	b.stop()
	a.order(t, t.Context(), ids[1])
	a.order(t, t.Context(), ids[2])
	l.drop(4)
	for name, dir := range map[string]string{"b": dir, "c": ""} {
		m := l.member(t, name, dir, "web1")
		m.await(t)
		if at := m.orders.done.now(); at != 3 {
			t.Errorf("%s is at %d, want 3", name, at)
		}
	}
}

// TestNewStreamOfOrders replaces the stream: orders reach the minions as before, also those of a
// leader whose token is smaller.
func TestNewStreamOfOrders(t *testing.T) {
	l := newStreamLog()
	a, b := l.member(t, "a", "", "web1"), l.idle(t, "b", "", "web1")
	ids := jids(8)
	for _, id := range ids[:5] {
		a.order(t, t.Context(), id)
	}
	b.run(t)
	b.await(t)
	must(t, a.orders.lead(t.Context(), 100))
	b.await(t)
	l.renew()
	must(t, a.orders.lead(t.Context(), 7))
	a.order(t, underToken(t, 7), ids[5])
	b.order(t, t.Context(), ids[6])
	for _, m := range []*orderMember{a, b} {
		m.await(t)
		sent, _ := m.sent(t)
		if !slices.Contains(sent, string(ids[5])) || !slices.Contains(sent, string(ids[6])) {
			t.Errorf("%s has sent %q, want %q too", m.orders.member, sent, ids[5:7])
		}
	}
}

// TestRestartedPartSendsWhatItMissed ends the part that follows the stream, and starts it again in the
// same master: what came meanwhile is for its minions.
func TestRestartedPartSendsWhatItMissed(t *testing.T) {
	l := newStreamLog()
	a, b := l.member(t, "a", "", "web1"), l.member(t, "b", "", "web1")
	ids := jids(2)
	a.order(t, t.Context(), ids[0])
	b.await(t)
	b.stop()
	a.order(t, t.Context(), ids[1])
	b.run(t)
	b.await(t)
	sent, _ := b.sent(t)
	same(t, "sent", sent, texts(ids...))
}

// TestSerialsRise has all kinds of publications of a member, also those for syndics: their serials
// rise strictly.
func TestSerialsRise(t *testing.T) {
	l := newStreamLog()
	m := l.member(t, "a", "", "web1")
	ids := jids(3)
	for _, id := range ids {
		m.order(t, t.Context(), id)
		pub := &job.Publication{JID: id, Target: []any{"web1"}, TargetType: "list", Fun: []string{"test.ping"}}
		must(t, m.orders.again(t.Context(), pub, []string{"web1"}, false))
		below := *pub
		o := &order{pub: pub, below: &below, load: data.NewMap(), kwargs: data.NewMap(),
			own: &returners.Job{ID: id, Load: []byte{0x80}, Minions: []string{"web1"}}}
		o.record = o.own
		_, err := m.orders.order(t.Context(), o, &sentJob{id: id, recipients: recipients{step: true}})
		must(t, err)
	}
	_, serials := m.sent(t)
	if len(serials) != 12 {
		t.Errorf("%d publications, want 12", len(serials))
	}
	for i := range serials[1:] {
		if serials[i+1] <= serials[i] {
			t.Fatalf("serials %d", serials)
		}
	}
}

// TestOrderWithoutACluster refuses orders that the cluster does not take, with the reason.
func TestOrderWithoutACluster(t *testing.T) {
	why := errors.New("no heartbeat for a while")
	for name, change := range map[string]func(*streamLog, *orderMember){
		"no quorum": func(_ *streamLog, m *orderMember) { m.orders.quorum = func() error { return why } },
		"full":      func(l *streamLog, _ *orderMember) { l.fault = fmt.Errorf("%w: %w", cluster.ErrFull, why) },
		"unknown": func(l *streamLog, _ *orderMember) {
			l.fault = fmt.Errorf("%w: %w", cluster.ErrUnavailable, why)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newStreamLog()
			m := l.member(t, "a", "", "web1")
			change(l, m)
			reply, err := m.pub.publish(t.Context(),
				commandOf(t, "publish", "", m.load("web1", "list", "test.ping", []any{})))
			text := ""
			if err != nil {
				text = err.Error()
			} else {
				load := reply.(*data.Map).Value("load").(*data.Map)
				if text = load.Text("error"); name == "unknown" {
					failure, _ := load.Value("error").(*data.Map)
					text = failure.Text("message")
				}
			}
			if !strings.Contains(text, why.Error()) {
				t.Errorf("the reply is %q", text)
			}
			if sent, _ := m.sent(t); len(sent) > 0 {
				t.Errorf("sent %q", sent)
			}
			if len(m.orders.waiting) > 0 {
				t.Errorf("%d orders wait", len(m.orders.waiting))
			}
		})
	}
}

// BenchmarkClusterOrder takes, encodes and carries out orders for many minions, through a stream in memory.
func BenchmarkClusterOrder(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ids := make([]string, n)
			for i := range ids {
				ids[i] = fmt.Sprintf("web%05d.example.org", i)
			}
			l := newStreamLog()
			m := l.member(b, "a", "")
			pub := &job.Publication{Target: "*", TargetType: "glob", Fun: []string{"test.ping"}}
			load := data.NewMap("tgt", "*", "tgt_type", "glob", "fun", "test.ping", "arg", []any{}, "user", "root")
			raw, err := payload.MarshalBin(load)
			must(b, err)
			for b.Loop() {
				id := m.pub.ids.Next()
				one := *pub
				one.JID = id
				o := &order{pub: &one, load: load, kwargs: data.NewMap(),
					own: &returners.Job{ID: id, Load: raw, Minions: ids, Absent: ids}}
				o.record = o.own
				_, err := m.orders.order(b.Context(), o, &sentJob{id: id, recipients: recipients{ids: ids}})
				must(b, err)
				l.mu.Lock()
				clear(l.names)
				l.mu.Unlock()
				m.wire.mu.Lock()
				m.wire.sent = nil
				m.wire.mu.Unlock()
			}
		})
	}
}

var _ publications = (*streamLog)(nil)

// TestARepeatedOrderIsNotSent has somebody who writes into NATS repeat an entry, at once and under
// another nonce after a while.
func TestARepeatedOrderIsNotSent(t *testing.T) {
	l := newStreamLog()
	a, b := l.member(t, "a", "", "web1"), l.member(t, "b", "", "web1")
	id := jids(1)[0]
	a.order(t, t.Context(), id)
	l.mu.Lock()
	body := l.entries[1].Body
	l.mu.Unlock()
	r, err := parseOrder(body)
	must(t, err)
	r.Nonce, r.At = "another", time.Now().Add(-entryLife-time.Second).UnixMicro()
	late, err := r.marshal()
	must(t, err)
	for _, again := range [][]byte{body, late} {
		_, _, err := l.Publish(t.Context(), "", again)
		must(t, err)
	}
	for _, m := range []*orderMember{a, b} {
		m.await(t)
		sent, _ := m.sent(t)
		same(t, "sent by "+m.orders.member, sent, []string{string(id)})
	}
}

// TestClientsGetAReplyBeforeTheyGiveUp has a cluster that never answers take orders of clients with
// different patience.
func TestClientsGetAReplyBeforeTheyGiveUp(t *testing.T) {
	for _, tt := range []struct {
		timeout any
		least   time.Duration
		most    time.Duration
	}{
		{int64(4), time.Second, 4 * time.Second},
		{nil, time.Second, 5 * time.Second},
		{int64(600), orderTime, orderTime},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newStreamLog()
			m := l.idle(t, "a", "", "web1")
			m.orders.log = silentLog{m.orders.log}
			load := m.load("web1", "list", "test.ping", []any{})
			if tt.timeout != nil {
				load.Set("timeout", tt.timeout)
			}
			begin := time.Now()
			reply, err := m.pub.publish(t.Context(), commandOf(t, "publish", "", load))
			must(t, err)
			failure, _ := reply.(*data.Map).Value("load").(*data.Map).Value("error").(*data.Map)
			if !strings.HasPrefix(failure.Text("message"), "it is unknown whether job 2") {
				t.Errorf("timeout %v: the reply is %s", tt.timeout, data.Repr(reply))
			}
			if d := time.Since(begin); d < tt.least || d > tt.most {
				t.Errorf("timeout %v: the reply comes after %s", tt.timeout, d)
			}
		})
	}
}

// A silentLog stores nothing and never answers.
type silentLog struct{ publications }

func (silentLog) Publish(ctx context.Context, _ string, _ []byte) (uint64, bool, error) {
	<-ctx.Done()
	return 0, false, fmt.Errorf("%w: %w", cluster.ErrUnavailable, ctx.Err())
}

// TestRepeatedOrdersAreLoggedOnce has somebody repeat an entry again and again.
func TestRepeatedOrdersAreLoggedOnce(t *testing.T) {
	l := newStreamLog()
	m := l.member(t, "a", "", "web1")
	r := orderRecord{Kind: kindLead, Nonce: "n", Token: 7, At: time.Now().UnixMicro()}
	body, err := r.marshal()
	must(t, err)
	for range 100 {
		l.put(t, cluster.Publication{Body: body})
	}
	m.await(t)
	var lines []string
	for _, e := range m.said.AllEntries() {
		lines = append(lines, e.Message)
	}
	const want = "entry 2 of the cluster's jobs is ignored: somebody has repeated the start of lead 7"
	same(t, "the log", lines, []string{want})
}

// TestReachDoubtsAStreamThatEndsEarly has a deposed leader tell an old end of the stream for some seconds: a
// return waits for its order nevertheless. It does not wait for ever for one that is not there.
func TestReachDoubtsAStreamThatEndsEarly(t *testing.T) {
	for _, carriedOut := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := newStreamLog().idle(t, "a", "", "web1")
			begin := time.Now()
			if carriedOut {
				time.AfterFunc(5*time.Second, func() { m.orders.done.finish(1) })
			}
			must(t, m.orders.reach(t.Context(), 1, "s"))
			took := time.Since(begin)
			if carriedOut && took != 5*time.Second || took < 5*time.Second || took > 2*cluster.DeposedTime {
				t.Errorf("carried out: %t; it waits %s", carriedOut, took)
			}
		})
	}
}

// TestReturnsOfAnUnknownStreamWaitOnce stores returns of a stream that NATS lost before this member
// began: only the first one waits. Those of the present stream wait each, since its order may still come.
func TestReturnsOfAnUnknownStreamWaitOnce(t *testing.T) {
	for stream, waits := range map[string]bool{"lost": false, "s": true, "": true} {
		synctest.Test(t, func(t *testing.T) {
			m := newStreamLog().idle(t, "a", "", "web1")
			s := &returnStream{orders: m.orders}
			var took []time.Duration
			for range 2 {
				begin := time.Now()
				must(t, s.awaitOrder(t.Context(), &clusterReturn{After: 1000, Orders: stream}))
				took = append(took, time.Since(begin))
			}
			again := took[1] >= cluster.DeposedTime
			if took[0] < cluster.DeposedTime || waits != again || !waits && took[1] > 0 {
				t.Errorf("returns of stream %q wait %s", stream, took)
			}
		})
	}
}

// slowJobs is a job cache whose records take until it is released.
type slowJobs struct {
	returners.JobCache
	release chan struct{}
}

func (s *slowJobs) SaveJob(ctx context.Context, j *returners.Job) error {
	<-s.release
	return s.JobCache.SaveJob(ctx, j)
}

// TestReplyToALateOrderIsTheClients has a slow disk delay an order until its client gets a reply. What the
// member does with the order later does not touch what the reply is made of.
func TestReplyToALateOrderIsTheClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStreamLog().idle(t, "a", "", "web1")
		jobs := &slowJobs{m.jobs, make(chan struct{})}
		m.pub.jobs = jobs
		m.run(t)
		id := jids(1)[0]
		load := data.NewMap("tgt", "web1", "tgt_type", "list", "fun", "test.ping", "user", "root")
		raw, err := payload.MarshalBin(load)
		must(t, err)
		ids := []string{"web1"}
		pub := &job.Publication{JID: id, Target: data.Values(ids), TargetType: "list", Fun: []string{"test.ping"}}
		o := &order{pub: pub, load: load, kwargs: data.NewMap(),
			own:   &returners.Job{ID: id, Load: raw, Minions: ids},
			queue: &queue.Item{ID: id, Load: raw, Minions: ids, Expires: time.Now().Add(time.Hour)}}
		o.record = o.own
		sent, err := m.orders.order(t.Context(), o, &sentJob{id: id, recipients: recipients{ids: ids}})
		must(t, err)
		close(jobs.release)
		load.Set("jid", "a later one's") // the caller may use its load again
		if reply := sent.reply(); reply.Has("queued") {
			t.Errorf("the reply tells what came later: %s", data.Repr(reply))
		}
		m.await(t)
		if len(sent.queued) > 0 || !sent.until.IsZero() || o.serial != 0 {
			t.Errorf("the caller's order has changed: %q, %s, %d", sent.queued, sent.until, o.serial)
		}
		if ids, _ := m.sent(t); len(ids) != 1 || !m.says("carries it out later") {
			t.Errorf("sent %q", ids)
		}
	})
}

// TestOrderOfAnotherClockIsTold has a member order jobs whose clock is a quarter of an hour slow: the others
// record them, and their log says why they are not sent.
func TestOrderOfAnotherClockIsTold(t *testing.T) {
	l := newStreamLog()
	a, c := l.member(t, "a", "", "web1"), l.idle(t, "c", "", "web1")
	c.orders.now = func() time.Time { return time.Now().Add(-entryLife - 5*time.Minute) }
	c.run(t)
	ids := jids(3)
	for _, id := range ids {
		c.order(t, t.Context(), id)
	}
	a.await(t)
	same(t, "recorded", a.jobs.all(), ids)
	if sent, _ := a.sent(t); len(sent) > 0 {
		t.Errorf("sent %q", sent)
	}
	var told []string
	for _, e := range a.said.AllEntries() {
		if strings.Contains(e.Message, "not sent") {
			told = append(told, e.Message)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "member c") || !strings.Contains(told[0], "15m") {
		t.Errorf("the log says %q", told)
	}
}
