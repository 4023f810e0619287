package logging

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/brineproject/brine/daemon"
)

// checkEvery is the interval at which the path of a log file is checked, and at which failures are
// retried.
const checkEvery = time.Second

// A file is a log file. It is reopened if its path leads elsewhere, like in Python's
// WatchedFileHandler, and rotated like in its RotatingFileHandler. It does both since other
// programs may write to the file too.
type file struct {
	path string

	mu      sync.Mutex
	closed  bool
	open    *os.File // nil if it could not be opened
	info    fs.FileInfo
	checked time.Time
	failed  time.Time // time of the last failed rotation
	losses  losses

	maxBytes int64
	backups  int
}

// openFile opens a log file for appending, and creates it and its directory if needed. It protects
// root from paths redirected by other users: see daemon.OpenFile.
func openFile(path string) (*file, error) {
	f := &file{path: path}
	if err := f.reopen(); err != nil {
		return nil, err
	}
	return f, nil
}

// limit sets the size from which the file is rotated. If either value is 0 it is never rotated.
func (f *file) limit(maxBytes int64, backups int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.maxBytes, f.backups = maxBytes, backups
}

func (f *file) write(l line) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	why := f.check(now)
	f.rotate(l, now)
	if f.open == nil {
		f.losses.writeLocked(failing{errors.Join(why, errNotOpen)}, l)
		return
	}
	f.losses.writeLocked(f.open, l)
}

// errNotOpen is why lines are lost while the file cannot be opened.
var errNotOpen = errors.New("the log file is not open")

// failing is a writer that always fails.
type failing struct{ why error }

func (f failing) Write([]byte) (int, error) { return 0, f.why }

// check reopens the file if its path leads elsewhere. If that fails, the open file is kept.
func (f *file) check(now time.Time) error {
	if f.closed || now.Sub(f.checked) < checkEvery {
		return nil
	}
	f.checked = now
	if f.open != nil {
		info, err := os.Stat(f.path)
		if err == nil && os.SameFile(info, f.info) ||
			err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return f.openAnew()
}

func (f *file) reopen() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fs.ErrClosed
	}
	f.checked = time.Now()
	return f.openAnew()
}

// openAnew opens the file at the path and closes the old one.
func (f *file) openAnew() error {
	next, err := daemon.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	info, err := next.Stat()
	if err != nil {
		return errors.Join(err, next.Close())
	}
	f.drop()
	f.open, f.info = next, info
	return nil
}

// drop closes the open file.
func (f *file) drop() {
	if f.open != nil {
		_ = f.open.Close() // nothing is buffered
		f.open = nil
	}
}

// rotate rotates the file if l would exceed its maximum size.
func (f *file) rotate(l line, now time.Time) {
	if f.maxBytes <= 0 || f.backups <= 0 || f.open == nil || !f.failed.IsZero() &&
		now.Sub(f.failed) < checkEvery {
		return
	}
	info, err := f.open.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return
	}
	// Python counts characters here
	if info.Size()+int64(utf8.RuneCountInString(l.text)+1) < f.maxBytes {
		return
	}
	f.drop() // Windows cannot rename an open file
	f.failed = time.Time{}
	if err := f.shift(); err != nil {
		f.failed = now
	}
	if err := f.openAnew(); err != nil {
		f.checked = now
	}
}

// shift renames the file to .1, .1 to .2 and so on, and deletes the last one.
func (f *file) shift() error {
	for i := f.backups - 1; i >= 0; i-- {
		if err := os.Rename(f.backup(i), f.backup(i+1)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (f *file) backup(i int) string {
	if i == 0 {
		return f.path
	}
	return f.path + "." + strconv.Itoa(i)
}

// Close closes the file.
func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.open == nil {
		return nil
	}
	err := f.open.Close()
	f.open = nil
	return err
}
