package minion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// Why a job was ended.
var (
	errKilled  = errors.New("the job was ended by a signal")
	errStopped = fmt.Errorf("the minion ended while the job was running: %w", process.ErrLeave)
)

// What the master is told of jobs that were not done.
const (
	textInterrupted = "ERROR: The minion ended while this job was running. What it had done by then is not known."
	textNotBegun    = "ERROR: The minion ended before this job began."
	textNoRoom      = "ERROR: The minion has too many jobs waiting. This one was not run."
)

// Bounds on jobs.
const (
	mostJobs     = 1000 // at once, where process_count_max sets no lower bound
	mostWaiting  = 10000
	waitingBytes = 64 << 20
	mostQueries  = 32 // jobs about jobs, at once
	seenJobs     = 5000
)

// How long jobs may take when the minion ends: first to end by themselves, then when they have been told to.
const (
	graceTime = 2 * time.Second
	endTime   = 6 * time.Second
)

// jobs runs publications, each at most once, and knows which are running (salt/minion.py, _handle_decoded_payload).
//
// A job is a goroutine, whatever the option multiprocessing says. To end a job is to end its context; the programs that
// it runs get the signal itself. A job counts as running from the moment it is taken, also while it waits for others.
type jobs struct {
	m    *Minion
	proc procDir
	seen *seen
	left programs
	ids  *job.IDs // of scheduled jobs
	log  logrus.FieldLogger
	work *lane // most jobs
	asks *lane // those about jobs, which must not wait behind what they ask about

	giving *giving

	admit sync.Mutex // one publication after the other

	mu      sync.Mutex
	running map[job.ID]*running
	aside   map[*running]struct{} // scheduled jobs, also those that are not among the running ones (jid_include)
	forgets bool                  // the file of ids takes nothing
}

// running is a job under way.
type running struct {
	pub      *job.Publication
	link     *link     // nil for a scheduled job of a minion without a master
	schedule string    // the name of a scheduled job
	own      bool      // ordered by the minion itself
	load     *data.Map // what tells of it, where that is not the publication
	tree     *process.Tree
	ctx      context.Context
	cancel   context.CancelCauseFunc
}

func newJobs(m *Minion, many bool) *jobs {
	most := mostJobs
	if m.cfg.ProcessCountMax > 0 {
		most = m.cfg.ProcessCountMax
	}
	j := &jobs{m: m, log: m.log, ids: job.NewIDs(m.opts.Now), running: map[job.ID]*running{}, aside: map[*running]struct{}{},
		proc: procDir{filepath.Join(m.cfg.CacheDir, "proc"), many},
		work: &lane{most: most, room: mostWaiting, bytes: waitingBytes, log: m.log},
		asks: &lane{most: mostQueries, room: mostWaiting, bytes: waitingBytes, log: m.log}, giving: newGiving(m.returners, m.log)}
	j.giving.check("schedule_returner", data.Str(m.settings.all().Value("schedule_returner")))
	var err error
	if j.seen, err = openSeen(filepath.Join(m.cfg.CacheDir, "seen_jobs"), max(m.cfg.MinionJIDQueueHWM, seenJobs)); err != nil {
		j.log.WithError(err).Warn("the ids of jobs that were run cannot be read: a job that comes twice may run twice")
	}
	if j.left, err = makePrograms(filepath.Join(m.cfg.CacheDir, "programs"), m.log); err != nil {
		j.log.WithError(err).Error("programs of jobs would outlive an end of the minion without warning")
	}
	return j
}

// close waits for the jobs that run, for a while, then ends them, and ends the use of files.
func (j *jobs) close() error {
	done := make(chan struct{})
	go func() {
		j.work.done.Wait()
		j.asks.done.Wait()
		close(done)
	}()
	if !within(done, graceTime) {
		for _, r := range j.every() {
			r.cancel(errStopped)
		}
		if !within(done, endTime) {
			j.log.Warnf("%d jobs do not end; the master is told of them at the next start", len(j.every()))
		}
	}
	j.giving.close()
	return j.seen.close()
}

