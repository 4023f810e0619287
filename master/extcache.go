package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/returners"
)

// Bounds on ext_job_cache.
const (
	extQueue = 4096             // jobs that wait
	extLimit = 30 * time.Second // for one
	lastExt  = 2 * time.Second  // for what waits when the master ends
	extTries = 3                // of a job while the server takes others
)

// extCache tells the job cache that minions write to, ext_job_cache, of the jobs that they will return to (salt/master.py,
// _send_pub). No publication waits for it; what does not fit into its queue while its server is away is lost and told of.
type extCache struct {
	name  string
	open  func(ctx context.Context) (returners.JobCache, error)
	queue chan *extJob
	quiet *loglimit.Limiter
	log   logrus.FieldLogger
	saved uint64 // jobs by now
	lost  uint64
}

// extJob is a job that waits.
type extJob struct {
	*returners.Job
	saved uint64 // how many others were, when it failed last
	tries int    // that failed while the server took others
}

// newExtCache returns nil, which takes nothing, where there is no ext_job_cache.
func newExtCache(p *parts) *extCache {
	if p.o.ExtJobs == nil {
		return nil
	}
	return &extCache{name: p.cfg.ExtJobCache, open: p.o.ExtJobs, queue: make(chan *extJob, extQueue), quiet: p.quiet,
		log: p.o.Log.WithField("ext_job_cache", p.cfg.ExtJobCache)}
}

// add takes a job, which must not be changed any more.
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
			x.log.Errorf("job %s is not told to the returner, which does not keep up (%d more since the last error)", j.ID, more)
		}
	}
}

func (x *extCache) part() daemon.Part {
	return daemon.Part{Name: "ext_job_cache " + x.name, Run: daemon.Always(x.run)}
}

// run saves jobs until ctx ends.
func (x *extCache) run(ctx context.Context) error {
	opening, opened := x.lastCall(ctx)
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
			_ = clock.Sleep(ctx, pause) // its end is that of ctx
			pause = min(2*pause, eventPauses)
		}
	}
}

// lastCall returns a context that ends with ctx, or lastExt later where jobs wait: a master that ends right after its start still
// tells of them.
func (x *extCache) lastCall(ctx context.Context) (context.Context, context.CancelFunc) {
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

// save saves one job, and reports false where it may be that the server is away. The job waits behind the others then, and
// is lost when it fails again and again while the server takes those: one that no server takes must not stop them.
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
		x.log.WithError(err).Errorf("job %s is not taken (%d are lost by now)", j.ID, x.lost)
		return true
	}
	x.log.WithError(err).Errorf("job %s", j.ID)
	x.put(j)
	return false
}

// finish saves what waits when the master ends.
func (x *extCache) finish(cache returners.JobCache) {
	ctx, cancel := context.WithTimeout(context.Background(), lastExt)
	defer cancel()
	for {
		select {
		case j := <-x.queue:
			err := cache.SaveJob(ctx, j.Job)
			if err != nil {
				x.log.WithError(err).Errorf("job %s (%d more wait)", j.ID, len(x.queue))
			}
			if ctx.Err() != nil {
				return
			}
		default:
			return
		}
	}
}

// setReturners makes the parts of event_return, ext_job_cache and local_cache_hours.
func (m *Master) setReturners(p *parts) {
	for _, e := range eventReturns(p) {
		m.returners = append(m.returners, e.part())
	}
	if p.ext = newExtCache(p); p.ext != nil {
		m.returners = append(m.returners, p.ext.part())
	}
	if p.mirror = newMirror(p); p.mirror != nil {
		m.returners = append(m.returners, p.mirror.part())
	}
}
