package localcache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/record"
)

// A place is a job's directory and start time.
type place struct {
	folder string
	began  time.Time
}

// places returns all directories of jobs. Those without a file jid are in stray.
func (c *Cache) places(ctx context.Context) (jobs, stray []place, err error) {
	tops, err := c.list(".")
	if err != nil {
		return nil, nil, err
	}
	for _, top := range tops {
		if !top.IsDir() || len(top.Name()) != 2 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		some, others, err := c.placesIn(top.Name())
		if err != nil {
			c.logDamage(top.Name(), err)
			continue
		}
		jobs, stray = append(jobs, some...), append(stray, others...)
	}
	return jobs, stray, nil
}

// placesIn is places for the jobs whose hash begins with top.
func (c *Cache) placesIn(top string) (jobs, stray []place, err error) {
	dir, err := c.root.OpenRoot(top)
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	names, err := names(dir)
	for _, name := range names {
		folder := filepath.Join(top, name)
		if info, err := dir.Lstat(filepath.Join(name, fileID)); err == nil {
			jobs = append(jobs, place{folder, began(info)})
		} else if info, err := dir.Lstat(name); err == nil && info.IsDir() {
			stray = append(stray, place{folder, info.ModTime()})
		}
	}
	return jobs, stray, err
}

// Limits for reading jobs.
const (
	readAtOnce = 256 // jobs per round, after which it checks if there are enough
	maxReads   = 8   // concurrent
)

// Jobs returns the jobs that match f, the newest first.
func (c *Cache) Jobs(ctx context.Context, f returners.Filter) ([]returners.Job, error) {
	end, err := c.gate.Enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	defer end()
	all, _, err := c.places(ctx)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	slices.SortFunc(all, func(a, b place) int { return b.began.Compare(a.began) })
	if i := slices.IndexFunc(all, func(p place) bool { return p.began.Before(f.Since) }); i >= 0 &&
		!f.Since.IsZero() {
		all = all[:i] // files that Salt wrote have a later time than the job's start
	}
	step := readAtOnce
	if f.Limit > 0 {
		step = min(step, f.Limit+saltSlack)
	}
	var jobs []returners.Job
	for some := range slices.Chunk(all, step) {
		if jobs, err = c.appendFitting(ctx, jobs, some, f); err != nil {
			return nil, err
		}
		if f.Limit > 0 && len(jobs) >= f.Limit+saltSlack {
			break
		}
	}
	return f.Newest(jobs), nil
}

// saltSlack is the number of additional jobs to read, because the times of Salt's files are only
// approximately the jobs' start times.
const saltSlack = 16

// appendFitting reads jobs concurrently, and appends those that match a filter in their order.
func (c *Cache) appendFitting(
	ctx context.Context, jobs []returners.Job, places []place, f returners.Filter,
) ([]returners.Job, error) {
	found := make([]*returners.Job, len(places))
	var readers errgroup.Group
	n := min(maxReads, runtime.GOMAXPROCS(0))
	for first := range n {
		readers.Go(func() error {
			for i := first; i < len(places); i += n {
				if err := ctx.Err(); err != nil {
					return err
				}
				found[i] = c.fitting(places[i], f)
			}
			return nil
		})
	}
	if err := readers.Wait(); err != nil {
		return nil, err
	}
	for _, j := range found {
		if j != nil {
			jobs = append(jobs, *j)
		}
	}
	return jobs, nil
}

// fitting reads a job and returns it if it matches a filter.
func (c *Cache) fitting(p place, f returners.Filter) *returners.Job {
	dir, err := c.root.OpenRoot(p.folder)
	if err != nil {
		c.logDamage(p.folder, err)
		return nil
	}
	defer dir.Close()
	folder := jobFolder{dir, p.folder}
	own, err := folder.id()
	if err != nil {
		c.logDamage(p.folder, err)
		return nil
	}
	id := job.ID(own.id)
	if want, err := id.Dir(c.o.HashType); err != nil || filepath.FromSlash(want) != p.folder {
		c.logDamage(p.folder, errors.New("the file jid is not of this job"))
		return nil
	}
	j, err := c.jobIn(folder, id, own)
	if err != nil || !record.Matches(f, j) {
		return nil
	}
	return j
}

// names returns the names in a directory.
func names(dir *os.Root) ([]string, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}
