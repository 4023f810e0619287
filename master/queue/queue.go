// Package queue keeps jobs for minions that are away, until these come back or the jobs expire. It is Brine's own: Salt
// forgets a job for a minion that has no connection when the job is sent.
//
//	q, err := queue.Open(cachedir, queue.Options{})
//	kept, err := q.Put(queue.Item{ID: jid, Load: load, Minions: away, Expires: time})
//	for item, sent, ok := q.Next(minion, after); ok; item, sent, ok = q.Next(minion, item.ID) {
//		err := q.Begin(item.ID, minion) // then send it, and at last
//		err = q.Done(item.ID, minion)
//	}
//
// What Put and Begin have said is on disk. A job whose sending has begun may have reached its minion: when the program
// ends before Done, the next run is told so by Next, and only it can know whether the minion would run the job twice.
//
// The directory CACHEDIR/offline holds a journal, to which each change adds a line of JSON behind its checksum. A line that
// is cut or damaged costs that change alone. The journal is written anew when most of it is of no use any more. Other
// programs on the host read it with [List], and have jobs taken out with [Cancel], whether the master runs or not.
package queue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/logging"
)

// ErrFull is wrapped by Put when there is no room for the job at all.
var ErrFull = errors.New("the queue for minions that are away is full")

// ErrConflict is wrapped by Put for the id of a job that waits already and is another one.
var ErrConflict = errors.New("another job with this id waits")

// Options bound a Queue. The zero Options are the usual bounds.
type Options struct {
	PerMinion int // jobs that wait for one minion; 0 means 100
	Total     int // jobs times minions; 0 means 20000
	Bytes     int // of all loads; 0 means 64 MiB
	// The last quarter of each is for owners who may do everything, and no other owner has more than a quarter.

	Now func() time.Time
	Log logrus.FieldLogger // told of damage; nil logs nothing
}

func (o Options) filled() Options {
	if o.PerMinion <= 0 {
		o.PerMinion = 100
	}
	if o.Total <= 0 {
		o.Total = 20000
	}
	if o.Bytes <= 0 {
		o.Bytes = 64 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	return o
}

// maxLoad is the largest load that is kept, in bytes.
const maxLoad = 4 << 20

// An Owner is who had a job queued.
type Owner struct {
	Name   string // tells one from another
	Full   bool   // may do everything
	Rights []byte // what the program needs to look up later what they may do
}

// An Item is a job that waits.
type Item struct {
	ID      job.ID
	Owner   Owner
	Load    data.Raw // the publish load as a MessagePack map, without credentials
	Minions []string // for whom it waits
	Sent    []string // those of Minions to whom it is being sent already
	Queued  time.Time
	Expires time.Time
}

// An Entry is a job that waits for one minion.
type Entry struct {
	ID      job.ID
	Minion  string
	Queued  time.Time
	Expires time.Time
	Sent    bool // it may have reached the minion
}

// A Queue is the queue of a running master. Several goroutines may use it, one process may have it open.
type Queue struct {
	o    Options
	dir  *os.Root
	size atomic.Int64 // entries

	mu      sync.Mutex
	state   *state
	journal *journal
}

// Open opens the queue of a cachedir, and makes it where there is none. The caller must Close it.
func Open(cachedir string, o Options) (*Queue, error) {
	o = o.filled()
	folder := filepath.Join(cachedir, folderName)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	dir, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	q := &Queue{o: o, dir: dir, state: newState()}
	lines, bad, err := replay(dir, q.state)
	if err == nil {
		q.journal, err = openJournal(dir, lines)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the queue: %w", err), dir.Close())
	}
	if bad > 0 {
		o.Log.Errorf("%d changes in the queue for minions that are away are damaged and left out", bad)
	}
	q.size.Store(int64(q.state.entries))
	return q, nil
}

// Close ends the use of the files.
func (q *Queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return errors.Join(q.journal.close(), q.dir.Close())
}

// Len returns how many entries there are: jobs times minions.
func (q *Queue) Len() int { return int(q.size.Load()) }

// Room returns how many entries there is room for.
func (q *Queue) Room() int { return max(q.o.Total-q.Len(), 0) }

// Waits reports whether a job waits for one minion.
func (q *Queue) Waits(id job.ID, minion string) bool {
	if q.Len() == 0 {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	_, waits := q.state.sent(id, minion)
	return waits
}

// Has reports whether a job waits for any minion.
func (q *Queue) Has(id job.ID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state.jobs[id] != nil
}

// Put keeps a job for its minions, durably when it returns, and tells for which of them there was room. A job that is
// there already, with the same load, gains minions. The error wraps ErrFull when there was room for none, and ErrConflict
// where another job has the id: whoever may send that one need not be who may send this.
func (q *Queue) Put(item Item) (kept []string, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state.conflicts(item.ID, item.Load) {
		return nil, fmt.Errorf("queue job %s: %w", item.ID, ErrConflict)
	}
	item.Minions = q.state.roomFor(&item, &q.o)
	if len(item.Minions) == 0 {
		return nil, fmt.Errorf("queue job %s: %w", item.ID, ErrFull)
	}
	item.Queued = q.o.Now()
	item.Sent = among(item.Sent, item.Minions)
	if err := q.write(item.record(), true); err != nil {
		return nil, fmt.Errorf("queue job %s: %w", item.ID, err)
	}
	return item.Minions, nil
}

// among returns those of ids that others has too.
func among(ids, others []string) []string {
	if len(ids) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(others))
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		_, found := slices.BinarySearch(sorted, id)
		return !found
	})
}

