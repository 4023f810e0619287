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

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// deliveries see to it that each minion which had a connection when a job was sent gets the job, or is told as one that missed it.
//
// A minion of ours that signs in again is sent the jobs that it has not acknowledged, since it never runs one twice. When the time
// of a job is over, those that have said nothing are asked whether they run it; who does not answer has missed it. Nothing is
// written for that while jobs are sent: after a restart of the master the records of jobs tell which were on their way.
type deliveries struct {
	jobs     returners.JobCache
	offline  *offline
	presence *presence
	settings *settings
	pub      *publishing
	now      func() time.Time
	log      logrus.FieldLogger
	kept     bool   // returns are kept in jobs
	file     string // says since when jobs may be on their way

	mu      sync.Mutex
	open    map[job.ID]*delivery
	back    map[string]time.Time // minions of ours that have signed in, and when
	behind  time.Time            // what started before is settled, as the file says
	dirty   bool                 // jobs were sent since the file was written
	written time.Time            // when it was
	dropped time.Time            // when the oldest job began for which there was no room; zero where there was room for all
	crowded time.Time            // when the newest of these began
	resumed bool                 // what an earlier master left was taken up
	early   map[string]time.Time // minions of ours that have signed in before that, and when

	listed bool            // left is there; used only by look
	left   []returners.Job // of an earlier master, which are still to be taken up; used only by look
}

// A delivery is one job on its way.
type delivery struct {
	minions []string // sorted
	silent  []uint64 // a bit for each of them that has said nothing
	left    int      // how many these are
	started time.Time
	sent    time.Time // for the last time
	until   time.Time // the end of its time: it is not sent again then
	owed    []string  // minions that it could not be sent to again, as the job cache did not answer
	asked   bool      // those that are silent were asked whether they run it
	once    bool      // it is not sent again: a step of a batch, or a question
	quiet   bool      // nobody is told who missed it
}

const (
	deliveryTime  = time.Minute      // for which a job is sent again, at least: or for as long as who ordered it waits
	deliveryMost  = 10 * time.Minute // at most
	deliveryAgain = 15 * time.Second // after which a job that was not acknowledged is sent again
	deliveryAsk   = 12 * time.Second // how long before the end those that are silent are asked whether they run a job
	deliveryRest  = 8 * time.Second  // for the last answers: less than a sender waits after its own time (gather_job_timeout)
	deliveryLook  = time.Second
	mostOpen      = 20000 // jobs on their way
	markPause     = 10 * time.Second
	markPrefix    = ".deliveries-" // of the file on its way, which an end of the master leaves
	markMargin    = time.Minute    // a job is recorded before it is known here
)

// Why a minion missed a job.
const (
	textLost   = "The connection of the minion was lost before it acknowledged the job, and it did not come back in time."
	textSilent = "The minion did not acknowledge the job, and does not answer whether it runs it."
)

func newDeliveries(p *parts, pub *publishing) *deliveries {
	return &deliveries{jobs: p.jobs, offline: pub.offline, presence: p.presence, settings: p.settings, pub: pub, now: p.o.Now, log: p.o.Log,
		kept: p.cfg.JobCache && p.cfg.ExtJobCache == "", file: filepath.Join(p.cfg.CacheDir, "deliveries"),
		open: map[job.ID]*delivery{}, back: map[string]time.Time{},
		early: map[string]time.Time{}}
}

// begin takes up a job that is about to be sent.
func (d *deliveries) begin(load, kwargs *data.Map, j *returners.Job) {
	if d == nil || len(j.Absent) == len(j.Minions) {
		return
	}
	one := newDelivery(j, deliveryLength(load.Value("timeout")))
	one.once, one.quiet = data.Truth(kwargs.Value("batch")), load.Value("fun") == "saltutil.find_job"
	one.once = one.once || one.quiet
	d.put(j.ID, one)
}

// handedOver takes up a job that the queue has sent to a minion which is not known to be one of ours: it is not sent again.
func (d *deliveries) handedOver(w waiting, now time.Time) {
	if d == nil {
		return
	}
	one := newDelivery(&returners.Job{Minions: []string{w.minion}, Started: now}, deliveryTime)
	one.once = true
	d.put(w.id, one)
}

