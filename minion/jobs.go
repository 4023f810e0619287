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

// Reasons to end a job.
var (
	errKilled  = errors.New("the job was ended by a signal")
	errStopped = fmt.Errorf("the minion ended while the job was running: %w", process.ErrLeave)
)

// Results of jobs that were not completed.
const (
	textInterrupted = "ERROR: The minion ended while this job was running. What it had done by then is not known."
	textNotBegun    = "ERROR: The minion ended before this job began."
	textNoRoom      = "ERROR: The minion has too many jobs waiting. This one was not run."
)

// Limits of jobs.
const (
	maxJobs      = 1000 // in parallel, unless process_count_max is lower
	maxWaiting   = 10000
	waitingBytes = 64 << 20
	maxQueries   = 32 // queries about jobs, in parallel
	seenJobs     = 5000
)

// Time for jobs when the minion ends: to finish by themselves, and then to end after cancellation.
const (
	gracePeriod  = 2 * time.Second
	cancelPeriod = 6 * time.Second
)

// jobs runs publications, each at most once, and tracks which are running (salt/minion.py,
// _handle_decoded_payload).
//
// A job is a goroutine, whatever the option multiprocessing says. Ending a job cancels its context;
// its programs receive the signal. A job counts as running from the moment it is accepted, even
// while it waits for others.
type jobs struct {
	m        *Minion
	id       string // of the minion
	settings *settings
	proc     procDir
	seen     *seen
	programs programs
	ids      *job.IDs // of scheduled jobs
	log      logrus.FieldLogger
	work     *lane // for most jobs
	queries  *lane // for queries about jobs, which must not wait behind the jobs they ask about

	returners *dispatcher

	acceptMu sync.Mutex // serializes the acceptance of publications

	mu      sync.Mutex
	running map[job.ID]*running
	// scheduled jobs, including those not in running (jid_include is off)
	aside      map[*running]struct{}
	seenFailed bool // the file of seen ids cannot be written
}

// running is a job under way.
type running struct {
	pub      *job.Publication
	link     *link     // nil for a scheduled job of a minion without a master
	schedule string    // name of the scheduled job
	own      bool      // started by the minion itself
	load     *data.Map // description of the job; nil means the publication
	tree     *process.Tree
	ctx      context.Context
	cancel   context.CancelCauseFunc
}

func newJobs(m *Minion, many bool) *jobs {
	most := maxJobs
	if m.cfg.ProcessCountMax > 0 {
		most = m.cfg.ProcessCountMax
	}
	j := &jobs{m: m, id: m.cfg.ID, settings: m.settings, log: m.log, ids: job.NewIDs(m.opts.Now),
		running: map[job.ID]*running{},
		aside:   map[*running]struct{}{},
		proc:    procDir{filepath.Join(m.cfg.CacheDir, "proc"), many},
		work:    &lane{parallel: most, maxWaiting: maxWaiting, maxBytes: waitingBytes, log: m.log},
		queries: &lane{parallel: maxQueries, maxWaiting: maxWaiting, maxBytes: waitingBytes,
			log: m.log}, returners: newDispatcher(m.returners, m.log)}
	j.returners.check("schedule_returner",
		data.Str(m.settings.saltOptions().Value("schedule_returner")))
	var err error
	if j.seen, err = openSeen(filepath.Join(m.cfg.CacheDir, "seen_jobs"),
		max(m.cfg.MinionJIDQueueHWM, seenJobs)); err != nil {
		j.log.WithError(err).Warn("read ids of earlier jobs; a job received again may run twice")
	}
	if j.programs, err = makePrograms(filepath.Join(m.cfg.CacheDir, "programs"),
		m.log); err != nil {
		j.log.WithError(err).Error("record programs of jobs; they would keep running if the minion was killed")
	}
	return j
}

