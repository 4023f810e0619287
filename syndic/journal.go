package syndic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/job"
)

const (
	journalAge = 24 * time.Hour // older jobs are dropped from the journal
	maxJournal = 32 << 20       // bytes of the file of one job
	maxKnown   = 200_000        // minions in memory whose returns were acknowledged, of all jobs
	maxSteps   = 10_000         // digests of one job; further steps are ordered, but not recorded
)

// A record is a job in the journal.
type record struct {
	dir      string    // directory of the upper master that gets the returns, see address.dir
	at       time.Time // when the job was first seen
	ordered  bool      // this syndic has ordered the job
	minion   string    // the minion with the first return, of a job that was not ordered
	answered bool      // the return of minion was acknowledged
	done     bool      // nothing is left to send
	orders   []digest  // of the orders; empty for an ordered job only if its file is damaged
	giving   int       // orders that the lower master is processing
	changes  int       // grows with each order and each return that was not acknowledged
}

// finished reports whether the job can be dropped without loss, as far as is known.
func (r *record) finished() bool { return r.done || r.answered }

// A journal records the orders of each job, the upper master that gets its returns, and the returns that were
// acknowledged. It has a directory for each upper master and in it a file for each job. It is safe for
// concurrent use.
type journal struct {
	dir   string
	now   func() time.Time
	log   logrus.FieldLogger
	quiet loglimit.Limiter
	room  room

	mu    sync.Mutex
	jobs  map[job.ID]*record
	count tally
	known map[job.ID]map[string]bool // minions whose returns were acknowledged, of some jobs
	total int                        // of minions in known
}

// openJournal reads the journal below dir. A damaged file counts as that of a job that was ordered
// when the file was last changed, so that it is not ordered again. Surplus files are removed.
func openJournal(dir string, now func() time.Time, log logrus.FieldLogger) (*journal, error) {
	return openJournalOf(dir, now, log, journalRoom)
}

func openJournalOf(dir string, now func() time.Time, log logrus.FieldLogger, most room) (*journal, error) {
	j := &journal{dir: dir, now: now, log: log, room: most, jobs: map[job.ID]*record{},
		known: map[job.ID]map[string]bool{}, count: tally{open: map[string]int{}},
		quiet: loglimit.Limiter{Pause: time.Hour, Now: now}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open journal %s: %w", dir, err)
	}
	j.mu.Lock()
	err := j.eachFile(j.open)
	j.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", dir, err)
	}
	j.clean()
	return j, nil
}

// eachFile calls visit with the files of the journal.
func (j *journal) eachFile(visit func(dir string, file fs.DirEntry)) error {
	dirs, err := os.ReadDir(j.dir)
	if err != nil {
		return err
	}
	for _, f := range dirs {
		if !f.IsDir() {
			continue
		}
		files, err := os.ReadDir(filepath.Join(j.dir, f.Name()))
		if err != nil {
			return err
		}
		for _, file := range files {
			visit(f.Name(), file)
		}
	}
	return nil
}

// open adds the job of one file. If a job has two files, the one with an order counts, or else the newer one.
func (j *journal) open(dir string, file fs.DirEntry) {
	id := job.ID(file.Name())
	if !job.ValidID(id) || !file.Type().IsRegular() {
		return
	}
	r := j.read(id, dir, file)
	if old := j.jobs[id]; old != nil {
		if old.ordered && !r.ordered || old.ordered == r.ordered && old.at.After(r.at) {
			return // sweep removes the file
		}
		j.drop(id, old)
	}
	j.makeRoom(r)
	j.place(id, r)
}

// read returns the record in the file of a job.
func (j *journal) read(id job.ID, dir string, file fs.DirEntry) *record {
	r := &record{dir: dir, ordered: true}
	b, err := readLimited(filepath.Join(j.dir, dir, file.Name()), maxJournal)
	e, parseErr := parseEntry(b)
	if err = errors.Join(err, parseErr); err == nil {
		r.at, r.ordered, r.done, r.minion, r.orders = e.At, e.Ordered, e.Done, e.Minion, e.Orders
		r.answered = !r.ordered && slices.Contains(e.Minions, r.minion)
		return r
	}
	j.log.WithError(err).Warnf("read journal of job %s", id)
	if info, err := file.Info(); err == nil {
		r.at = info.ModTime()
	}
	return r
}

