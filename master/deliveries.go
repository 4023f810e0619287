package master

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// deliveries track published jobs until each minion that was connected when the job was sent has
// acknowledged it, or is reported as having missed it.
//
// A Brine minion that signs in again is sent the jobs that it has not acknowledged, since it never
// runs one twice. When the time of a job is nearly over, silent minions are asked whether they run
// it; those that do not answer have missed it. Sending a job writes nothing to disk for this: after
// a restart of the master, the records of jobs show which were on their way.
type deliveries struct {
	base
	jobs     returners.JobCache
	cached   bool // returns are stored in jobs
	offline  *offline
	presence *presence
	fleet    *fleet
	syndics  *syndics // nil if there are none
	pub      republisher

	mu      sync.Mutex
	open    map[job.ID]*delivery
	signIns map[string]time.Time // Brine minions that have signed in, and when
	deliveryMark
	resumed bool                 // the jobs of an earlier master are tracked
	early   map[string]time.Time // Brine minions that signed in before that, and when

	listed bool // backlog was read; used only by resendDue
	// jobs of an earlier master that are not tracked yet; used only by resendDue
	backlog []returners.Job
}

// A republisher sends jobs again, asks minions about them, and announces who missed one.
type republisher interface {
	republish(ctx context.Context, item queue.Item, load *data.Map, minions ...string) error
	ask(ctx context.Context, about job.ID, minions []string) error
	announceMissed(id job.ID, minion, why string)
}

// A deliveryMark is the file that holds the time since when jobs may be on their way; see
// deliveries.mark.
type deliveryMark struct {
	file    string
	marked  time.Time // the time in the file: all jobs that started before are resolved
	dirty   bool      // the file must be written again
	written time.Time // when the file was written
	dropped time.Time // start of the oldest job that exceeded maxOpen; zero if none did
	crowded time.Time // start of the newest job that exceeded maxOpen
}

// A delivery is a job on its way.
type delivery struct {
	minions []string // sorted
	silent  bitset   // the minions that have sent nothing, by index in minions
	left    int      // number of bits in silent
	started time.Time
	sent    time.Time // last time the job was sent
	until   time.Time // the job is not sent again after this
	retry   []string  // minions to send to at the next check, since the job cache did not answer
	asked   bool      // silent minions were asked whether they run the job
	once    bool      // the job is never sent again: a step of a batch, or a find_job
	quiet   bool      // missed minions are not announced
}

const (
	// minimum time during which a job is sent again; longer if its sender waits longer
	deliveryTime  = time.Minute
	deliveryMost  = 10 * time.Minute // maximum of that time
	deliveryAgain = 15 * time.Second // pause before an unacknowledged job is sent again
	deliveryAsk   = 12 * time.Second // time before the end at which silent minions are asked
	// wait for the last answers; less than gather_job_timeout, which a sender waits
	deliveryRest     = 8 * time.Second
	deliveryInterval = time.Second // between checks
	maxOpen          = 20000       // jobs on their way
	markPause        = 10 * time.Second
	// prefix of the temporary files of mark, which a crash of the master leaves behind
	markPrefix = ".deliveries-"
	markMargin = time.Minute // a job is recorded before it is tracked here
)

// Reasons why a minion missed a job.
const (
	textLost   = "The connection of the minion was lost before it acknowledged the job, and it did not come back in time."
	textSilent = "The minion did not acknowledge the job, and does not answer whether it runs it."
)

// newDeliveries tracks the jobs of pub. dir is where it remembers since when jobs are on their way.
func newDeliveries(
	b base, jobs returners.JobCache, cached bool, dir string, pub *publishing,
) *deliveries {
	return &deliveries{
		base:         b,
		jobs:         jobs,
		cached:       cached,
		offline:      pub.offline,
		presence:     pub.presence,
		fleet:        pub.fleet,
		syndics:      pub.syndics,
		pub:          pub,
		deliveryMark: deliveryMark{file: filepath.Join(dir, "deliveries")},
		open:         map[job.ID]*delivery{},
		signIns:      map[string]time.Time{},
		early:        map[string]time.Time{},
	}
}