// write adds a change to the journal and, when it is there, makes it. The caller holds mu.
func (q *Queue) write(r record, durable bool) error {
	if err := q.journal.add(r, durable); err != nil {
		return err
	}
	q.state.apply(r)
	q.size.Store(int64(q.state.entries))
	if q.journal.lines > renewFrom && q.journal.lines > 4*len(q.state.jobs) {
		if err := q.journal.renew(q.state); err != nil {
			q.o.Log.WithError(err).Warn("the journal of the queue stays as long as it is")
		}
	}
	return nil
}

// Forget takes out all that waits for a minion.
func (q *Queue) Forget(minion string) (gone []Entry, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.state.of(minion) {
		if err := q.write(record{Op: opDone, ID: e.ID, Minions: []string{minion}}, true); err != nil {
			return gone, fmt.Errorf("forget job %s of minion %s: %w", e.ID, minion, err)
		}
		gone = append(gone, e)
	}
	return gone, nil
}

// Minions returns the minions for which something waits, sorted.
func (q *Queue) Minions() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state.waiting()
}

// Next returns the oldest job for a minion whose id comes after another, "" for the first; sent says that its sending
// had begun. Expired ones are passed over.
func (q *Queue) Next(minion string, after job.ID) (item Item, sent, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.o.Now()
	var found *waitingJob
	for id := range q.state.byMinion[minion] {
		j := q.state.jobs[id]
		if id > after && now.Before(j.item.Expires) && (found == nil || id < found.item.ID) {
			found = j
		}
	}
	if found == nil {
		return Item{}, false, false
	}
	item = found.item
	item.Minions = []string{minion}
	return item, found.minions[minion], true
}

// Begin notes, durably when it returns, that a job is about to be sent to a minion. It reports false for one that does not
// wait any more.
func (q *Queue) Begin(id job.ID, minion string) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	sent, ok := q.state.sent(id, minion)
	if !ok || sent {
		return ok, nil
	}
	if err := q.write(record{Op: opSend, ID: id, Minions: []string{minion}}, true); err != nil {
		return false, fmt.Errorf("send queued job %s to %s: %w", id, minion, err)
	}
	return true, nil
}