// sweep removes files that belong to no job in memory.
func (j *journal) sweep() {
	err := j.eachFile(func(dir string, file fs.DirEntry) {
		if !file.Type().IsRegular() {
			return
		}
		id := job.ID(file.Name())
		r := j.jobs[id]
		surplus := job.ValidID(id) && (r == nil || r.dir != dir)
		if surplus || strings.HasPrefix(file.Name(), ".new-") { // the latter is left by a crash
			j.remove(filepath.Join(j.dir, dir, file.Name()))
		}
	})
	if err != nil {
		j.log.WithError(err).Warnf("look for surplus files in journal %s", j.dir)
	}
}

func (j *journal) remove(path string) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		j.log.WithError(err).Warn("remove file of the journal")
	}
}

func (j *journal) path(id job.ID, r *record) string {
	return filepath.Join(j.dir, r.dir, string(id))
}

// order records an order of the upper master with directory dir under a job id. d is the digest of the order.
// It reports false for an order that was recorded before; otherwise the caller must call ended. The upper
// master gets the returns, unless another one has ordered the job before.
func (j *journal) order(id job.ID, dir string, d digest) (fresh bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.jobs[id]
	switch {
	case r == nil || !r.ordered && r.dir != dir:
		r, err = j.begin(id, &record{dir: dir, at: j.now(), ordered: true, orders: []digest{d}})
		if err != nil {
			return false, fmt.Errorf("record job %s: %w", id, err)
		}
	case r.ordered && len(r.orders) == 0, slices.Contains(r.orders, d):
		return false, nil
	case len(r.orders) < maxSteps:
		if err := j.add(id, r, true, orderName+d.String()); err != nil {
			return false, err
		}
		j.change(r, func() { r.ordered, r.done, r.orders = true, false, append(r.orders, d) })
	default:
		j.reopen(id, r)
	}
	r.giving++
	r.changes++
	return true, nil
}

// A result is the outcome of an order.
type result int

const (
	given   result = iota // minions run it, or may do so
	nobody                // no minion matches
	refusal               // the lower master has refused the order
)

// ended records the result of an order. A job without other orders or returns is finished if no minion
// matches, and forgotten if its order was refused.
func (j *journal) ended(id job.ID, d digest, what result) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.jobs[id]
	if r == nil {
		return
	}
	r.giving = max(r.giving-1, 0)
	r.changes++
	only := len(r.orders) == 1 && r.orders[0] == d
	first := only && r.minion == "" && len(j.load(id)) == 0
	switch {
	case what == nobody && first:
		j.setDone(id, r)
	case what == refusal && first:
		j.drop(id, r)
	case what == refusal && (!only || r.minion != "") && slices.Contains(r.orders, d):
		j.change(r, func() {
			r.orders = slices.DeleteFunc(r.orders, func(o digest) bool { return o == d })
			r.ordered = !only
		})
		j.logged(j.add(id, r, true, undoName+d.String()))
	}
}

// expect records that the return of a minion waits for an upper master. It adds an unknown job, whose returns
// go to the upper master with directory dir.
func (j *journal) expect(id job.ID, dir, minion string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if r := j.jobs[id]; r != nil {
		j.reopen(id, r)
		r.changes++
		return nil
	}
	if _, err := j.begin(id, &record{dir: dir, at: j.now(), minion: minion}); err != nil {
		return fmt.Errorf("record job %s: %w", id, err)
	}
	return nil
}

// begin adds a job, and replaces that of another upper master.
func (j *journal) begin(id job.ID, r *record) (*record, error) {
	if old := j.jobs[id]; old != nil {
		j.drop(id, old)
	}
	if !j.makeRoom(r) {
		return nil, errors.New("the journal is full of orders")
	}
	if err := j.write(id, r); err != nil {
		return nil, err
	}
	j.place(id, r)
	j.known[id] = map[string]bool{}
	return r, nil
}

// write writes the file of a job without returns. An order is flushed to disk.
func (j *journal) write(id job.ID, r *record) error {
	if err := os.MkdirAll(filepath.Join(j.dir, r.dir), 0o700); err != nil {
		return err
	}
	line, err := json.Marshal(header{r.at.UTC().Format(journalStamp), r.ordered, r.minion})
	if err != nil {
		return err
	}
	line = append(line, '\n')
	for _, d := range r.orders {
		line = append(line, orderName+d.String()+lineEnd...)
	}
	return atomicfile.Write(j.path(id, r), line, atomicfile.Options{Sync: r.ordered, SyncDir: r.ordered})
}

