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
	"github.com/brineproject/brine/job"
)

// spool stores the returns of jobs until the master has acknowledged them, so that none is lost
// while the master is away or when the minion ends. It is limited: when it is full, the oldest
// return is dropped.
//
// Each return is a file with a checksum and the load as MessagePack. The file name holds the time
// and the job id. If the disk cannot be written, returns are kept in memory.
type spool struct {
	dir    string
	bounds spoolBounds
	onDrop func(jid string, why error) // called for each return that is dropped

	mu     sync.Mutex
	items  map[string]*spooled
	order  []string // names, oldest first
	bytes  int64    // total size
	memory int64    // size of bodies in memory
	newest int64    // timestamp of the newest name
}

// spoolBounds are the limits of a spool.
type spoolBounds struct {
	files  int
	bytes  int64
	memory int64 // total size of bodies in memory
	age    time.Duration
}

func defaultBounds() spoolBounds {
	return spoolBounds{files: 10000, bytes: 256 << 20, memory: 8 << 20, age: 7 * 24 * time.Hour}
}

// spooled is a return in the spool.
type spooled struct {
	jid     string
	size    int64
	body    []byte // nil if it is only on disk
	onDisk  bool
	durable bool // flushed, so that it survives a power failure
	claimed bool // being sent, or not yet released
	fails   int
	due     time.Time // time of the next attempt
}

const (
	spoolSuffix = ".ret"
	tempPrefix  = ".new-"
	crcLen      = 4
)

var (
	errSpoolFull = errors.New("the spool is full")
	errTooOld    = errors.New("it is too old")
	errDamaged   = errors.New("its file is damaged")
)

// openSpool opens the spool in dir and creates dir if needed. If it returns an error, the spool
// works in memory.
func openSpool(dir string, b spoolBounds, onDrop func(string, error)) (*spool, error) {
	s := &spool{dir: dir, bounds: b, onDrop: onDrop, items: map[string]*spooled{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return s, fmt.Errorf("make spool: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return s, fmt.Errorf("read spool: %w", err)
	}
	for _, e := range entries {
		s.adopt(e)
	}
	return s, nil
}

// adopt adds a return that an earlier run has left. File names sort by time.
func (s *spool) adopt(e fs.DirEntry) {
	if strings.HasPrefix(e.Name(), tempPrefix) {
		_ = os.Remove(filepath.Join(s.dir, e.Name())) // incomplete; harmless if it stays
		return
	}
	stamp, jid, ok := splitSpoolName(e.Name())
	info, err := e.Info()
	if !ok || err != nil || !info.Mode().IsRegular() {
		return
	}
	s.newest = max(s.newest, stamp)
	s.insert(e.Name(), &spooled{jid: jid, size: info.Size(), onDisk: true})
}

func spoolName(stamp int64, jid string) string {
	return fmt.Sprintf("%020d-%s%s", stamp, jid, spoolSuffix)
}

func splitSpoolName(name string) (stamp int64, jid string, ok bool) {
	name, ok = strings.CutSuffix(name, spoolSuffix)
	head, jid, cut := strings.Cut(name, "-")
	if !ok || !cut || len(head) != 20 || !job.ValidID(job.ID(jid)) {
		return 0, "", false
	}
	n, err := strconv.ParseUint(head, 10, 63)
	return int64(n), jid, err == nil
}

func (s *spool) insert(name string, item *spooled) {
	s.items[name] = item
	i, _ := slices.BinarySearch(s.order, name) // the end, except for returns from another spool
	s.order = slices.Insert(s.order, i, name)
	s.bytes += item.size
	s.memory += int64(len(item.body))
}

// A heldReturn is a return in the spool that is not sent before its release. The zero value holds
// none.
type heldReturn struct {
	spool *spool
	name  string
}

// release allows the return to be sent.
func (h heldReturn) release() {
	if h.spool != nil {
		h.spool.release(h.name)
	}
}

// add stores a return, which is not sent before its release. After an error it is only held in
// memory or, if there is no room, dropped.
func (s *spool) add(jid string, body []byte) (heldReturn, error) {
	s.makeRoom(int64(len(body)) + crcLen)
	s.mu.Lock()
	s.newest = max(s.newest+1, time.Now().UnixNano())
	name := spoolName(s.newest, jid)
	s.mu.Unlock()
	err := s.write(name, body)
	if err != nil {
		err = fmt.Errorf("keep return of job %s on disk: %w", jid, err)
	}
	if !s.hold(name, jid, body, err == nil) {
		s.onDrop(jid, err)
		return heldReturn{}, err
	}
	return heldReturn{s, name}, err
}

// hold adds a return to the index, and its body if that fits into memory. It reports false if the
// return is neither in memory nor on disk.
func (s *spool) hold(name, jid string, body []byte, onDisk bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	item := &spooled{jid: jid, size: int64(len(body)) + crcLen, onDisk: onDisk, claimed: true}
	if s.memory+int64(len(body)) <= s.bounds.memory {
		item.body = body
	} else if !onDisk {
		return false
	}
	s.insert(name, item)
	return true
}

// write writes a file atomically.
func (s *spool) write(name string, body []byte) error {
	file := binary.BigEndian.AppendUint32(make([]byte, 0, crcLen+len(body)), checksum(body))
	return atomicfile.Write(filepath.Join(s.dir, name), append(file, body...),
		atomicfile.Options{Prefix: tempPrefix})
}

func checksum(body []byte) uint32 { return crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) }

// release allows a held return to be sent.
func (s *spool) release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if item := s.items[name]; item != nil {
		item.claimed = false
	}
}

