package saltutil

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/loader"
)

// clearCache removes all files below the minion's cachedir, except those that the minion works
// with: the files of running jobs, the list of finished jobs, and returns that the master has yet
// to get.
//
// CLI Example:
//
//	salt '*' saltutil.clear_cache
func (m caches) clearCache(context.Context, loader.NoArgs) (any, error) {
	err := walk(cached(m.env), func(root, path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return skipUnreadable(d)
		case working(root, path):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		return os.Remove(path)
	})
	if err != nil {
		m.env.Log.Errorf("Attempt to clear cache with saltutil.clear_cache FAILED with: %v", err)
	}
	return err == nil, nil
}

// walk walks a directory, which may be a link. It follows no links below it.
func walk(dir string, do func(root, path string, d fs.DirEntry, err error) error) error {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil // there is no such directory
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		return do(root, path, d, err)
	})
}

// skipUnreadable skips unreadable files and directories, like os.walk of Python.
func skipUnreadable(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// working reports whether the running minion needs a file or directory of its cache.
func working(root, path string) bool {
	switch rel, _ := filepath.Rel(root, path); rel {
	case "proc", "spool", "seen_jobs":
		return true
	}
	return false
}

type clearJobCacheArgs struct {
	Hours any `default:"24"`
}

// clearJobCache removes the cached data of jobs that are older than the given number of hours.
//
// CLI Example:
//
//	salt '*' saltutil.clear_job_cache hours=12
func (m caches) clearJobCache(_ context.Context, a clearJobCacheArgs) (any, error) {
	if _, isText := a.Hours.(string); isText {
		return nil, loader.TypeError("unsupported operand type(s) for -: 'float' and 'str'")
	}
	hours, err := loader.Float(a.Hours)
	if err != nil {
		return nil, loader.TypeError("unsupported operand type(s) for *: '%s' and 'int'",
			loader.TypeName(a.Hours))
	}
	before := time.Now().Add(-time.Duration(hours * float64(time.Hour)))
	err = walk(cached(m.env, "minion_jobs"),
		func(root, path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return skipUnreadable(d)
			case !d.IsDir() || path == root:
				return nil
			}
			return removeOld(path, d, before)
		})
	if err != nil {
		m.env.Log.Errorf("Attempt to clear cache with saltutil.clear_job_cache FAILED with: %v",
			err)
	}
	return err == nil, nil
}

// removeOld removes a directory that was last changed before a time.
func removeOld(path string, d fs.DirEntry, before time.Time) error {
	info, err := d.Info()
	if err != nil || !info.ModTime().Before(before) {
		return err
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return fs.SkipDir
}
