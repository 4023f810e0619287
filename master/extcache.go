package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/returners"
)

// Limits of ext_job_cache.
const (
	extQueue = 4096             // waiting jobs
	extLimit = 30 * time.Second // for one job
	lastExt  = 2 * time.Second  // for waiting jobs when the master ends
	extTries = 3                // for one job while the server accepts others
)

// extCache saves published jobs in ext_job_cache, the job cache that minions return to
// (salt/master.py, _send_pub). No publication waits for it. Jobs that do not fit into its queue
// while the server is away are lost and logged.
type extCache struct {
	name  string
	open  func(ctx context.Context) (returners.JobCache, error)
	queue chan *extJob
	quiet *loglimit.Limiter
	log   logrus.FieldLogger
	saved uint64 // jobs saved so far
	lost  uint64 // jobs lost so far
}

// extJob is a waiting job.
type extJob struct {
	*returners.Job
	saved uint64 // extCache.saved when this job last failed
	tries int    // failed attempts while the server accepted others
}

// newExtCache returns nil, which ignores jobs, if there is no ext_job_cache.
func newExtCache(
	name string, open func(context.Context) (returners.JobCache, error), b base,
) *extCache {
	if open == nil {
		return nil
	}
	return &extCache{name: name, open: open, queue: make(chan *extJob, extQueue), quiet: b.quiet,
		log: b.log.WithField("ext_job_cache", name)}
}

// add queues a job, which must not be changed afterwards.
func (x *extCache) add(j *returners.Job) {
	if x != nil {
		x.put(&extJob{Job: j})
	}
}

func (x *extCache) put(j *extJob) {
	select {
	case x.queue <- j:
	default:
		if more, ok := x.quiet.Allow("ext_job_cache"); ok {
			x.log.Errorf("Job %s is not saved: the returner does not keep up (%d more since the last error)",
				j.ID, more)
		}
	}
}

func (x *extCache) part() daemon.Part {
	return daemon.Part{Name: "ext_job_cache " + x.name, Run: daemon.Always(x.run)}
}

// run saves jobs until ctx ends.
func (x *extCache) run(ctx context.Context) error {
	opening, opened := x.openContext(ctx)
	cache, err := x.open(opening)
	opened()
	if err != nil {
		return fmt.Errorf("open returner %s: %w", x.name, err)
	}
	pause := eventPause
	for {
		select {
		case <-ctx.Done():
			x.finish(cache)
			return errors.Join(ctx.Err(), cache.Close())
		case j := <-x.queue:
			if x.save(ctx, cache, j) {
				pause = eventPause
				continue
			}
			_ = clock.Sleep(ctx, pause) // it fails only when ctx ends
			pause = min(2*pause, eventPauses)
		}
	}
}

// openContext returns a context that ends with ctx, or lastExt later if jobs wait. So a master that
// ends right after its start still saves them.
func (x *extCache) openContext(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if len(x.queue) == 0 {
			cancel()
			return
		}
		time.AfterFunc(lastExt, cancel)
	})
	return longer, func() { stop(); cancel() }
}

// save saves one job, and reports false if the server may be away; the job then waits behind the
// others. A job that fails extTries times while the server accepts others is lost: it must not
// block them.
func (x *extCache) save(ctx context.Context, cache returners.JobCache, j *extJob) bool {
	own, cancel := context.WithTimeout(ctx, extLimit)
	err := cache.SaveJob(own, j.Job)
	cancel()
	if err == nil {
		x.saved++
		return true
	}
	if x.saved > j.saved {
		j.saved = x.saved
		j.tries++
	}
	if errors.Is(err, returners.ErrRefused) || j.tries >= extTries {
		x.lost++
		x.log.WithError(err).Errorf("Job %s is rejected (%d lost so far)", j.ID, x.lost)
		return true
	}
	x.log.WithError(err).Errorf("save job %s", j.ID)
	x.put(j)
	return false
}

// finish saves the waiting jobs when the master ends.
func (x *extCache) finish(cache returners.JobCache) {
	ctx, cancel := context.WithTimeout(context.Background(), lastExt)
	defer cancel()
	for {
		select {
		case j := <-x.queue:
			err := cache.SaveJob(ctx, j.Job)
			if err != nil {
				x.log.WithError(err).Errorf("save job %s (%d more wait)", j.ID, len(x.queue))
			}
			if ctx.Err() != nil {
				return
			}
		default:
			return
		}
	}
}

// setReturners makes the parts of event_return, ext_job_cache, local_cache_hours, and of a
// master_job_cache of users' own code.
func (m *Master) setReturners(p *parts) {
	for _, e := range eventReturns(m.cfg, p.sinks(), p.base, p.member) {
		m.returners = append(m.returners, e.part())
	}
	p.ownJobs = newOwnReturner(masterJobCache, p.ownStore(m.cfg.JobCacheName()), p.base)
	p.ownExt = newOwnReturner("ext_job_cache", p.ownStore(m.cfg.ExtJobCache), p.base)
	for _, o := range []*ownReturner{p.ownJobs, p.ownExt} {
		if o != nil {
			m.returners = append(m.returners, o.part())
			m.closers = append(m.closers, o.own.Close)
		}
	}
	if p.ext = newExtCache(m.cfg.ExtJobCache, p.o.ExtJobs, p.base); p.ext != nil {
		m.returners = append(m.returners, p.ext.part())
	}
	if p.mirror = newMirror(p.markers, p.jobs, p.base); p.mirror != nil {
		m.returners = append(m.returners, p.mirror.part())
	}
}

// ownStore returns the returner of users' own code that stores jobs; nil if a name is that of
// another one.
func (p *parts) ownStore(name string) *returners.Own {
	return p.own.returner(name, slices.Contains(p.o.JobCaches, name))
}

// sinks returns the returners of event_return.
func (p *parts) sinks() []EventSink {
	sinks := slices.Clone(p.o.EventSinks)
	for _, name := range p.cfg.EventReturn {
		i := slices.IndexFunc(sinks, func(s EventSink) bool { return s.Name == name })
		if !p.own.has("returners", name, i >= 0) {
			continue
		}
		sink := EventSink{Name: name,
			Open: func(context.Context) (returners.EventReturner, error) {
				return p.own.returner(name, i >= 0), nil
			}}
		if i >= 0 {
			sinks[i] = sink
		} else {
			sinks = append(sinks, sink)
		}
	}
	return sinks
}
