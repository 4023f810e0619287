package master

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	presences "github.com/brineproject/brine/master/presence"
	"github.com/brineproject/brine/payload/typed"
	"github.com/brineproject/brine/reactor"
)

// A span is one end of the connections between masters in memory. What it sends the others take.
type span struct {
	*bridge
	said   *test.Hook
	minion *attended
	link   *air
	mu     sync.Mutex
	sent   []byte // kinds of messages
	fires  []string
	signed []string
	done   []channel.RequestID
}

// air carries messages to all masters but their sender.
type air struct {
	own    *span
	others []*span
	loss   atomic.Pointer[func(m []byte) bool]
	t      testing.TB
}

func (a *air) Send(m []byte) error {
	a.own.mu.Lock()
	a.own.sent = append(a.own.sent, m[0])
	a.own.mu.Unlock()
	if lost := a.loss.Load(); lost != nil && (*lost)(m) {
		return nil
	}
	for _, o := range a.others {
		if err := o.take(context.Background(), m); err != nil {
			a.t.Error(err)
		}
	}
	return nil
}

// lose makes the messages go astray for which lost returns true.
func (a *air) lose(lost func(m []byte) bool) { a.loss.Store(&lost) }

func (*air) Listen() (*cluster.Listener, error) { return nil, cluster.ErrUnavailable }

// attended is a list of connected minions.
type attended struct {
	mu      sync.Mutex
	ids     []string
	version uint64
}

func (a *attended) set(ids ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids = ids
	a.version++
}

func (a *attended) Connected() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.ids)
}
func (*attended) Host(id string) string { return "host-of-" + id }
func (a *attended) Version() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.version
}

// spans connects masters. local are the patterns of their local_events.
func spans(t testing.TB, n int, local ...string) []*span {
	t.Helper()
	var all []*span
	for i := range n {
		log := silent(t)
		s := &span{bridge: newBridge(), said: test.NewLocal(log), minion: &attended{}}
		b := newBase(config.DefaultMaster(), Options{Now: time.Now, Log: log}, sharing(s.bridge))
		m := &member{base: b, id: fmt.Sprint("m", i), others: newElsewhere(time.Now)}
		s.link = &air{own: s, t: t}
		s.begin(m, s.link, localTags(local))
		s.index = s.minion
		s.bridge.fired = func(_ context.Context, id, _ string) { s.fires = append(s.fires, id) }
		s.bridge.signIn = func(id string) { s.signed = append(s.signed, id) }
		s.bridge.done = func(r channel.RequestID) { s.done = append(s.done, r) }
		s.bridge.reacted = func(uint64) {}
		s.bridge.stored = func(string, []uint64) {}
		all = append(all, s)
	}
	for i, s := range all {
		s.link.others = slices.Delete(slices.Clone(all), i, i+1)
	}
	return all
}

// flush sends all that waits.
func (s *span) flush(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for {
		m, err := s.next(ctx)
		if err != nil {
			return
		}
		if err := s.link.Send(m); err != nil {
			t.Fatal(err)
		}
	}
}

// seenTags returns the tags that a subscription has.
func seenTags(t *testing.T, b *eventbus.Bus, s *eventbus.Subscription) (tags []string) {
	t.Helper()
	must(t, b.FireHere("end", data.NewMap()))
	for {
		e, err := s.Next(t.Context())
		must(t, err)
		if e.Tag == "end" {
			return tags
		}
		tags = append(tags, e.Tag)
	}
}

