// Package localcache keeps a master's jobs and returns in Salt's own tree of files, CACHEDIR/jobs
// (salt/returners/local_cache.py), for `master_job_cache: local_cache`: Salt's runners on the same host read what it
// writes, and it reads what a real master has written.
//
// A job is the directory HH/REST below jobs, by the hash of its id, with the files jid, .load.p, .minions.p and perhaps
// nocache and endtime; a return is a directory in it, named as the minion, with return.p and perhaps out.p. All of them
// hold what Salt's master would write. They cannot hold all that a [returners.JobCache] promises, so a job and a return
// each have a record with a checksum beside them, .brine.p, which Salt does not look at.
//
// A job and a return are made in a hidden directory, flushed to disk and renamed to their place as a whole: whoever reads
// sees all of one or nothing, also after the program or the host has died. That a directory is there already is what makes a
// second return a conflict. Damage costs the record that it hits; that one is left out, with a line in the log. What has
// no record was written by Salt, and is read as Salt reads it: damage in it shows only when it cannot be decoded.
//
// A minion whose id cannot be the name of a directory here, such as jid or nocache, gets one that Salt does not see. To list
// and to clean, every job is looked at, so a master with hundreds of thousands of jobs does better with the default.
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

// Name is that of the returner.
const Name = "local_cache"

// Names of files, as in Salt's tree.
const (
	fileID      = "jid"
	fileLoad    = ".load.p"
	fileMinions = ".minions.p"
	fileNoCache = "nocache"
	fileEndTime = "endtime"
	fileReturn  = "return.p"
	fileOut     = "out.p"
	fileRecord  = ".brine.p" // ours
)

// workDir is where jobs are made. Salt takes it for no job: a level deeper than jobs lie.
const workDir = ".brine/new"

var errClosed = errors.New("job cache is closed")

// Options tune a Cache.
type Options struct {
	HashType string             // hash_type; "" means sha256
	EndTime  bool               // job_cache_store_endtime: note when the last return came
	Log      logrus.FieldLogger // told of damage; nil logs nothing
}

// A Cache is a job cache in files. Several goroutines may use it.
type Cache struct {
	root *os.Root // the directory jobs
	name string
	o    Options

	locks [64]sync.Mutex // of jobs, by hash: who changes one

	clock sync.Mutex
	last  time.Time // given to a return

	mu     sync.RWMutex // held to read while the tree is used
	closed bool
}

var _ returners.JobCache = (*Cache)(nil)

// Open opens the tree dir, the directory jobs in the cachedir, and makes it where it is not.
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

// makeFolder makes the directory of the tree for its owner alone. Those above it are for others too: users look for their keys there.
func makeFolder(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// workLife is after how long what is half made has been left by a program that was killed.
const workLife = time.Hour

// sweep drops what was left half made. Other programs may use the tree, so that what is young is not touched.
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

// KeepsTree tells that this cache keeps Salt's tree of jobs itself.
func (c *Cache) KeepsTree() {}

// Close ends the use of the tree, after what others have begun.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.root.Close()
}

func (c *Cache) use(ctx context.Context) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.RLock()
	if c.closed {
		c.mu.RUnlock()
		return nil, errClosed
	}
	return c.mu.RUnlock, nil
}

// change begins a change of one job. Who changes the same waits.
func (c *Cache) change(ctx context.Context, id job.ID) (folder string, end func(), err error) {
	done, err := c.use(ctx)
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

// tick returns the time, a different and later one each time.
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

// tell logs what is damaged.
func (c *Cache) tell(folder string, err error) {
	c.o.Log.WithError(err).Errorf("Job cache: what is in %s is left out", filepath.Join(c.name, folder))
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// began returns when a job began, by the time of its file jid; that of a job of Salt's is a moment later.
func began(info fs.FileInfo) time.Time { return info.ModTime() }
