package master

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// progress records the state of jobs on minions, from the messages that pass through the master:
// Brine minions acknowledge each job, all minions report the steps of some jobs, and all answer
// saltutil.find_job.
//
// A minion's messages change its own state only, and only in jobs that it was sent.
type progress struct {
	jobs    returners.JobCache
	tracker returners.Tracker // nil if the job cache does not store states
	queue   *offline
	now     func() time.Time

	// resend sends a job to one minion again; nil disables that.
	resend func(ctx context.Context, j *returners.Job, load *data.Map, minion string) error
	mu     sync.Mutex
	sent   map[waiting]time.Time // what was sent again, and when
}

func newProgress(jobs returners.JobCache, queue *offline, now func() time.Time) *progress {
	tracker, _ := jobs.(returners.Tracker)
	return &progress{jobs: jobs, tracker: tracker, queue: queue, now: now,
		sent: map[waiting]time.Time{}}
}

// record stores the state of a minion in a job that it was sent.
func (p *progress) record(
	ctx context.Context, id job.ID, minion string, state returners.State, why string,
) {
	if p.tracker == nil {
		return
	}
	known, err := p.jobs.Job(ctx, id)
	if err != nil || !slices.Contains(known.Minions, minion) {
		return
	}
	p.tracker.Track(id, returners.Progress{Minion: minion, State: state, Since: p.now(), Why: why})
}

// acksField is the field of _master_opts by which a Brine minion asks whether the master wants jobs
// acknowledged; the reply has the same field. Salt's minions do not ask, and other masters do not
// answer.
const acksField = "job_acks"

// offering wraps the command _master_opts so that it also replies whether jobs are to be
// acknowledged.
func (p *progress) offering(opts command, s *settings) command {
	next := opts.do
	opts.do = func(ctx context.Context, c *channel.Command) (any, error) {
		reply, err := next(ctx, c)
		asks, _ := c.Load.Bool(acksField)
		m, ok := reply.(*data.Map)
		if err != nil || !asks || !ok {
			return reply, err
		}
		if c.Caller.Proved {
			p.queue.noteBrine(c.Caller.ID)
		}
		if s.config().JobAcks {
			m.Set(acksField, true)
		}
		return m, nil
	}
	return opts
}

// fired updates states from an event of a minion: salt/job/JID/ack/ID or salt/job/JID/prog/ID/N.
func (p *progress) fired(ctx context.Context, minion, tag string) {
	rest, ok := strings.CutPrefix(tag, "salt/job/")
	if !ok {
		return
	}
	id, what, _ := strings.Cut(rest, "/")
	switch {
	case what == "ack/"+minion:
		p.queue.markDone(job.ID(id), minion)
		p.record(ctx, job.ID(id), minion, returners.Acknowledged, "")
	case strings.HasPrefix(what, "prog/"+minion+"/"):
		p.queue.markDone(job.ID(id), minion)
		p.record(ctx, job.ID(id), minion, returners.Running, "")
	}
}

// textNotRunning is the reason recorded for a minion that denies running a job.
const textNotRunning = "The minion says that it does not run this job."

// returned updates states from a return of a minion. An answer to saltutil.find_job is about
// another job.
func (p *progress) returned(
	ctx context.Context, asked *returners.Job, id job.ID, minion string, load payload.Fields,
) {
	p.queue.markDone(id, minion)
	if fun, _ := load.Text("fun"); fun != "saltutil.find_job" || p.tracker == nil {
		return
	}
	about, ok := soughtJob(asked)
	if code, isNumber := load.Int("retcode"); !ok || !isNumber || code != 0 {
		return
	}
	switch runs, isMap := payload.HasEntries(load.Raw("return")); {
	case !isMap:
	case runs:
		p.queue.markDone(about, minion)
		p.record(ctx, about, minion, returners.Running, "")
	default:
		p.denied(ctx, about, minion)
	}
}

// denied handles the answer of a minion that it does not run a job, while its return is missing.
//
// A Brine minion that never acknowledged the job has missed it, for example because it was not
// connected yet when the job was sent right after a restart of the master. It is sent the job
// again, and ignores it if it had it after all. A Salt minion would run it twice. A minion that was
// not connected is not recorded as gone.
func (p *progress) denied(ctx context.Context, id job.ID, minion string) {
	known, err := p.jobs.Job(ctx, id)
	if err != nil || !slices.Contains(known.Minions, minion) {
		return
	}
	if _, brine := p.queue.brine.Load(minion); brine && p.queue.waits(id, minion) {
		return // the queue sends it again
	}
	state := p.stateOf(ctx, id, minion)
	missed := state == returners.Absent || state == returners.Sent
	switch {
	case missed && p.repeat(ctx, known, minion):
	case state == returners.Absent:
	default:
		p.queue.markDone(id, minion)
		p.record(ctx, id, minion, returners.Gone, textNotRunning)
	}
}

// stateOf returns the recorded state of a job on a minion, or "".
func (p *progress) stateOf(ctx context.Context, id job.ID, minion string) returners.State {
	state, err := p.tracker.State(ctx, id, minion)
	if err != nil {
		return ""
	}
	return state
}

// resendLife is how long after its publication a job may be sent again: its sender still waits.
const resendLife = time.Minute

// repeat sends a job again to a minion that has missed it. It reports whether it did so now or
// before.
func (p *progress) repeat(ctx context.Context, j *returners.Job, minion string) bool {
	if _, brine := p.queue.brine.Load(minion); !brine || p.resend == nil ||
		p.now().Sub(j.Started).Abs() >= resendLife ||
		p.queue.Has(j.ID) {
		return false
	}
	v, err := payload.UnmarshalText(j.Load, payload.WireLimits())
	load, ok := v.(*data.Map)
	if err != nil || !ok || data.Truth(kwargsOf(load).Value("batch")) ||
		!p.first(waiting{j.ID, minion}) {
		return false
	}
	if err := p.resend(ctx, j, load, minion); err != nil {
		p.queue.log.WithError(err).Warnf("send job %s again to minion %s, which missed it",
			j.ID, minion)
		return false
	}
	p.queue.log.Infof("Job %s was sent again to minion %s, which missed it", j.ID, minion)
	p.record(ctx, j.ID, minion, returners.Sent, "")
	return true
}

// resend publishes a job again, for one minion.
func (p *publishing) resend(
	ctx context.Context, j *returners.Job, load *data.Map, minion string,
) error {
	return p.republish(ctx, queue.Item{ID: j.ID, Load: j.Load, Minions: j.Minions}, load, minion)
}

// first reports whether this is the first attempt to send a job again to a minion.
func (p *progress) first(w waiting) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for old, at := range p.sent {
		if now.Sub(at).Abs() >= 2*resendLife {
			delete(p.sent, old)
		}
	}
	if _, before := p.sent[w]; before {
		return false
	}
	p.sent[w] = now
	return true
}

// soughtJob returns the job that a saltutil.find_job job asks about.
func soughtJob(asked *returners.Job) (job.ID, bool) {
	fields, err := payload.ParseFields(asked.Load, payload.WireLimits())
	if err != nil {
		return "", false
	}
	fun, _ := fields.Text("fun")
	arg, _ := fields.Value("arg").([]any)
	if fun != "saltutil.find_job" || len(arg) == 0 {
		return "", false
	}
	id := job.ID(data.Str(arg[0]))
	return id, job.ValidID(id)
}

// refused records that a return was refused.
func (p *progress) refused(ctx context.Context, id job.ID, minion string, why error) {
	p.record(ctx, id, minion, returners.Refused, why.Error())
}
