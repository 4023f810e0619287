// Package localcache stores a master's jobs and returns in Salt's own tree of files, CACHEDIR/jobs
// (salt/returners/local_cache.py), for `master_job_cache: local_cache`. Salt's runners on the same
// host can read it, and it can read the files of a Salt master.
//
// A job is the directory HH/REST below jobs, by the hash of its id, with the files jid, .load.p,
// .minions.p and possibly nocache and endtime. A return is a directory in it, named like the
// minion, with return.p and possibly out.p. All of them have the content that Salt's master would
// write. This does not suffice for a [returners.JobCache], so each job and each return also has a
// record with a checksum, .brine.p, which Salt ignores.
//
// A job or a return is created in a hidden directory, flushed to disk and renamed to its final one:
// readers see all of it or nothing, also after a crash of the program or the host. An existing
// directory makes a second return a conflict. Damage only affects the damaged record, which is
// logged and left out. Directories without a record were written by Salt and are read as Salt does:
// damage in them is noticed only if they cannot be decoded.
//
// If a minion's id cannot be the name of a directory here, for example jid or nocache, its
// directory gets a name that Salt ignores. Listing and cleaning look at every job, so a master with
// hundreds of thousands of jobs should use the default job cache.
package localcache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/returners"
)

// Name is the returner's name.
const Name = "local_cache"

// Names of files in Salt's tree.
const (
	fileID      = "jid"
	fileLoad    = ".load.p"
	fileMinions = ".minions.p"
	fileNoCache = "nocache"
	fileEndTime = "endtime"
	fileReturn  = "return.p"
	fileOut     = "out.p"
	fileRecord  = ".brine.p" // not in Salt
)

// workDir is where jobs are created. Salt does not mistake it for a job, because it is a level
// deeper than jobs are.
const workDir = ".brine/new"

// Options configure a Cache.
type Options struct {
	HashType string             // hash_type; "" means sha256
	EndTime  bool               // job_cache_store_endtime: store the time of the last return
	Log      logrus.FieldLogger // receives reports of damage; nil logs nothing
}

// A Cache is a job cache in files. Several goroutines may use it.
type Cache struct {
	root *os.Root // the directory jobs
	name string
	o    Options

	locks [64]sync.Mutex // of jobs, by hash; held while a job is changed

	clock sync.Mutex
	last  time.Time // time assigned to a return

	gate returners.Gate
}

var _ returners.JobCache = (*Cache)(nil)

// Open opens the tree dir, which is the directory jobs in the cachedir, and creates it if
// necessary.
func Open(dir string, o Options) (*Cache, error) {
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	if _, err := job.ID("0").Dir(o.HashType); err != nil {
		return nil, fmt.Errorf("open job cache: %w", err)
	}
	if err := makeFolder(dir); err != nil {
		return nil, fmt.Errorf("open job cache: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open job cache: %w", err)
	}
	return &Cache{root: root, name: dir, o: o}, nil
}

// makeFolder creates the directory of the tree for its owner only. The directories above it are
// readable for others, because users look for their keys there.
func makeFolder(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// workLife is the age from which incomplete work counts as left behind by a killed program.
const workLife = time.Hour

// sweep deletes incomplete work. Other programs may use the tree, so recent work is kept.
func (c *Cache) sweep() error {
	entries, err := c.list(workDir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > workLife {
			if err := c.root.RemoveAll(filepath.Join(workDir, e.Name())); err != nil {
				return err
			}
		}
	}
	return err
}

// KeepsTree marks a cache that maintains Salt's tree of jobs itself.
func (c *Cache) KeepsTree() {}

// Close waits for running calls and ends the use of the tree.
func (c *Cache) Close() error { return c.gate.Close(c.root.Close) }

// change begins a change of one job. Other changes of the same job wait.
func (c *Cache) change(ctx context.Context, id job.ID) (folder string, end func(), err error) {
	done, err := c.gate.Enter(ctx)
	if err != nil {
		return "", nil, err
	}
	folder, err = id.Dir(c.o.HashType)
	if err != nil {
		done()
		return "", nil, err
	}
	var sum byte
	for i := range len(folder) {
		sum = sum*31 + folder[i]
	}
	lock := &c.locks[int(sum)%len(c.locks)]
	lock.Lock()
	if err := ctx.Err(); err != nil {
		lock.Unlock()
		done()
		return "", nil, err
	}
	return filepath.FromSlash(folder), func() { lock.Unlock(); done() }, nil
}

// tick returns the current time; each call returns a later one.
func (c *Cache) tick() time.Time {
	c.clock.Lock()
	defer c.clock.Unlock()
	now := time.Now()
	if !now.After(c.last) {
		now = c.last.Add(time.Microsecond)
	}
	c.last = now
	return now
}

// logDamage logs damage.
func (c *Cache) logDamage(folder string, err error) {
	c.o.Log.WithError(err).Errorf("Job cache: skipping the contents of %s",
		filepath.Join(c.name, folder))
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// began returns a job's start time, by the time of its file jid. For a job that Salt wrote it is
// slightly later.
func began(info fs.FileInfo) time.Time { return info.ModTime() }