// put takes up a delivery. A step of a batch adds its minions to those of the steps before.
func (d *deliveries) put(id job.ID, one *delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old := d.open[id]; old != nil {
		one.join(old)
	} else if len(d.open) >= mostOpen {
		d.drop(id, one)
		return
	}
	d.open[id] = one
	d.dirty = true
}

// drop leaves out a job for which there is no room: this master does not send it again and does not say who missed it. The file keeps
// its time for as long as such a job can be on its way, so that the next master takes it up where it is one of the newest that list
// reads. The caller holds mu.
func (d *deliveries) drop(id job.ID, one *delivery) {
	if d.dropped.IsZero() {
		d.log.Warnf("job %s: %d jobs wait for acknowledgments, and no more are followed: minions that lose their connection may miss it",
			id, mostOpen)
	}
	if d.dropped.IsZero() || one.started.Before(d.dropped) {
		d.dropped = one.started
	}
	if one.started.After(d.crowded) {
		d.crowded = one.started
	}
	d.dirty = true
}

// deliveryLength returns for how long a job is to be sent again whose sender waits so many seconds.
func deliveryLength(seconds any) time.Duration {
	n, _ := seconds.(int64)
	return min(max(time.Duration(min(n, int64(deliveryMost/time.Second)))*time.Second, deliveryTime), deliveryMost)
}

// newDelivery returns the delivery of a job to the minions that had a connection.
func newDelivery(j *returners.Job, long time.Duration) *delivery {
	one := &delivery{minions: j.Minions, started: j.Started, sent: j.Started, until: j.Started.Add(long)}
	if !slices.IsSorted(one.minions) {
		one.minions = slices.Sorted(slices.Values(one.minions))
	}
	one.left = len(one.minions)
	one.silent = make([]uint64, (one.left+63)/64)
	for i := range one.minions {
		one.silent[i/64] |= 1 << (i % 64)
	}
	for _, id := range j.Absent {
		one.settle(id)
	}
	return one
}

// settle notes that a minion is not waited for any more, and reports whether it was.
func (o *delivery) settle(minion string) bool {
	i, found := slices.BinarySearch(o.minions, minion)
	if !found || o.silent[i/64]&(1<<(i%64)) == 0 {
		return false
	}
	o.silent[i/64] &^= 1 << (i % 64)
	o.left--
	return true
}

func (o *delivery) waits(minion string) bool {
	i, found := slices.BinarySearch(o.minions, minion)
	return found && o.silent[i/64]&(1<<(i%64)) != 0
}

// who returns the minions that have said nothing.
func (o *delivery) who() []string {
	ids := make([]string, 0, o.left)
	for i, id := range o.minions {
		if o.silent[i/64]&(1<<(i%64)) != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// join takes over whom an earlier step of the job waits for.
func (o *delivery) join(old *delivery) {
	silent := merge(o.who(), old.who())
	*o = delivery{minions: silent, started: old.started, sent: o.sent, until: o.until, once: o.once, quiet: o.quiet,
		left: len(silent), silent: make([]uint64, (len(silent)+63)/64)}
	for i := range silent {
		o.silent[i/64] |= 1 << (i % 64)
	}
}

// settled notes that a minion has a job, or that it is known not to. It reports whether the minion was waited for.
func (d *deliveries) settled(id job.ID, minion string) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.open[id]
	if one == nil || !one.settle(minion) {
		return false
	}
	if one.left == 0 {
		delete(d.open, id)
	}
	return true
}

// cameBack notes that a minion of ours has signed in.
func (d *deliveries) cameBack(minion string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open) > 0 || !d.resumed {
		d.back[minion] = d.now()
	}
	if !d.resumed {
		d.early[minion] = d.back[minion]
	}
}

// look sends again what minions may have missed, and settles the jobs whose time is over. One goroutine at a time calls it.
func (d *deliveries) look(ctx context.Context) error {
	err := d.takeUp(ctx)
	if ctx.Err() != nil {
		return err
	}
	err = errors.Join(err, d.repeat(ctx))
	for _, id := range d.overdue() {
		err = errors.Join(err, d.end(ctx, id))
	}
	return errors.Join(err, d.mark())
}

