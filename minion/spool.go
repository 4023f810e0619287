package minion

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/internal/atomicfile"
)

// spool keeps the returns of jobs until the master has acknowledged them, so that neither a master that is away nor an
// end of the minion loses one. It is bounded: when it is full, the oldest return is given up.
//
// A return is a file: a checksum and the load as MessagePack. The name holds the time and the job. While the disk takes
// nothing, a return is held in memory.
type spool struct {
	dir    string
	bounds spoolBounds
	giveUp func(jid string, why error) // told of each return that is given up

	mu     sync.Mutex
	items  map[string]*spooled
	order  []string // their names, the oldest first
	bytes  int64    // of all
	memory int64    // of bodies held
	newest int64    // time in the newest name
}

// spoolBounds are the bounds of a spool.
type spoolBounds struct {
	files  int
	bytes  int64
	memory int64 // of bodies held in memory
	age    time.Duration
}

func defaultBounds() spoolBounds {
	return spoolBounds{files: 10000, bytes: 256 << 20, memory: 8 << 20, age: 7 * 24 * time.Hour}
}

// A spooled return.
type spooled struct {
	jid     string
	size    int64
	body    []byte // nil when only the disk has it
	onDisk  bool
	durable bool // would outlast the loss of power
	claimed bool // is being sent, or not to be sent yet
	fails   int
	due     time.Time // not to be sent before
}

const (
	spoolEnding = ".ret"
	tempPrefix  = ".new-"
	crcLen      = 4
)

var (
	errSpoolFull = errors.New("the spool is full")
	errTooOld    = errors.New("it is too old")
	errDamaged   = errors.New("its file is damaged")
)

// openSpool returns the spool in dir, which is made where it is missing. With an error it works in memory.
func openSpool(dir string, b spoolBounds, giveUp func(string, error)) (*spool, error) {
	s := &spool{dir: dir, bounds: b, giveUp: giveUp, items: map[string]*spooled{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return s, fmt.Errorf("make spool: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return s, fmt.Errorf("read spool: %w", err)
	}
	for _, e := range entries {
		s.find(e)
	}
	return s, nil
}

// find takes in what an earlier run left. Names sort by time.
func (s *spool) find(e fs.DirEntry) {
	if strings.HasPrefix(e.Name(), tempPrefix) {
		_ = os.Remove(filepath.Join(s.dir, e.Name())) // half written; it does no harm
		return
	}
	stamp, jid, ok := splitSpoolName(e.Name())
	info, err := e.Info()
	if !ok || err != nil || !info.Mode().IsRegular() {
		return
	}
	s.newest = max(s.newest, stamp)
	s.enter(e.Name(), &spooled{jid: jid, size: info.Size(), onDisk: true})
}

func spoolName(stamp int64, jid string) string {
	return fmt.Sprintf("%020d-%s%s", stamp, jid, spoolEnding)
}

func splitSpoolName(name string) (stamp int64, jid string, ok bool) {
	name, ok = strings.CutSuffix(name, spoolEnding)
	head, jid, cut := strings.Cut(name, "-")
	if !ok || !cut || len(head) != 20 || !safeID(jid) {
		return 0, "", false
	}
	n, err := strconv.ParseUint(head, 10, 63)
	return int64(n), jid, err == nil
}

func (s *spool) enter(name string, item *spooled) {
	s.items[name] = item
	s.order = append(s.order, name)
	s.bytes += item.size
	s.memory += int64(len(item.body))
}

// put keeps a return, which is not sent before it is released. With an error it is held in memory only, or, when name is "", not at all.
func (s *spool) put(jid string, body []byte) (name string, err error) {
	lost := s.makeRoom(int64(len(body)) + crcLen)
	for _, l := range lost {
		s.giveUp(l.jid, l.why)
	}
	s.mu.Lock()
	s.newest = max(s.newest+1, time.Now().UnixNano())
	name = spoolName(s.newest, jid)
	s.mu.Unlock()
	err = s.write(name, body)
	s.mu.Lock()
	defer s.mu.Unlock()
	fits := s.memory+int64(len(body)) <= s.bounds.memory
	if err != nil && !fits {
		return "", fmt.Errorf("keep return of job %s: %w", jid, err)
	}
	item := &spooled{jid: jid, size: int64(len(body)) + crcLen, onDisk: err == nil, claimed: true}
	if fits {
		item.body = body
	}
	s.enter(name, item)
	if err != nil {
		err = fmt.Errorf("keep return of job %s on disk: %w", jid, err)
	}
	return name, err
}

// write puts a file in place that is whole whenever it can be seen.
func (s *spool) write(name string, body []byte) error {
	file := binary.BigEndian.AppendUint32(make([]byte, 0, crcLen+len(body)), checksum(body))
	return atomicfile.Write(filepath.Join(s.dir, name), append(file, body...), atomicfile.Options{Prefix: tempPrefix})
}

func checksum(body []byte) uint32 { return crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) }

// release lets a return be sent that put has kept.
func (s *spool) release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if item := s.items[name]; item != nil {
		item.claimed = false
	}
}

