// Package returners says what a place for jobs and returns must do.
//
// The master keeps every job and every return in one [JobCache]. What a minion returned is never decoded on the way:
// it goes as MessagePack from the request port into the cache and from there to whoever asks. The contract of a cache
// is tested by package returners/returnertest; implementations lie on the shelf returners.
package returners

import (
	"context"
	"errors"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
)

// Errors of a JobCache that callers decide on.
var (
	// ErrUnknownJob is returned for a job that is not, or no longer, in the cache.
	ErrUnknownJob = errors.New("unknown job")
	// ErrConflict is returned for a second return of a minion that differs from its first.
	ErrConflict = errors.New("the minion has returned something else before")
)

// A Job is what a master keeps of a publication.
type Job struct {
	ID      job.ID
	Load    data.Raw // the publish load as a MessagePack map in bin form, without credentials
	Minions []string // who is expected to return
	Missing []string // who was named but has no accepted key
	Absent  []string // who of Minions had no connection when the job was sent; kept by a Tracker alone
	NoCache bool     // returns of this job are not to be kept
	Started time.Time
}

// A Return is what a master keeps of a minion's answer.
type Return struct {
	Minion   string
	Load     data.Raw // the whole return load as a MessagePack map in bin form
	Received time.Time
}

// A Filter chooses jobs. The zero Filter chooses all.
type Filter struct {
	Since time.Time // jobs that started then or later; zero does not bound
	Until time.Time // jobs that started before; zero does not bound
	Fun   string    // only jobs of this function; empty means all
	Limit int       // the newest so many; 0 means all
}

// A JobReader looks up what a JobCache keeps. Several goroutines may use it. A record that was damaged on disk is left
// out, and never returned with wrong contents.
type JobReader interface {
	// Job returns one job, which must not be changed; the error wraps ErrUnknownJob where there is none.
	Job(ctx context.Context, id job.ID) (*Job, error)
	// Returns returns the answers to a job, in the order in which they came. A job that is not known has none.
	Returns(ctx context.Context, id job.ID) ([]Return, error)
	// Jobs returns the jobs that f chooses, the newest first.
	Jobs(ctx context.Context, f Filter) ([]Job, error)
}

// A JobCache keeps jobs and returns. Several goroutines may use it. Each change is done as a whole or not at all, also
// when the program is killed; one that ends with the error of its context was not done.
type JobCache interface {
	JobReader
	// SaveJob keeps j, durably when it returns. A job that is there is left as it is, but for what j adds to Minions.
	SaveJob(ctx context.Context, j *Job) error
	// SaveReturn keeps r, durably when it returns. An identical repetition is no error and changes nothing; a
	// different one wraps ErrConflict and changes nothing. Only the encoded fields "return" and "retcode" are compared,
	// since time stamps and the like differ when a minion sends its return again; a load without "return" is compared
	// whole. fresh tells whether r was new. A return for an unknown job wraps ErrUnknownJob.
	SaveReturn(ctx context.Context, id job.ID, r *Return) (fresh bool, err error)
	// AddMinions adds ids to those expected to return, as a syndic reports them; those that are there already count
	// once. The error wraps ErrUnknownJob where there is no such job.
	AddMinions(ctx context.Context, id job.ID, ids []string) error
	// Clean drops the jobs that started before a time, with their returns, and tells how many jobs those were. Others
	// do not wait for it.
	Clean(ctx context.Context, before time.Time) (int, error)
	// Close ends the use of the cache, after what others have begun; what was saved is kept. Later calls of anything
	// but Close are errors.
	Close() error
}