// find returns a job.
func (j *journal) find(id job.ID) (record, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if r := j.jobs[id]; r != nil {
		return *r, true
	}
	return record{}, false
}

// acknowledge records that an upper master has acknowledged the returns of minions to a job.
func (j *journal) acknowledge(id job.ID, minions []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.jobs[id]
	if r == nil {
		return
	}
	if known := j.known[id]; known != nil {
		for _, m := range minions {
			if !known[m] {
				known[m] = true
				j.total++
			}
		}
		j.shrink(id)
	}
	if !r.ordered && slices.Contains(minions, r.minion) {
		j.change(r, func() { r.answered = true })
	}
	j.logged(j.add(id, r, false, minions...))
}

// finish records that nothing is left to send of a job, unless it has changed since find returned seen.
func (j *journal) finish(id job.ID, seen record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if r := j.jobs[id]; r != nil && r.changes == seen.changes && r.giving == 0 {
		j.setDone(id, r)
	}
}

func (j *journal) setDone(id job.ID, r *record) {
	if !r.done {
		j.change(r, func() { r.done = true })
		j.logged(j.add(id, r, false, doneName))
	}
}

// reopen records that something may be left to send of a job.
func (j *journal) reopen(id job.ID, r *record) {
	if r.done {
		j.change(r, func() { r.done = false })
		j.logged(j.add(id, r, false, moreName))
	}
}

// add appends lines to the file of a job, and flushes it to disk if sync is set.
func (j *journal) add(id job.ID, r *record, sync bool, lines ...string) error {
	f, err := os.OpenFile(j.path(id, r), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		// the empty line ends one that was broken off
		_, err = f.WriteString("\n" + strings.Join(lines, lineEnd) + lineEnd)
		if err == nil && sync {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("add to the journal of job %s: %w", id, err)
	}
	return nil
}

func (j *journal) logged(err error) {
	if err != nil {
		j.log.Error(err)
	}
}

// acknowledged returns the minions whose returns to a job were acknowledged.
func (j *journal) acknowledged(id job.ID) map[string]bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	known := j.load(id)
	copied := make(map[string]bool, len(known))
	for m := range known {
		copied[m] = true
	}
	return copied
}

// isAcknowledged reports whether the return of a minion to a job was acknowledged.
func (j *journal) isAcknowledged(id job.ID, minion string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.load(id)[minion]
}

// load returns the acknowledged minions of a job, from its file if they are not in memory.
func (j *journal) load(id job.ID) map[string]bool {
	r := j.jobs[id]
	if known, ok := j.known[id]; ok || r == nil {
		return known
	}
	known := map[string]bool{}
	b, err := readLimited(j.path(id, r), maxJournal)
	if err == nil {
		var e entry
		e, err = parseEntry(b)
		for _, m := range e.Minions {
			known[m] = true
		}
	}
	if err != nil {
		j.log.WithError(err).Warnf("read journal of job %s", id)
	}
	j.known[id] = known
	j.total += len(known)
	j.shrink(id)
	return known
}

// shrink removes minions of other jobs from memory if there are too many.
func (j *journal) shrink(keep job.ID) {
	for id := range j.known {
		if j.total <= maxKnown && len(j.known) <= maxKnown/10 {
			return
		}
		if id != keep {
			j.forgetKnown(id)
		}
	}
}

func (j *journal) forgetKnown(id job.ID) {
	j.total -= len(j.known[id])
	delete(j.known, id)
}

// unfinished returns the jobs of which something may be left to send.
func (j *journal) unfinished() []job.ID {
	j.mu.Lock()
	defer j.mu.Unlock()
	var ids []job.ID
	for id, r := range j.jobs {
		if !r.done {
			ids = append(ids, id)
		}
	}
	return ids
}

// clean drops jobs that are too old, and files that belong to no job.
func (j *journal) clean() {
	j.mu.Lock()
	defer j.mu.Unlock()
	before := j.now().Add(-journalAge)
	for id, r := range j.jobs {
		if r.at.Before(before) {
			j.drop(id, r)
		}
	}
	j.sweep()
}
