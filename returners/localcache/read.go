package localcache

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/record"
)

// job reads a job. The error wraps ErrUnknownJob if it does not exist or is damaged.
func (c *Cache) job(folder string, id job.ID) (*returners.Job, error) {
	dir, err := c.root.OpenRoot(folder)
	if err != nil {
		if !missing(err) {
			c.logDamage(folder, err)
		}
		return nil, fmt.Errorf("%w: %w", returners.ErrUnknownJob, err)
	}
	defer dir.Close()
	return c.jobIn(jobFolder{dir, folder}, id, nil)
}

// A jobFolder is the open directory of a job, for fast access to its files.
type jobFolder struct {
	*os.Root
	name string
}

// An idFile is the file jid: the id in it and its modification time.
type idFile struct {
	id string
	at time.Time
}

func (f jobFolder) id() (*idFile, error) {
	id, info, err := read(f.Root, fileID)
	if err != nil {
		return nil, err
	}
	return &idFile{string(id), began(info)}, nil
}

// jobIn reads the job in a directory. own is its file jid, or nil if it was not read yet.
func (c *Cache) jobIn(f jobFolder, id job.ID, own *idFile) (*returners.Job, error) {
	row, _, err := read(f.Root, fileRecord)
	var j *returners.Job
	switch {
	case missing(err):
		return c.saltJob(f, id, own)
	case err == nil:
		if j, err = record.UnmarshalJob(id, row); err == nil {
			return j, nil
		}
	}
	c.logDamage(f.name, err)
	return nil, fmt.Errorf("%w: %w", returners.ErrUnknownJob, err)
}

// saltJob reads a job that Salt wrote (salt/returners/local_cache.py, get_load).
func (c *Cache) saltJob(f jobFolder, id job.ID, own *idFile) (*returners.Job, error) {
	var err error
	if own == nil {
		own, err = f.id()
	}
	if err != nil || own.id != string(id) {
		return nil, fmt.Errorf("%w: the file jid is of another: %w", returners.ErrUnknownJob, err)
	}
	j := &returners.Job{ID: id, Started: own.at.UTC()}
	if at, err := id.Time(); err == nil {
		j.Started = at
	}
	if j.Load, err = saltLoad(f); err != nil {
		c.logDamage(f.name, err)
		return nil, fmt.Errorf("%w: %w", returners.ErrUnknownJob, err)
	}
	names, err := names(f.Root)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name == fileNoCache {
			j.NoCache = true
		}
		if strings.HasPrefix(name, ".minions.") && strings.HasSuffix(name, ".p") {
			j.Minions = c.saltMinions(f, name, j.Minions)
		}
	}
	return j, nil
}

// saltLoad reads a load. A job that only has returns has an empty load.
func saltLoad(f jobFolder) (data.Raw, error) {
	load, _, err := read(f.Root, fileLoad)
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

// saltMinions adds the expected minions to ids, from the list of the master or of a syndic.
func (c *Cache) saltMinions(f jobFolder, name string, ids []string) []string {
	body, _, err := read(f.Root, name)
	var v any
	if err == nil {
		v, err = payload.UnmarshalText(body, payload.WireLimits())
	}
	if err != nil {
		c.logDamage(f.name, err)
		return ids
	}
	list, _ := v.([]any)
	more := make([]string, len(list))
	for i, id := range list {
		more[i] = data.Str(id)
	}
	ids, _ = record.MergeIDs(ids, more)
	return ids
}

// errOther reports a file of another kind.
var errOther = errors.New("the file is not a regular file of this job cache")
