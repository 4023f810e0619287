package file

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
)

// A pruning removes empty directories.
type pruning struct {
	before          time.Time // remove only directories that changed before; zero for all
	deleted, errors []any
}

// daysAgo returns the time a number of days ago, or zero without a valid number.
func (m directories) daysAgo(days any) time.Time {
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

// below removes the empty directories below a directory, deepest first. Links to directories cannot
// be removed and are recorded as errors.
func (p *pruning) below(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // like os.walk
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

// prune removes a directory if it is old enough. It reports whether it tried, and whether that
// worked.
func (p *pruning) prune(path string) (tried, ok bool) {
	if !p.before.IsZero() {
		if info, err := os.Stat(path); err != nil || !info.ModTime().Before(p.before) {
			return false, false
		}
	}
	if err := removeDir(path); err != nil {
		p.errors = append(p.errors, []any{path, osError(err).Error()})
		return true, false
	}
	p.deleted = append(p.deleted, path)
	return true, true
}

type rmdirArgs struct {
	Path      string
	Recurse   bool `default:"False"`
	Verbose   bool `default:"False"`
	OlderThan any  `default:"None"`
}

// rmdir removes an empty directory.
//
// recurse : False
//
//	First remove the empty directories below it.
//
// verbose : False
//
//	Return which directories were removed and which were not, instead of whether all were.
//
// older_than : None
//
//	Remove only directories that have not changed for this number of days.
//
// CLI Example:
//
//	salt '*' file.rmdir /tmp/foo/ recurse=True
func (m directories) rmdir(_ context.Context, a rmdirArgs) (any, error) {
	path := home(a.Path)
	switch {
	case !filepath.IsAbs(path):
		return nil, loader.Invocation("File path must be absolute.")
	case !paths.IsDir(path):
		return nil, loader.Invocation("A valid directory was not specified.")
	}
	p := pruning{before: m.daysAgo(a.OlderThan), deleted: []any{}, errors: []any{}}
	done := false
	if a.Recurse {
		p.below(path)
		done = len(p.errors) == 0
	}
	if tried, ok := p.prune(path); tried {
		done = ok && (done || !a.Recurse)
	}
	if !a.Verbose {
		return done, nil
	}
	return data.NewMap("deleted", p.deleted, "errors", p.errors, "result", done), nil
}