// begin tracks a job that is about to be sent.
func (d *deliveries) begin(load, kwargs *data.Map, j *returners.Job) {
	if d == nil || len(j.Absent) == len(j.Minions) {
		return
	}
	one := newDelivery(j, deliveryLength(load.Value("timeout")))
	one.once, one.quiet = data.Truth(kwargs.Value("batch")),
		load.Value("fun") == "saltutil.find_job"
	one.once = one.once || one.quiet
	d.put(j.ID, one)
}

// followSent tracks a job that the queue has sent to a minion that is not known to be a Brine
// minion. The job is not sent again.
func (d *deliveries) followSent(w waiting, now time.Time) {
	if d == nil {
		return
	}
	one := newDelivery(&returners.Job{Minions: []string{w.minion}, Started: now}, deliveryTime)
	one.once = true
	d.put(w.id, one)
}

// put tracks a delivery. Each step of a batch adds its minions to those of the steps before.
func (d *deliveries) put(id job.ID, one *delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old := d.open[id]; old != nil {
		one.join(old)
	} else if len(d.open) >= maxOpen {
		d.drop(id, one)
		return
	}
	d.open[id] = one
	d.dirty = true
}

// drop skips a job that exceeds maxOpen: this master neither sends it again nor reports who missed
// it. The file keeps the job's start time for as long as the job can be on its way, so that the
// next master tracks it if it is among the newest jobs that list reads. The caller holds mu.
func (d *deliveries) drop(id job.ID, one *delivery) {
	if d.dropped.IsZero() {
		d.log.Warnf(
			"Job %s is not tracked: %d jobs already wait for acknowledgments. Minions that lose their connection may miss it",
			id, maxOpen)
	}
	if d.dropped.IsZero() || one.started.Before(d.dropped) {
		d.dropped = one.started
	}
	if one.started.After(d.crowded) {
		d.crowded = one.started
	}
	d.dirty = true
}

// deliveryLength returns how long a job is sent again, given the timeout of its sender in seconds.
func deliveryLength(seconds any) time.Duration {
	n, _ := seconds.(int64)
	return min(max(time.Duration(min(n, int64(deliveryMost/time.Second)))*time.Second,
		deliveryTime), deliveryMost)
}

// newDelivery returns the delivery of a job to the minions that were connected.
func newDelivery(j *returners.Job, long time.Duration) *delivery {
	one := &delivery{minions: j.Minions, started: j.Started, sent: j.Started,
		until: j.Started.Add(long)}
	if !slices.IsSorted(one.minions) {
		one.minions = slices.Sorted(slices.Values(one.minions))
	}
	one.left = len(one.minions)
	one.silent = fullSet(one.left)
	for _, id := range j.Absent {
		one.markDone(id)
	}
	return one
}

// markDone notes that a minion is no longer waited for, and reports whether it was.
func (o *delivery) markDone(minion string) bool {
	i, found := slices.BinarySearch(o.minions, minion)
	if !found || !o.silent.has(i) {
		return false
	}
	o.silent.remove(i)
	o.left--
	return true
}

func (o *delivery) waits(minion string) bool {
	i, found := slices.BinarySearch(o.minions, minion)
	return found && o.silent.has(i)
}

// silentMinions returns the minions that have sent nothing.
func (o *delivery) silentMinions() []string {
	ids := make([]string, 0, o.left)
	for i, id := range o.minions {
		if o.silent.has(i) {
			ids = append(ids, id)
		}
	}
	return ids
}

// join adds the minions that an earlier step of the job still waits for.
func (o *delivery) join(old *delivery) {
	silent := merge(o.silentMinions(), old.silentMinions())
	*o = delivery{minions: silent, started: old.started, sent: o.sent, until: o.until, once: o.once,
		quiet: o.quiet, left: len(silent), silent: fullSet(len(silent))}
}

// A bitset is a set of small numbers.
type bitset []uint64

// fullSet returns the set of the numbers below n.
func fullSet(n int) bitset {
	b := make(bitset, (n+63)/64)
	for i := range n {
		b[i/64] |= 1 << (i % 64)
	}
	return b
}

