package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/internal/atomicfile"
)

// A Mark is the file CACHEDIR/cluster/left. While it exists a master with the option cluster works
// alone.
type Mark struct{ path string }

// MarkIn returns the mark of the master with a cachedir.
func MarkIn(cachedir string) Mark { return Mark{filepath.Join(cachedir, "cluster", "left")} }

// Path returns the path of the file.
func (m Mark) Path() string { return m.path }

// Since reports whether the mark is set, and since when.
func (m Mark) Since() (since time.Time, set bool, err error) {
	text, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return since, false, nil
	}
	if err != nil {
		return since, false, fmt.Errorf("look whether this master has left its cluster: %w", err)
	}
	if since, err = time.Parse(time.RFC3339, strings.TrimSpace(string(text))); err == nil {
		return since, true, nil
	}
	info, err := os.Stat(m.path) // somebody has made the file by hand
	if err != nil {
		return since, false, fmt.Errorf("look since when this master has left its cluster: %w", err)
	}
	return info.ModTime(), true, nil
}

// Set sets the mark. It survives a crash of the host when Set returns.
func (m Mark) Set(now time.Time) error {
	if err := os.MkdirAll(filepath.Dir(m.path), 0o700); err != nil {
		return fmt.Errorf("note that this master leaves its cluster: %w", err)
	}
	if err := atomicfile.Write(m.path, []byte(now.UTC().Format(time.RFC3339)+"\n"),
		atomicfile.Options{Mode: 0o600, Sync: true, SyncDir: true}); err != nil {
		return fmt.Errorf("note that this master leaves its cluster: %w", err)
	}
	return nil
}

// Remove removes the mark; one that is not set is no error.
func (m Mark) Remove() error {
	if err := os.Remove(m.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("note that this master joins its cluster again: %w", err)
	}
	return nil
}
