package syndic

import (
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// newTestRouter returns a router with upper masters at a and b, of which the named ones are connected.
func newTestRouter(t *testing.T, connected ...string) *router {
	t.Helper()
	log := logrus.New()
	log.SetOutput(t.Output())
	var uppers []*upper
	for _, name := range []string{"a", "b"} {
		u := &upper{address: address{name, name, 4506}, log: log, queue: newQueue(100_000, time.Now),
			changed: make(chan struct{})}
		for _, c := range connected {
			u.connected = u.connected || c == name
		}
		uppers = append(uppers, u)
	}
	return newRouter(uppers, true, openTestJournal(t, t.TempDir(), time.Now))
}

// holder returns the upper master whose queue has the only return.
func (r *router) holder(t *testing.T) string {
	t.Helper()
	name := ""
	for _, u := range r.uppers {
		if n := u.queue.waiting(); n == 1 && name == "" {
			name = u.address.text
		} else if n > 0 {
			t.Errorf("%d returns for %s", n, u.address.text)
		}
	}
	return name
}

func TestOwnerOfAReturn(t *testing.T) {
	master, err := payload.Marshal("b")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name      string
		connected []string
		ordered   string // by the upper master with this directory
		masterID  []byte
		want      string
	}{
		{"ordered", []string{"a", "b"}, "b_4506", nil, "b"},
		{"ordered by a master that is away", []string{"a"}, "b_4506", nil, "b"},
		{"ordered by a master that is not configured any more", []string{"b"}, "c_4506", nil, "b"},
		{"named", []string{"a", "b"}, "", master, "b"},
		{"any", []string{"a", "b"}, "", nil, "a"},
		{"any that is connected", []string{"b"}, "", nil, "b"},
		{"none is connected", nil, "", nil, "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newTestRouter(t, tt.connected...)
			if tt.ordered != "" {
				orderOnce(t, r.journal, tt.ordered)
			}
			a := answerOf(string(jid), "web1", 1)
			a.master = tt.masterID
			if r.put(a) != queued {
				t.Fatal("the return is not queued")
			}
			if got := r.holder(t); got != tt.want {
				t.Errorf("it goes to %q, want %q", got, tt.want)
			}
		})
	}
}

func TestReturnIsQueuedOnce(t *testing.T) {
	r := newTestRouter(t, "a")
	a := answerOf(string(jid), "web1", 1)
	if r.put(a) != queued || r.put(answerOf(string(jid), "web1", 1)) != repeated {
		t.Error("a return that waits is queued again")
	}
	r.journal.acknowledge(jid, []string{"web1"})
	r.settle(r.uppers[0].queue.drain(func(*answer) bool { return true }))
	if r.put(a) != repeated {
		t.Error("an acknowledged return is queued again")
	}
	if r.put(answerOf(string(jid), "web2", 200_000)) != queued || r.put(answerOf(string(jid), "web3", 1)) != refused {
		t.Error("a full queue takes a return")
	}
}

func TestAnotherMasterTakesOver(t *testing.T) {
	r := newTestRouter(t)
	orderOnce(t, r.journal, "a_4506")
	r.put(answerOf(string(jid), "web1", 1))
	r.handOver(r.uppers[0])
	if got := r.holder(t); got != "a" {
		t.Errorf("with no other master the return goes to %s", got)
	}
	r.uppers[1].setConnected(true)
	r.handOver(r.uppers[0])
	if got := r.holder(t); got != "b" {
		t.Errorf("the return goes to %q", got)
	}
	if r.put(answerOf(string(jid), "web1", 1)) != repeated {
		t.Error("the return is queued again")
	}
}

// TestOrderedReturnsWait has the return of an ordered job and another: only the other moves at once.
func TestOrderedReturnsWait(t *testing.T) {
	r := newTestRouter(t)
	now := time.Now()
	a, b := r.uppers[0], r.uppers[1]
	a.queue.now = func() time.Time { return now }
	a.away = now
	orderOnce(t, r.journal, "a_4506")
	r.put(answerOf(string(jid), "web1", 1))
	r.put(answerOf("20260301120000000001", "web1", 1))
	b.setConnected(true)
	now = now.Add(orderedWait - time.Second)
	r.handOver(a)
	if a.queue.waiting() != 1 || b.queue.waiting() != 1 || a.queue.peek(1)[0].jid != jid {
		t.Errorf("%d returns wait for the master that ordered, %d for the other", a.queue.waiting(), b.queue.waiting())
	}
	now = now.Add(time.Second)
	r.handOver(a)
	if a.queue.waiting() != 0 || b.queue.waiting() != 2 {
		t.Errorf("after %v %d returns wait for the master that ordered", orderedWait, a.queue.waiting())
	}
}

// TestEventsWaitForAMasterThatIsAway keeps those of the first minutes, and not more than fit.
func TestEventsWaitForAMasterThatIsAway(t *testing.T) {
	r := newTestRouter(t)
	now := time.Now()
	u := r.uppers[0]
	u.queue = newQueue(queueLimit, func() time.Time { return now })
	u.away = now
	for range awayEvents + 5 {
		r.spread(data.Raw{0x80})
	}
	if n := len(u.queue.events); n != awayEvents || u.queue.missed != 5 {
		t.Errorf("%d events are kept, %d are missed", n, u.queue.missed)
	}
	u.queue.takeEvents(100)
	now = now.Add(eventAge)
	r.spread(data.Raw{0x80})
	if n := len(u.queue.events); n != awayEvents-100 || u.queue.missed != 1 {
		t.Errorf("after %v %d events are kept, %d are missed", eventAge, n, u.queue.missed)
	}
}

func TestFailoverIsRandom(t *testing.T) {
	r := newTestRouter(t, "a", "b")
	r.ordered, r.pick = false, func(n int) int { return n - 1 }
	for _, id := range []job.ID{"1", "2"} {
		if u := r.owner(answerOf(string(id), "web1", 1)); u.address.text != "b" {
			t.Errorf("the return goes to %s", u.address.text)
		}
	}
}
