package logging

import (
	"os"
	"path/filepath"
	"sync"
)

// file is a log file.
type file struct {
	path string

	mu   sync.Mutex
	open *os.File
}

// openFile opens a log file for appending, and makes it and its folder where they are missing.
func openFile(path string) (*file, error) {
	f := &file{path: path}
	return f, f.reopen()
}

func (f *file) write(line []byte, _ Level) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.open.Write(line)
}

func (f *file) reopen() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	next, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	if f.open != nil {
		_ = f.open.Close() // what was written is written
	}
	f.open = next
	return nil
}

// Close closes the file.
func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open.Close()
}
