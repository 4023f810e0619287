package master

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/returners"
)

// follows lets the master do what is due while it does not lead, and holds that it sends nothing.
func (r *route) follows(t *testing.T) {
	t.Helper()
	before := len(r.wire.messages())
	must(t, r.pub.deliveries.followDue(t.Context()))
	if got := len(r.wire.messages()) - before; got != 0 {
		t.Errorf("%d publications of a member that does not lead", got)
	}
}

// TestFollowerClosesJobsOnTheirWay lets the time of a job pass on a member that does not lead. When it
// leads, it announces nobody once more.
func TestFollowerClosesJobsOnTheirWay(t *testing.T) {
	r := newRoute(t)
	r.follows(t)
	id := r.order(t, nil)
	events := r.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/job/", "end"}})
	defer events.Close()
	r.ack(t, id, "ours2")
	r.port.connect("10.0.0.1/ours1", "10.0.0.2/ours2", "10.0.0.3") // real2 is away
	r.now = r.now.Add(deliveryTime - time.Second)
	r.follows(t) // the leader asks
	r.now = r.now.Add(time.Second + deliveryRest)
	r.wants(t, id, "ours1=sent ours2=acknowledged real1=sent real2=sent")
	r.follows(t)
	r.wants(t, id, "ours1=missed ours2=acknowledged real1=missed real2=missed")
	if n := len(r.pub.deliveries.open); n > 0 || len(r.pub.deliveries.signIns) > 0 {
		t.Errorf("%d jobs are open, with sign-ins of %v", n, r.pub.deliveries.signIns)
	}
	list, err := r.store.Progress(t.Context(), id)
	must(t, err)
	for minion, want := range map[string]string{"real1": textSilent, "real2": textLost} {
		i := slices.IndexFunc(list, func(p returners.Progress) bool { return p.Minion == minion })
		if list[i].Why != want {
			t.Errorf("%s missed it: %s", minion, list[i].Why)
		}
	}
	r.looks(t, 0) // it leads
	must(t, r.bus.Fire("end", nil))
	if e, err := events.Next(t.Context()); err != nil || e.Tag != "end" {
		t.Errorf("announced: %s, %v", e.Tag, err)
	}
}

// TestFollowerThatLeadsGoesOn lets a member begin to lead while a job is on its way: it asks and
// announces who has missed it.
func TestFollowerThatLeadsGoesOn(t *testing.T) {
	r := newRoute(t)
	r.follows(t)
	id := r.order(t, nil)
	for _, minion := range []string{"ours1", "ours2", "real1"} {
		r.ack(t, id, minion)
	}
	r.now = r.now.Add(deliveryTime - deliveryAsk)
	r.follows(t)
	r.looks(t, 1) // the question
	events := r.bus.Subscribe(eventbus.SubscribeOptions{Name: "test",
		Prefixes: []string{"salt/job/" + string(id) + "/missed/"}})
	defer events.Close()
	r.now = r.now.Add(deliveryAsk + deliveryRest)
	r.looks(t, 0)
	if e, err := events.Next(t.Context()); err != nil || !strings.HasSuffix(e.Tag, "/real2") {
		t.Errorf("announced: %s, %v", e.Tag, err)
	}
}

// TestMissedJobLeavesAllQueues has a Salt minion miss a job that was queued while it was connected.
func TestMissedJobLeavesAllQueues(t *testing.T) {
	l := newStreamLog()
	a, b := l.queueMember(t, "a"), l.queueMember(t, "b")
	id := a.queueOn(t, b)
	for _, m := range []*queueMember{a, b} {
		now := time.Now().Add(-time.Hour)
		m.pub.deliveries.put(id, newDelivery(&returners.Job{Minions: []string{"web1"}, Started: now}, deliveryTime))
	}
	must(t, b.pub.deliveries.followDue(t.Context()))
	if !b.waits(t, id) || b.told["web1"].State == returners.Missed {
		t.Errorf("a member that does not lead ends it: %+v", b.told["web1"])
	}
	must(t, a.pub.deliveries.end(t.Context(), id))
	for _, m := range []*queueMember{a, b} {
		if m.waits(t, id) || m.told["web1"].State != returners.Missed {
			t.Errorf("on %s: %+v", m.orders.member, m.told["web1"])
		}
	}
}
