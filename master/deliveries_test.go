package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/jobstore"
)

// A route is a master with minions of ours and of Salt's that are connected, and a clock.
type route struct {
	*bench
	store *jobstore.Store
	pub   *publishing
	port  *crowd
	now   time.Time
}

var routeIDs = []string{"ours1", "ours2", "real1", "real2"}

func newRoute(t *testing.T) *route {
	t.Helper()
	b, store := follow(t, routeIDs...)
	r := &route{bench: b, store: store, now: time.Now()}
	r.start()
	return r
}

// start makes the parts of a master anew, which remember nothing but what lies on disk.
func (r *route) start() {
	r.parts.now = func() time.Time { return r.now }
	r.port = &crowd{}
	r.parts.presence = newPresence(r.port, nil, r.parts.settings, r.parts.now)
	r.pub = newPublishing(r.parts)
	r.port.connect("10.0.0.1/ours1", "10.0.0.2/ours2", "10.0.0.3", "10.0.0.4")
	for i, id := range routeIDs {
		r.parts.presence.note(id, from("10.0.0."+string(rune('1'+i))))
	}
	for _, id := range routeIDs[:2] {
		r.pub.offline.noteBrine(id)
	}
}

// order publishes a job to all.
func (r *route) order(t *testing.T, kwargs *data.Map) job.ID {
	t.Helper()
	load := r.load("*", "glob", "test.ping", []any{})
	if kwargs != nil {
		load.Set("kwargs", kwargs)
	}
	reply, err := r.pub.publish(t.Context(), commandOf(t, "publish", "", load))
	must(t, err)
	return job.ID(reply.(*data.Map).Value("load").(*data.Map).Text("jid"))
}

// looks lets the master look what is due, and holds how many publications it sends.
func (r *route) looks(t *testing.T, want int) {
	t.Helper()
	before := len(r.wire.messages())
	must(t, r.pub.deliveries.resendDue(t.Context()))
	must(t, r.pub.offline.sendQueued(t.Context()))
	if got := len(r.wire.messages()) - before; got != want {
		t.Errorf("%d publications, want %d", got, want)
	}
}

func (r *route) wants(t *testing.T, id job.ID, want string) {
	t.Helper()
	list, err := r.store.Progress(t.Context(), id)
	must(t, err)
	var got []string
	for _, p := range list {
		got = append(got, p.Minion+"="+string(p.State))
	}
	slices.Sort(got)
	if text := strings.Join(got, " "); text != want {
		t.Errorf("job %s: %s, want %s", id, text, want)
	}
}

// ack has a minion acknowledge a job, and say so by an event.
func (r *route) ack(t *testing.T, id job.ID, minion string) {
	t.Helper()
	r.pub.progress.fired(t.Context(), minion, "salt/job/"+string(id)+"/ack/"+minion)
}

// TestJobsOnTheirWayAreSentAgainAfterARestart sends a job, ends the master, and starts it anew:
// minions of ours that have not acknowledged it get it when they sign in, once each time; those of
// Salt do not. When its time is over those that are silent are asked, and then they have missed it,
// which is announced.
func TestJobsOnTheirWayAreSentAgainAfterARestart(t *testing.T) {
	r := newRoute(t)
	id := r.order(t, nil)
	r.looks(t, 0)
	r.ack(t, id, "ours2")
	r.wants(t, id, "ours1=sent ours2=acknowledged real1=sent real2=sent")
	r.now = r.now.Add(time.Second)
	r.start()
	r.looks(t, 1) // to ours1
	r.looks(t, 0)
	r.now = r.now.Add(time.Second)
	r.pub.offline.noteBrine("ours1")
	r.pub.offline.noteBrine("ours2")
	r.looks(t, 1)
	r.port.connect("10.0.0.1/ours1", "10.0.0.3", "10.0.0.4") // ours2 is away
	r.pub.offline.noteBrine("ours2")
	r.looks(t, 0)
	r.now = r.now.Add(deliveryAgain)
	r.looks(t, 1) // nobody has said more
	r.ack(t, id, "ours1")
	r.now = r.now.Add(deliveryTime - deliveryAsk - deliveryAgain - 2*time.Second)
	events := r.bus.Subscribe(eventbus.SubscribeOptions{Name: "test",
		Prefixes: []string{"salt/job/" + string(id) + "/missed/"}})
	defer events.Close()
	r.port.connect("10.0.0.1/ours1", "10.0.0.3") // real2 is away
	r.looks(t, 1)                                // the question
	r.now = r.now.Add(deliveryAsk)
	r.looks(t, 0)
	r.wants(t, id, "ours1=acknowledged ours2=acknowledged real1=sent real2=sent")
	r.now = r.now.Add(deliveryRest)
	r.looks(t, 0)
	r.wants(t, id, "ours1=acknowledged ours2=acknowledged real1=missed real2=missed")
	for _, minion := range []string{"real2", "real1"} { // who is away comes first
		e, err := events.Next(t.Context())
		must(t, err)
		v, err := payload.UnmarshalText(e.Data, payload.WireLimits())
		must(t, err)
		if m := v.(*data.Map); m.Text("id") != minion || m.Text("jid") != string(id) ||
			m.Text("reason") == "" {
			t.Errorf("event %s %s, want one of %s", e.Tag, data.Repr(v), minion)
		}
	}
	if n := len(r.pub.deliveries.open); n != 1 { // the question itself
		t.Errorf("%d jobs are on their way", n)
	}
}

