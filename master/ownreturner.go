package master

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
)

// Limits of a returner of users' own code.
const (
	ownQueue   = 4096             // waiting jobs and returns of one lane
	ownBytes   = 64 << 20         // of all waiting records
	ownLanes   = 4                // that work side by side; the records of one job share a lane
	ownLimit   = 30 * time.Second // for one record
	lastOwn    = 3 * time.Second  // for waiting records when the master ends
	ownCleanup = time.Minute      // between two calls of clean_old_jobs
)

// masterJobCache is the option whose returner also allocates ids and cleans up.
const masterJobCache = "master_job_cache"

// An ownReturner passes jobs and returns to a returner of users' own code: master_job_cache, or
// ext_job_cache for jobs alone. The master's own records are in its file, so nothing here depends
// on that code: a record that raises an exception is logged and dropped, as in Salt, and one that
// does not fit into the queue is, too. A nil ownReturner ignores all.
type ownReturner struct {
	base
	option string
	own    *returners.Own
	lanes  [ownLanes]chan ownRecord
	bytes  atomic.Int64 // of the waiting records
}

// An ownRecord is a job, or a return of one.
type ownRecord struct {
	id  job.ID
	job *returners.Job
	ret *returners.Return
}

// size returns the bytes of the load.
func (r ownRecord) size() int64 {
	if r.job != nil {
		return int64(len(r.job.Load))
	}
	return int64(len(r.ret.Load))
}

// newOwnReturner returns nil, which ignores all, if own is nil.
func newOwnReturner(option string, own *returners.Own, b base) *ownReturner {
	if own == nil {
		return nil
	}
	o := &ownReturner{base: b, option: option, own: own}
	for i := range o.lanes {
		o.lanes[i] = make(chan ownRecord, ownQueue)
	}
	return o
}

// addJob queues a job, which must not be changed afterwards.
func (o *ownReturner) addJob(j *returners.Job) {
	if o != nil {
		o.add(ownRecord{id: j.ID, job: j})
	}
}

// addReturn queues a return, which must not be changed afterwards.
func (o *ownReturner) addReturn(id job.ID, minion string, load data.Raw) {
	if o != nil {
		o.add(ownRecord{id: id, ret: &returners.Return{Minion: minion, Load: slices.Clone(load),
			Received: o.now()}})
	}
}

func (o *ownReturner) add(r ownRecord) {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(r.id)) // never fails
	size := r.size()
	if waiting := o.bytes.Add(size); waiting <= ownBytes || waiting == size {
		select {
		case o.lanes[sum.Sum32()%ownLanes] <- r:
			return
		default:
		}
	}
	o.bytes.Add(-size)
	o.quiet.Warnf(o.log, o.option, "%s: returner %s does not keep up; job %s is not passed to it",
		o.option, o.own.Name(), r.id)
}

func (o *ownReturner) part() daemon.Part {
	return daemon.Part{Name: o.option + " " + o.own.Name(), Run: daemon.Always(o.run)}
}

// run passes records on until ctx ends, and then the waiting ones for a moment.
func (o *ownReturner) run(ctx context.Context) error {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() { time.AfterFunc(lastOwn, cancel) })
	var work sync.WaitGroup
	for _, lane := range o.lanes {
		work.Go(func() { o.follow(ctx, longer, lane) })
	}
	if o.option == masterJobCache {
		work.Go(func() { o.clean(ctx) })
	}
	work.Wait()
	return ctx.Err()
}

// follow passes the records of a lane on until ctx ends, and then waiting ones until longer ends.
func (o *ownReturner) follow(ctx, longer context.Context, lane chan ownRecord) {
	for {
		select {
		case <-ctx.Done():
			o.finish(longer, lane)
			return
		case r := <-lane:
			o.pass(longer, r)
		}
	}
}

// finish passes waiting records on until ctx ends.
func (o *ownReturner) finish(ctx context.Context, lane chan ownRecord) {
	for {
		select {
		case r := <-lane:
			if ctx.Err() != nil {
				o.log.Errorf("%s: %d records are not passed to returner %s, as the master ends",
					o.option, len(lane)+1, o.own.Name())
				return
			}
			o.pass(ctx, r)
		default:
			return
		}
	}
}

func (o *ownReturner) pass(ctx context.Context, r ownRecord) {
	defer o.bytes.Add(-r.size())
	ctx, cancel := context.WithTimeout(ctx, ownLimit)
	defer cancel()
	var err error
	if r.job != nil {
		if o.option == masterJobCache {
			err = o.own.Prepare(ctx, r.job)
		}
		err = errors.Join(err, o.own.SaveJob(ctx, r.job))
	} else {
		err = o.own.SaveReturn(ctx, r.id, r.ret, o.settings.config().JobCacheStoreEndtime)
	}
	if err != nil {
		o.log.Errorf("%s: The specified returner threw a stack trace, for job %s: %v", o.option,
			r.id, err)
	}
}

// clean calls clean_old_jobs of the returner until ctx ends.
func (o *ownReturner) clean(ctx context.Context) {
	tick := time.NewTicker(ownCleanup)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			limited, cancel := context.WithTimeout(ctx, ownLimit)
			if err := o.own.Clean(limited); err != nil && ctx.Err() == nil {
				o.log.WithError(err).Errorf("clean old jobs in returner %s of %s", o.own.Name(), o.option)
			}
			cancel()
		}
	}
}