func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

func (b bitset) remove(i int) { b[i/64] &^= 1 << (i % 64) }

// markDone notes that a minion has a job, or is known not to get it. It reports whether the minion
// was waited for.
func (d *deliveries) markDone(id job.ID, minion string) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.open[id]
	if one == nil || !one.markDone(minion) {
		return false
	}
	if one.left == 0 {
		delete(d.open, id)
	}
	return true
}

// signedIn notes that a Brine minion has signed in.
func (d *deliveries) signedIn(minion string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open) > 0 || !d.resumed {
		d.signIns[minion] = d.now()
	}
	if !d.resumed {
		d.early[minion] = d.signIns[minion]
	}
}

// resendDue sends again what minions may have missed, and closes the jobs whose time is over. It
// must not be called concurrently.
func (d *deliveries) resendDue(ctx context.Context) error {
	err := d.resume(ctx)
	if ctx.Err() != nil {
		return err
	}
	err = errors.Join(err, d.resendAll(ctx))
	for _, id := range d.overdue() {
		err = errors.Join(err, d.end(ctx, id))
	}
	return errors.Join(err, d.mark())
}

// followDue does what a member of a cluster that does not lead does with the jobs on their way. It closes
// those whose time is over, and leaves it to the leader to send, to ask and to announce. It must not be
// called concurrently, also not with resendDue.
func (d *deliveries) followDue(ctx context.Context) error {
	err := d.resume(ctx)
	if ctx.Err() != nil {
		return err
	}
	now := d.now()
	for _, id := range d.overdue() {
		d.close(id, now)
	}
	d.dropSignIns(now)
	return errors.Join(err, d.mark())
}

// close ends the wait for a job whose time is over, and records who missed it. What is in the queue is
// left to the leader.
func (d *deliveries) close(id job.ID, now time.Time) {
	d.mu.Lock()
	one := d.open[id]
	if one == nil || !one.over(now) {
		d.mu.Unlock()
		return
	}
	silent := one.silentMinions()
	d.mu.Unlock()
	away := slices.Sorted(slices.Values(d.presence.Absent(silent)))
	for _, minion := range silent {
		if !d.markDone(id, minion) || d.offline.waits(id, minion) {
			continue
		}
		why := textSilent
		if _, lost := slices.BinarySearch(away, minion); lost {
			why = textLost
		}
		d.offline.track(id, minion, returners.Missed, why)
	}
}

// dropSignIns forgets sign-ins about which the leader has done what was to be done.
func (d *deliveries) dropSignIns(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.signIns, func(_ string, at time.Time) bool {
		return d.resumed && now.Sub(at).Abs() >= deliveryTime
	})
}

// resendAll sends jobs again: to minions that have signed in since, and after a while to all silent
// Brine minions.
func (d *deliveries) resendAll(ctx context.Context) error {
	now := d.now()
	ids, here := d.takeOpen(now)
	var err error
	for _, id := range ids {
		minions := d.takeDue(id, here, now)
		if len(minions) == 0 {
			continue
		}
		later, errAgain := d.resend(ctx, id, slices.Clone(minions))
		if later {
			d.postpone(id, minions)
		}
		err = errors.Join(err, errAgain)
	}
	return err
}

// postpone keeps minions to which a job could not be sent again for the next check.
func (d *deliveries) postpone(id job.ID, minions []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.open[id]; one != nil {
		one.retry = minions
	}
}

// takeOpen returns the jobs on their way. It takes from signIns the minions that are connected
// again, and returns them with their sign-in times. Minions without a connection stay there.
func (d *deliveries) takeOpen(now time.Time) (ids []job.ID, here map[string]time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open) == 0 {
		if d.resumed {
			clear(d.signIns)
		}
		return nil, nil
	}
	return slices.Collect(maps.Keys(d.open)), d.takeArrivals(now)
}