// TestEventsReachOtherMastersOnce fires events of several kinds on one master.
func TestEventsReachOtherMastersOnce(t *testing.T) {
	all := spans(t, 3, "salt/stats/*")
	a := all[0]
	private := reactor.ManageTag + "/list"
	if !reactor.Private(private) {
		t.Fatal("the tag is not private")
	}
	var seen []*eventbus.Subscription
	for _, s := range all {
		seen = append(seen, s.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Private: true}))
	}
	for _, tag := range []string{"my/event", "salt/stats/a", private, "salt/job/20260101000000000000/ack/web1"} {
		must(t, a.bus.Fire(tag, data.NewMap("n", int64(1))))
	}
	must(t, a.bus.FireHere("here", data.NewMap()))
	a.tellSignIn("web1")
	for range 3 {
		for _, s := range all {
			s.flush(t)
		}
	}
	ack := "salt/job/20260101000000000000/ack/web1"
	same(t, "on the first", seenTags(t, a.bus, seen[0]),
		[]string{"my/event", "salt/stats/a", private, ack, "here"})
	for i, s := range all[1:] {
		same(t, "on another", seenTags(t, s.bus, seen[i+1]), []string{"my/event", ack})
		same(t, "reports", s.fires, []string{"web1"})
		same(t, "sign-ins", s.signed, []string{"web1"})
		if len(s.sent) > 0 {
			t.Errorf("master %d has sent %q", i+1, s.sent)
		}
	}
}

// TestPrivateEventsOfOthers delivers an event that is private to both kinds of subscribers.
func TestPrivateEventsOfOthers(t *testing.T) {
	a, b := spans(t, 1)[0], spans(t, 1)[0]
	tag := reactor.ManageTag + "/list"
	from := a.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Private: true})
	must(t, a.bus.Fire(tag, data.NewMap()))
	e, err := from.Next(t.Context())
	must(t, err)
	open := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "open"})
	closed := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "closed", Private: true})
	must(t, b.take(t.Context(), append([]byte{aboutEvent}, e.Bytes()...)))
	same(t, "private", seenTags(t, b.bus, closed), []string{tag})
	same(t, "public", seenTags(t, b.bus, open), []string(nil))
}

func TestFullQueueOfEventsSaysSo(t *testing.T) {
	a := spans(t, 2)[0]
	for range bridgeQueue + 10 {
		must(t, a.bus.Fire("my/event", data.NewMap()))
	}
	if len(a.waiting.list) != bridgeQueue {
		t.Errorf("%d messages wait", len(a.waiting.list))
	}
	n := 0
	for _, e := range a.said.AllEntries() {
		if e.Level == logrus.WarnLevel && strings.Contains(e.Message, "do not reach") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d warnings, want one", n)
	}
}

func TestQueueOfMessagesIsBoundedInBytes(t *testing.T) {
	q := newMessageQueue(100, 10)
	for i, want := range []bool{true, true, false} {
		if got := q.put(make([]byte, 5)); got != want {
			t.Errorf("put %d: %v", i, got)
		}
	}
	for range 2 {
		if _, ok := q.take(); !ok {
			t.Error("nothing waits")
		}
	}
	if !q.put(make([]byte, 10)) {
		t.Error("an empty queue has no room")
	}
}

// attend runs the parts of the masters that tell of presence, within a bubble.
func attend(t *testing.T, all []*span) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for _, s := range all {
		work.Go(func() { s.sendAll(ctx) })
		work.Go(func() { s.tell(ctx) })
	}
	return func() { cancel(); work.Wait() }
}

func (s *span) elsewhere() []string { return s.others.with(nil) }

// TestPresenceBetweenMasters lets minions come and go, and loses a message.
func TestPresenceBetweenMasters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := spans(t, 2)
		a, b := all[0], all[1]
		defer attend(t, all)()
		pass := func() { time.Sleep(presencePause + time.Millisecond); synctest.Wait() }
		a.minion.set("a1", "a2")
		b.minion.set("b1")
		pass()
		same(t, "seen by a", a.elsewhere(), []string{"b1"})
		same(t, "seen by b", b.elsewhere(), []string{"a1", "a2"})
		a.minion.set("a2", "a3")
		pass()
		same(t, "after a change", b.elsewhere(), []string{"a2", "a3"})
		here := map[string]presences.Connection{}
		b.others.merge(here)
		if here["a3"].Host != "host-of-a3" {
			t.Errorf("a3 is at %q", here["a3"].Host)
		}
		a.link.lose(func(m []byte) bool { return m[0] == aboutPresence })
		a.minion.set("a4")
		pass()
		a.link.lose(func([]byte) bool { return false })
		a.minion.set("a4", "a5")
		pass() // the number tells b that one is missing
		pass()
		pass()
		same(t, "after a loss", b.elsewhere(), []string{"a4", "a5"})
		a.link.lose(func([]byte) bool { return true })
		time.Sleep(silence + 2*presenceBeat)
		synctest.Wait()
		same(t, "of a silent master", b.elsewhere(), []string{})
		if b.others.has("a4") || len(b.others.absent([]string{"a4", "b1"})) != 2 {
			t.Error("its minions count as connected")
		}
		a.link.lose(func([]byte) bool { return false })
		time.Sleep(2 * presenceBeat)
		synctest.Wait()
		same(t, "when it is back", b.elsewhere(), []string{"a4", "a5"})
	})
}

