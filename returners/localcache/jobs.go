package localcache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returner"
	"github.com/brineproject/brine/returner/record"
)

// SaveJob keeps j, as [returner.JobCache] says.
func (c *Cache) SaveJob(ctx context.Context, j *returner.Job) error {
	folder, end, err := c.change(ctx, j.ID)
	if err == nil {
		defer end()
		err = c.saveJob(folder, j)
	}
	if err != nil {
		return fmt.Errorf("save job %s: %w", j.ID, err)
	}
	return nil
}

func (c *Cache) saveJob(folder string, j *returner.Job) error {
	old, err := c.job(folder, j.ID)
	switch {
	case err == nil:
		return c.join(folder, old, j.Minions)
	case !errors.Is(err, returner.ErrUnknownJob):
		return err
	}
	files, err := jobFiles(j)
	if err != nil {
		return err
	}
	err = c.place(folder, j, files)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		return c.complete(folder, j, files) // Salt has made the folder, or what was in it is damaged
	}
	return err
}

// jobFiles returns the files of a job, the record last.
func jobFiles(j *returner.Job) ([]file, error) {
	minions, err := minionList(j.Minions)
	if err != nil {
		return nil, err
	}
	row, err := record.MarshalJob(j)
	if err != nil {
		return nil, err
	}
	files := []file{{fileLoad, j.Load}, {fileMinions, minions}, {fileID, []byte(j.ID)}}
	if j.NoCache {
		files = append(files, file{fileNoCache, nil})
	}
	return append(files, file{fileRecord, row}), nil
}

func minionList(ids []string) ([]byte, error) {
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	return payload.MarshalBin(list)
}

// workPlace returns the name of a folder to work in.
func (c *Cache) workPlace() (string, error) {
	dir := filepath.FromSlash(workDir)
	return filepath.Join(dir, unique()), c.root.MkdirAll(dir, 0o700)
}

// place makes a job aside and renames it to its place.
func (c *Cache) place(folder string, j *returner.Job, files []file) error {
	work, err := c.workPlace()
	if err != nil {
		return err
	}
	if err = c.make(work, files); err == nil {
		err = c.date(work, j.Started)
	}
	top := filepath.Dir(folder)
	if err == nil {
		if err = c.root.Mkdir(top, 0o700); errors.Is(err, fs.ErrExist) {
			err = nil
		} else if err == nil {
			err = c.sync(".")
		}
	}
	if err == nil {
		if err = c.root.Rename(work, folder); err == nil {
			return c.sync(top)
		}
	}
	return errors.Join(err, c.root.RemoveAll(work))
}

// complete puts the files of a job into a folder that is there, the record last.
func (c *Cache) complete(folder string, j *returner.Job, files []file) error {
	for _, f := range files {
		if err := c.replace(folder, f); err != nil {
			return err
		}
	}
	return errors.Join(c.date(folder, j.Started), c.sync(folder))
}

// AddMinions adds to those that are expected to return, as [returner.JobCache] says.
func (c *Cache) AddMinions(ctx context.Context, id job.ID, ids []string) error {
	folder, end, err := c.change(ctx, id)
	if err == nil {
		defer end()
		var j *returner.Job
		if j, err = c.job(folder, id); err == nil {
			err = c.join(folder, j, ids)
		}
	}
	if err != nil {
		return fmt.Errorf("add minions to job %s: %w", id, err)
	}
	return nil
}

// join adds minions to a job.
func (c *Cache) join(folder string, j *returner.Job, ids []string) error {
	all, changed := record.MergeIDs(j.Minions, ids)
	if !changed {
		return nil
	}
	j.Minions = all
	minions, err := minionList(all)
	if err != nil {
		return err
	}
	row, err := record.MarshalJob(j)
	if err != nil {
		return err
	}
	return errors.Join(c.replace(folder, file{fileRecord, row}), c.replace(folder, file{fileMinions, minions}), c.sync(folder))
}

// Job returns one job.
func (c *Cache) Job(ctx context.Context, id job.ID) (*returner.Job, error) {
	end, err := c.use(ctx)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", id, err)
	}
	defer end()
	folder, err := id.Dir(c.o.HashType)
	var j *returner.Job
	if err == nil {
		j, err = c.job(filepath.FromSlash(folder), id)
	}
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", id, err)
	}
	return j, nil
}

// job reads a job; the error wraps ErrUnknownJob where there is none, or it is damaged.
func (c *Cache) job(folder string, id job.ID) (*returner.Job, error) {
	row, err := c.read(filepath.Join(folder, fileRecord))
	var j *returner.Job
	switch {
	case missing(err):
		return c.saltJob(folder, id)
	case err == nil:
		if j, err = record.UnmarshalJob(id, row); err == nil {
			return j, nil
		}
	}
	c.tell(folder, err)
	return nil, fmt.Errorf("%w: %w", returner.ErrUnknownJob, err)
}

// saltJob reads a job that Salt has written (salt/returners/local_cache.py, get_load).
func (c *Cache) saltJob(folder string, id job.ID) (*returner.Job, error) {
	info, err := c.root.Stat(filepath.Join(folder, fileID))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", returner.ErrUnknownJob, err)
	}
	name, err := c.read(filepath.Join(folder, fileID))
	if err != nil || string(name) != string(id) {
		return nil, fmt.Errorf("%w: the file jid is of another: %w", returner.ErrUnknownJob, err)
	}
	j := &returner.Job{ID: id, Started: began(info).UTC()}
	if at, err := id.Time(); err == nil {
		j.Started = at
	}
	if j.Load, err = c.saltLoad(folder); err != nil {
		c.tell(folder, err)
		return nil, fmt.Errorf("%w: %w", returner.ErrUnknownJob, err)
	}
	if _, err := c.root.Lstat(filepath.Join(folder, fileNoCache)); err == nil {
		j.NoCache = true
	}
	j.Minions, err = c.saltMinions(folder)
	return j, err
}