func within(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

func (j *jobs) all() []*running {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := make([]*running, 0, len(j.running))
	for _, r := range j.running {
		all = append(all, r)
	}
	return all
}

// every returns all jobs, also those that do not count as running.
func (j *jobs) every() []*running {
	all := j.all()
	j.mu.Lock()
	defer j.mu.Unlock()
	for r := range j.aside {
		if _, ok := j.running[r.pub.JID]; !ok {
			all = append(all, r)
		}
	}
	return all
}

// start takes a publication of that many bytes, unless it came before.
func (j *jobs) start(ctx context.Context, pub *job.Publication, l *link, size int) {
	if !safeID(string(pub.JID)) {
		j.log.Warnf("job with the id %q is refused", pub.JID)
		return
	}
	j.admit.Lock()
	defer j.admit.Unlock()
	if j.seen.has(string(pub.JID)) {
		j.log.Debugf("job %s came before", pub.JID)
		if j.lane(pub) != j.asks {
			l.acks.add(ctx, pub.JID) // it would not come again if the master knew
		}
		return
	}
	if pub.User != "" {
		j.log.Infof("User %s Executing command %s with jid %s", pub.User, data.Str(pub.Map().Value("fun")), pub.JID)
	} else {
		j.log.Infof("Executing command %s with jid %s", data.Str(pub.Map().Value("fun")), pub.JID)
	}
	r := &running{pub: pub, link: l, tree: process.NewTree()}
	r.tree.Watch(j.left.watch(string(pub.JID)))
	r.ctx, r.cancel = context.WithCancelCause(process.WithTree(ctx, r.tree))
	j.enter(r)
	lane := j.lane(pub)
	if lane != j.asks {
		l.acks.add(r.ctx, pub.JID)
	}
	waits, ok := lane.add(func() { j.run(r) }, size)
	switch {
	case !ok:
		j.log.Errorf("job %s is not run: too many jobs wait", pub.JID)
		j.finish(r, j.failed(pub, textNoRoom))
	case waits:
		j.log.Warnf("Maximum number of processes reached while executing jid %s, waiting...", pub.JID)
	}
}

// lane returns where a job waits for its turn.
func (j *jobs) lane(pub *job.Publication) *lane {
	if len(pub.Fun) != 1 {
		return j.work
	}
	switch name, _ := strings.CutPrefix(pub.Fun[0], "saltutil."); name {
	case "find_job", "running", "is_running", "signal_job", "term_job", "kill_job", "term_all_jobs", "kill_all_jobs":
		return j.asks
	}
	return j.work
}

// safeID reports whether a job id can name a file.
func safeID(id string) bool {
	return id != "" && len(id) <= 64 && !slices.ContainsFunc([]byte(id), func(c byte) bool {
		return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-')
	})
}

// enter makes a job known. Its file comes before the note that it was run, so that no end of the minion in between
// makes it vanish.
func (j *jobs) enter(r *running) {
	j.mu.Lock()
	j.running[r.pub.JID] = r
	j.mu.Unlock()
	if err := j.proc.enter(r.pub, r.link.address.text); err != nil {
		j.log.WithError(err).Errorf("job %s: its file in proc cannot be written", r.pub.JID)
	}
	err := j.seen.add(string(r.pub.JID))
	if err != nil && !j.forgets {
		j.log.WithError(err).Error("jobs may run twice when they are sent again after a restart")
	}
	j.forgets = err != nil
}

// sync has on disk that jobs were taken: their files, and then the note that they never run again.
func (j *jobs) sync(jids []job.ID) error {
	var errs []error
	for _, jid := range jids {
		errs = append(errs, j.proc.sync(string(jid)))
	}
	err := errors.Join(append(errs, syncDir(j.proc.dir), j.seen.sync())...)
	if err != nil {
		j.log.WithError(err).Error("jobs are not acknowledged, since they cannot be kept")
	}
	return err
}

// run does one job.
func (j *jobs) run(r *running) {
	if r.ctx.Err() != nil {
		j.finish(r, j.failed(r.pub, textNotBegun))
		return
	}
	j.finish(r, j.do(r))
}

// finish puts the return into the spool, makes the job unknown, and has the return sent, in this order: at no moment could
// an end of the minion lose it, and none has the next run report a job as failed whose return the master has.
func (j *jobs) finish(r *running, ret *job.Return) {
	j.log.Infof("Returning information for job: %s", r.pub.JID)
	j.cache(ret)
	send := func() {}
	if j.m.settings.now().PubRet {
		send = r.link.courier.keep(ret)
	}
	j.mu.Lock()
	delete(j.running, r.pub.JID)
	j.mu.Unlock()
	r.cancel(nil)
	if err := j.proc.leave(string(r.pub.JID)); err != nil {
		j.log.WithError(err).Errorf("job %s: its file in proc cannot be removed", r.pub.JID)
	}
	send()
	j.giveReturners(r, ret)
}

// Running returns the loads of the jobs under way, each with its process id, the oldest first.
func (m *Minion) Running() []*data.Map {
	all := m.jobs.all()
	slices.SortFunc(all, func(a, b *running) int { return strings.Compare(string(a.pub.JID), string(b.pub.JID)) })
	loads := make([]*data.Map, len(all))
	for i, r := range all {
		loads[i] = r.told()
		loads[i].Set("pid", int64(os.Getpid()))
	}
	return loads
}

// told returns what tells of the job.
func (r *running) told() *data.Map {
	if r.load != nil {
		return r.load.Clone()
	}
	return r.pub.Map()
}

// Signal sends a signal to the programs of a job, and ends the job itself where the signal would end a process. It
// reports whether the job is running.
func (m *Minion) Signal(jid string, sig os.Signal, ends bool) bool {
	m.jobs.mu.Lock()
	r, ok := m.jobs.running[job.ID(jid)]
	m.jobs.mu.Unlock()
	if !ok {
		return false
	}
	r.tree.Signal(sig)
	if ends {
		r.cancel(errKilled)
	}
	return true
}

// failed returns the return of a job that is not run.
func (j *jobs) failed(pub *job.Publication, text string) *job.Return {
	ret := j.blank(pub)
	out := loader.Result{Value: text, Retcode: 1, Out: "nested"}
	if pub.Multi {
		j.fill(ret, pub.Fun, slices.Repeat([]loader.Result{out}, len(pub.Fun)))
		return ret
	}
	ret.Value, ret.Retcode, ret.Success, ret.Out = out.Value, int64(1), false, out.Out
	return ret
}
