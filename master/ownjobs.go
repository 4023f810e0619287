package master

import (
	"sync"
	"time"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// What one minion may bring into the job cache of jobs that nobody ordered, in the time for which jobs are kept.
const (
	ownJobs     = 10_000    // returns
	ownJobBytes = 256 << 20 // of returns
	ownWindow   = 24 * time.Hour
	ownMinions  = 1 << 16 // of which something is remembered
)

// ownQuota bounds what minions bring of jobs that nobody ordered: results of salt-call and of their schedules, and returns for jobs
// that the master does not know. What a minion used is forgotten evenly over the time for which jobs are kept.
type ownQuota struct {
	now  func() time.Time
	keep func() time.Duration // how long jobs are kept; 0 is for ever

	mu   sync.Mutex
	used map[string]*ownUse
}

// ownUse is what a minion has used and not yet got back.
type ownUse struct {
	jobs, bytes float64
	at          time.Time
}

func newOwnQuota(now func() time.Time, keep func() time.Duration) *ownQuota {
	return &ownQuota{now: now, keep: keep, used: map[string]*ownUse{}}
}

// take books a return of n bytes, and reports whether the minion may bring it. The first of a minion may have any length.
func (q *ownQuota) take(minion string, n int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	u := q.used[minion]
	if u == nil {
		q.makeRoom(now)
		u = &ownUse{at: now}
		q.used[minion] = u
	}
	q.giveBack(u, now)
	if u.jobs+1 > ownJobs || u.bytes > 0 && u.bytes+float64(n) > ownJobBytes {
		return false
	}
	u.jobs, u.bytes = u.jobs+1, u.bytes+float64(n)
	return true
}

// refund takes back what take booked, for a return that is not kept: a repetition, or one that could not be saved.
func (q *ownQuota) refund(minion string, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if u := q.used[minion]; u != nil {
		u.jobs, u.bytes = max(u.jobs-1, 0), max(u.bytes-float64(n), 0)
	}
}

// giveBack forgets what has been used so long ago.
func (q *ownQuota) giveBack(u *ownUse, now time.Time) {
	window := q.keep()
	if window <= 0 {
		window = ownWindow
	}
	share := max(float64(now.Sub(u.at))/float64(window), 0)
	u.jobs, u.bytes, u.at = max(u.jobs-share*ownJobs, 0), max(u.bytes-share*ownJobBytes, 0), now
}

// makeRoom forgets minions that have used nothing of late, or all where there are too many.
func (q *ownQuota) makeRoom(now time.Time) {
	if len(q.used) < ownMinions {
		return
	}
	for id, u := range q.used {
		if q.giveBack(u, now); u.jobs == 0 {
			delete(q.used, id)
		}
	}
	if len(q.used) >= ownMinions {
		clear(q.used)
	}
}

// A returned job is the one that a return is for.
type returned struct {
	*returners.Job
	own   bool // nobody ordered it
	fresh bool // it is not saved yet
}

// isOwn reports whether nobody ordered a job of the job cache.
func isOwn(j *returners.Job) bool {
	fields, err := payload.ParseFields(j.Load, payload.WireLimits())
	return err == nil && fields.Has(job.OwnOf)
}
