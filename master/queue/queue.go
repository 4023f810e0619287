// Package queue stores jobs for minions that are away, until these return or the jobs expire. Salt
// has no such queue: it forgets a job for a minion that has no connection when the job is sent.
//
//	q, err := queue.Open(cachedir, queue.Options{})
//	kept, err := q.Put(queue.Item{ID: jid, Load: load, Minions: away, Expires: time})
//	for item, sent, ok := q.Next(minion, ""); ok; item, sent, ok = q.Next(minion, item.ID) {
//		err := q.Begin(item.ID, minion) // then send it, and finally
//		err = q.Done(item.ID, minion)
//	}
//
// Changes by Put and Begin are on disk when these return. A job whose sending has begun may have
// reached its minion. If the program ends before Done, Next reports that to the next run, and the
// caller must decide whether the minion would run the job twice.
//
// The directory CACHEDIR/offline has a journal. Each change appends a line: a checksum and JSON. A
// damaged or truncated line loses that change only. The journal is rewritten when most of it is
// obsolete. Other programs on the host read it with [List] and remove jobs with [Cancel], whether
// or not the master is running.
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

// ErrFull is wrapped by Put if there is no room for the job.
var ErrFull = errors.New("the queue for minions that are away is full")

// ErrConflict is wrapped by Put if another job with the same id is queued.
var ErrConflict = errors.New("another job with this id waits")

// Options are the limits of a Queue. The zero value has the defaults.
type Options struct {
	PerMinion int // jobs queued for one minion; 0 means 100
	Total     int // jobs times minions; 0 means 20000
	Bytes     int // total size of loads; 0 means 64 MiB
	// A quarter of each limit is reserved for owners with full rights, and any other owner gets at
	// most a quarter.

	Now func() time.Time
	Log logrus.FieldLogger // may be nil
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

// maxLoad is the maximum size of a load in bytes.
const maxLoad = 4 << 20

// An Owner is the user who submitted a job.
type Owner struct {
	Name   string // unique name
	Full   bool   // has full rights
	Rights []byte // encoded data for looking up the owner's rights later
}

// An Item is a queued job.
type Item struct {
	ID      job.ID
	Owner   Owner
	Load    data.Raw // the publish load as a MessagePack map, without credentials
	Minions []string // minions it is queued for
	Sent    []string // those of Minions to which its sending has begun
	Queued  time.Time
	Expires time.Time
}

// An Entry is a job queued for one minion.
type Entry struct {
	ID      job.ID
	Minion  string
	Queued  time.Time
	Expires time.Time
	Sent    bool // it may have reached the minion
}

// A Queue is the queue of a running master. It is safe for concurrent use. Only one process may
// open it.
type Queue struct {
	o    Options
	dir  *os.Root
	size atomic.Int64 // entries

	mu      sync.Mutex
	state   *state
	journal *journal
}

// Open opens the queue of a cachedir, and creates it if it does not exist. The caller must Close
// it.
func Open(cachedir string, o Options) (*Queue, error) {
	o = o.filled()
	path := filepath.Join(cachedir, dirName)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	dir, err := os.OpenRoot(path)
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
		o.Log.Errorf("%d damaged changes in the queue for minions that are away are ignored", bad)
	}
	q.size.Store(int64(q.state.entries))
	return q, nil
}

// Close closes the files of the queue.
func (q *Queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return errors.Join(q.journal.close(), q.dir.Close())
}

// Len returns the number of entries: jobs times minions.
func (q *Queue) Len() int { return int(q.size.Load()) }

// Room returns the number of entries that can be added.
func (q *Queue) Room() int { return max(q.o.Total-q.Len(), 0) }

// Waits reports whether a job is queued for a minion.
func (q *Queue) Waits(id job.ID, minion string) bool {
	if q.Len() == 0 {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	_, waits := q.state.sent(id, minion)
	return waits
}

// Has reports whether a job is queued for any minion.
func (q *Queue) Has(id job.ID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state.jobs[id] != nil
}

// Put queues a job durably, and returns the minions for which there was room. If the job is queued
// already with the same load, it adds minions to it. The error wraps ErrFull if there was no room
// at all, and ErrConflict if another job has the id: its owner may be someone else.
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

// among returns the ids that are also in others.
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

// write appends a change to the journal and then applies it. The caller holds mu.
func (q *Queue) write(r record, durable bool) error {
	if err := q.journal.add(r, durable); err != nil {
		return err
	}
	q.state.apply(r)
	q.size.Store(int64(q.state.entries))
	if q.journal.lines > renewFrom && q.journal.lines > 4*len(q.state.jobs) {
		if err := q.journal.renew(q.state); err != nil {
			q.o.Log.WithError(err).Warn("Cannot shorten the journal of the queue")
		}
	}
	return nil
}

// Forget removes all jobs of a minion, and returns the removed entries.
func (q *Queue) Forget(minion string) (gone []Entry, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.state.of(minion) {
		if err := q.write(record{Op: opDone, ID: e.ID, Minions: []string{minion}},
			true); err != nil {
			return gone, fmt.Errorf("forget job %s of minion %s: %w", e.ID, minion, err)
		}
		gone = append(gone, e)
	}
	return gone, nil
}

// Minions returns the sorted ids of minions with queued jobs.
func (q *Queue) Minions() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state.waiting()
}