// TestAnswersSettleJobsOnTheirWay has minions report in each possible way that they have a job or
// not: none is asked, and none has missed it.
func TestAnswersSettleJobsOnTheirWay(t *testing.T) {
	r := newRoute(t)
	id := r.order(t, nil)
	r.ack(t, id, "ours1")
	r.pub.progress.fired(t.Context(), "ours2", "salt/job/"+string(id)+"/prog/ours2/0")
	known, err := r.store.Job(t.Context(), id)
	must(t, err)
	ret, err := payload.Marshal(returnOf("real1", id, true))
	must(t, err)
	fields, err := payload.ParseFields(ret, payload.WireLimits())
	must(t, err)
	r.pub.progress.returned(t.Context(), known, id, "real1", fields)
	r.pub.progress.denied(t.Context(), id, "real2")
	if n := len(r.pub.deliveries.open); n != 0 {
		t.Errorf("%d jobs are on their way", n)
	}
	r.now = r.now.Add(2 * deliveryTime)
	r.looks(t, 0)
}

// TestJobsWhoseTimeIsOverAreNotSentAgain starts a master a day after the previous one ended: silent
// minions are asked and have missed the job, and it is sent to none again.
func TestJobsWhoseTimeIsOverAreNotSentAgain(t *testing.T) {
	r := newRoute(t)
	id := r.order(t, nil)
	r.now = r.now.Add(markPause)
	r.pub.deliveries.resumed = true
	must(t, r.pub.deliveries.mark())
	r.now = r.now.Add(24 * time.Hour)
	r.start()
	r.looks(t, 0)
	r.now = r.now.Add(2*returnTime - deliveryAsk)
	r.looks(t, 1) // the question
	r.now = r.now.Add(deliveryAsk + deliveryRest)
	r.looks(t, 0)
	r.wants(t, id, "ours1=missed ours2=missed real1=missed real2=missed")
}

// TestJobsAreResumedOnceTheJobCacheAnswers starts a master whose job cache is locked at first: the
// previous master's jobs are resumed once it is unlocked, and the file keeps their time until then.
func TestJobsAreResumedOnceTheJobCacheAnswers(t *testing.T) {
	r := newRoute(t)
	r.pub.deliveries.resumed = true
	id := r.order(t, nil)
	r.now = r.now.Add(markPause)
	must(t, r.pub.deliveries.mark())
	before, err := readMark(r.pub.deliveries.file)
	must(t, err)
	r.now = r.now.Add(time.Second)
	r.start()
	locked := &lockedJobs{JobCache: r.pub.deliveries.jobs, jobs: 1, job: 1}
	r.pub.deliveries.jobs = locked
	for range 2 { // the list, and the states of the job
		r.order(t, data.NewMap("batch", int64(1)))
		r.now = r.now.Add(markPause)
		if err := r.pub.deliveries.resendDue(t.Context()); !errors.Is(err, errLocked) {
			t.Errorf("a look at a locked job cache: %v", err)
		}
		if at, err := readMark(r.pub.deliveries.file); err != nil || !at.Equal(before) {
			t.Errorf("the file says %v, %v; want %v as before", at, err, before)
		}
	}
	r.looks(t, 1) // to ours1 and ours2
	r.ack(t, id, "ours1")
	r.ack(t, id, "ours2")
	r.now = r.now.Add(deliveryTime + deliveryRest)
	must(t, r.pub.deliveries.resendDue(t.Context()))
	r.wants(t, id, "ours1=acknowledged ours2=acknowledged real1=missed real2=missed")
}