// saltLoad reads a load. A job for which there are returns alone has an empty one.
func (c *Cache) saltLoad(folder string) (data.Raw, error) {
	load, err := c.read(filepath.Join(folder, fileLoad))
	if missing(err) {
		return payload.MarshalBin(data.NewMap())
	}
	if err != nil {
		return nil, err
	}
	if _, err := payload.ParseFields(load, payload.WireLimits()); err != nil {
		return nil, err
	}
	return load, nil
}

// saltMinions reads who is expected to return: the list of the master and those of syndics.
func (c *Cache) saltMinions(folder string) (ids []string, err error) {
	entries, err := c.list(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".minions.") || !strings.HasSuffix(e.Name(), ".p") {
			continue
		}
		body, err := c.read(filepath.Join(folder, e.Name()))
		if err != nil {
			c.tell(folder, err)
			continue
		}
		v, err := payload.UnmarshalText(body, payload.WireLimits())
		if err != nil {
			c.tell(folder, err)
			continue
		}
		list, _ := v.([]any)
		for _, id := range list {
			ids, _ = record.MergeIDs(ids, []string{data.Str(id)})
		}
	}
	return ids, nil
}

// A place is where a job lies, and when it began.
type place struct {
	folder string
	began  time.Time
}

// places returns all folders of jobs. One that has no file jid is returned in stray.
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
		entries, err := c.list(top.Name())
		if err != nil {
			c.tell(top.Name(), err)
			continue
		}
		for _, e := range entries {
			folder := filepath.Join(top.Name(), e.Name())
			if info, err := c.root.Lstat(filepath.Join(folder, fileID)); err == nil {
				jobs = append(jobs, place{folder, began(info)})
			} else if info, err := e.Info(); err == nil && e.IsDir() {
				stray = append(stray, place{folder, info.ModTime()})
			}
		}
	}
	return jobs, stray, nil
}

// Jobs returns the jobs that f chooses, the newest first.
func (c *Cache) Jobs(ctx context.Context, f returner.Filter) ([]returner.Job, error) {
	end, err := c.use(ctx)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	defer end()
	all, _, err := c.places(ctx)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	slices.SortFunc(all, func(a, b place) int { return b.began.Compare(a.began) })
	var jobs []returner.Job
	for _, p := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !f.Since.IsZero() && p.began.Before(f.Since) {
			break // those that Salt made have a later time than their start
		}
		if j := c.fitting(p, f); j != nil {
			jobs = append(jobs, *j)
		}
		if f.Limit > 0 && len(jobs) >= f.Limit+saltSlack {
			break
		}
	}
	slices.SortStableFunc(jobs, func(a, b returner.Job) int { return b.Started.Compare(a.Started) })
	if f.Limit > 0 && len(jobs) > f.Limit {
		jobs = jobs[:f.Limit]
	}
	return jobs, nil
}

// saltSlack is how many more jobs are read than asked for, since the times of Salt's files say only about when jobs began.
const saltSlack = 16

// fitting reads a job and returns it when a filter takes it.
func (c *Cache) fitting(p place, f returner.Filter) *returner.Job {
	id, err := c.read(filepath.Join(p.folder, fileID))
	if err != nil {
		c.tell(p.folder, err)
		return nil
	}
	if want, err := job.ID(id).Dir(c.o.HashType); err != nil || filepath.FromSlash(want) != p.folder {
		c.tell(p.folder, errors.New("the file jid is not of this job"))
		return nil
	}
	j, err := c.job(p.folder, job.ID(id))
	switch {
	case err != nil,
		!f.Since.IsZero() && j.Started.Before(f.Since),
		!f.Until.IsZero() && !j.Started.Before(f.Until),
		f.Fun != "" && record.FunOf(j.Load) != f.Fun:
		return nil
	}
	return j
}

// Clean drops the jobs that began before a time, one after the other, and folders that are no jobs and as old. A job is
// gone at once: it is renamed away before its files are removed.
func (c *Cache) Clean(ctx context.Context, before time.Time) (total int, err error) {
	end, err := c.use(ctx)
	if err != nil {
		return 0, fmt.Errorf("drop old jobs: %w", err)
	}
	jobs, stray, err := c.places(ctx)
	if err == nil {
		err = c.sweep()
	}
	end()
	if err != nil {
		return 0, fmt.Errorf("drop old jobs: %w", err)
	}
	for i, p := range append(jobs, stray...) {
		if !p.began.Before(before) {
			continue
		}
		if err := c.drop(ctx, p.folder); err != nil {
			return total, fmt.Errorf("drop old jobs: %w", err)
		}
		if i < len(jobs) {
			total++
		}
	}
	return total, nil
}

func (c *Cache) drop(ctx context.Context, folder string) error {
	end, err := c.use(ctx)
	if err != nil {
		return err
	}
	defer end()
	work, err := c.workPlace()
	if err != nil {
		return err
	}
	if err := c.root.Rename(folder, work); err != nil {
		if missing(err) {
			return nil
		}
		return err
	}
	if err := c.root.RemoveAll(work); err != nil {
		return err
	}
	_ = c.root.Remove(filepath.Dir(folder)) // not empty where it holds other jobs
	return nil
}

// same reports whether two loads say the same.
func same(a, b data.Raw) bool { return bytes.Equal(record.Answer(a), record.Answer(b)) }
