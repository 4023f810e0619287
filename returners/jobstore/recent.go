package jobstore

import (
	"container/list"
	"sync"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
)

// Limits of recent. The newest job is always kept: each of its returns looks it up.
const (
	recentJobs  = 1000
	recentBytes = 4 << 20
)

// recent caches the jobs that were looked up last, because each return looks up its job. A nil one
// caches nothing.
type recent struct {
	mu      sync.Mutex
	jobs    map[job.ID]*list.Element // of *returners.Job
	order   list.List                // the most recently used first
	bytes   int
	changes int // counts changes that could make a job being read stale
}

func newRecent() *recent { return &recent{jobs: map[job.ID]*list.Element{}} }

// get returns a job, or the state to pass to cacheRead with a job that is read after this call.
func (r *recent) get(id job.ID) (j *returners.Job, state int) {
	if r == nil {
		return nil, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.jobs[id]
	if !ok {
		return nil, r.changes
	}
	r.order.MoveToFront(e)
	return e.Value.(*returners.Job), 0
}

// cacheRead caches a job that a reader found, unless something has changed since state.
func (r *recent) cacheRead(j *returners.Job, state int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changes == state {
		r.put(j)
	}
}

// set caches a job that was just written. Only the writer calls it, in the order of its
// transactions.
func (r *recent) set(j *returners.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
	r.put(j)
}

func (r *recent) put(j *returners.Job) {
	r.remove(j.ID)
	r.jobs[j.ID] = r.order.PushFront(j)
	r.bytes += sizeOf(j)
	for len(r.jobs) > 1 && (len(r.jobs) > recentJobs || r.bytes > recentBytes) {
		r.remove(r.order.Back().Value.(*returners.Job).ID)
	}
}

func (r *recent) remove(id job.ID) {
	if e, ok := r.jobs[id]; ok {
		delete(r.jobs, id)
		r.bytes -= sizeOf(r.order.Remove(e).(*returners.Job))
	}
}

// clear removes all jobs.
func (r *recent) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
	clear(r.jobs)
	r.order.Init()
	r.bytes = 0
}

// sizeOf estimates the memory of a job.
func sizeOf(j *returners.Job) int {
	n := 200 + len(j.ID) + len(j.Load)
	for _, ids := range [][]string{j.Minions, j.Missing} {
		for _, id := range ids {
			n += 16 + len(id)
		}
	}
	return n
}
