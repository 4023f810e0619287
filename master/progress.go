package master

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returner"
)

// progress notes how far jobs have come on minions, from what passes through the master: minions of ours acknowledge
// each job, all tell of the steps of some jobs, and all answer whether they run a job when a command line asks them.
//
// What a minion says is noted of itself alone, and only for a job that it was given.
type progress struct {
	jobs    returner.JobCache
	tracker returner.Tracker // nil where the job cache keeps none
	queue   *offline
	now     func() time.Time
}

func newProgress(jobs returner.JobCache, queue *offline, now func() time.Time) *progress {
	tracker, _ := jobs.(returner.Tracker)
	return &progress{jobs: jobs, tracker: tracker, queue: queue, now: now}
}

// note keeps a state of a minion in a job that it was given.
func (p *progress) note(ctx context.Context, id job.ID, minion string, state returner.State, why string) {
	if p.tracker == nil {
		return
	}
	known, err := p.jobs.Job(ctx, id)
	if err != nil || !slices.Contains(known.Minions, minion) {
		return
	}
	p.tracker.Track(id, returner.Progress{Minion: minion, State: state, Since: p.now(), Why: why})
}

// acksField is the field of _master_opts by which a minion of ours asks whether the master wants jobs acknowledged, and is
// told so. Minions of Salt do not ask, and other masters do not answer.
const acksField = "job_acks"

// offering returns a command _master_opts that also says whether jobs are to be acknowledged.
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
			p.queue.remembers(c.Caller.ID)
		}
		if s.now().JobAcks {
			m.Set(acksField, true)
		}
		return m, nil
	}
	return opts
}

// fired learns from an event of a minion: salt/job/JID/ack/ID and salt/job/JID/prog/ID/N.
func (p *progress) fired(ctx context.Context, minion, tag string) {
	rest, ok := strings.CutPrefix(tag, "salt/job/")
	if !ok {
		return
	}
	id, what, _ := strings.Cut(rest, "/")
	switch {
	case what == "ack/"+minion:
		p.queue.settled(job.ID(id), minion)
		p.note(ctx, job.ID(id), minion, returner.Acknowledged, "")
	case strings.HasPrefix(what, "prog/"+minion+"/"):
		p.note(ctx, job.ID(id), minion, returner.Running, "")
	}
}

// textNotRunning says why a minion is gone that has denied to run a job.
const textNotRunning = "The minion says that it does not run this job."

// returned learns from a return of a minion. The answers to saltutil.find_job tell of another job.
func (p *progress) returned(ctx context.Context, asked *returner.Job, id job.ID, minion string, load payload.Fields) {
	p.queue.settled(id, minion)
	if fun, _ := load.Text("fun"); fun != "saltutil.find_job" || p.tracker == nil {
		return
	}
	about, ok := soughtJob(asked)
	if code, isNumber := load.Int("retcode"); !ok || !isNumber || code != 0 {
		return
	}
	switch runs, isMap := hasEntries(load.Raw("return")); {
	case !isMap:
	case runs:
		p.note(ctx, about, minion, returner.Running, "")
	default:
		p.note(ctx, about, minion, returner.Gone, textNotRunning)
	}
}

// soughtJob returns the job that a job of saltutil.find_job asks about.
func soughtJob(asked *returner.Job) (job.ID, bool) {
	fields, err := payload.ParseFields(asked.Load, payload.WireLimits())
	if err != nil {
		return "", false
	}
	fun, _ := fields.Text("fun")
	arg, _ := fields.Value("arg").([]any)
	if fun != "saltutil.find_job" || len(arg) == 0 {
		return "", false
	}
	id := data.Str(arg[0])
	return job.ID(id), isJobID(id)
}

// hasEntries reports whether an encoded value is a map, and whether that has entries, without decoding it.
func hasEntries(raw data.Raw) (entries, isMap bool) {
	if len(raw) == 0 {
		return false, false
	}
	switch b := raw[0]; {
	case b == 0x80:
		return false, true
	case b > 0x80 && b <= 0x8f:
		return true, true
	case b == 0xde || b == 0xdf:
		return !allZero(raw[1:min(len(raw), 1+2<<(b-0xde))]), true
	}
	return false, false
}

func allZero(b []byte) bool { return !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) }

// refused notes that a return was not taken.
func (p *progress) refused(ctx context.Context, id job.ID, minion string, why error) {
	p.note(ctx, id, minion, returner.Refused, why.Error())
}
