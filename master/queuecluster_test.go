package master

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
)

// A queueMember is a master of a cluster, whose queue tells how far jobs are.
type queueMember struct {
	*orderMember
	away *offline
	told tracked
}

func (l *streamLog) queueMember(t *testing.T, name string) *queueMember {
	t.Helper()
	m := &queueMember{orderMember: l.idle(t, name, "", "web1"), told: tracked{}}
	m.away = m.pub.offline
	m.away.tracker = m.told
	m.run(t)
	return m
}

// waits reports whether a job waits for web1 on a member, once it has carried out all that the log has.
func (m *queueMember) waits(t *testing.T, id job.ID) bool {
	t.Helper()
	m.await(t)
	return m.away.waits(id, "web1")
}

// queueOn queues a job for web1, and holds that it waits on all members.
func (m *queueMember) queueOn(t *testing.T, others ...*queueMember) job.ID {
	t.Helper()
	id := m.queueJob(t, m.pub, rootLoad(m.bench))
	for _, o := range append(others, m) {
		if !o.waits(t, id) {
			t.Fatalf("job %s does not wait on member %s", id, o.orders.member)
		}
	}
	return id
}

// TestCancelledJobIsTakenFromAllQueues cancels on a member that does not lead, while the cluster does
// not answer at first. A member that starts later has the job no more either.
func TestCancelledJobIsTakenFromAllQueues(t *testing.T) {
	l := newStreamLog()
	a, b := l.queueMember(t, "a"), l.queueMember(t, "b")
	id, other := a.queueOn(t, b), a.queueOn(t, b)
	gone, err := queue.Cancel(b.cfg.CacheDir, id)
	must(t, err)
	same(t, "cancelled", len(gone), 1)
	l.fault = cluster.ErrUnavailable
	if err := b.away.keepQueued(t.Context()); !errors.Is(err, cluster.ErrUnavailable) {
		t.Errorf("without the cluster: %v", err)
	}
	l.fault = nil
	must(t, b.away.keepQueued(t.Context()))
	c := l.queueMember(t, "c")
	for _, m := range []*queueMember{a, b, c} {
		if m.waits(t, id) || !m.waits(t, other) {
			t.Errorf("on %s: the cancelled job waits: %v, the other: %v", m.orders.member, m.waits(t, id),
				m.waits(t, other))
		}
		if got := m.told["web1"]; got.State != returners.Gone || got.Why != textCancelled {
			// the job that waits is told of last on a member that was down
			if m != c {
				t.Errorf("on %s it is told as %+v", m.orders.member, got)
			}
		}
	}
	if left, err := b.away.queue.Cancellations(); err != nil || len(left) > 0 {
		t.Errorf("requests that are left: %v, %v", left, err)
	}
}

// TestKeyThatIsGoneEmptiesAllQueues deletes a key that one member sees at first. A member whose key
// directories are not those of the cluster yet forgets nothing.
func TestKeyThatIsGoneEmptiesAllQueues(t *testing.T) {
	l := newStreamLog()
	a, b := l.queueMember(t, "a"), l.queueMember(t, "b")
	id := a.queueOn(t, b)
	settled := false
	b.away.keysSettled = func() bool { return settled }
	must(t, b.keys.Delete(pki.Accepted, "web1"))
	must(t, b.away.keepQueued(t.Context()))
	if !b.waits(t, id) {
		t.Error("a member without keys has forgotten the job")
	}
	settled = true
	must(t, b.away.keepQueued(t.Context()))
	for _, m := range []*queueMember{a, b} {
		if m.waits(t, id) || m.told["web1"].Why != textNoKey {
			t.Errorf("on %s it waits; it is told as %+v", m.orders.member, m.told["web1"])
		}
	}
}

// TestEndedDoubtEmptiesAllQueues has the leader give up a job that may have been sent, and one whose
// sender lost their rights.
func TestEndedDoubtEmptiesAllQueues(t *testing.T) {
	l := newStreamLog()
	a, b := l.queueMember(t, "a"), l.queueMember(t, "b")
	doubtful, refused := a.queueOn(t, b), a.queueOn(t, b)
	w := waiting{doubtful, "web1"}
	now := time.Now()
	must(t, a.away.doubt(t.Context(), w, now))
	l.fault = cluster.ErrFull
	if err := a.away.doubt(t.Context(), w, now.Add(doubtLife)); !errors.Is(err, errUnrecorded) {
		t.Errorf("without room: %v", err)
	}
	l.fault = nil
	must(t, a.away.doubt(t.Context(), w, now.Add(doubtLife)))
	if b.waits(t, doubtful) || b.told["web1"].State != returners.Missed {
		t.Errorf("the doubtful job waits: %v; %+v", b.waits(t, doubtful), b.told["web1"])
	}
	must(t, a.away.refuse(t.Context(), waiting{refused, "web1"}, errLocked))
	if b.waits(t, refused) || b.told["web1"].State != returners.Refused {
		t.Errorf("the refused job waits: %v; %+v", b.waits(t, refused), b.told["web1"])
	}
}

