package master

import (
	"sync"
	"time"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// Limits on what one minion may add to the job cache for jobs that nobody ordered, during the time
// for which jobs are kept.
const (
	ownJobs     = 10_000    // returns
	ownJobBytes = 256 << 20 // of returns
	ownWindow   = 24 * time.Hour
	ownMinions  = 1 << 16 // tracked minions
)

// ownQuota limits returns for jobs that nobody ordered: results of salt-call and of schedules, and
// returns for jobs that the master does not know. Usage decays evenly over the time for which jobs
// are kept.
type ownQuota struct {
	now  func() time.Time
	keep func() time.Duration // how long jobs are kept; 0 means for ever

	mu   sync.Mutex
	used map[string]*ownUse
}

// ownUse is the current usage of one minion.
type ownUse struct {
	jobs, bytes float64
	at          time.Time
}

func newOwnQuota(now func() time.Time, keep func() time.Duration) *ownQuota {
	return &ownQuota{now: now, keep: keep, used: map[string]*ownUse{}}
}

// take counts a return of n bytes, and reports whether the minion may add it. The first return of a
// minion may have any size.
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
	q.decay(u, now)
	if u.jobs+1 > ownJobs || u.bytes > 0 && u.bytes+float64(n) > ownJobBytes {
		return false
	}
	u.jobs, u.bytes = u.jobs+1, u.bytes+float64(n)
	return true
}

// refund reverses take for a return that was not stored: a duplicate, or one that could not be
// saved.
func (q *ownQuota) refund(minion string, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if u := q.used[minion]; u != nil {
		u.jobs, u.bytes = max(u.jobs-1, 0), max(u.bytes-float64(n), 0)
	}
}

// decay reduces the usage of a minion by the time that has passed.
func (q *ownQuota) decay(u *ownUse, now time.Time) {
	window := q.keep()
	if window <= 0 {
		window = ownWindow
	}
	share := max(float64(now.Sub(u.at))/float64(window), 0)
	u.jobs, u.bytes, u.at = max(u.jobs-share*ownJobs, 0), max(u.bytes-share*ownJobBytes, 0), now
}

// makeRoom drops minions without usage, or all if there are still too many.
func (q *ownQuota) makeRoom(now time.Time) {
	if len(q.used) < ownMinions {
		return
	}
	for id, u := range q.used {
		if q.decay(u, now); u.jobs == 0 {
			delete(q.used, id)
		}
	}
	if len(q.used) >= ownMinions {
		clear(q.used)
	}
}

// A returned is the job that a return is for.
type returned struct {
	*returners.Job
	own   bool // nobody ordered it
	fresh bool // it is not saved in the job cache yet
	// this master does not know the job, and could not learn whether its cluster does
	unsure bool
}

// isOwn reports whether nobody ordered the job.
func isOwn(j *returners.Job) bool {
	fields, err := payload.ParseFields(j.Load, payload.WireLimits())
	return err == nil && fields.Has(job.OwnOf)
}
