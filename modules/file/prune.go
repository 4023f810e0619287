//go:build unix

package file

import (
	"os"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
)

// A pruning removes empty directories.
type pruning struct {
	before          time.Time // only what changed before; zero for all
	deleted, errors []any
}

// daysAgo returns the time so many days ago; no time where nothing, or no number, is given.
func (m *module) daysAgo(days any) time.Time {
	if !data.Truth(days) {
		return time.Time{}
	}
	n, err := loader.Int(days)
	if err != nil {
		m.env.Log.Errorf("Unable to set 'older_than'. Defaulting to 0 days. (%s)", err)
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(n) * 24 * time.Hour)
}

// below removes what is empty below a directory, the deepest first. Links to directories cannot be removed so, and are told of.
func (p *pruning) below(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // as os.walk
	}
	for _, e := range entries {
		if e.IsDir() {
			p.below(filepath.Join(dir, e.Name()))
		}
	}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); paths.IsDir(path) {
			p.prune(path)
		}
	}
}

// prune removes a directory if it is old enough, and reports whether it was to be removed, and is.
func (p *pruning) prune(path string) (tried, ok bool) {
	if !p.before.IsZero() {
		if info, err := os.Stat(path); err != nil || !info.ModTime().Before(p.before) {
			return false, false
		}
	}
	if err := rmdir(path); err != nil {
		p.errors = append(p.errors, []any{path, osError(err).Error()})
		return true, false
	}
	p.deleted = append(p.deleted, path)
	return true, true
}