// TestMinionsThatAreBackGetTheirJobsOnceTheJobCacheAnswers has a minion come back while the job
// cache is locked.
func TestMinionsThatAreBackGetTheirJobsOnceTheJobCacheAnswers(t *testing.T) {
	r := newRoute(t)
	id := r.order(t, nil)
	r.looks(t, 0)
	r.now = r.now.Add(time.Second)
	r.pub.offline.noteBrine("ours1")
	locked := &lockedJobs{JobCache: r.pub.deliveries.jobs, one: 2}
	r.pub.deliveries.jobs = locked
	for range 2 {
		if err := r.pub.deliveries.resendDue(t.Context()); !errors.Is(err, errLocked) {
			t.Errorf("a look at a locked job cache: %v", err)
		}
	}
	r.looks(t, 1)
	r.looks(t, 0)
	r.ack(t, id, "ours1")
	r.wants(t, id, "ours1=acknowledged ours2=sent real1=sent real2=sent")
}

// TestJobsWithoutTargetAreRetriedOnce has a minion return after the node group of its job was
// removed: the error is reported once, not at each check.
func TestJobsWithoutTargetAreRetriedOnce(t *testing.T) {
	r := newRoute(t)
	r.parts.settings.config().Nodegroups = data.NewMap("g", "L@ours1,ours2,real1,real2")
	_, err := r.pub.publish(t.Context(),
		commandOf(t, "publish", "", r.load("g", "nodegroup", "test.ping", []any{})))
	must(t, err)
	r.looks(t, 0)
	r.now = r.now.Add(time.Second)
	r.pub.offline.noteBrine("ours1")
	r.parts.settings.config().Nodegroups = data.NewMap()
	if err := r.pub.deliveries.resendDue(t.Context()); err == nil ||
		!strings.Contains(err.Error(), `unknown node group: "g"`) {
		t.Errorf("the first look: %v", err)
	}
	for range 3 {
		r.now = r.now.Add(time.Second)
		must(t, r.pub.deliveries.resendDue(t.Context()))
	}
}

// TestJobsThatAreKeptNoMoreAreTriedOnce has a minion return after the record of its job was
// dropped: the error is reported once, not at each check.
func TestJobsThatAreKeptNoMoreAreTriedOnce(t *testing.T) {
	r := newRoute(t)
	r.order(t, nil)
	r.now = r.now.Add(time.Second)
	r.pub.offline.noteBrine("ours1")
	r.pub.deliveries.jobs = &droppedJobs{JobCache: r.pub.deliveries.jobs}
	if err := r.pub.deliveries.resendDue(t.Context()); !errors.Is(err, returners.ErrUnknownJob) {
		t.Errorf("the first look: %v", err)
	}
	for range 3 {
		r.now = r.now.Add(time.Second)
		must(t, r.pub.deliveries.resendDue(t.Context()))
	}
}

// TestAcknowledgedJobIsNotSentOnceTheJobCacheAnswers has a minion acknowledge a job that could not
// be sent to it again.
func TestAcknowledgedJobIsNotSentOnceTheJobCacheAnswers(t *testing.T) {
	r := newRoute(t)
	id := r.order(t, nil)
	r.now = r.now.Add(time.Second)
	r.pub.offline.noteBrine("ours1")
	r.pub.deliveries.jobs = &lockedJobs{JobCache: r.pub.deliveries.jobs, one: 1}
	if err := r.pub.deliveries.resendDue(t.Context()); !errors.Is(err, errLocked) {
		t.Errorf("a look at a locked job cache: %v", err)
	}
	r.ack(t, id, "ours1")
	r.looks(t, 0)
}