// claim claims the oldest return that is due and returns its name. If none is due, it returns when
// the next will be; a zero time means never.
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

// fail releases a claim after a failed attempt. The next attempt is due after a pause that grows
// with each failure.
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
	if item.onDisk { // the next attempt is some time away: free the memory for new returns
		s.memory -= int64(len(item.body))
		item.body = nil
	}
	return item.fails
}

// retryNow makes every return due now.
func (s *spool) retryNow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, item := range s.items {
		item.due = time.Time{}
	}
}

// move moves a claimed return to another spool, which holds it under the same name, and so with the same
// age. A file is renamed, so that no copy needs room on the disk and a flushed return stays flushed; call
// syncMove afterwards. After an error the return is still in s, and claimed. The error wraps errDamaged if
// the file is gone.
func (s *spool) move(name string, to *spool) (heldReturn, error) {
	moved, ok := s.find(name)
	switch {
	case !ok: // add has dropped it
		return heldReturn{}, fs.ErrNotExist
	case moved.size > s.bounds.bytes:
		return heldReturn{}, errDamaged
	case !to.fits(moved.size):
		return heldReturn{}, errSpoolFull
	}
	moved.fails, moved.due = 0, time.Time{}
	body := moved.body
	moved.body = nil
	var err error
	if moved.onDisk {
		err = s.rename(name, to)
	}
	if !moved.onDisk || body != nil && errors.Is(err, errDamaged) {
		moved.body, moved.durable = body, false
		err = to.write(name, body)
		moved.onDisk = err == nil
		if to.hasMemory(len(body)) {
			err = nil
		} else {
			moved.body = nil
		}
	}
	if err != nil {
		return heldReturn{}, err
	}
	to.mu.Lock()
	to.insert(name, &moved)
	to.mu.Unlock()
	s.mu.Lock()
	s.forget(name)
	s.mu.Unlock()
	return heldReturn{to, name}, nil
}

// rename moves the file of a return to another spool. The error wraps errDamaged if the file is gone.
func (s *spool) rename(name string, to *spool) error {
	from := filepath.Join(s.dir, name)
	err := os.Rename(from, filepath.Join(to.dir, name))
	if errors.Is(err, fs.ErrNotExist) { // or the other directory is
		if _, gone := os.Lstat(from); errors.Is(gone, fs.ErrNotExist) {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	return err
}

// find returns a copy of the entry of a return.
func (s *spool) find(name string) (spooled, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	item := s.items[name]
	if item == nil {
		return spooled{}, false
	}
	return *item, true
}

// fits reports whether a return of the given size fits without dropping another.
func (s *spool) fits(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.order) < s.bounds.files && s.bytes+size <= s.bounds.bytes
}

// hasMemory reports whether a body of the given size may be held in memory.
func (s *spool) hasMemory(size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory+int64(size) <= s.bounds.memory
}

// syncMove flushes the new names of moved returns to disk, and then the removal of the old ones.
func (s *spool) syncMove(to *spool) error { return errors.Join(syncDir(to.dir), syncDir(s.dir)) }

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

// get returns the body of a return. The error wraps errDamaged if the file was altered or is gone. After
// other errors the file may be intact, and be read later.
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
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read return from spool: %w", err)
	}
	if len(file) < crcLen || binary.BigEndian.Uint32(file) != checksum(file[crcLen:]) {
		return nil, errDamaged
	}
	return file[crcLen:], nil
}

// jid returns the job id of a return.
func (s *spool) jid(name string) string {
	_, jid, _ := splitSpoolName(name)
	return jid
}

// has reports whether the spool holds a return of the job.
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

// sync flushes returns to disk: the named one, or all if name is "".
func (s *spool) sync(name string) error {
	var errs []error
	var flushed []string
	names := s.unflushed(name)
	for _, n := range names {
		switch err := syncFile(filepath.Join(s.dir, n)); {
		case err == nil:
			flushed = append(flushed, n)
		case !errors.Is(err, fs.ErrNotExist): // it may be done, or moved to another spool
			errs = append(errs, err)
		}
	}
	if len(names) > 0 {
		err := syncDir(s.dir)
		errs = append(errs, err)
		if err == nil {
			s.setDurable(flushed)
		}
	}
	return errors.Join(errs...)
}

// unflushed returns the names of files that are not flushed yet: the named one, or all if name is "".
func (s *spool) unflushed(name string) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, item := range s.items {
		if (name == "" || n == name) && item.onDisk && !item.durable {
			names = append(names, n)
		}
	}
	return names
}

// setDurable records that returns are flushed.
func (s *spool) setDurable(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range names {
		if item := s.items[n]; item != nil {
			item.durable = true
		}
	}
}

// drop removes a return and reports it as lost.
func (s *spool) drop(name string, why error) error {
	s.onDrop(s.jid(name), why)
	return s.done(name)
}

// makeRoom drops the oldest returns until one of the given size fits.
func (s *spool) makeRoom(size int64) {
	for {
		s.mu.Lock()
		name, why := s.overflow(size)
		s.mu.Unlock()
		if why == nil {
			return
		}
		err := s.done(name)
		s.onDrop(s.jid(name), errors.Join(why, err))
	}
}

// overflow returns the oldest return and a reason if it must be dropped to fit size more bytes.
func (s *spool) overflow(size int64) (string, error) {
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
