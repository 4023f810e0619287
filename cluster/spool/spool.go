// Package spool keeps entries on disk until somebody else has them, in the order in which they came.
// A master of a cluster keeps returns there while JetStream does not answer.
package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/brineproject/brine/internal/atomicfile"
)

// ErrFull is wrapped by Put if the limit of bytes is reached.
var ErrFull = errors.New("no room for further entries")

// ErrBusy is wrapped by First if the process or the system lacks what it needs to read any file.
var ErrBusy = errors.New("no file can be read now")

// Unreadable is the end of the names that SetAside gives.
const Unreadable = ".unreadable"

// DefaultLimit is the limit of bytes if Open gets 0.
const DefaultLimit = 1 << 30

// A Spool is a directory with a file for each entry. It is safe for concurrent use by one process.
type Spool struct {
	dir   *os.Root
	limit int64

	mu    sync.Mutex
	names []uint64 // sorted
	sizes map[uint64]int64
	bytes int64
	next  uint64
}

// Open opens the spool in a directory, and makes the directory if it does not exist. It holds at most
// limit bytes; 0 means DefaultLimit. Files that are no entries are left alone.
func Open(dir string, limit int64) (*Spool, error) {
	if limit == 0 {
		limit = DefaultLimit
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	s := &Spool{dir: root, limit: limit, sizes: map[uint64]int64{}, next: 1}
	if err := s.list(); err != nil {
		return nil, errors.Join(fmt.Errorf("open spool %s: %w", dir, err), root.Close())
	}
	return s, nil
}

// list reads which entries there are.
func (s *Spool) list() error {
	files, err := fs.ReadDir(s.dir.FS(), ".")
	if err != nil {
		return err
	}
	for _, f := range files {
		name, aside := strings.CutSuffix(f.Name(), Unreadable)
		n, err := strconv.ParseUint(name, 10, 64)
		if err != nil || nameOf(n) != name {
			continue
		}
		if aside {
			s.next = max(s.next, n+1) // its name is not used again
			continue
		}
		info, err := f.Info()
		if err != nil {
			return err
		}
		s.add(n, info.Size())
	}
	slices.Sort(s.names)
	return nil
}

// add notes an entry.
func (s *Spool) add(n uint64, size int64) {
	s.names = append(s.names, n)
	s.sizes[n] = size
	s.bytes += size
	s.next = max(s.next, n+1)
}

// nameOf returns the name of a file; names sort as numbers do.
func nameOf(n uint64) string { return fmt.Sprintf("%020d", n) }

// Put stores an entry. It is on disk when Put returns. The error wraps ErrFull if the limit is
// reached.
func (s *Spool) Put(entry []byte) error {
	n, err := s.reserve(int64(len(entry)))
	if err != nil {
		return err
	}
	err = atomicfile.WriteIn(s.dir, nameOf(n), entry, atomicfile.Options{Mode: 0o600, Sync: true, SyncDir: true})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes -= int64(len(entry)) // of the reservation
	if err != nil {
		return fmt.Errorf("store entry in spool: %w", err)
	}
	s.add(n, int64(len(entry)))
	slices.Sort(s.names)
	return nil
}

// reserve returns a number for an entry and counts its bytes.
func (s *Spool) reserve(size int64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes+size > s.limit {
		return 0, fmt.Errorf("store entry in spool: %w: it has %d bytes, the limit is %d", ErrFull, s.bytes, s.limit)
	}
	s.bytes += size
	s.next++
	return s.next - 1, nil
}

// First returns the oldest entry and its name. ok is false if there is none. An entry whose file is
// gone is skipped. If the entry cannot be read, the error comes with its name; First returns it again
// until it is removed or set aside.
func (s *Spool) First() (name string, entry []byte, ok bool, err error) {
	for {
		s.mu.Lock()
		if len(s.names) == 0 {
			s.mu.Unlock()
			return "", nil, false, nil
		}
		n := s.names[0]
		s.mu.Unlock()
		entry, err = s.dir.ReadFile(nameOf(n))
		if errors.Is(err, fs.ErrNotExist) {
			s.drop(n)
			continue
		}
		if err != nil {
			err = fmt.Errorf("read entry of spool: %w", err)
			for _, scarce := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
				if errors.Is(err, scarce) {
					err = fmt.Errorf("%w: %w", ErrBusy, err)
				}
			}
			return nameOf(n), nil, false, err
		}
		return nameOf(n), entry, true, nil
	}
}

// Remove removes an entry by its name. One that does not exist is no error.
func (s *Spool) Remove(name string) error {
	n, err := strconv.ParseUint(name, 10, 64)
	if err != nil || nameOf(n) != name {
		return fmt.Errorf("remove entry of spool: %q is no name of an entry", name)
	}
	if err := s.dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove entry of spool: %w", err)
	}
	s.drop(n)
	return nil
}

// SetAside takes an entry out of the spool and keeps its file under another name, which it returns. If the
// file cannot be renamed, the entry is left out until the next Open.
func (s *Spool) SetAside(name string) (kept string, err error) {
	n, err := strconv.ParseUint(name, 10, 64)
	if err != nil || nameOf(n) != name {
		return name, fmt.Errorf("set entry of spool aside: %q is no name of an entry", name)
	}
	kept = name + Unreadable
	if err = s.dir.Rename(name, kept); err != nil {
		kept, err = name, fmt.Errorf("set entry of spool aside: %w", err)
	}
	s.drop(n)
	return kept, err
}

// drop forgets an entry.
func (s *Spool) drop(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, found := slices.BinarySearch(s.names, n); found {
		s.names = slices.Delete(s.names, i, i+1)
		s.bytes -= s.sizes[n]
		delete(s.sizes, n)
	}
}

// Len returns the number of entries.
func (s *Spool) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.names)
}

// Bytes returns how many bytes the entries have, and the limit.
func (s *Spool) Bytes() (used, limit int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes, s.limit
}

// Close closes the directory.
func (s *Spool) Close() error { return s.dir.Close() }