// Done takes a job for a minion out of the queue. It reports false for one that does not wait. That may be forgotten when
// the machine loses power; the job is one whose sending has begun then.
func (q *Queue) Done(id job.ID, minion string) (bool, error) {
	if q.Len() == 0 {
		return false, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.state.sent(id, minion); !ok {
		return false, nil
	}
	if err := q.write(record{Op: opDone, ID: id, Minions: []string{minion}}, false); err != nil {
		return false, fmt.Errorf("take job %s for %s from the queue: %w", id, minion, err)
	}
	return true, nil
}

// Sweep takes out what other programs have asked for, and what has expired.
func (q *Queue) Sweep() (cancelled, expired []Entry, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	cancelled, err = q.takeCancelled()
	now := q.o.Now()
	for _, j := range q.state.sorted() {
		if now.Before(j.item.Expires) {
			continue
		}
		over := j.entries()
		if e := q.write(record{Op: opDone, ID: j.item.ID, Minions: idsOf(over)}, false); e != nil {
			return cancelled, expired, errors.Join(err, fmt.Errorf("expire job %s: %w", j.item.ID, e))
		}
		expired = append(expired, over...)
	}
	return cancelled, expired, err
}

// takeCancelled does what other programs have asked for. A request is removed when it is done.
func (q *Queue) takeCancelled() (taken []Entry, err error) {
	names, requests, err := readRequests(q.dir)
	for i, r := range requests {
		entries := q.state.matching(r.ID, r.Minions)
		if len(entries) > 0 {
			if err := q.write(record{Op: opDone, ID: r.ID, Minions: idsOf(entries)}, true); err != nil {
				return taken, fmt.Errorf("cancel job %s: %w", r.ID, err)
			}
		}
		taken = append(taken, entries...)
		err = errors.Join(err, q.dir.Remove(names[i]))
	}
	return taken, err
}

// Entries returns what waits, by job and minion.
func (q *Queue) Entries() []Entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state.all()
}

func idsOf(entries []Entry) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.Minion
	}
	return ids
}

// byJob sorts entries.
func byJob(a, b Entry) int {
	if a.ID != b.ID {
		return strings.Compare(string(a.ID), string(b.ID))
	}
	return strings.Compare(a.Minion, b.Minion)
}

// List returns what waits in the queue of a cachedir, by job and minion, whether its master runs or not. What was
// cancelled is left out, and so is what has expired.
func List(cachedir string) ([]Entry, error) {
	dir, err := os.OpenRoot(filepath.Join(cachedir, folderName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the queue: %w", err)
	}
	defer dir.Close()
	s := newState()
	if _, _, err := replay(dir, s); err != nil {
		return nil, fmt.Errorf("list the queue: %w", err)
	}
	_, requests, err := readRequests(dir)
	if err != nil {
		return nil, fmt.Errorf("list the queue: %w", err)
	}
	for _, r := range requests {
		if gone := idsOf(s.matching(r.ID, r.Minions)); len(gone) > 0 {
			s.apply(record{Op: opDone, ID: r.ID, Minions: gone})
		}
	}
	now := time.Now()
	return slices.DeleteFunc(s.all(), func(e Entry) bool { return !now.Before(e.Expires) }), nil
}

// Cancel asks for a job to be taken out of the queue of a cachedir, for some minions or, where none are named, for all,
// and returns what that is about. A running master does so within a second, another at its start. What is being sent at
// that moment cannot be called back.
func Cancel(cachedir string, id job.ID, minions ...string) ([]Entry, error) {
	entries, err := List(cachedir)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e Entry) bool {
		return e.ID != id || len(minions) > 0 && !slices.Contains(minions, e.Minion)
	})
	if len(entries) == 0 {
		return nil, nil
	}
	if err := ask(filepath.Join(cachedir, folderName), request{ID: id, Minions: minions}); err != nil {
		return nil, fmt.Errorf("cancel queued job %s: %w", id, err)
	}
	return entries, nil
}
