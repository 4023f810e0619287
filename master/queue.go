package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
)

// offline keeps jobs for minions that are away, where their sender asks for it (kwargs.queue), and sends each when its
// minion is connected and has proved itself, as a publication of the old id for that minion alone.
//
// It keeps such a job also for minions that have a connection, until they have acknowledged it: the connection may be one that
// has just died.
//
// No minion gets a job twice. Those of ours never run an id again, over restarts too, so a job is sent to them until
// they have acknowledged it or returned. Those of Salt forget ids when they restart: to them it is sent once, after that
// was written down; where the master ends in between, or none of a return and the answers to saltutil.find_job shows the job, it is
// given up, and its progress says so.
type offline struct {
	queue    *queue.Queue // nil keeps nothing
	tracker  returners.Tracker
	keys     pki.Store
	senders  senders
	presence *presence
	pub      *publishing
	now      func() time.Time
	log      logrus.FieldLogger

	deliveries *deliveries // nil in tests

	ours   sync.Map // ids of minions that never run a job twice, with the time of their last sign-in
	sent   map[waiting]time.Time
	doubts map[waiting]time.Time // since when it is not known whether a job was sent
	nudged time.Time
}

// waiting is a job of a minion.
type waiting struct {
	id     job.ID
	minion string
}

const (
	queueLook  = time.Second // how often the master looks whether a minion has come back
	queueLife  = 24 * time.Hour
	queueMost  = 366 * 24 * time.Hour
	queueAgain = 30 * time.Second // after which a job that was not acknowledged is sent again
	doubtLife  = 2 * time.Minute  // longer than it takes to find out whether a minion runs a job (deliveries)
	nudgePause = time.Minute
)

// What the progress of a job says of a minion that did not get it from the queue.
const (
	textExpired   = "The minion did not come back before the queued job expired."
	textCancelled = "The queued job was cancelled."
	textRights    = "The user who ordered the queued job may not send it any more."
	textNoKey     = "The key of the minion is not accepted any more."
	textDoubt     = "The master ended while the queued job was being sent. It is not known whether the minion got it, and it is not sent again."
)

// openQueue opens the queue. A master without one does its work all the same.
func (m *Master) openQueue(p *parts) *queue.Queue {
	q, err := queue.Open(p.cfg.CacheDir, queue.Options{Now: p.o.Now, Log: p.o.Log})
	if err != nil {
		p.o.Log.WithError(err).Error("jobs are not kept for minions that are away")
		return nil
	}
	m.closers = append(m.closers, q.Close)
	return q
}

func newOffline(p *parts) *offline {
	tracker, _ := p.jobs.(returners.Tracker)
	return &offline{queue: p.queue, tracker: tracker, keys: p.keys, senders: senders{p.gate}, presence: p.presence, now: p.o.Now, log: p.o.Log,
		sent: map[waiting]time.Time{}, doubts: map[waiting]time.Time{}}
}

// asked returns for how long a job is to be kept, 0 for not at all. What minions publish is not kept.
func (o *offline) asked(load, kwargs *data.Map) time.Duration {
	if o.queue == nil || load.Has("id") || kwargs.Has("id") {
		return 0
	}
	seconds, ok := kwargs.Value("queue").(int64)
	switch {
	case !ok, seconds < 0:
		return 0
	case seconds == 0:
		return queueLife
	}
	return time.Duration(min(seconds, int64(queueMost/time.Second))) * time.Second
}