// TestPresenceOvertakesEvents has more events wait than the queue holds: presence is sent first, in order.
func TestPresenceOvertakesEvents(t *testing.T) {
	a := spans(t, 1)[0]
	for range bridgeQueue + 1 {
		must(t, a.bus.Fire("my/event", data.NewMap()))
	}
	a.send(aboutPresence, nil)
	a.tellSignIn("web1")
	a.send(aboutAll, nil)
	a.flush(t)
	same(t, "kinds of the first messages", string(a.sent[:5]), "psaee")
	if len(a.sent) != bridgeQueue+3 {
		t.Errorf("%d messages are sent", len(a.sent))
	}
}

// TestManyMinionsAreToldInParts tells of 25,000 minions with long ids: each message fits into what NATS
// allows, and no minion seems away while they are told anew.
func TestManyMinionsAreToldInParts(t *testing.T) {
	all := spans(t, 2)
	a, b := all[0], all[1]
	ids := make([]string, 25_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("%05d.%s.example.org", i, strings.Repeat("x", 150))
	}
	n := presenceNews{Member: "m0", All: true, Came: ids, Hosts: make([]string, len(ids))}
	parts := 0
	a.link.lose(func(m []byte) bool {
		if parts++; len(m) > 1<<19 {
			t.Fatalf("a message of %d bytes", len(m))
		}
		return false
	})
	number, err := a.sendNews(n)
	must(t, err)
	a.flush(t)
	if parts < 3 || number != uint64(parts-1) {
		t.Errorf("%d parts, the last is %d", parts, number)
	}
	if got := b.elsewhere(); len(got) != len(ids) {
		t.Fatalf("%d minions arrive", len(got))
	}
	before := b.others.edition()
	n.Number, n.Came, n.Hosts = number+1, ids[1:], n.Hosts[1:] // the first has gone
	_, err = a.sendNews(n)
	must(t, err)
	for i := range parts {
		m, err := a.next(t.Context())
		must(t, err)
		must(t, b.take(t.Context(), m))
		if away := b.others.absent(ids[1:]); len(away) > 0 {
			t.Fatalf("after part %d, %d minions seem away", i, len(away))
		}
	}
	if b.others.has(ids[0]) || b.others.edition() == before {
		t.Error("the one that has gone is still there")
	}
}

// TestPartsThatAreLost loses the second part of a full telling.
func TestPartsThatAreLost(t *testing.T) {
	e := newElsewhere(time.Now)
	take := func(want bool, n presenceNews) {
		t.Helper()
		n.Member = "m"
		if e.take(&n) != want {
			t.Errorf("message %d: want %v", n.Number, want)
		}
	}
	take(false, presenceNews{Number: 5, Came: []string{"a"}})
	take(true, presenceNews{Number: 6, All: true, Came: []string{"a", "b"}})
	take(true, presenceNews{Number: 7, All: true, More: true, Came: []string{"a"}})
	take(false, presenceNews{Number: 9, Came: []string{"d"}})
	same(t, "while parts are missing", e.with([]string{"here"}), []string{"a", "b", "here"})
	take(true, presenceNews{Number: 10, All: true, More: true, Came: []string{"a"}})
	take(true, presenceNews{Number: 11, Came: []string{"c"}})
	same(t, "in the end", e.with(nil), []string{"a", "c"})
	take(true, presenceNews{Number: 1, All: true}) // it has started anew
	same(t, "of a new process", e.with(nil), []string{})
}

