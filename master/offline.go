package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
)

// offline queues jobs for minions that are away, if the sender asks for it (kwargs.queue). It sends
// a queued job once its minion is connected and has proved itself, as a publication with the old
// job id for that minion alone.
//
// It also queues such a job for connected minions until they have acknowledged it: the connection
// may have just died.
//
// No minion runs a job twice. Brine minions never run a job id again, even after a restart, so a
// job is sent to them until they acknowledge it or return. Salt minions forget ids when they
// restart. A job is sent to them once, after that was recorded on disk. If the master ends in
// between, and neither a return nor the answers to saltutil.find_job show the job, it is abandoned,
// and its progress says so.
type offline struct {
	base
	queue    *queue.Queue // nil disables the queue
	tracker  returners.Tracker
	keys     pki.Store
	senders  senders
	presence *presence
	pub      *publishing

	deliveries *deliveries // nil in tests
	// tells other members of a cluster that a Brine minion has signed in; nil if there are none
	signedIn func(minion string)
	// reports whether the key directories are those of the cluster; nil if there is none
	keysSettled func() bool

	// ids of Brine minions, which never run a job twice, with their last sign-in
	brine  sync.Map
	sent   map[waiting]time.Time // when a job was sent to a minion
	doubts map[waiting]time.Time // since when it is unknown whether a job was sent
	nudged time.Time             // last ping of silent minions

	attempt attempt
}

// An attempt is the sending of a queued job, of which other members of a cluster may be sending the
// same.
type attempt struct {
	mu    sync.Mutex
	w     waiting // what is being sent
	begun bool    // its sending had begun before, or has at another member since
}

// waiting is a job for one minion.
type waiting struct {
	id     job.ID
	minion string
}

const (
	queueInterval = time.Second    // between checks for minions that are back
	queueLife     = 24 * time.Hour // of a queued job if the sender does not choose
	maxQueueLife  = 366 * 24 * time.Hour
	queueAgain    = 30 * time.Second // before an unacknowledged job is sent again
	// longer than deliveries needs to find out whether a minion runs a job
	doubtLife  = 2 * time.Minute
	nudgePause = time.Minute // between pings of silent minions
)

// Reasons recorded for minions that did not get a job from the queue.
const (
	textExpired   = "The minion did not come back before the queued job expired."
	textCancelled = "The queued job was cancelled."
	textRights    = "The user who ordered the queued job may no longer send it."
	textNoKey     = "The key of the minion is no longer accepted."
	textDoubt     = "The master ended while the queued job was being sent. It is unknown whether the minion got it, and it is not sent again."
)

// openQueue opens the queue. If that fails it logs the error and returns nil, and the master works
// without one.
func (m *Master) openQueue(b base) *queue.Queue {
	q, err := queue.Open(m.cfg.CacheDir, queue.Options{Now: b.now, Log: b.log})
	if err != nil {
		b.log.WithError(err).Error("Jobs are not queued for minions that are away")
		return nil
	}
	m.closers = append(m.closers, q.Close)
	return q
}

func newOffline(
	b base, q *queue.Queue, jobs returners.JobCache, keys pki.Store, gate *gatekeeper,
	presence *presence,
) *offline {
	tracker, _ := jobs.(returners.Tracker)
	return &offline{
		base:     b,
		queue:    q,
		tracker:  tracker,
		keys:     keys,
		senders:  senders{gate},
		presence: presence,
		sent:     map[waiting]time.Time{},
		doubts:   map[waiting]time.Time{},
	}
}

// life returns how long a job is to be queued; 0 means not at all. Jobs that minions publish are
// not queued.
func (o *offline) life(load, kwargs *data.Map) time.Duration {
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
	return time.Duration(min(seconds, int64(maxQueueLife/time.Second))) * time.Second
}

