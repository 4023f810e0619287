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

// progress notes how far jobs have come on minions, from what passes through the master: minions of ours acknowledge
// each job, all tell of the steps of some jobs, and all answer whether they run a job when a command line asks them.
//
// What a minion says is noted of itself alone, and only for a job that it was given.
type progress struct {
	jobs    returners.JobCache
	tracker returners.Tracker // nil where the job cache keeps none
	queue   *offline
	now     func() time.Time

	// again sends a job to one minion once more; nil never does.
	again func(ctx context.Context, j *returners.Job, load *data.Map, minion string) error
	mu    sync.Mutex
	sent  map[waiting]time.Time // what was sent again
}

func newProgress(jobs returners.JobCache, queue *offline, now func() time.Time) *progress {
	tracker, _ := jobs.(returners.Tracker)
	return &progress{jobs: jobs, tracker: tracker, queue: queue, now: now, sent: map[waiting]time.Time{}}
}

// note keeps a state of a minion in a job that it was given.
func (p *progress) note(ctx context.Context, id job.ID, minion string, state returners.State, why string) {
	if p.tracker == nil {
		return
	}
	known, err := p.jobs.Job(ctx, id)
	if err != nil || !slices.Contains(known.Minions, minion) {
		return
	}
	p.tracker.Track(id, returners.Progress{Minion: minion, State: state, Since: p.now(), Why: why})
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
		p.note(ctx, job.ID(id), minion, returners.Acknowledged, "")
	case strings.HasPrefix(what, "prog/"+minion+"/"):
		p.queue.settled(job.ID(id), minion)
		p.note(ctx, job.ID(id), minion, returners.Running, "")
	}
}

// textNotRunning says why a minion is gone that has denied to run a job.
const textNotRunning = "The minion says that it does not run this job."

// returned learns from a return of a minion. The answers to saltutil.find_job tell of another job.
func (p *progress) returned(ctx context.Context, asked *returners.Job, id job.ID, minion string, load payload.Fields) {
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
		p.queue.settled(about, minion)
		p.note(ctx, about, minion, returners.Running, "")
	default:
		p.denied(ctx, about, minion)
	}
}

// denied learns that a minion does not run a job and has not returned. One of ours that has never acknowledged it has missed it, as one
// that was not back yet when the job was sent just after a restart of the master: it gets the job again, and refuses it if it had
// it after all. One of Salt's would run it twice. Who had no connection is not said to be gone.
func (p *progress) denied(ctx context.Context, id job.ID, minion string) {
	known, err := p.jobs.Job(ctx, id)
	if err != nil || !slices.Contains(known.Minions, minion) {
		return
	}
	if _, ours := p.queue.ours.Load(minion); ours && p.queue.waits(id, minion) {
		return // the queue sends it again
	}
	state := p.stateOf(ctx, id, minion)
	missed := state == returners.Absent || state == returners.Sent
	switch {
	case missed && p.repeat(ctx, known, minion):
	case state == returners.Absent:
	default:
		p.queue.settled(id, minion)
		p.note(ctx, id, minion, returners.Gone, textNotRunning)
	}
}

// stateOf returns how far a job has come on a minion, as far as is known.
func (p *progress) stateOf(ctx context.Context, id job.ID, minion string) returners.State {
	list, err := p.tracker.Progress(ctx, id)
	if err != nil {
		return ""
	}
	i := slices.IndexFunc(list, func(e returners.Progress) bool { return e.Minion == minion })
	if i < 0 {
		return ""
	}
	return list[i].State
}

// repeatLife is how long after its publication a job may be sent again: who ordered it still waits.
const repeatLife = time.Minute

// repeat sends a job once more to a minion that has missed it, and reports whether it did so now or before.
func (p *progress) repeat(ctx context.Context, j *returners.Job, minion string) bool {
	if _, ours := p.queue.ours.Load(minion); !ours || p.again == nil || p.now().Sub(j.Started).Abs() >= repeatLife || p.queue.Has(j.ID) {
		return false
	}
	v, err := payload.UnmarshalText(j.Load, payload.WireLimits())
	load, ok := v.(*data.Map)
	if err != nil || !ok || data.Truth(kwargsOf(load).Value("batch")) || !p.first(waiting{j.ID, minion}) {
		return false
	}
	if err := p.again(ctx, j, load, minion); err != nil {
		p.queue.log.WithError(err).Warnf("send job %s again to minion %s, which has missed it", j.ID, minion)
		return false
	}
	p.queue.log.Infof("job %s was sent again to minion %s, which has missed it", j.ID, minion)
	p.note(ctx, j.ID, minion, returners.Sent, "")
	return true
}

// repeat publishes a job once more, for one minion.
func (p *publishing) repeat(ctx context.Context, j *returners.Job, load *data.Map, minion string) error {
	return p.again(ctx, queue.Item{ID: j.ID, Load: j.Load, Minions: j.Minions}, load, minion)
}

func kwargsOf(load *data.Map) *data.Map {
	kwargs, _ := load.Value("kwargs").(*data.Map)
	return kwargs
}

// first reports whether a job is sent again to a minion for the first time.
func (p *progress) first(w waiting) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for old, at := range p.sent {
		if now.Sub(at).Abs() >= 2*repeatLife {
			delete(p.sent, old)
		}
	}
	if _, before := p.sent[w]; before {
		return false
	}
	p.sent[w] = now
	return true
}

// soughtJob returns the job that a job of saltutil.find_job asks about.
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
	p.note(ctx, id, minion, returners.Refused, why.Error())
}