// What one master has executed the others remember.
func TestExecutedRequestsAreTold(t *testing.T) {
	all := spans(t, 3)
	want := channel.RequestID{1, 15: 16}
	all[0].tellRequest(want)
	all[0].flush(t)
	for i, s := range all {
		if got := len(s.done); got != min(i, 1) || i > 0 && s.done[0] != want {
			t.Errorf("master %d remembers %v", i, s.done)
		}
	}
	var alone *bridge
	alone.tellRequest(want) // has nobody to tell
	if err := all[0].take(t.Context(), []byte("n1")); err == nil {
		t.Error("a request's number of one byte is taken")
	}
}

func FuzzBridge(f *testing.F) {
	e, _ := typed.Marshal(&presenceNews{Member: "m", Number: 1, All: true, Came: []string{"a"},
		Hosts: []string{"h"}})
	for _, m := range [][]byte{nil, []byte("x"), []byte("etag\n\n\x80"), append([]byte("p"), e...), []byte("a"),
		[]byte("sweb1"), []byte("b20260101000000000000"), []byte("r12345678"), []byte("r1"), []byte("o\x01"), []byte("n1"),
		[]byte("n1234567890123456")} {
		f.Add(m)
	}
	s := spans(f, 1)[0]
	f.Fuzz(func(t *testing.T, m []byte) {
		if err := s.take(context.Background(), m); err == nil && len(m) == 0 {
			t.Error("an empty message is taken")
		}
		s.waiting = newMessageQueue(bridgeQueue, bridgeBytes)
		s.others = newElsewhere(time.Now)
	})
}

// FuzzOrderRecord decodes entries of the stream of publications.
func FuzzOrderRecord(f *testing.F) {
	r := &orderRecord{Kind: kindOrder, JID: "20260101000000000000", Load: []byte{0x80},
		All: &minionLists{Minions: []string{"a"}}, Queue: &queueRecord{Owner: "root"}}
	body, _ := r.marshal()
	f.Add(body)
	f.Add([]byte{0xc1})
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseOrder(body)
		if err != nil {
			return
		}
		o, sent, err := r.order()
		if err == nil && (o.own == nil || o.record == nil || o.load == nil || sent == nil) {
			t.Errorf("an order without parts: %+v", o)
		}
	})
}

// FuzzReturnRecord decodes entries of the stream of returns.
func FuzzReturnRecord(f *testing.F) {
	body, _ := typed.Marshal(&clusterReturn{Member: "a", JID: "1", Minion: "m", Load: []byte{0x80},
		Job: &ownJobRecord{Load: []byte{0x80}}})
	f.Add(body)
	f.Add([]byte{0x81})
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, err := parseReturn(body); (err == nil) != (r != nil) {
			t.Errorf("%v, %v", r, err)
		}
	})
}

// BenchmarkClusterPresence takes the telling of all minions, and that of one that came and one that went.
func BenchmarkClusterPresence(b *testing.B) {
	for _, n := range []int{1000, 20_000} {
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprintf("web%05d.example.org", i)
		}
		body, err := typed.Marshal(&presenceNews{Member: "m", Number: 1, All: true, Came: ids, Hosts: ids})
		must(b, err)
		s := spans(b, 1)[0]
		b.Run(fmt.Sprintf("all of %d", n), func(b *testing.B) {
			for b.Loop() {
				must(b, s.take(b.Context(), append([]byte{aboutPresence}, body...)))
			}
		})
		b.Run(fmt.Sprintf("one of %d", n), func(b *testing.B) {
			must(b, s.take(b.Context(), append([]byte{aboutPresence}, body...)))
			number := uint64(1)
			for b.Loop() {
				number++
				if !s.others.take(&presenceNews{Member: "m", Number: number, Went: ids[:1], Came: []string{ids[0]}}) {
					b.Fatal("refused")
				}
			}
		})
	}
}