// TestEarlySignInsCountForJobsResumedLate has a minion sign in while the job cache is locked and a
// later job is on its way: the earlier master's job is sent to it once that is resumed.
func TestEarlySignInsCountForJobsResumedLate(t *testing.T) {
	for _, acks := range []bool{true, false} {
		r := newRoute(t)
		r.parts.settings.config().JobAcks = acks
		id := r.order(t, nil)
		r.now = r.now.Add(time.Second)
		r.start()
		r.pub.deliveries.jobs = &lockedJobs{JobCache: r.pub.deliveries.jobs, jobs: 1}
		r.order(t, data.NewMap("batch", int64(1)))
		r.now = r.now.Add(time.Second)
		r.pub.deliveries.signedIn("ours1")
		if err := r.pub.deliveries.resendDue(t.Context()); !errors.Is(err, errLocked) {
			t.Errorf("a look at a locked job cache: %v", err)
		}
		var hook *test.Hook
		r.pub.deliveries.log, hook = test.NewNullLogger()
		must(t, r.pub.deliveries.resendDue(t.Context()))
		if !slices.ContainsFunc(hook.AllEntries(), func(e *logrus.Entry) bool {
			return strings.HasPrefix(e.Message, "Job "+string(id)+" was sent again to ") &&
				strings.Contains(e.Message, "ours1")
		}) {
			t.Errorf("job_acks %t: job %s is not sent to the minion that is back", acks, id)
		}
	}
}

// TestJobCacheThatNeverAnswersIsGivenUp has the jobs of an earlier master never be readable: in the
// end the file passes them.
func TestJobCacheThatNeverAnswersIsGivenUp(t *testing.T) {
	r := newRoute(t)
	r.start()
	r.pub.deliveries.jobs = &lockedJobs{JobCache: r.pub.deliveries.jobs, jobs: 100}
	if err := r.pub.deliveries.resendDue(t.Context()); !errors.Is(err, errLocked) || r.pub.deliveries.resumed {
		t.Errorf("a first look: %v", err)
	}
	r.now = r.now.Add(deliveryMost + time.Second)
	if err := r.pub.deliveries.resendDue(t.Context()); err != nil || !r.pub.deliveries.resumed {
		t.Errorf("a look after %v: %v", deliveryMost, err)
	}
}

// TestAcknowledgmentWhileAJobIsResumed has minions acknowledge a job between the look at its states
// and its being followed.
func TestAcknowledgmentWhileAJobIsResumed(t *testing.T) {
	r := newRoute(t)
	id := r.order(t, nil)
	r.now = r.now.Add(time.Second)
	r.start()
	cache := &lockedJobs{JobCache: r.pub.deliveries.jobs}
	cache.asked = func() { cache.asked = nil; r.ack(t, id, "ours1"); r.ack(t, id, "real1") }
	r.pub.deliveries.jobs = cache
	must(t, r.pub.deliveries.resume(t.Context()))
	if got := r.pub.deliveries.open[id].silentMinions(); !slices.Equal(got, []string{"ours2", "real2"}) {
		t.Errorf("the master waits for %q", got)
	}
}

var errLocked = errors.New("database is locked")

// lockedJobs is a job cache whose first so many lists of jobs, states of a job and jobs cannot be
// had.
type lockedJobs struct {
	returners.JobCache
	jobs, job, one int
	asked          func() // is called after the states of a job were read; nil for nothing
}

func (l *lockedJobs) Job(ctx context.Context, id job.ID) (*returners.Job, error) {
	if l.one--; l.one >= 0 {
		return nil, errLocked
	}
	return l.JobCache.Job(ctx, id)
}

func (l *lockedJobs) Jobs(ctx context.Context, f returners.Filter) ([]returners.Job, error) {
	if l.jobs--; l.jobs >= 0 {
		return nil, errLocked
	}
	return l.JobCache.Jobs(ctx, f)
}

func (l *lockedJobs) Progress(ctx context.Context, id job.ID) ([]returners.Progress, error) {
	if l.job--; l.job >= 0 {
		return nil, errLocked
	}
	list, err := returners.ProgressOf(ctx, l.JobCache, id)
	if l.asked != nil {
		l.asked()
	}
	return list, err
}