// claim returns the oldest return that is due and not under way, or when the next will be due; zero is never.
func (s *spool) claim(now time.Time) (name string, next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.order {
		item := s.items[n]
		switch {
		case item.claimed:
		case !item.due.After(now):
			item.claimed = true
			return n, time.Time{}
		case next.IsZero() || item.due.Before(next):
			next = item.due
		}
	}
	return "", next
}

// fail gives a claim back; the return is due again after a pause that grows with each failure.
func (s *spool) fail(name string, pause func(fails int) time.Duration) (fails int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	item := s.items[name]
	if item == nil {
		return 0
	}
	item.claimed = false
	item.fails++
	item.due = time.Now().Add(pause(item.fails))
	if item.onDisk { // it will take a while: let the memory be for those that come
		s.memory -= int64(len(item.body))
		item.body = nil
	}
	return item.fails
}

// hurry makes everything due now.
func (s *spool) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, item := range s.items {
		item.due = time.Time{}
	}
}

// done removes a return.
func (s *spool) done(name string) error {
	s.mu.Lock()
	onDisk := s.forget(name)
	s.mu.Unlock()
	if !onDisk {
		return nil
	}
	if err := os.Remove(filepath.Join(s.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove return from spool: %w", err)
	}
	return nil
}

func (s *spool) forget(name string) (onDisk bool) {
	item := s.items[name]
	if item == nil {
		return false
	}
	delete(s.items, name)
	s.bytes -= item.size
	s.memory -= int64(len(item.body))
	if i := slices.Index(s.order, name); i >= 0 {
		s.order = slices.Delete(s.order, i, i+1)
	}
	return item.onDisk
}

// get reads one return. The error is errDamaged when its file is not what was written.
func (s *spool) get(name string) ([]byte, error) {
	s.mu.Lock()
	item := s.items[name]
	s.mu.Unlock()
	switch {
	case item == nil:
		return nil, fs.ErrNotExist
	case item.body != nil:
		return item.body, nil
	case item.size > s.bounds.bytes:
		return nil, errDamaged
	}
	file, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if len(file) < crcLen || binary.BigEndian.Uint32(file) != checksum(file[crcLen:]) {
		return nil, errDamaged
	}
	return file[crcLen:], nil
}

// jid returns the job of a return.
func (s *spool) jid(name string) string {
	_, jid, _ := splitSpoolName(name)
	return jid
}

// has reports whether there is a return of a job.
func (s *spool) has(jid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, item := range s.items {
		if item.jid == jid {
			return true
		}
	}
	return false
}

func (s *spool) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items)
}

// sync makes returns outlast a loss of power: the one of that name, or all.
func (s *spool) sync(name string) error {
	var errs []error
	names := s.volatile(name)
	for _, n := range names {
		if err := syncFile(filepath.Join(s.dir, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if len(names) > 0 {
		errs = append(errs, syncDir(s.dir))
	}
	return errors.Join(errs...)
}

// volatile returns the names of the files that are not durable, and takes them for durable.
func (s *spool) volatile(name string) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, item := range s.items {
		if (name == "" || n == name) && item.onDisk && !item.durable {
			item.durable = true
			names = append(names, n)
		}
	}
	return names
}

// A lostReturn was given up.
type lostReturn struct {
	jid string
	why error
}

// makeRoom gives up the oldest returns until one more of the given size fits.
func (s *spool) makeRoom(size int64) (lost []lostReturn) {
	for {
		s.mu.Lock()
		name, why := s.tooMany(size)
		s.mu.Unlock()
		if why == nil {
			return lost
		}
		lost = append(lost, lostReturn{s.jid(name), why})
		if err := s.done(name); err != nil {
			lost[len(lost)-1].why = errors.Join(why, err)
		}
	}
}

// tooMany returns the name of the oldest return when it must go.
func (s *spool) tooMany(size int64) (string, error) {
	if len(s.order) == 0 {
		return "", nil
	}
	name := s.order[0]
	stamp, _, _ := splitSpoolName(name)
	switch {
	case len(s.order) >= s.bounds.files, s.bytes+size > s.bounds.bytes:
		return name, errSpoolFull
	case time.Since(time.Unix(0, stamp)) > s.bounds.age:
		return name, errTooOld
	}
	return "", nil
}

func syncFile(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
