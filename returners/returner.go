// Package returners defines the interfaces of stores for jobs and returns.
//
// The master stores every job and every return in one [JobCache]. Minions' returns are never
// decoded on the way: they travel as MessagePack from the request port to the cache and from there
// to the readers. Package returners/returnertest tests the contract of a cache; the implementations
// are in the directories below returners.
package returners

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
)

// Errors of a JobCache that callers check for.
var (
	// ErrUnknownJob is returned for a job that is not, or no longer, in the cache.
	ErrUnknownJob = errors.New("unknown job")
	// ErrConflict is returned for a second return of a minion that differs from its first.
	ErrConflict = errors.New("the minion has returned something else before")
)

// A Job is a master's record of a publication.
type Job struct {
	ID      job.ID
	Load    data.Raw // the publish load as a MessagePack map in bin form, without credentials
	Minions []string // minions expected to return
	Missing []string // named minions without an accepted key
	// those of Minions that were not connected when the job was sent; only stored by a Tracker
	Absent  []string
	NoCache bool // returns of this job are not stored
	Started time.Time
}

// A Return is a master's record of a minion's answer.
type Return struct {
	Minion   string
	Load     data.Raw // the whole return load as a MessagePack map in bin form
	Received time.Time
}

// A Filter selects jobs. The zero Filter selects all.
type Filter struct {
	Since time.Time // jobs that started then or later; zero means no limit
	Until time.Time // jobs that started before; zero means no limit
	Fun   string    // only jobs of this function; empty means all
	Limit int       // maximum number of jobs, the newest ones; 0 means all
}

// Newest sorts jobs, the newest first, and returns as many of them as f allows.
func (f Filter) Newest(jobs []Job) []Job {
	slices.SortStableFunc(jobs, func(a, b Job) int { return b.Started.Compare(a.Started) })
	if f.Limit > 0 && len(jobs) > f.Limit {
		jobs = jobs[:f.Limit]
	}
	return jobs
}

// A JobReader reads the data of a JobCache. Several goroutines may use it. Records damaged on disk
// are left out, and never returned with wrong contents.
type JobReader interface {
	// Job returns one job, which must not be changed; the error wraps ErrUnknownJob if there is
	// none.
	Job(ctx context.Context, id job.ID) (*Job, error)
	// Returns returns the returns of a job, in the order of arrival. An unknown job has none.
	Returns(ctx context.Context, id job.ID) ([]Return, error)
	// Jobs returns the jobs that match f, the newest first.
	Jobs(ctx context.Context, f Filter) ([]Job, error)
}

// A JobCache stores jobs and returns. Several goroutines may use it. Each change is atomic, also if
// the program is killed; one that fails with its context's error was not made.
type JobCache interface {
	JobReader
	// SaveJob stores j durably. An existing job is left unchanged, except that minions of j are
	// added to its Minions.
	SaveJob(ctx context.Context, j *Job) error
	// SaveReturn stores r durably. An identical repetition is no error and changes nothing; for a
	// different one the error wraps ErrConflict and nothing changes. Only the encoded fields
	// "return" and "retcode" are compared, because time stamps and the like differ when a minion
	// sends its return again; a load without "return" is compared whole. fresh reports whether r
	// was new. For an unknown job the error wraps ErrUnknownJob.
	SaveReturn(ctx context.Context, id job.ID, r *Return) (fresh bool, err error)
	// AddMinions adds ids to the expected minions, as reported by a syndic; duplicates count once.
	// The error wraps ErrUnknownJob if there is no such job.
	AddMinions(ctx context.Context, id job.ID, ids []string) error
	// Clean deletes the jobs that started before a time, with their returns, and returns their
	// number. Other calls do not wait for it.
	Clean(ctx context.Context, before time.Time) (int, error)
	// Close waits for running calls and closes the cache; saved data are kept. Later calls of
	// anything but Close are errors.
	Close() error
}