// TestAnswersWhileOthersAreGivenUp has a minion answer after the check for silent minions, just
// before it would be marked as having missed the job: it has not missed it.
func TestAnswersWhileOthersAreGivenUp(t *testing.T) {
	r := newRoute(t)
	id := r.order(t, nil)
	events := r.bus.Subscribe(eventbus.SubscribeOptions{Name: "test",
		Prefixes: []string{"salt/job/" + string(id) + "/"}})
	defer events.Close()
	r.ack(t, id, "ours1")
	r.pub.deliveries.markMissed(id, "ours1", textSilent, false)
	r.pub.deliveries.markMissed(id, "real1", textSilent, false)
	r.wants(t, id, "ours1=acknowledged ours2=sent real1=missed real2=sent")
	e, err := events.Next(t.Context())
	must(t, err)
	if want := eventbus.Tagify("job", string(id), "missed", "real1"); e.Tag != want {
		t.Errorf("the first event is %s, want %s", e.Tag, want)
	}
}

// TestJobsBeyondTheBoundAreNoted sends more jobs than are followed: the file keeps the time of
// those that are not, for the next master, for as long as they can be on their way.
func TestJobsBeyondTheBoundAreNoted(t *testing.T) {
	r := newRoute(t)
	d := r.pub.deliveries
	d.resumed = true
	begun := r.now
	for i := range maxOpen + 2 {
		one := newDelivery(&returners.Job{Minions: []string{"ours1"},
			Started: begun.Add(time.Duration(i) * time.Millisecond)}, deliveryTime)
		d.put(job.ID(strconv.Itoa(i)), one)
	}
	for i := range maxOpen {
		d.markDone(job.ID(strconv.Itoa(i)), "ours1")
	}
	if len(d.open) != 0 {
		t.Errorf("%d jobs are followed", len(d.open))
	}
	for _, tt := range []struct {
		after,
		want time.Duration
	}{{deliveryMost, maxOpen * time.Millisecond}, {time.Hour, time.Hour}} {
		r.now = begun.Add(tt.after)
		must(t, d.mark())
		want := begun.Add(tt.want - markMargin).Truncate(time.Microsecond)
		if at, err := readMark(d.file); err != nil || !at.Equal(want) {
			t.Errorf("after %v the file says %v, %v; want %v", tt.after, at, err, want)
		}
	}
}

// TestQueuedJobIsKeptUntilItsMinionHasIt queues a job for connected minions. For Brine minions it
// is kept until they acknowledge it, and sent again when they sign in, also after a restart of the
// master. Salt minions get it once.
func TestQueuedJobIsKeptUntilItsMinionHasIt(t *testing.T) {
	r := newRoute(t)
	id := r.order(t, data.NewMap("queue", int64(600)))
	if got := strings.Join(r.pub.offline.queue.Minions(), " "); got != "ours1 ours2 real1 real2" {
		t.Fatalf("it is kept for %s", got)
	}
	r.wants(t, id, "ours1=sent ours2=sent real1=sent real2=sent")
	r.ack(t, id, "ours2")
	r.pub.offline.markDone(id, "real1")
	r.start()
	r.looks(t, 1) // to ours1
	r.now = r.now.Add(time.Second)
	r.looks(t, 0)
	r.pub.offline.noteBrine("ours1")
	r.looks(t, 1)
	r.ack(t, id, "ours1")
	r.now = r.now.Add(deliveryTime - deliveryAsk)
	r.looks(t, 1) // the question to real2
	r.now = r.now.Add(deliveryAsk + deliveryRest)
	r.looks(t, 0)
	r.wants(t, id, "ours1=acknowledged ours2=acknowledged real1=sent real2=missed")
	if r.pub.offline.Has(id) {
		t.Error("it is still kept")
	}
}

// BenchmarkDelivery takes up a job for so many minions and hears of all of them: the time for one
// is to be the same for many.
func BenchmarkDelivery(b *testing.B) {
	for _, minions := range []int{1_000, 20_000} {
		b.Run(strconv.Itoa(minions), func(b *testing.B) {
			ids := make([]string, minions)
			for i := range ids {
				ids[i] = fmt.Sprintf("minion%05d", i)
			}
			d := &deliveries{open: map[job.ID]*delivery{}}
			j := &returners.Job{ID: "20260301120001123456", Minions: ids, Started: time.Now()}
			load := data.NewMap("timeout", int64(5), "fun", "test.ping")
			for b.Loop() {
				d.begin(load, nil, j)
				for _, id := range ids {
					d.markDone(j.ID, id)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*minions), "ns/minion")
		})
	}
}