// repeat sends jobs again: to minions that have come back since, and after a while to all of ours that are silent.
func (d *deliveries) repeat(ctx context.Context) error {
	now := d.now()
	ids, here := d.unsettled(now)
	var err error
	for _, id := range ids {
		minions := d.due(id, here, now)
		if len(minions) == 0 {
			continue
		}
		later, errAgain := d.again(ctx, id, slices.Clone(minions))
		if later {
			d.owe(id, minions)
		}
		err = errors.Join(err, errAgain)
	}
	return err
}

// owe keeps minions that a job could not be sent to again for the next look.
func (d *deliveries) owe(id job.ID, minions []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.open[id]; one != nil {
		one.owed = minions
	}
}

// unsettled returns the jobs on their way, and the minions that are back with the time at which they signed in. Who has no connection
// yet stays among those that are back.
func (d *deliveries) unsettled(now time.Time) (ids []job.ID, here map[string]time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open) == 0 {
		if d.resumed {
			clear(d.back)
		}
		return nil, nil
	}
	return slices.Collect(maps.Keys(d.open)), d.arrivals(now)
}

// due returns the minions that a job is to be sent to again.
func (d *deliveries) due(id job.ID, here map[string]time.Time, now time.Time) (minions []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.open[id]
	if one == nil || one.once || !now.Before(one.until) {
		return nil
	}
	if now.Sub(one.sent).Abs() >= deliveryAgain && d.settings.now().JobAcks {
		one.sent = now
		one.owed = nil
		return without(one.who(), slices.Sorted(slices.Values(d.presence.absent(one.who()))))
	}
	minions = slices.DeleteFunc(one.owed, func(minion string) bool { return !one.waits(minion) })
	one.owed = nil
	if one.left < len(here) {
		for _, minion := range one.who() {
			if came, ok := here[minion]; ok && came.After(one.sent) && !slices.Contains(minions, minion) {
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

// arrivals takes out the minions that are back and connected, and those that are not within a minute. It returns when the former signed
// in. The caller holds mu.
func (d *deliveries) arrivals(now time.Time) (here map[string]time.Time) {
	if len(d.back) == 0 {
		return nil
	}
	all := make([]string, 0, len(d.back))
	for id := range d.back {
		all = append(all, id)
	}
	slices.Sort(all)
	away := d.presence.absent(all)
	for _, id := range away {
		if now.Sub(d.back[id]).Abs() >= deliveryTime {
			delete(d.back, id)
		}
	}
	here = map[string]time.Time{}
	for _, id := range without(all, away) {
		here[id] = d.back[id]
		delete(d.back, id)
	}
	return here
}

// again sends a job once more to those of some minions that are ours and surely meant by its target. later reports whether what failed
// may work at the next look, as where the job cache did not answer.
func (d *deliveries) again(ctx context.Context, id job.ID, minions []string) (later bool, err error) {
	minions = slices.DeleteFunc(minions, func(minion string) bool {
		_, ours := d.offline.ours.Load(minion)
		return !ours || d.offline.waits(id, minion)
	})
	if len(minions) == 0 {
		return false, nil
	}
	j, err := d.jobs.Job(ctx, id)
	if err != nil {
		return !errors.Is(err, returners.ErrUnknownJob), fmt.Errorf("send job %s again: %w", id, err)
	}
	item := queue.Item{ID: id, Load: j.Load, Minions: j.Minions}
	load, err := loadOf(item)
	if err != nil {
		return false, err
	}
	if minions, err = d.meant(j, load, minions); err != nil || len(minions) == 0 {
		return false, err
	}
	if err := d.pub.again(ctx, item, load, minions...); err != nil {
		return true, fmt.Errorf("send job %s again: %w", id, err)
	}
	d.log.Infof("job %s was sent again to minions that have not acknowledged it: %s", id, strings.Join(minions, ", "))
	return false, nil
}

// meant leaves out the minions that a target may not mean: they could not decide for themselves, since a job that is sent again
// names them.
func (d *deliveries) meant(j *returners.Job, load *data.Map, minions []string) ([]string, error) {
	if exactTarget(j) {
		return minions, nil
	}
	sure, _, err := d.pub.fleet.resolveAs(load.Value("tgt"), load.Text("tgt_type"), kwargsOf(load).Text("delimiter"), false)
	if err != nil {
		return nil, fmt.Errorf("send job %s again: %w", j.ID, err)
	}
	slices.Sort(sure)
	return slices.DeleteFunc(minions, func(id string) bool {
		_, found := slices.BinarySearch(sure, id)
		return !found
	}), nil
}

// overdue returns the jobs whose time is nearly over, the oldest first.
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

// over reports whether nobody is waited for any more.
func (o *delivery) over(now time.Time) bool { return !now.Before(o.until.Add(deliveryRest)) }

// end asks the minions that are silent whether they run a job whose time is nearly over, and gives them up when it is.
func (d *deliveries) end(ctx context.Context, id job.ID) error {
	d.mu.Lock()
	one := d.open[id]
	if one == nil {
		d.mu.Unlock()
		return nil
	}
	silent, over := one.who(), one.over(d.now())
	one.asked = true
	d.mu.Unlock()
	silent = d.unqueued(id, silent)
	away := d.presence.absent(silent)
	there := without(silent, slices.Sorted(slices.Values(away)))
	if !over {
		if len(there) == 0 {
			return nil
		}
		return d.pub.ask(ctx, id, there)
	}
	for _, minion := range away {
		d.giveUp(id, minion, textLost, one.quiet)
	}
	for _, minion := range there {
		d.giveUp(id, minion, textSilent, one.quiet)
	}
	return nil
}

// unqueued settles the minions of ours for which the queue keeps a job, and returns the others.
func (d *deliveries) unqueued(id job.ID, minions []string) []string {
	return slices.DeleteFunc(minions, func(minion string) bool {
		_, ours := d.offline.ours.Load(minion)
		queued := ours && d.offline.waits(id, minion)
		if queued {
			d.settled(id, minion)
		}
		return queued
	})
}

// giveUp says that a minion missed a job, unless it has answered meanwhile.
func (d *deliveries) giveUp(id job.ID, minion, why string, quiet bool) {
	if !d.settled(id, minion) {
		return
	}
	d.offline.settled(id, minion)
	d.offline.track(id, minion, returners.Missed, why)
	if quiet {
		return
	}
	d.log.Warnf("job %s of minion %s: %s", id, minion, why)
	d.pub.announceMissed(id, minion, why)
}

// announceMissed tells those who wait for a job that a minion missed it.
func (p *publishing) announceMissed(id job.ID, minion, why string) {
	news := data.NewMap("id", minion, "jid", string(id), "reason", why)
	if err := p.bus.Fire(eventbus.Tagify("job", string(id), "missed", minion), news); err != nil {
		p.log.WithError(err).Errorf("announce that minion %s missed job %s", minion, id)
	}
}

// ask asks minions whether they run a job.
func (p *publishing) ask(ctx context.Context, about job.ID, minions []string) error {
	load := data.NewMap("cmd", "publish", "tgt", data.Values(minions), "fun", "saltutil.find_job", "arg", []any{string(about)}, "tgt_type", "list", "ret", "",
		"user", p.fleet.settings.now().User)
	id := p.ids.Next()
	load.Set("jid", string(id))
	if _, err := p.send(ctx, load, nil, minions, nil); err != nil {
		return fmt.Errorf("ask who runs job %s: %w", about, err)
	}
	return nil
}

// takeUp takes up the jobs that were on their way when an earlier master ended. What the job cache does not give is tried again at the
// next look, for as long as a job may be sent again at most.
func (d *deliveries) takeUp(ctx context.Context) error {
	if d.resumed {
		return nil
	}
	late := d.now().Sub(d.presence.begun) > deliveryMost
	if err := d.resume(ctx); err != nil && !late {
		return err
	} else if err != nil {
		d.log.WithError(err).Errorf("jobs that were on their way when an earlier master ended are not followed any more")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.Copy(d.back, d.early) // jobs that were taken up just now may be for them, too
	d.resumed, d.left, d.early = true, nil, nil
	return nil
}

// resume lists once the jobs that were on their way when an earlier master ended, and takes up those that are left. Those whose time was
// over meanwhile are not sent any more: once minions had time to come back they are asked whether they run them.
func (d *deliveries) resume(ctx context.Context) error {
	if !d.listed {
		if err := d.list(ctx); err != nil {
			return err
		}
	}
	var err error
	d.left = slices.DeleteFunc(d.left, func(j returners.Job) bool {
		errJob := d.resumeJob(ctx, &j)
		err = errors.Join(err, errJob)
		return errJob == nil
	})
	return err
}

// list looks which jobs were on their way when an earlier master ended.
func (d *deliveries) list(ctx context.Context) error {
	parts, err := filepath.Glob(filepath.Join(filepath.Dir(d.file), markPrefix+"*"))
	for _, file := range parts {
		err = errors.Join(err, os.Remove(file))
	}
	if err != nil {
		d.log.WithError(err).Warn("remove what an earlier master left of its notes of jobs on their way")
	}
	if !d.kept {
		d.listed = true
		return nil
	}
	since := d.now().Add(-deliveryMost)
	if at, err := readMark(d.file); err == nil {
		since = at
	} else if !errors.Is(err, fs.ErrNotExist) {
		d.log.WithError(err).Warn("since when jobs may be on their way")
	}
	left, err := d.jobs.Jobs(ctx, returners.Filter{Since: since, Until: d.presence.begun, Limit: mostOpen})
	if err != nil {
		return fmt.Errorf("look for jobs on their way: %w", err)
	}
	if len(left) == mostOpen {
		d.log.Warnf("of the jobs that were on their way when an earlier master ended, the newest %d are followed, and no others", mostOpen)
	}
	d.listed, d.left = true, left
	return nil
}

func (d *deliveries) resumeJob(ctx context.Context, j *returners.Job) error {
	if len(j.Minions) == 0 || j.NoCache { // returns are not kept
		return nil
	}
	silent, err := d.silentOf(ctx, j.ID)
	if err != nil || len(silent) == 0 {
		return err
	}
	fields, err := payload.ParseFields(j.Load, payload.WireLimits())
	if err != nil || !fields.Has("fun") {
		return nil //nolint:nilerr // one of another master, of which returns alone are known
	}
	fun, _ := fields.Text("fun")
	kwargs, _ := fields.Value("kwargs").(*data.Map)
	one := newDelivery(&returners.Job{Minions: silent, Started: j.Started}, deliveryLength(fields.Value("timeout")))
	one.quiet = fun == "saltutil.find_job"
	one.once = one.quiet || data.Truth(kwargs.Value("batch"))
	if end := d.presence.begun.Add(2 * returnTime); !d.now().Before(one.until) {
		one.once, one.until = true, end
	}
	d.put(j.ID, one)
	still, err := d.silentOf(ctx, j.ID)
	if err != nil {
		return err
	}
	for _, minion := range without(silent, slices.Sorted(slices.Values(still))) {
		d.settled(j.ID, minion) // it has told while the job was taken up
	}
	return nil
}

// silentOf returns the minions that a job was sent to and that have told nothing of it since. For a job that is no longer kept it
// returns none.
func (d *deliveries) silentOf(ctx context.Context, id job.ID) (silent []string, err error) {
	states, err := returners.ProgressOf(ctx, d.jobs, id)
	if errors.Is(err, returners.ErrUnknownJob) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("take up job %s, which an earlier master sent: %w", id, err)
	}
	for _, p := range states {
		if p.State == returners.Sent {
			silent = append(silent, p.Minion)
		}
	}
	return silent, nil
}

// mark writes down since when jobs may be on their way, now and then. It writes nothing before those of an earlier master were taken up.
func (d *deliveries) mark() error {
	now := d.now()
	d.mu.Lock()
	due := d.resumed && d.dirty && now.Sub(d.written).Abs() >= markPause
	oldest := now
	if now.Sub(d.crowded) > deliveryMost+deliveryRest {
		d.dropped = time.Time{}
	}
	if !d.dropped.IsZero() && d.dropped.Before(oldest) {
		oldest = d.dropped
	}
	for _, one := range d.open {
		if due && one.started.Before(oldest) {
			oldest = one.started
		}
	}
	if due {
		d.written, d.dirty = now, len(d.open) > 0 || !d.dropped.IsZero()
	}
	d.mu.Unlock()
	if oldest = oldest.Add(-markMargin); !due || oldest.Equal(d.behind) {
		return nil
	}
	d.behind = oldest
	if err := atomicfile.Write(d.file, []byte(strconv.FormatInt(oldest.UnixMicro(), 10)+"\n"), atomicfile.Options{Mode: 0o600, Prefix: markPrefix}); err != nil {
		return fmt.Errorf("note since when jobs may be on their way: %w", err)
	}
	return nil
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