// Next returns the oldest job of a minion whose id is greater than after; "" starts from the first.
// sent reports whether its sending has begun. Expired jobs are skipped.
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

// Begin records durably that a job is about to be sent to a minion. It reports false if the job is
// not queued.
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

// Begun reports whether the sending of a job to a minion has begun.
func (q *Queue) Begun(id job.ID, minion string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	begun, _ := q.state.sent(id, minion)
	return begun
}

// Withdraw records durably that a job was not sent to a minion after all, which undoes Begin.
func (q *Queue) Withdraw(id job.ID, minion string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if sent, _ := q.state.sent(id, minion); !sent {
		return nil
	}
	if err := q.write(record{Op: opWait, ID: id, Minions: []string{minion}}, true); err != nil {
		return fmt.Errorf("note that job %s was not sent to %s: %w", id, minion, err)
	}
	return nil
}

// Drop removes a job of some minions durably, and returns the removed entries.
func (q *Queue) Drop(id job.ID, minions ...string) (gone []Entry, err error) {
	if q.Len() == 0 || len(minions) == 0 {
		return nil, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	gone = q.state.matching(id, minions)
	if len(gone) == 0 {
		return nil, nil
	}
	if err := q.write(record{Op: opDone, ID: id, Minions: idsOf(gone)}, true); err != nil {
		return nil, fmt.Errorf("drop queued job %s: %w", id, err)
	}
	return gone, nil
}

// Done removes a job of a minion. It reports false if the job is not queued. The removal may be
// lost in a power failure; the job then counts as one whose sending has begun.
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

// Sweep removes the entries that other programs have cancelled, and the expired ones.
func (q *Queue) Sweep() (cancelled, expired []Entry, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	cancelled, err = q.takeCancelled()
	expired, e := q.takeExpired()
	return cancelled, expired, errors.Join(err, e)
}

// Expire removes the expired entries, and returns them.
func (q *Queue) Expire() ([]Entry, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.takeExpired()
}

// takeExpired removes the expired entries. The caller holds mu.
func (q *Queue) takeExpired() (expired []Entry, err error) {
	now := q.o.Now()
	for _, j := range q.state.sorted() {
		if now.Before(j.item.Expires) {
			continue
		}
		over := j.entries()
		if e := q.write(record{Op: opDone, ID: j.item.ID, Minions: idsOf(over)}, false); e != nil {
			return expired, fmt.Errorf("expire job %s: %w", j.item.ID, e)
		}
		expired = append(expired, over...)
	}
	return expired, nil
}

// A Cancellation is what another program wants to have removed.
type Cancellation struct {
	ID      job.ID
	Minions []string // those for which the job is queued
	file    string
}

// Cancellations returns what other programs want to have removed, at most 1000 requests. They are
// returned again until Settle; Sweep executes them.
func (q *Queue) Cancellations() ([]Cancellation, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	names, requests, err := readRequests(q.dir)
	list := make([]Cancellation, len(requests))
	for i, r := range requests {
		list[i] = Cancellation{ID: r.ID, Minions: idsOf(q.state.matching(r.ID, r.Minions)), file: names[i]}
	}
	if err != nil {
		return nil, fmt.Errorf("read what is to be cancelled: %w", err)
	}
	return list, nil
}

// Settle removes the request of a Cancellation that was executed.
func (q *Queue) Settle(c Cancellation) error {
	if err := q.dir.Remove(c.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cancel job %s: %w", c.ID, err)
	}
	return nil
}

// takeCancelled executes and removes the requests of other programs.
func (q *Queue) takeCancelled() (taken []Entry, err error) {
	names, requests, err := readRequests(q.dir)
	for i, r := range requests {
		entries := q.state.matching(r.ID, r.Minions)
		if len(entries) > 0 {
			if err := q.write(record{Op: opDone, ID: r.ID, Minions: idsOf(entries)},
				true); err != nil {
				return taken, fmt.Errorf("cancel job %s: %w", r.ID, err)
			}
		}
		taken = append(taken, entries...)
		err = errors.Join(err, q.dir.Remove(names[i]))
	}
	return taken, err
}

// Entries returns all entries, sorted by job and minion.
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

// byJob compares entries by job and minion.
func byJob(a, b Entry) int {
	if a.ID != b.ID {
		return strings.Compare(string(a.ID), string(b.ID))
	}
	return strings.Compare(a.Minion, b.Minion)
}

// List returns the entries in the queue of a cachedir, sorted by job and minion, whether or not its
// master is running. Cancelled and expired entries are left out.
func List(cachedir string) ([]Entry, error) {
	dir, err := os.OpenRoot(filepath.Join(cachedir, dirName))
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

// Cancel requests the removal of a job from the queue of a cachedir, for the given minions or for
// all, and returns the affected entries. A running master executes the request within a second,
// another one at its start. A job that is just being sent cannot be recalled.
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
	if err := ask(filepath.Join(cachedir, dirName), request{ID: id, Minions: minions}); err != nil {
		return nil, fmt.Errorf("cancel queued job %s: %w", id, err)
	}
	return entries, nil
}