// plan returns what is to be queued of a job, if its sender asks for that; else nil.
func (o *offline) plan(ctx context.Context, load, kwargs *data.Map, j *returners.Job) *queue.Item {
	life := o.life(load, kwargs)
	if life == 0 || len(j.Minions) == 0 {
		return nil
	}
	item, err := o.itemFor(ctx, load, kwargs, j)
	if err != nil {
		o.log.WithError(err).Warnf("queue job %s", j.ID)
		return nil
	}
	if len(item.Minions) == 0 {
		return nil
	}
	if err := o.senders.authorize(ctx, item.Owner, load, item.Minions); err != nil {
		o.log.WithError(err).
			Warnf("Job %s is not queued for minions that are away: its sender may not send it later", j.ID)
		return nil
	}
	item.Expires = o.now().Add(life)
	return &item
}

// itemFor returns the queue item of a job, for the minions that are away and those of the connected
// ones for which it is queued too. Minions that the target names only because their data is unknown
// are left out: they could not decide for themselves later.
func (o *offline) itemFor(
	ctx context.Context, load, kwargs *data.Map, j *returners.Job,
) (queue.Item, error) {
	sure, _, err := o.pub.fleet.resolveAs(load.Value("tgt"), load.Text("tgt_type"),
		kwargs.Text("delimiter"), false)
	if err != nil {
		return queue.Item{}, err
	}
	owner, err := o.senders.owner(ctx, load, kwargs)
	if err != nil {
		return queue.Item{}, err
	}
	slices.Sort(sure)
	isSure := func(id string) bool { _, ok := slices.BinarySearch(sure, id); return ok }
	item := queue.Item{ID: j.ID, Owner: owner, Load: j.Load}
	for _, id := range j.Absent {
		if isSure(id) {
			item.Minions = append(item.Minions, id)
		}
	}
	item.Sent = o.connectedOf(j, isSure)
	item.Minions = append(item.Minions, item.Sent...)
	return item, nil
}

// store stores a job in the queue, and returns the minions that are away for which it is stored.
func (o *offline) store(item queue.Item) (queued []string) {
	kept, err := o.queue.Put(item)
	if err != nil {
		o.log.WithError(err).Warnf("Job %s is not queued for all minions that are away", item.ID)
	}
	away := item.Minions[:len(item.Minions)-len(item.Sent)]
	for _, id := range kept {
		if slices.Contains(away, id) {
			queued = append(queued, id)
			o.track(item.ID, id, returners.Queued, "")
		}
	}
	return queued
}

// connectedOf returns the connected minions of a job, for which it is queued until they acknowledge
// it. They take at most half of the room that is left.
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

// knowsKeys reports whether a minion without a key is certainly not accepted. A member that has just
// joined its cluster lacks keys.
func (o *offline) knowsKeys() bool { return o.keysSettled == nil || o.keysSettled() }

