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

// checkEvery is how often a log file is looked for at its path, and how often what went wrong with it is tried again.
const checkEvery = time.Second

// A file is a log file. It is opened anew when its path leads elsewhere, as Python's WatchedFileHandler does, and
// rotated as by its RotatingFileHandler; both at once, because other programs may write to it too.
type file struct {
	path string

	mu      sync.Mutex
	closed  bool
	open    *os.File // nil while it cannot be opened
	info    fs.FileInfo
	checked time.Time
	failed  time.Time // when rotating failed
	losses  losses

	maxBytes int64
	backups  int
}

// openFile opens a log file for appending, and makes it and its directory where they are missing. Root is not led elsewhere by
// what another user has put there: see daemon.OpenFile.
func openFile(path string) (*file, error) {
	f := &file{path: path}
	if err := f.reopen(); err != nil {
		return nil, err
	}
	return f, nil
}

// limit sets the length from which on the file is rotated; either being 0 it never is.
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

// errNotOpen is why lines are lost that come while the file cannot be opened.
var errNotOpen = errors.New("the log file is not open")

// failing is a writer that cannot.
type failing struct{ why error }

func (f failing) Write([]byte) (int, error) { return 0, f.why }

// check opens the file anew when its path leads elsewhere. When that fails, the open one is kept.
func (f *file) check(now time.Time) error {
	if f.closed || now.Sub(f.checked) < checkEvery {
		return nil
	}
	f.checked = now
	if f.open != nil {
		info, err := os.Stat(f.path)
		if err == nil && os.SameFile(info, f.info) || err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// openAnew opens what lies at the path, and closes what was open.
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

// drop closes what is open.
func (f *file) drop() {
	if f.open != nil {
		_ = f.open.Close() // what was written is written
		f.open = nil
	}
}

// rotate rotates the file when l would make it longer than it may be.
func (f *file) rotate(l line, now time.Time) {
	if f.maxBytes <= 0 || f.backups <= 0 || f.open == nil || !f.failed.IsZero() && now.Sub(f.failed) < checkEvery {
		return
	}
	info, err := f.open.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return
	}
	if info.Size()+int64(utf8.RuneCountInString(l.text)+1) < f.maxBytes { // Python counts characters here
		return
	}
	f.drop() // on Windows no open file can be renamed
	f.failed = time.Time{}
	if err := f.shift(); err != nil {
		f.failed = now
	}
	if err := f.openAnew(); err != nil {
		f.checked = now
	}
}

// shift renames the file to .1, that to .2 and so on; the last one goes.
func (f *file) shift() error {
	for i := f.backups - 1; i >= 0; i-- {
		if err := os.Rename(f.backup(i), f.backup(i+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
