package saltsyndic

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/jobstore"
	"github.com/brineproject/brine/returners/localcache"
	"github.com/brineproject/brine/returners/opener"
	"github.com/brineproject/brine/syndic"
)

// jobs is the job cache of the master of this host, Brine's or Salt's. It is opened when it is first
// needed, because the master may start after the syndic.
type jobs struct {
	cfg *config.Master
	log logrus.FieldLogger

	mu     sync.Mutex
	open   cache
	failed string // the last error, which is logged once
}

// A cache is a job cache that can be closed.
type cache interface {
	returners.JobReader
	Close() error
}

// errNone is returned if no master has stored jobs on this host yet.
var errNone = errors.New("there is no job cache yet")

// reader returns the job cache, or nil if it cannot be opened now.
func (j *jobs) reader() syndic.JobReader {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.open != nil {
		return walker{j.open}
	}
	c, err := j.choose(context.Background())
	if err != nil {
		j.report(err)
		return nil
	}
	j.open, j.failed = c, ""
	return walker{c}
}

// report logs an error unless it is the same as before. A host without a job cache is not a fault.
func (j *jobs) report(err error) {
	if errors.Is(err, errNone) || err.Error() == j.failed {
		return
	}
	j.failed = err.Error()
	j.log.WithError(err).Warn("open the job cache of the master")
}

// choose opens the job cache: that of ext_job_cache or master_job_cache, the file of a Brine master,
// or the files of a Salt master. It only reads the files.
func (j *jobs) choose(ctx context.Context) (cache, error) {
	known := opener.Names(opener.Jobs)
	switch name := j.cfg.MasterJobCache; {
	case slices.Contains(known, j.cfg.ExtJobCache):
		return opener.ExtJobCache(j.cfg, j.log)(ctx)
	case name != "" && name != localcache.Name && slices.Contains(known, name):
		return opener.JobCache(j.cfg, j.log)(ctx)
	}
	file, dir := filepath.Join(j.cfg.CacheDir, "jobs.db"), filepath.Join(j.cfg.CacheDir, "jobs")
	if j.cfg.JobCacheName() != localcache.Name && exists(file) {
		return jobstore.OpenReadOnly(ctx, file, jobstore.Options{Log: j.log})
	}
	if !exists(dir) {
		return nil, errNone
	}
	return localcache.Open(dir, localcache.Options{HashType: j.cfg.HashType, Log: j.log})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func (j *jobs) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.open == nil {
		return nil
	}
	return j.open.Close()
}

// A walker reads the returns of a job one after the other, if its cache can do that.
type walker struct{ returners.JobReader }

var _ returners.ReturnWalker = walker{}

// WalkReturns calls visit with returns of a job, as [returners.ReturnWalker] describes.
func (w walker) WalkReturns(
	ctx context.Context, id job.ID, minions []string, visit func(returners.Return) error,
) error {
	return returners.WalkReturns(ctx, w.JobReader, id, minions, visit)
}
