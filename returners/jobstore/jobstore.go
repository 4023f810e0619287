// Package jobstore keeps a master's jobs and returns in one SQLite file, CACHEDIR/jobs.db.
//
// One goroutine writes. It takes all changes that wait into one transaction, so that many callers share one flush to
// disk, and each caller gets its answer when that transaction is durable (write-ahead log, synchronous=FULL). Readers
// have a connection of their own and wait for nobody. A change that the file cannot take (disk full, write error) is
// an error to its caller, is undone as a whole, and does not touch the changes of others; the store goes on.
//
// The file belongs to the master alone, mode 0600. Other programs read it while the master runs, with [OpenReadOnly].
// Jobs and returns carry checksums; what was damaged on disk is logged and left out, never returned. When the file
// itself is damaged, at the start or later, it is moved aside to jobs.db.damaged-TIME, a new one is begun, and what
// can still be read goes into the new one.
//
// A return is kept as the MessagePack that came. Its answer (the fields return and retcode) has a digest of its own,
// by which a repetition is told from a second answer without reading the first. Long returns lie in pieces, so that
// none needs more memory than what the caller holds already.
//
// How far jobs have come on minions ([returners.Tracker]) is gathered for half a second and then written with what else
// waits. Most jobs have returned by then, and nothing is written of them but their returns.
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

// ErrNewer is wrapped by Open and OpenReadOnly when the file was made by a newer version of this program. Nothing is
// changed then.
var ErrNewer = errors.New("job cache was made by a newer version of this program")

// Options tune a Store.
type Options struct {
	Log logrus.FieldLogger // told of damage; nil logs nothing
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

// A Store is the job cache of a running master. Several goroutines may use it, one process may have it open.
type Store struct {
	Reader
	queue  *queue
	tracks *tracks
	ended  chan struct{} // closed when the writer has ended

	renewed time.Time // when the file was found damaged last; the writer's own
}

var (
	_ returners.JobCache  = (*Store)(nil)
	_ returners.JobReader = (*Reader)(nil)

	_ returners.Tracker        = (*Store)(nil)
	_ returners.ProgressReader = (*Reader)(nil)
)

// Open opens the file, or makes it and its directory. A damaged file is moved aside, with a line in the log, and a new one
// begun. The error wraps ErrNewer where a newer version made it. The caller must Close the store.
func Open(ctx context.Context, name string, o Options) (*Store, error) {
	o = o.filled()
	f, err := openFile(ctx, name)
	if unusable(err) {
		f, err = replace(ctx, name, err, o)
	}
	if err != nil {
		return nil, fmt.Errorf("open job cache %s: %w", name, err)
	}
	s := &Store{Reader: Reader{name: name, o: o, file: f, recent: newRecent()}, queue: newQueue(), ended: make(chan struct{})}
	s.tracks = newTracks(s.writeTracks)
	s.Reader.renew = s.renewFile
	go s.write()
	return s, nil
}

// Close ends the writer when what waits is written, and closes the file. Only the first call does something.
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
	recent *recent // nil remembers nothing, since another process writes

	mu   sync.RWMutex // held to read by readers, and by the writer to replace file
	file *file        // nil when it is closed, or when damage left none

	renew func(ctx context.Context, seen *file, cause error) error // has a damaged file replaced; nil where others own it
}

// OpenReadOnly opens the file of a master, running or not, without changing it. The error wraps fs.ErrNotExist where
// there is none, and ErrNewer where a newer version made it. The caller must Close the reader.
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

// Close closes the file, after reads that are under way.
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