// takeDue returns the minions to which a job is sent again now, and notes that it is being sent to
// them.
func (d *deliveries) takeDue(
	id job.ID, here map[string]time.Time, now time.Time,
) (minions []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.open[id]
	if one == nil || one.once || !now.Before(one.until) {
		return nil
	}
	if now.Sub(one.sent).Abs() >= deliveryAgain && d.settings.config().JobAcks {
		one.sent = now
		one.retry = nil
		return without(one.silentMinions(),
			slices.Sorted(slices.Values(d.presence.Absent(one.silentMinions()))))
	}
	minions = slices.DeleteFunc(one.retry, func(minion string) bool { return !one.waits(minion) })
	one.retry = nil
	if one.left < len(here) {
		for _, minion := range one.silentMinions() {
			if came, ok := here[minion]; ok && came.After(one.sent) &&
				!slices.Contains(minions, minion) {
				minions = append(minions, minion)
			}
		}
		return minions
	}
	for minion, came := range here {
		if came.After(one.sent) && one.waits(minion) && !slices.Contains(minions, minion) {
			minions = append(minions, minion)
		}
	}
	return minions
}

// takeArrivals removes from signIns the minions that are connected, and those that have not
// connected within a minute. It returns the sign-in times of the former. The caller holds mu.
func (d *deliveries) takeArrivals(now time.Time) (here map[string]time.Time) {
	if len(d.signIns) == 0 {
		return nil
	}
	all := make([]string, 0, len(d.signIns))
	for id := range d.signIns {
		all = append(all, id)
	}
	slices.Sort(all)
	away := d.presence.Absent(all)
	for _, id := range away {
		if now.Sub(d.signIns[id]).Abs() >= deliveryTime {
			delete(d.signIns, id)
		}
	}
	here = map[string]time.Time{}
	for _, id := range without(all, away) {
		here[id] = d.signIns[id]
		delete(d.signIns, id)
	}
	return here
}

// resend sends a job again to those of minions that are Brine minions and certainly named by its
// target. later reports whether a failed attempt may succeed at the next check, for example because
// the job cache did not answer.
func (d *deliveries) resend(
	ctx context.Context, id job.ID, minions []string,
) (later bool, err error) {
	minions = slices.DeleteFunc(minions, func(minion string) bool {
		_, brine := d.offline.brine.Load(minion)
		return !brine || d.offline.waits(id, minion)
	})
	if len(minions) == 0 {
		return false, nil
	}
	j, err := d.jobs.Job(ctx, id)
	if err != nil {
		return !errors.Is(err, returners.ErrUnknownJob),
			fmt.Errorf("send job %s again: %w", id, err)
	}
	item := queue.Item{ID: id, Load: j.Load, Minions: j.Minions}
	load, err := loadOf(item)
	if err != nil {
		return false, err
	}
	if minions, err = d.certainOf(j, load, minions); err != nil || len(minions) == 0 {
		return false, err
	}
	if err := d.pub.republish(ctx, item, load, minions...); err != nil {
		return true, fmt.Errorf("send job %s again: %w", id, err)
	}
	d.log.Infof("Job %s was sent again to minions that have not acknowledged it: %s", id,
		strings.Join(minions, ", "))
	return false, nil
}

// certainOf removes minions that the target names only if their unknown data matches. They could
// not decide for themselves, since a job that is sent again names them.
func (d *deliveries) certainOf(
	j *returners.Job, load *data.Map, minions []string,
) ([]string, error) {
	if exactTarget(j) {
		return minions, nil
	}
	sure, _, err := d.fleet.resolveAs(load.Value("tgt"), load.Text("tgt_type"),
		kwargsOf(load).Text("delimiter"), false)
	if err != nil {
		return nil, fmt.Errorf("send job %s again: %w", j.ID, err)
	}
	slices.Sort(sure)
	return slices.DeleteFunc(minions, func(id string) bool {
		_, found := slices.BinarySearch(sure, id)
		return !found
	}), nil
}