// forget drops the state and the queued jobs of minions without an accepted key. A later minion
// with the same id is another one. Other members of a cluster learn of it, also those that are down.
func (o *offline) forget(ctx context.Context, accepted func(id string) bool) error {
	o.brine.Range(func(id, _ any) bool {
		if !accepted(id.(string)) {
			o.brine.Delete(id)
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
			o.abandon(waiting{e.ID, e.Minion}, textNoKey)
			if o.pub.cluster != nil {
				errs = append(errs, o.pub.cluster.unqueue(ctx, unqueued{id: e.ID,
					minions: []string{e.Minion}, state: returners.Gone, why: textNoKey}))
			}
		}
	}
	return errors.Join(errs...)
}

// forgetDeleted forgets minions whose key was deleted or rejected.
func (o *offline) forgetDeleted(ctx context.Context) error {
	if !o.knowsKeys() {
		return nil
	}
	ids, err := o.keys.List(pki.Accepted)
	if err != nil {
		return fmt.Errorf("list keys: %w", err)
	}
	slices.Sort(ids)
	return o.forget(ctx, func(id string) bool {
		_, ok := slices.BinarySearch(ids, id)
		return ok
	})
}

// Has reports whether a job is queued for any minion.
func (o *offline) Has(id job.ID) bool { return o.queue != nil && o.queue.Has(id) }

func (o *offline) track(id job.ID, minion string, state returners.State, why string) {
	if o.tracker != nil {
		o.tracker.Track(id, returners.Progress{Minion: minion, State: state,
			Since: o.now(), Why: why})
	}
}

// waits reports whether a job is queued for a minion.
func (o *offline) waits(id job.ID, minion string) bool {
	return o.queue != nil && o.queue.Waits(id, minion)
}

// markDone removes a job of a minion that has acknowledged it or returned, or is known not to get
// it.
func (o *offline) markDone(id job.ID, minion string) {
	o.deliveries.markDone(id, minion)
	if o.queue == nil {
		return
	}
	if _, err := o.queue.Done(id, minion); err != nil {
		o.log.WithError(err).Warnf("remove job %s from the queue of minion %s", id, minion)
	}
}

// noteBrine records that a Brine minion has signed in. It never runs a job twice.
func (o *offline) noteBrine(minion string) {
	o.noteBrineElsewhere(minion)
	if o.signedIn != nil {
		o.signedIn(minion)
	}
}

// noteBrineElsewhere is noteBrine for a sign-in at another member of the cluster.
func (o *offline) noteBrineElsewhere(minion string) {
	o.brine.Store(minion, o.now())
	o.deliveries.signedIn(minion)
}

// sendQueued sends queued jobs to the minions that are back, and ends those that are cancelled or
// expired. It must not be called concurrently.
func (o *offline) sendQueued(ctx context.Context) error {
	if o.queue == nil || o.queue.Len() == 0 {
		clear(o.sent)
		clear(o.doubts)
		return nil
	}
	if err := o.forgetDeleted(ctx); err != nil {
		return err
	}
	expired, err := o.sweep(ctx)
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
	away := o.presence.Absent(minions)
	silent = merge(silent, away)
	for _, id := range without(minions, silent) {
		err = errors.Join(err, o.sendAll(ctx, id))
	}
	o.nudge(ctx, silent)
	return err
}

// keepQueued does what a member of a cluster that does not lead does with its queue. It takes what
// was cancelled here from the queues of all, and drops what is expired; the leader announces that. It
// must not be called concurrently, also not with sendQueued.
func (o *offline) keepQueued(ctx context.Context) error {
	clear(o.doubts) // of an earlier lead
	if o.queue == nil || o.queue.Len() == 0 {
		clear(o.sent)
		return nil
	}
	err := o.forgetDeleted(ctx)
	expired, errSweep := o.sweep(ctx)
	for _, e := range expired {
		o.note(waiting{e.ID, e.Minion}, returners.Missed, textExpired)
	}
	return errors.Join(err, errSweep)
}

// sweep removes what was cancelled and what is expired, and returns the latter.
func (o *offline) sweep(ctx context.Context) (expired []queue.Entry, err error) {
	if o.pub.cluster == nil {
		cancelled, expired, err := o.queue.Sweep()
		for _, e := range cancelled {
			o.abandon(waiting{e.ID, e.Minion}, textCancelled)
		}
		return expired, err
	}
	err = o.cancelEverywhere(ctx)
	expired, errExpire := o.queue.Expire()
	return expired, errors.Join(err, errExpire)
}

// cancelEverywhere takes what was cancelled here from the queues of all members of the cluster. What
// it cannot write is tried again at the next check.
func (o *offline) cancelEverywhere(ctx context.Context) error {
	list, err := o.queue.Cancellations()
	for _, c := range list {
		errDone := o.unqueue(ctx, unqueued{id: c.ID, minions: c.Minions, state: returners.Gone,
			why: textCancelled})
		if errDone == nil {
			errDone = o.queue.Settle(c)
		}
		err = errors.Join(err, errDone)
	}
	return err
}

// An unqueued is a job that is taken from the queue of minions that do not get it.
type unqueued struct {
	id      job.ID
	minions []string
	state   returners.State // to record of each; "" records nothing
	why     string
}

// unqueue takes a job from the queue, in a cluster from those of all members.
func (o *offline) unqueue(ctx context.Context, u unqueued) error {
	if len(u.minions) == 0 {
		return nil
	}
	if o.pub.cluster == nil {
		return o.drop(u)
	}
	if err := o.pub.cluster.unqueue(ctx, u); err != nil {
		return fmt.Errorf("take job %s from the queues of the cluster: %w", u.id, err)
	}
	return nil
}

// missElsewhere takes a job from the queues of all members of a cluster for those of minions for which
// it is queued: they have missed it. A master alone does nothing.
func (o *offline) missElsewhere(ctx context.Context, id job.ID, minions []string, why string) error {
	if o.pub.cluster == nil {
		return nil
	}
	return o.unqueue(ctx, unqueued{id: id, state: returners.Missed, why: why,
		minions: slices.DeleteFunc(slices.Clone(minions),
			func(minion string) bool { return !o.waits(id, minion) })})
}

// drop takes a job from the queue of this master, and records why of the minions for which it waited.
func (o *offline) drop(u unqueued) error {
	if o.queue == nil {
		return nil
	}
	gone, err := o.queue.Drop(u.id, u.minions...)
	for _, e := range gone {
		if u.state != "" {
			o.note(waiting{e.ID, e.Minion}, u.state, u.why)
		}
	}
	return err
}

// merge returns the union of a and b, sorted.
func merge(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// note records that a minion does not get a job, and logs it.
func (o *offline) note(w waiting, state returners.State, why string) {
	o.log.Warnf("Queued job %s of minion %s: %s", w.id, w.minion, why)
	o.track(w.id, w.minion, state, why)
}

func (o *offline) abandon(w waiting, why string) { o.note(w, returners.Gone, why) }

// miss records and announces that a minion did not get a job.
func (o *offline) miss(w waiting, why string) {
	o.note(w, returners.Missed, why)
	o.pub.announceMissed(w.id, w.minion, why)
}

// nudge pings minions that may be connected but have sent nothing: Salt minions send nothing after
// they reconnect.
func (o *offline) nudge(ctx context.Context, silent []string) {
	now := o.now()
	if len(silent) == 0 || !o.presence.Strangers() || now.Sub(o.nudged).Abs() < nudgePause {
		return
	}
	o.nudged = now
	o.pub.ping(ctx, silent)
}

// sendAll sends the queued jobs of a minion, the oldest first.
func (o *offline) sendAll(ctx context.Context, minion string) error {
	var errs []error
	var after job.ID
	for {
		item, begun, ok := o.queue.Next(minion, after)
		if !ok {
			return errors.Join(errs...)
		}
		after = item.ID
		errs = append(errs, o.handOver(ctx, item, waiting{item.ID, minion}, begun))
	}
}

// handOver sends a job to its minion, unless that could make it run twice.
func (o *offline) handOver(ctx context.Context, item queue.Item, w waiting, begun bool) error {
	now := o.now()
	last, sent := o.sent[w]
	came, brine := o.brine.Load(w.minion)
	switch {
	// deliveries has asked meanwhile whether it has the job
	case sent && !brine && now.Sub(last).Abs() >= doubtLife:
		if err := o.unqueue(ctx, unqueued{id: w.id, minions: []string{w.minion}}); err != nil {
			return err
		}
		delete(o.sent, w)
		return nil
	case sent && !brine: // it may be a Brine minion that is about to sign in
		return nil
	case sent && now.Sub(last).Abs() < queueAgain && !came.(time.Time).After(last):
		return nil
	case begun && !brine:
		return o.doubt(ctx, w, now)
	}
	load, err := loadOf(item)
	if err != nil {
		return err
	}
	if err := o.senders.authorize(ctx, item.Owner, load, item.Minions); err != nil {
		return o.refuse(ctx, w, err)
	}
	if sent, err := o.send(ctx, item, load, w); !sent {
		return err
	}
	o.log.Infof("Queued job %s was sent to minion %s, which is back", w.id, w.minion)
	o.sent[w] = now
	o.track(w.id, w.minion, returners.Sent, "")
	if !brine {
		o.deliveries.followSent(w, now)
	}
	return nil // the job stays queued until it is acknowledged
}

// send sends a job to its minion, and reports whether it did: a job that was cancelled meanwhile is
// not sent. The record in the job cache is made before the queue records that sending has begun,
// since a Salt minion is never sent the job again after that.
func (o *offline) send(
	ctx context.Context, item queue.Item, load *data.Map, w waiting,
) (sent bool, err error) {
	if !o.queue.Waits(w.id, w.minion) {
		return false, nil
	}
	pub, err := o.pub.prepare(ctx, item, load, w.minion)
	if err != nil {
		return false, fmt.Errorf("send queued job %s to minion %s: %w", w.id, w.minion, err)
	}
	if err := o.pub.mayLead(ctx); err != nil {
		return false, fmt.Errorf("send queued job %s to minion %s: %w", w.id, w.minion, err)
	}
	if waits, err := o.try(w); err != nil || !waits {
		return false, err
	}
	err = o.pub.sendAgain(ctx, pub, []string{w.minion}, true)
	if errors.Is(err, errUnrecorded) {
		err = errors.Join(err, o.withdraw(w))
	}
	if err != nil {
		return false, fmt.Errorf("send queued job %s to minion %s: %w", w.id, w.minion, err)
	}
	return true, nil
}

// try records that sending a job begins. It reports false if the job is not queued any more.
func (o *offline) try(w waiting) (waits bool, err error) {
	o.attempt.mu.Lock()
	defer o.attempt.mu.Unlock()
	o.attempt.w, o.attempt.begun = w, o.queue.Begun(w.id, w.minion)
	return o.queue.Begin(w.id, w.minion)
}

// withdraw records that nothing was sent, unless an earlier attempt or another member may have sent
// the job.
func (o *offline) withdraw(w waiting) error {
	o.attempt.mu.Lock()
	defer o.attempt.mu.Unlock()
	if o.attempt.begun {
		return nil
	}
	return o.queue.Withdraw(w.id, w.minion)
}

// begun notes that another master of the cluster has sent a queued job to its minion.
func (o *offline) begun(id job.ID, minion string) error {
	if o.queue == nil {
		return nil
	}
	o.attempt.mu.Lock()
	defer o.attempt.mu.Unlock()
	if o.attempt.w == (waiting{id, minion}) {
		o.attempt.begun = true
	}
	_, err := o.queue.Begin(id, minion)
	return err
}

// refuse drops a job that its user may no longer send.
func (o *offline) refuse(ctx context.Context, w waiting, why error) error {
	o.log.WithError(why).Warnf("Queued job %s of minion %s is not sent", w.id, w.minion)
	return o.unqueue(ctx, unqueued{id: w.id, minions: []string{w.minion}, state: returners.Refused,
		why: textRights})
}

// doubt abandons a job that an earlier master may have sent. It first waits for doubtLife: a Brine
// minion signs in soon after it is back, and then gets the job.
func (o *offline) doubt(ctx context.Context, w waiting, now time.Time) error {
	since, ok := o.doubts[w]
	if !ok {
		o.doubts[w] = now
		o.deliveries.followSent(w, now) // which asks the minion in time
		return nil
	}
	if now.Sub(since).Abs() < doubtLife {
		return nil
	}
	if err := o.unqueue(ctx, unqueued{id: w.id, minions: []string{w.minion}, state: returners.Missed,
		why: textDoubt}); err != nil {
		return err
	}
	delete(o.doubts, w)
	o.pub.announceMissed(w.id, w.minion, textDoubt)
	return nil
}

// loadOf decodes the publish load of a queued job.
func loadOf(item queue.Item) (*data.Map, error) {
	v, err := payload.UnmarshalText(item.Load, payload.WireLimits())
	load, ok := v.(*data.Map)
	if err != nil || !ok {
		return nil, fmt.Errorf("read the load of queued job %s: %w", item.ID,
			errors.Join(err, errIncomplete))
	}
	return load, nil
}
