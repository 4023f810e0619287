// Package jobstore stores a master's jobs and returns in one SQLite file, CACHEDIR/jobs.db.
//
// One goroutine writes. It writes all pending changes in one transaction, so that many callers
// share one flush to disk, and each caller gets its result when that transaction is durable
// (write-ahead log, synchronous=FULL). Readers have a connection of their own and never wait for
// the writer. A change that the file cannot hold (disk full, write error) is an error to its
// caller, is undone as a whole, and does not affect other changes; the store keeps working.
//
// The file belongs to the master alone, mode 0600. Other programs can read it with [OpenReadOnly]
// while the master runs. Jobs and returns have checksums; records damaged on disk are logged and
// left out, never returned. If the file itself is damaged, at startup or later, it is moved aside
// to jobs.db.damaged-TIME, a new one is created, and the readable data are copied to it.
//
// A return is stored as the received MessagePack. Its answer (the fields return and retcode) has a
// digest of its own, which distinguishes a repetition from a conflicting return without reading the
// first. Long returns are stored in pieces, so that none needs more memory than the caller already
// holds.
//
// The progress of jobs on minions ([returners.Tracker]) is collected for half a second and then
// written with other pending changes. Most jobs have returned by then, so that only their returns
// are written.
package jobstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/returners"
)

// ErrNewer is wrapped by Open and OpenReadOnly if a newer version of this program created the file.
// The file is then left unchanged.
var ErrNewer = errors.New("job cache was made by a newer version of this program")

// Options configure a Store.
type Options struct {
	Log logrus.FieldLogger // receives reports of damage; nil logs nothing
	Now func() time.Time   // nil means time.Now
}

func (o Options) filled() Options {
	if o.Log == nil {
		silent := logrus.New()
		silent.SetLevel(logrus.PanicLevel)
		o.Log = silent
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// A Store is the job cache of a running master. Several goroutines may use it; only one process may
// open it.
type Store struct {
	Reader
	queue  *queue
	tracks *tracks
	ended  chan struct{} // closed when the writer has ended

	renewed time.Time // when the file was last found damaged; used by the writer only
}

var (
	_ returners.JobCache  = (*Store)(nil)
	_ returners.JobReader = (*Reader)(nil)

	_ returners.Tracker        = (*Store)(nil)
	_ returners.ProgressReader = (*Reader)(nil)
	_ returners.ReturnWalker   = (*Reader)(nil)
)

// Open opens the file, or creates it and its directory. A damaged file is moved aside, with a line
// in the log, and replaced. The error wraps ErrNewer if a newer version created the file. The
// caller must Close the store.
func Open(ctx context.Context, name string, o Options) (*Store, error) {
	o = o.filled()
	f, err := openFile(ctx, name)
	if unusable(err) {
		f, err = replace(ctx, name, err, o)
	}
	if err != nil {
		return nil, fmt.Errorf("open job cache %s: %w", name, err)
	}
	s := &Store{Reader: Reader{name: name, o: o, file: f, recent: newRecent()}, queue: newQueue(),
		ended: make(chan struct{})}
	s.tracks = newTracks(s.writeTracks)
	s.Reader.renew = s.renewFile
	go s.write()
	return s, nil
}

// Close writes pending changes, ends the writer and closes the file. Later calls do nothing.
func (s *Store) Close() error {
	s.tracks.close()
	s.queue.close()
	<-s.ended
	return s.Reader.Close()
}

// A Reader looks up jobs and returns. Several goroutines may use it.
type Reader struct {
	name   string
	o      Options
	recent *recent // nil caches nothing, because another process writes

	mu   sync.RWMutex // read-locked by readers, locked by the writer to replace file
	file *file        // nil if it is closed, or if damage left none

	// replaces a damaged file; nil if another process owns it
	renew func(ctx context.Context, seen *file, cause error) error
}

// OpenReadOnly opens the file of a running or stopped master without changing it. The error wraps
// fs.ErrNotExist if there is none, and ErrNewer if a newer version created it. The caller must
// Close the reader.
func OpenReadOnly(ctx context.Context, name string, o Options) (*Reader, error) {
	if _, err := os.Stat(name); err != nil {
		return nil, fmt.Errorf("open job cache: %w", err)
	}
	f, err := openToRead(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("open job cache %s: %w", name, err)
	}
	return &Reader{name: name, o: o.filled(), file: f}, nil
}

// Close waits for running reads and closes the file.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.file
	r.file = nil
	if err := f.close(); err != nil {
		return fmt.Errorf("close job cache: %w", err)
	}
	return nil
}