// overdue returns the jobs whose time is over or nearly over, the oldest first.
func (d *deliveries) overdue() (ids []job.ID) {
	now := d.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, one := range d.open {
		if one.over(now) || !one.asked && !one.quiet && !now.Before(one.until.Add(-deliveryAsk)) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// over reports whether the wait for all minions has ended.
func (o *delivery) over(now time.Time) bool { return !now.Before(o.until.Add(deliveryRest)) }

// end asks silent minions whether they run a job whose time is nearly over. Once it is over, end
// marks them as having missed it.
func (d *deliveries) end(ctx context.Context, id job.ID) error {
	d.mu.Lock()
	one := d.open[id]
	if one == nil {
		d.mu.Unlock()
		return nil
	}
	silent, over := one.silentMinions(), one.over(d.now())
	one.asked = true
	d.mu.Unlock()
	silent = d.unqueued(id, silent)
	away := d.presence.Absent(silent)
	there := without(silent, slices.Sorted(slices.Values(away)))
	if !over {
		if len(there) == 0 {
			return nil
		}
		return d.pub.ask(ctx, id, there)
	}
	return errors.Join(d.missAll(ctx, id, away, textLost, one.quiet),
		d.missAll(ctx, id, there, textSilent, one.quiet))
}

// missAll marks minions as having missed a job. The other members of a cluster take it from their
// queues, too.
func (d *deliveries) missAll(
	ctx context.Context, id job.ID, minions []string, why string, quiet bool,
) error {
	err := d.offline.missElsewhere(ctx, id, minions, why)
	for _, minion := range minions {
		d.markMissed(id, minion, why, quiet)
	}
	return err
}

// unqueued ends the wait for the minions for which the queue keeps a job, and returns the others.
func (d *deliveries) unqueued(id job.ID, minions []string) []string {
	return slices.DeleteFunc(minions, func(minion string) bool {
		_, brine := d.offline.brine.Load(minion)
		queued := brine && d.offline.waits(id, minion)
		if queued {
			d.markDone(id, minion)
		}
		return queued
	})
}

// markMissed records and announces that a minion missed a job, unless it has answered meanwhile.
func (d *deliveries) markMissed(id job.ID, minion, why string, quiet bool) {
	if !d.markDone(id, minion) {
		return
	}
	d.offline.markDone(id, minion)
	d.offline.track(id, minion, returners.Missed, why)
	if quiet {
		return
	}
	d.log.Warnf("Job %s of minion %s: %s", id, minion, why)
	d.pub.announceMissed(id, minion, why)
}

// resume tracks the jobs that were on their way when an earlier master ended. If the job cache
// fails, resume tries again at the next check, for at most deliveryMost.
func (d *deliveries) resume(ctx context.Context) error {
	if d.resumed {
		return nil
	}
	late := d.now().Sub(d.presence.started) > deliveryMost
	if err := d.readBacklog(ctx); err != nil && !late {
		return err
	} else if err != nil {
		d.log.WithError(err).Errorf("Jobs that were on their way when an earlier master ended are no longer tracked")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.Copy(d.signIns, d.early) // the resumed jobs may be for them, too
	d.resumed, d.backlog, d.early = true, nil, nil
	return nil
}

// readBacklog lists the jobs that were on their way when an earlier master ended, and tracks those
// not tracked yet. Jobs whose time has passed are not sent again: once minions have had time to
// reconnect, they are asked whether they run them.
func (d *deliveries) readBacklog(ctx context.Context) error {
	if !d.listed {
		if err := d.list(ctx); err != nil {
			return err
		}
	}
	var err error
	d.backlog = slices.DeleteFunc(d.backlog, func(j returners.Job) bool {
		errJob := d.resumeJob(ctx, &j)
		err = errors.Join(err, errJob)
		return errJob == nil
	})
	return err
}

// list reads the jobs that may have been on their way when an earlier master ended.
func (d *deliveries) list(ctx context.Context) error {
	parts, err := filepath.Glob(filepath.Join(filepath.Dir(d.file), markPrefix+"*"))
	for _, file := range parts {
		err = errors.Join(err, os.Remove(file))
	}
	if err != nil {
		d.log.WithError(err).Warn("remove temporary files of an earlier master")
	}
	if !d.cached {
		d.listed = true
		return nil
	}
	since := d.now().Add(-deliveryMost)
	if at, err := readMark(d.file); err == nil {
		since = at
	} else if !errors.Is(err, fs.ErrNotExist) {
		d.log.WithError(err).Warn("read since when jobs may be on their way")
	}
	jobs, err := d.jobs.Jobs(ctx, returners.Filter{Since: since, Until: d.presence.started,
		Limit: maxOpen})
	if err != nil {
		return fmt.Errorf("look for jobs on their way: %w", err)
	}
	if len(jobs) == maxOpen {
		d.log.Warnf("Only the newest %d of the jobs that were on their way when an earlier master ended are tracked",
			maxOpen)
	}
	d.listed, d.backlog = true, jobs
	return nil
}

func (d *deliveries) resumeJob(ctx context.Context, j *returners.Job) error {
	if len(j.Minions) == 0 || j.NoCache { // its returns are not stored
		return nil
	}
	silent, err := d.silentOf(ctx, j.ID)
	silent = slices.DeleteFunc(silent, d.syndics.behind)
	if err != nil || len(silent) == 0 {
		return err
	}
	fields, err := payload.ParseFields(j.Load, payload.WireLimits())
	if err != nil || !fields.Has("fun") {
		return nil //nolint:nilerr // a job of another master, of which only returns are known
	}
	fun, _ := fields.Text("fun")
	kwargs, _ := fields.Value("kwargs").(*data.Map)
	one := newDelivery(&returners.Job{Minions: silent, Started: j.Started},
		deliveryLength(fields.Value("timeout")))
	one.quiet = fun == "saltutil.find_job"
	one.once = one.quiet || data.Truth(kwargs.Value("batch"))
	if !d.now().Before(one.until) {
		one.once, one.until = true, d.presence.started.Add(2*returnTime)
	}
	d.put(j.ID, one)
	still, err := d.silentOf(ctx, j.ID)
	if err != nil {
		return err
	}
	for _, minion := range without(silent, slices.Sorted(slices.Values(still))) {
		d.markDone(j.ID, minion) // it answered meanwhile
	}
	return nil
}

// silentOf returns the minions that a job was sent to and that have sent nothing about it since.
// For a job that is no longer stored it returns none.
func (d *deliveries) silentOf(ctx context.Context, id job.ID) (silent []string, err error) {
	states, err := returners.ProgressOf(ctx, d.jobs, id)
	if errors.Is(err, returners.ErrUnknownJob) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("resume job %s of an earlier master: %w", id, err)
	}
	for _, p := range states {
		if p.State == returners.Sent {
			silent = append(silent, p.Minion)
		}
	}
	return silent, nil
}

// mark stores, now and then, the time since when jobs may be on their way. It writes nothing before
// the jobs of an earlier master are tracked.
func (d *deliveries) mark() error {
	oldest, due := d.nextMark(d.now())
	if !due {
		return nil
	}
	if err := atomicfile.Write(d.file, []byte(strconv.FormatInt(oldest.UnixMicro(), 10)+"\n"),
		atomicfile.Options{Mode: 0o600, Prefix: markPrefix}); err != nil {
		return fmt.Errorf("note since when jobs may be on their way: %w", err)
	}
	return nil
}

// nextMark returns the time since when jobs may be on their way. due reports whether the time must
// be written to the file now; nextMark then counts it as written.
func (d *deliveries) nextMark(now time.Time) (oldest time.Time, due bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.crowded) > deliveryMost+deliveryRest {
		d.dropped = time.Time{}
	}
	if !d.resumed || !d.dirty || now.Sub(d.written).Abs() < markPause {
		return time.Time{}, false
	}
	oldest = now
	if !d.dropped.IsZero() && d.dropped.Before(oldest) {
		oldest = d.dropped
	}
	for _, one := range d.open {
		if one.started.Before(oldest) {
			oldest = one.started
		}
	}
	oldest = oldest.Add(-markMargin)
	d.written, d.dirty = now, len(d.open) > 0 || !d.dropped.IsZero()
	due = !oldest.Equal(d.marked)
	d.marked = oldest
	return oldest, due
}

// readMark reads what mark wrote.
func readMark(file string) (time.Time, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return time.Time{}, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read %s: %w", file, err)
	}
	return time.UnixMicro(n), nil
}
