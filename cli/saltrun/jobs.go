package saltrun

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/brineproject/brine/cli/code"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/jobstore"
	"github.com/brineproject/brine/returners/localcache"
	"github.com/brineproject/brine/returners/opener"
	"github.com/brineproject/brine/runners"
)

// jobs gives access to the master's job cache, which is opened on first use: the file of a Brine
// master, or else Salt's files.
type jobs struct {
	r *run

	mu   sync.Mutex
	open reader
}

// A reader is a job cache that can be closed.
type reader interface {
	returners.JobReader
	Close() error
}

var (
	_ returners.ProgressReader = (*jobs)(nil)
	_ returners.ReturnWalker   = (*jobs)(nil)
)

func (j *jobs) file() string { return filepath.Join(j.r.opts.Text("cachedir"), "jobs.db") }

// own reports whether a Brine master has its job cache here in its own file, not in the files of
// master_job_cache.
func (j *jobs) own() bool {
	_, err := os.Stat(j.file())
	name := j.r.cfg.JobCacheName()
	return err == nil && (name != localcache.Name || j.isOwn(name))
}

// files reports whether jobs are stored in files below the cachedir: also a master with a job cache
// of users' own code keeps its records there.
func (j *jobs) files() bool {
	name := j.r.opts.Text("master_job_cache")
	return name == "" || name == localcache.Name || j.isOwn(name)
}

// isOwn reports whether a job cache is a returner of users' own code.
func (j *jobs) isOwn(name string) bool {
	return name != "" &&
		code.Has(j.r.opts, "returners", name, slices.Contains(opener.Names(opener.Jobs), name))
}

// cache returns the job cache, opened for reading.
func (j *jobs) cache(ctx context.Context) (reader, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.open != nil {
		return j.open, nil
	}
	var err error
	switch {
	case j.r.cfg.ExtJobCache != "" && !j.isOwn(j.r.cfg.ExtJobCache):
		j.open, err = opener.ExtJobCache(j.r.cfg, j.r.log)(ctx)
	case !j.files():
		j.open, err = opener.JobCache(j.r.cfg, j.r.log)(ctx)
	case j.own():
		j.open, err = jobstore.OpenReadOnly(ctx, j.file(), jobstore.Options{Log: j.r.log})
	default:
		j.open, err = j.tree()
	}
	if err != nil {
		j.open = nil
		return nil, err
	}
	if own := j.returner(); own != nil {
		j.open = &ownReader{returners.NewOwnReader(own, j.open), j.open}
	}
	return j.open, nil
}

// An ownReader reads through a returner of users' own code, and closes the cache behind it.
type ownReader struct {
	*returners.OwnReader
	behind reader
}

func (o *ownReader) Close() error { return o.behind.Close() }

// returner returns the returner of users' own code that is the job cache; nil if it is another.
func (j *jobs) returner() *returners.Own {
	name := j.r.opts.Text("master_job_cache")
	if j.r.cfg.ExtJobCache != "" {
		name = j.r.cfg.ExtJobCache
	}
	if !j.isOwn(name) {
		return nil
	}
	shelf := j.r.host.returners
	return returners.NewOwn(name, func() *loader.Registry { return shelf }, j.r.log)
}

// tree opens the job files of a Salt master.
func (j *jobs) tree() (reader, error) {
	dir := filepath.Join(j.r.opts.Text("cachedir"), "jobs")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return none{}, nil
	}
	return localcache.Open(dir, localcache.Options{Log: j.r.log})
}

// Job returns one job.
func (j *jobs) Job(ctx context.Context, id job.ID) (*returners.Job, error) {
	c, err := j.cache(ctx)
	if err != nil {
		return nil, err
	}
	return c.Job(ctx, id)
}

// Returns returns the returns of a job.
func (j *jobs) Returns(ctx context.Context, id job.ID) ([]returners.Return, error) {
	c, err := j.cache(ctx)
	if err != nil {
		return nil, err
	}
	return c.Returns(ctx, id)
}

// WalkReturns calls visit with returns of a job.
func (j *jobs) WalkReturns(ctx context.Context, id job.ID, minions []string, visit func(returners.Return) error) error {
	c, err := j.cache(ctx)
	if err != nil {
		return err
	}
	return returners.WalkReturns(ctx, c, id, minions, visit)
}

// Jobs returns the jobs that match f.
func (j *jobs) Jobs(ctx context.Context, f returners.Filter) ([]returners.Job, error) {
	c, err := j.cache(ctx)
	if err != nil {
		return nil, err
	}
	return c.Jobs(ctx, f)
}

// Progress returns the progress of a job.
func (j *jobs) Progress(ctx context.Context, id job.ID) ([]returners.Progress, error) {
	c, err := j.cache(ctx)
	if err != nil {
		return nil, err
	}
	return returners.ProgressOf(ctx, c, id)
}

// keep stores the result of a runner in the master's job cache, whether the master runs or not.
func (j *jobs) keep(ctx context.Context, done *runners.Done) error {
	if !data.Truth(j.r.opts.Value("job_cache")) || j.r.opts.Text("ext_job_cache") != "" {
		return nil
	}
	c, err := j.writable(ctx)
	if err != nil {
		return err
	}
	return errors.Join(done.KeepIn(ctx, c, time.Now()), c.Close())
}

// writable opens the job cache for writing. The file of a running master accepts writes of other
// processes too; a damaged file is left to the master.
func (j *jobs) writable(ctx context.Context) (returners.JobCache, error) {
	switch {
	case !j.files():
		return opener.JobCache(j.r.cfg, j.r.log)(ctx)
	case !j.own():
		return localcache.Open(filepath.Join(j.r.opts.Text("cachedir"), "jobs"),
			localcache.Options{Log: j.r.log})
	}
	look, err := jobstore.OpenReadOnly(ctx, j.file(), jobstore.Options{Log: j.r.log})
	if err != nil {
		return nil, err
	}
	if err := look.Close(); err != nil {
		return nil, err
	}
	return jobstore.Open(ctx, j.file(), jobstore.Options{Log: j.r.log})
}

func (j *jobs) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.open != nil {
		_ = j.open.Close() // nothing was written
	}
}

// none is a job cache without jobs.
type none struct{}

func (none) Job(context.Context, job.ID) (*returners.Job, error) {
	return nil,
		returners.ErrUnknownJob
}

func (none) Returns(context.Context, job.ID) ([]returners.Return, error) { return nil, nil }

func (none) Jobs(context.Context, returners.Filter) ([]returners.Job, error) { return nil, nil }

func (none) Close() error { return nil }
