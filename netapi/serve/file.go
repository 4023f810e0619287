package serve

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/daemon"
)

// A file is a log file of lines. It is opened again when its name leads to another file, and by
// reopen. A nil file takes no lines.
type file struct {
	name string

	mu      sync.Mutex
	open    *os.File
	info    fs.FileInfo
	checked time.Time
}

// openFile opens a file for more lines. It returns nil for an empty name.
func openFile(name string) (*file, error) {
	if name == "" {
		return nil, nil
	}
	f := &file{name: name}
	return f, f.reopen()
}

// write adds a line. It is lost if the file cannot be written, since nobody can be told there.
func (f *file) write(line string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.follow(time.Now())
	if f.open != nil {
		_, _ = f.open.WriteString(strings.TrimSuffix(line, "\n") + "\n")
	}
}

// follow opens the file again if its name leads to another one.
func (f *file) follow(now time.Time) {
	if f.open == nil || now.Sub(f.checked) < checkEvery {
		return
	}
	f.checked = now
	info, err := os.Stat(f.name)
	if err == nil && os.SameFile(info, f.info) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	_ = f.anew() // the open file is kept if it fails
}

// reopen opens the file again. The old one is kept if that fails.
func (f *file) reopen() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.checked = time.Now()
	return f.anew()
}

func (f *file) anew() error {
	next, err := daemon.OpenFile(f.name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	info, err := next.Stat()
	if err != nil {
		return errors.Join(err, next.Close())
	}
	if f.open != nil {
		_ = f.open.Close() // nothing is buffered
	}
	f.open, f.info = next, info
	return nil
}

func (f *file) close() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		return nil
	}
	err := f.open.Close()
	f.open = nil
	return err
}