// TestUnqueuedAsWhatIsNoEnd has an entry that would record a return.
func TestUnqueuedAsWhatIsNoEnd(t *testing.T) {
	l := newStreamLog()
	a := l.queueMember(t, "a")
	id := a.queueOn(t)
	err := a.orders.unqueue(t.Context(), unqueued{id: id, minions: []string{"web1"}, state: returners.Returned})
	if err == nil || !a.waits(t, id) {
		t.Errorf("it is taken: %v", err)
	}
}

// TestExpiredJobEndsOnAllMembers lets a job expire: a member that does not lead drops it, and says
// nothing to anybody.
func TestExpiredJobEndsOnAllMembers(t *testing.T) {
	l := newStreamLog()
	a := l.queueMember(t, "a")
	id := job.NewID(time.Now())
	_, err := a.away.queue.Put(queue.Item{ID: id, Owner: queue.Owner{Full: true}, Minions: []string{"web1"},
		Expires: time.Now().Add(-time.Second)})
	must(t, err)
	must(t, a.away.keepQueued(t.Context()))
	if a.waits(t, id) || a.told["web1"].Why != textExpired || l.last != 0 {
		t.Errorf("it waits: %v; %+v; %d entries", a.waits(t, id), a.told["web1"], l.last)
	}
}

// TestMemberThatWasDownKnowsWhatWasSent sends a queued job while a member is down: it sends nothing when
// it starts, and knows that the sending has begun.
func TestMemberThatWasDownKnowsWhatWasSent(t *testing.T) {
	l := newStreamLog()
	a := l.queueMember(t, "a")
	id := a.queueOn(t)
	a.pub.cluster = leading{a.pub.cluster, nil}
	must(t, a.away.sendAll(t.Context(), "web1"))
	b := l.queueMember(t, "b")
	if !b.waits(t, id) {
		t.Fatal("it does not wait until it is acknowledged")
	}
	if _, begun, _ := b.away.queue.Next("web1", ""); !begun {
		t.Error("its sending has not begun")
	}
	if sent, _ := b.sent(t); len(sent) > 0 {
		t.Errorf("sent %q", sent)
	}
}

// leading are the orders of a member that leads, unless it has a fault.
type leading struct {
	orderLog
	fault error
}

func (l leading) mayLead(context.Context) error { return l.fault }

// TestQueuedJobThatIsNotSentStaysQueued has the cluster refuse to send a queued job: its sending has not
// begun. It has if the cluster does not answer, or another member has sent the job.
func TestQueuedJobThatIsNotSentStaysQueued(t *testing.T) {
	for _, tt := range []struct {
		name         string
		lead, stream error
		token        uint64
		elsewhere    bool // another member sends the job in the middle
		begun        bool
	}{
		{name: "no lead", lead: errNotLeading},
		{name: "no answer about the lead", lead: cluster.ErrUnavailable},
		{name: "no room", stream: cluster.ErrFull},
		{name: "another leads", token: 3},
		{name: "another has sent it", token: 3, elsewhere: true, begun: true},
		{name: "no answer", stream: cluster.ErrUnavailable, begun: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newStreamLog()
			a, b := l.queueMember(t, "a"), l.queueMember(t, "b")
			id := a.queueOn(t, b)
			must(t, b.orders.lead(t.Context(), 5))
			orders := leading{a.pub.cluster, tt.lead}
			a.pub.cluster = orders
			if tt.elsewhere {
				b.pub.cluster = leading{b.pub.cluster, nil}
				a.pub.cluster = overtaken{orders, func() {
					must(t, b.away.sendAll(underToken(t, 5), "web1"))
				}}
			}
			l.fault = tt.stream
			if err := a.away.sendAll(underToken(t, tt.token), "web1"); err == nil {
				t.Error("no error")
			}
			l.fault = nil
			if !a.waits(t, id) {
				t.Fatal("it does not wait any more")
			}
			if _, begun, _ := a.away.queue.Next("web1", ""); begun != tt.begun {
				t.Errorf("its sending has begun: %v", begun)
			}
		})
	}
}

// overtaken are orders of a member that another one overtakes.
type overtaken struct {
	orderLog
	overtake func()
}

func (o overtaken) again(
	ctx context.Context, pub *job.Publication, minions []string, queued bool,
) error {
	o.overtake()
	return o.orderLog.again(ctx, pub, minions, queued)
}