// close waits gracePeriod for running jobs, cancels the rest, and closes the file of seen ids.
func (j *jobs) close() error {
	done := make(chan struct{})
	go func() {
		j.work.done.Wait()
		j.queries.done.Wait()
		close(done)
	}()
	if !within(done, gracePeriod) {
		for _, r := range j.allAndAside() {
			r.cancel(errStopped)
		}
		if !within(done, cancelPeriod) {
			j.log.Warnf("%d jobs did not end; the next start reports them to the master",
				len(j.allAndAside()))
		}
	}
	j.returners.close()
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

// allAndAside returns all jobs, including scheduled ones that do not count as running.
func (j *jobs) allAndAside() []*running {
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

// start accepts a publication of size bytes and runs it, unless its job id was seen before.
func (j *jobs) start(ctx context.Context, pub *job.Publication, l *link, size int) {
	if !job.ValidID(pub.JID) {
		j.log.Warnf("job rejected: invalid id %q", pub.JID)
		return
	}
	j.acceptMu.Lock()
	defer j.acceptMu.Unlock()
	if j.seen.has(string(pub.JID)) {
		j.log.Debugf("job %s was already received", pub.JID)
		if j.lane(pub) != j.queries {
			l.acks.add(ctx, pub.JID) // the master sent it again, so it has no acknowledgement
		}
		return
	}
	if pub.User != "" {
		j.log.Infof("User %s Executing command %s with jid %s", pub.User,
			data.Str(pub.Map().Value("fun")), pub.JID)
	} else {
		j.log.Infof("Executing command %s with jid %s", data.Str(pub.Map().Value("fun")), pub.JID)
	}
	r := &running{pub: pub, link: l, tree: process.NewTree()}
	r.tree.Watch(j.programs.watch(string(pub.JID)))
	r.ctx, r.cancel = context.WithCancelCause(process.WithTree(ctx, r.tree))
	j.register(r)
	lane := j.lane(pub)
	if lane != j.queries {
		l.acks.add(r.ctx, pub.JID)
	}
	waits, ok := lane.add(func() { j.run(r) }, size)
	switch {
	case !ok:
		j.log.Errorf("job %s rejected: too many jobs are waiting", pub.JID)
		j.finish(r, j.failed(pub, textNoRoom))
	case waits:
		j.log.Warnf("Maximum number of processes reached while executing jid %s, waiting...",
			pub.JID)
	}
}

// lane returns the queue of a job.
func (j *jobs) lane(pub *job.Publication) *lane {
	if len(pub.Fun) != 1 {
		return j.work
	}
	switch name, _ := strings.CutPrefix(pub.Fun[0], "saltutil."); name {
	case "find_job", "running", "is_running", "signal_job", "term_job", "kill_job", "term_all_jobs",
		"kill_all_jobs":
		return j.queries
	}
	return j.work
}

// register registers a job as running. Its proc file is written before the seen id, so a crash in
// between cannot lose the job.
func (j *jobs) register(r *running) {
	j.mu.Lock()
	j.running[r.pub.JID] = r
	j.mu.Unlock()
	if err := j.proc.add(r.pub, r.link.address.text); err != nil {
		j.log.WithError(err).Errorf("job %s: write proc file", r.pub.JID)
	}
	err := j.seen.add(string(r.pub.JID))
	if err != nil && !j.seenFailed {
		j.log.WithError(err).Error("record job id; jobs sent again after a restart may run twice")
	}
	j.seenFailed = err != nil
}

// sync flushes jobs to disk: first their proc files, then the seen ids that prevent them from
// running again.
func (j *jobs) sync(jids []job.ID) error {
	var errs []error
	for _, jid := range jids {
		errs = append(errs, j.proc.sync(string(jid)))
	}
	return errors.Join(append(errs, syncDir(j.proc.dir), j.seen.sync())...)
}

// run runs one job and finishes it.
func (j *jobs) run(r *running) {
	if r.ctx.Err() != nil {
		j.finish(r, j.failed(r.pub, textNotBegun))
		return
	}
	j.finish(r, j.execute(r))
}

// finish stores the return in the spool, unregisters the job, and releases the return for sending,
// in this order. So a crash never loses a return, and the next run never reports a job as failed if
// the master already has its return.
func (j *jobs) finish(r *running, ret *job.Return) {
	j.log.Infof("Returning information for job: %s", r.pub.JID)
	j.cache(ret)
	var held heldReturn
	if j.settings.config().PubRet {
		held = r.link.courier.store(ret)
	}
	j.mu.Lock()
	delete(j.running, r.pub.JID)
	j.mu.Unlock()
	r.cancel(nil)
	if err := j.proc.remove(string(r.pub.JID)); err != nil {
		j.log.WithError(err).Errorf("job %s: remove proc file", r.pub.JID)
	}
	r.link.courier.release(held)
	j.dispatchReturn(r, ret)
}

// hasOf reports whether a job that a master has ordered runs.
func (j *jobs) hasOf(l *link) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.running {
		if r.link == l {
			return true
		}
	}
	return false
}

// Running returns the loads of the running jobs, each with its process id as pid, oldest first.
func (m *Minion) Running() []*data.Map {
	all := m.jobs.all()
	slices.SortFunc(all, func(a, b *running) int { return strings.Compare(string(a.pub.JID), string(b.pub.JID)) })
	loads := make([]*data.Map, len(all))
	for i, r := range all {
		loads[i] = r.describe()
		loads[i].Set("pid", int64(os.Getpid()))
	}
	return loads
}

// describe returns the load that describes the job.
func (r *running) describe() *data.Map {
	if r.load != nil {
		return r.load.Clone()
	}
	return r.pub.Map()
}

// Signal sends a signal to the programs of a job, and cancels the job itself if ends is true. It
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

// failed returns the return of a job that was not run.
func (j *jobs) failed(pub *job.Publication, text string) *job.Return {
	ret := j.newReturn(pub)
	out := loader.Result{Value: text, Retcode: 1, Out: "nested"}
	if pub.Multi {
		j.setResults(ret, pub.Fun, slices.Repeat([]loader.Result{out}, len(pub.Fun)))
		return ret
	}
	ret.Value, ret.Retcode, ret.Success, ret.Out = out.Value, int64(1), false, out.Out
	return ret
}