// put keeps a job for those of its minions that are away, if that was asked for, and returns for whom it did. Minions
// that the target may not mean, since nothing is known of them, are left out: they could not decide for themselves later.
func (o *offline) put(load, kwargs *data.Map, j *returners.Job) (queued []string, until time.Time) {
	life := o.asked(load, kwargs)
	if life == 0 || len(j.Minions) == 0 {
		return nil, until
	}
	sure, _, err := o.pub.fleet.resolveAs(load.Value("tgt"), load.Text("tgt_type"), kwargs.Text("delimiter"), false)
	if err != nil {
		o.log.WithError(err).Warnf("queue job %s", j.ID)
		return nil, until
	}
	slices.Sort(sure)
	owner, err := o.senders.of(context.Background(), load, kwargs)
	if err != nil {
		o.log.WithError(err).Warnf("queue job %s", j.ID)
		return nil, until
	}
	item := queue.Item{ID: j.ID, Owner: owner, Load: j.Load, Expires: o.now().Add(life)}
	isSure := func(id string) bool { _, ok := slices.BinarySearch(sure, id); return ok }
	for _, id := range j.Absent {
		if isSure(id) {
			item.Minions = append(item.Minions, id)
		}
	}
	away := len(item.Minions)
	item.Sent = o.connectedOf(j, isSure)
	item.Minions = append(item.Minions, item.Sent...)
	if len(item.Minions) == 0 {
		return nil, until
	}
	if err := o.senders.may(context.Background(), item.Owner, load, item.Minions); err != nil {
		o.log.WithError(err).Warnf("job %s is not kept for minions that are away: it could not be sent later", j.ID)
		return nil, until
	}
	kept, err := o.queue.Put(item)
	if err != nil {
		o.log.WithError(err).Warn("a job is not kept for minions that are away")
	}
	for _, id := range kept {
		if slices.Contains(item.Minions[:away], id) {
			queued = append(queued, id)
			o.track(j.ID, id, returners.Queued, "")
		}
	}
	return queued, item.Expires
}

// connectedOf returns the minions of a job that have a connection, for which it is kept until they have said that they have it. They
// take no more than half of the room that is left.
func (o *offline) connectedOf(j *returners.Job, isSure func(id string) bool) (ids []string) {
	away := slices.Sorted(slices.Values(j.Absent))
	room := o.queue.Room() / 2
	for _, id := range j.Minions {
		if _, absent := slices.BinarySearch(away, id); !absent && isSure(id) && len(ids) < room {
			ids = append(ids, id)
		}
	}
	return ids
}

// forget drops what is known of minions without an accepted key, and what waits for them: the next minion of that name is another.
func (o *offline) forget(accepted func(id string) bool) error {
	o.ours.Range(func(id, _ any) bool {
		if !accepted(id.(string)) {
			o.ours.Delete(id)
		}
		return true
	})
	if o.queue == nil {
		return nil
	}
	var errs []error
	for _, id := range o.queue.Minions() {
		if accepted(id) {
			continue
		}
		gone, err := o.queue.Forget(id)
		errs = append(errs, err)
		for _, e := range gone {
			o.giveUp(waiting{e.ID, e.Minion}, textNoKey)
		}
	}
	return errors.Join(errs...)
}

// forgetDeleted forgets minions whose key was deleted or rejected since the last look.
func (o *offline) forgetDeleted() error {
	ids, err := o.keys.List(pki.Accepted)
	if err != nil {
		return fmt.Errorf("list keys: %w", err)
	}
	slices.Sort(ids)
	return o.forget(func(id string) bool {
		_, ok := slices.BinarySearch(ids, id)
		return ok
	})
}

// Has reports whether a job waits for any minion.
func (o *offline) Has(id job.ID) bool { return o.queue != nil && o.queue.Has(id) }

func (o *offline) track(id job.ID, minion string, state returners.State, why string) {
	if o.tracker != nil {
		o.tracker.Track(id, returners.Progress{Minion: minion, State: state, Since: o.now(), Why: why})
	}
}

// waits reports whether a job is kept for a minion.
func (o *offline) waits(id job.ID, minion string) bool {
	return o.queue != nil && o.queue.Waits(id, minion)
}

// settled forgets a job of a minion that has taken it or returned, or that is known not to.
func (o *offline) settled(id job.ID, minion string) {
	o.deliveries.settled(id, minion)
	if o.queue == nil {
		return
	}
	if _, err := o.queue.Done(id, minion); err != nil {
		o.log.WithError(err).Warnf("job %s cannot be taken out of the queue of minion %s", id, minion)
	}
}

