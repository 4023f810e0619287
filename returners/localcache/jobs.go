package localcache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/record"
)

// SaveJob stores j, see [returners.JobCache].
func (c *Cache) SaveJob(ctx context.Context, j *returners.Job) error {
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

func (c *Cache) saveJob(folder string, j *returners.Job) error {
	old, err := c.job(folder, j.ID)
	switch {
	case err == nil:
		return c.mergeMinions(folder, old, j.Minions)
	case !errors.Is(err, returners.ErrUnknownJob):
		return err
	}
	files, err := jobFiles(j)
	if err != nil {
		return err
	}
	err = c.place(folder, j, files)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		// Salt has created the directory, or its contents are damaged
		return c.complete(folder, j, files)
	}
	return err
}

// jobFiles returns the files of a job, the record last.
func jobFiles(j *returners.Job) ([]file, error) {
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

// tempDir returns the name of a temporary directory.
func (c *Cache) tempDir() (string, error) {
	dir := filepath.FromSlash(workDir)
	return filepath.Join(dir, unique()), c.root.MkdirAll(dir, 0o700)
}

// place creates a job in a temporary directory and renames it to its final one.
func (c *Cache) place(folder string, j *returners.Job, files []file) error {
	work, err := c.tempDir()
	if err != nil {
		return err
	}
	if err = c.make(work, files); err == nil {
		err = c.date(work, j.Started)
	}
	if err == nil {
		err = c.put(work, folder)
	}
	if err == nil {
		return nil
	}
	return errors.Join(err, c.root.RemoveAll(work))
}

// put renames a job to its final directory. The directory above may be empty, and disappear with
// the last job in it.
func (c *Cache) put(work, folder string) error {
	for left := 8; ; left-- {
		if err := c.renameInto(work, folder); !missing(err) || left == 1 {
			return err
		}
	}
}

// renameInto creates the directory above and renames a job to its final one.
func (c *Cache) renameInto(work, folder string) error {
	top := filepath.Dir(folder)
	switch err := c.root.Mkdir(top, 0o700); {
	case err == nil:
		if err := c.sync("."); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	if err := c.root.Rename(work, folder); err != nil {
		return err
	}
	if err := c.sync(top); !missing(err) {
		return err
	}
	return nil // it was deleted meanwhile
}

// complete writes the files of a job to an existing directory, the record last.
func (c *Cache) complete(folder string, j *returners.Job, files []file) error {
	for _, f := range files {
		if err := c.replace(folder, f); err != nil {
			return err
		}
	}
	return errors.Join(c.date(folder, j.Started), c.sync(folder))
}

// AddMinions adds expected minions, see [returners.JobCache].
func (c *Cache) AddMinions(ctx context.Context, id job.ID, ids []string) error {
	folder, end, err := c.change(ctx, id)
	if err == nil {
		defer end()
		var j *returners.Job
		if j, err = c.job(folder, id); err == nil {
			err = c.mergeMinions(folder, j, ids)
		}
	}
	if err != nil {
		return fmt.Errorf("add minions to job %s: %w", id, err)
	}
	return nil
}

// mergeMinions adds minions to a job.
func (c *Cache) mergeMinions(folder string, j *returners.Job, ids []string) error {
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
	return errors.Join(c.replace(folder, file{fileRecord, row}),
		c.replace(folder, file{fileMinions, minions}), c.sync(folder))
}

// Job returns one job.
func (c *Cache) Job(ctx context.Context, id job.ID) (*returners.Job, error) {
	end, err := c.gate.Enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", id, err)
	}
	defer end()
	folder, err := id.Dir(c.o.HashType)
	var j *returners.Job
	if err == nil {
		j, err = c.job(filepath.FromSlash(folder), id)
	}
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", id, err)
	}
	return j, nil
}

// Clean deletes the jobs that started before a time one by one, and directories of that age that
// are no jobs. A job disappears at once: it is renamed before its files are removed.
func (c *Cache) Clean(ctx context.Context, before time.Time) (total int, err error) {
	end, err := c.gate.Enter(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete old jobs: %w", err)
	}
	jobs, stray, err := c.places(ctx)
	if err == nil {
		err = c.sweep()
	}
	end()
	if err != nil {
		return 0, fmt.Errorf("delete old jobs: %w", err)
	}
	for i, p := range append(jobs, stray...) {
		if !p.began.Before(before) {
			continue
		}
		if err := c.drop(ctx, p.folder); err != nil {
			return total, fmt.Errorf("delete old jobs: %w", err)
		}
		if i < len(jobs) {
			total++
		}
	}
	return total, nil
}

func (c *Cache) drop(ctx context.Context, folder string) error {
	end, err := c.gate.Enter(ctx)
	if err != nil {
		return err
	}
	defer end()
	work, err := c.tempDir()
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
	_ = c.root.Remove(filepath.Dir(folder)) // not empty if it holds other jobs
	return nil
}

// same reports whether two loads have the same answer.
func same(a, b data.Raw) bool { return bytes.Equal(record.Answer(a), record.Answer(b)) }