// remembers notes that a minion has signed in which never runs a job twice, whatever is sent again.
func (o *offline) remembers(minion string) {
	o.ours.Store(minion, o.now())
	o.deliveries.cameBack(minion)
}

// look sends what waits to the minions that have come back, and gives up what is over. One goroutine at a time calls it.
func (o *offline) look(ctx context.Context) error {
	if o.queue == nil || o.queue.Len() == 0 {
		clear(o.sent)
		clear(o.doubts)
		return nil
	}
	if err := o.forgetDeleted(); err != nil {
		return err
	}
	cancelled, expired, err := o.queue.Sweep()
	for _, e := range cancelled {
		o.giveUp(waiting{e.ID, e.Minion}, textCancelled)
	}
	for _, e := range expired {
		o.miss(waiting{e.ID, e.Minion}, textExpired)
	}
	silent := []string{}
	minions := o.queue.Minions()
	for _, id := range minions {
		if !o.presence.proved(id) {
			silent = append(silent, id)
		}
	}
	away := o.presence.absent(minions)
	silent = merge(silent, away)
	for _, id := range without(minions, silent) {
		err = errors.Join(err, o.giveAll(ctx, id))
	}
	o.nudge(ctx, silent)
	return err
}

// merge returns what is in a or b, sorted.
func merge(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func (o *offline) giveUp(w waiting, why string) {
	o.log.Warnf("queued job %s of minion %s: %s", w.id, w.minion, why)
	o.track(w.id, w.minion, returners.Gone, why)
}

// miss gives a job up that its minion has not got, and tells who waits for it.
func (o *offline) miss(w waiting, why string) {
	o.log.Warnf("queued job %s of minion %s: %s", w.id, w.minion, why)
	o.track(w.id, w.minion, returners.Missed, why)
	o.pub.announceMissed(w.id, w.minion, why)
}

// nudge pings minions that may be back without having said so: minions of Salt are silent after a connection was lost.
func (o *offline) nudge(ctx context.Context, silent []string) {
	now := o.now()
	if len(silent) == 0 || !o.presence.strangers() || now.Sub(o.nudged).Abs() < nudgePause {
		return
	}
	o.nudged = now
	o.pub.ping(ctx, silent)
}

// giveAll sends a minion what waits for it, the oldest first.
func (o *offline) giveAll(ctx context.Context, minion string) error {
	var errs []error
	var after job.ID
	for {
		item, begun, ok := o.queue.Next(minion, after)
		if !ok {
			return errors.Join(errs...)
		}
		after = item.ID
		errs = append(errs, o.give(ctx, item, waiting{item.ID, minion}, begun))
	}
}

// give sends a job to its minion, unless that could make it run twice.
func (o *offline) give(ctx context.Context, item queue.Item, w waiting, begun bool) error {
	now := o.now()
	last, sent := o.sent[w]
	came, ours := o.ours.Load(w.minion)
	switch {
	case sent && !ours && now.Sub(last).Abs() >= doubtLife: // whether it has the job was asked meanwhile
		delete(o.sent, w)
		_, err := o.queue.Done(w.id, w.minion)
		return err
	case sent && !ours: // it may be one of ours that is about to say so
		return nil
	case sent && now.Sub(last).Abs() < queueAgain && !came.(time.Time).After(last):
		return nil
	case begun && !ours:
		return o.doubt(w, now)
	}
	load, err := loadOf(item)
	if err != nil {
		return err
	}
	if err := o.senders.may(ctx, item.Owner, load, item.Minions); err != nil {
		return o.refuse(w, err)
	}
	if sent, err := o.send(ctx, item, load, w); !sent {
		return err
	}
	o.log.Infof("queued job %s was sent to minion %s, which is back", w.id, w.minion)
	o.sent[w] = now
	o.track(w.id, w.minion, returners.Sent, "")
	if !ours {
		o.deliveries.handedOver(w, now)
	}
	return nil // until it says that it has the job
}

// send sends a job to its minion, and reports whether it did: one that was cancelled meanwhile is not sent. Its record in the job cache
// is made before the queue notes that sending has begun, since a minion of Salt's is never sent a job again after that note.
func (o *offline) send(ctx context.Context, item queue.Item, load *data.Map, w waiting) (sent bool, err error) {
	if !o.queue.Waits(w.id, w.minion) {
		return false, nil
	}
	pub, err := o.pub.prepare(ctx, item, load, w.minion)
	if err != nil {
		return false, fmt.Errorf("send queued job %s to %s: %w", w.id, w.minion, err)
	}
	if waits, err := o.queue.Begin(w.id, w.minion); err != nil || !waits {
		return false, err
	}
	if err := o.pub.publisher.Publish(pub, []string{w.minion}); err != nil {
		return false, fmt.Errorf("send queued job %s to %s: %w", w.id, w.minion, err)
	}
	return true, nil
}

// refuse drops a job that its user may not send any more.
func (o *offline) refuse(w waiting, why error) error {
	o.log.WithError(why).Warnf("queued job %s of minion %s is not sent", w.id, w.minion)
	o.track(w.id, w.minion, returners.Refused, textRights)
	_, err := o.queue.Done(w.id, w.minion)
	return err
}

// doubt gives a job up that may have been sent by an earlier run of the master, unless the minion turns out to be one of
// ours, as those say soon after they have come back.
func (o *offline) doubt(w waiting, now time.Time) error {
	since, ok := o.doubts[w]
	if !ok {
		o.doubts[w] = now
		o.deliveries.handedOver(w, now) // asks it in time
		return nil
	}
	if now.Sub(since).Abs() < doubtLife {
		return nil
	}
	delete(o.doubts, w)
	o.miss(w, textDoubt)
	_, err := o.queue.Done(w.id, w.minion)
	return err
}

// loadOf returns the publish load of a job that was kept.
func loadOf(item queue.Item) (*data.Map, error) {
	v, err := payload.UnmarshalText(item.Load, payload.WireLimits())
	load, ok := v.(*data.Map)
	if err != nil || !ok {
		return nil, fmt.Errorf("read the load of queued job %s: %w", item.ID, errors.Join(err, errIncomplete))
	}
	return load, nil
}

// again publishes a job once more, for some of its minions.
func (p *publishing) again(ctx context.Context, item queue.Item, load *data.Map, minions ...string) error {
	pub, err := p.prepare(ctx, item, load, minions...)
	if err != nil {
		return err
	}
	return p.publisher.Publish(pub, minions)
}

// prepare returns the publication of a job for some of its minions. A job whose record was dropped meanwhile gets one anew, so that
// its return finds it.
func (p *publishing) prepare(ctx context.Context, item queue.Item, load *data.Map, minions ...string) (*job.Publication, error) {
	kwargs, _ := load.Value("kwargs").(*data.Map)
	kwargs = kwargs.Clone()
	kwargs.Delete("delimiter") // the target is a list
	load.Set("tgt", data.Values(minions))
	load.Set("tgt_type", "list")
	pub, err := p.publication(load, kwargs)
	if err != nil {
		return nil, err
	}
	if _, err := p.jobs.Job(ctx, item.ID); errors.Is(err, returners.ErrUnknownJob) {
		err = p.jobs.SaveJob(ctx, &returners.Job{ID: item.ID, Load: item.Load, Minions: item.Minions, NoCache: !p.keepJobs,
			Started: p.now()})
		if err != nil {
			return nil, err
		}
	}
	return pub, nil
}

// ping asks minions for a sign of life.
func (p *publishing) ping(ctx context.Context, minions []string) {
	load := data.NewMap("cmd", "publish", "tgt", data.Values(minions), "fun", "test.ping", "arg", []any{}, "tgt_type", "list", "ret", "", "user", p.fleet.settings.now().User)
	id := p.ids.Next()
	load.Set("jid", string(id))
	if _, err := p.send(ctx, load, nil, minions, nil); err != nil {
		p.log.WithError(err).Error("ping minions for which jobs wait")
	}
}
