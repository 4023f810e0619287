package state

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/loader"
)

const cacheEnding = ".cache.p" // of the files that hold high data for runs with cache=True

// clearCache removes the high data that the minion keeps for runs with cache=True. It returns the
// names of the removed files.
//
// CLI Example:
//
//	salt '*' state.clear_cache
func (m *module) clearCache(context.Context, loader.NoArgs) (any, error) {
	dir, err := m.cacheDir()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, err
	}
	removed := []any{}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), cacheEnding) {
			continue
		}
		if err := dir.Remove(e.Name()); err != nil {
			return nil, err
		}
		removed = append(removed, e.Name())
	}
	return removed, nil
}

// cacheDir opens a directory in the minion's cache and creates it if it is missing. The caller
// closes it.
func (m *module) cacheDir(below ...string) (*os.Root, error) {
	dir := filepath.Join(append([]string{m.env.Opts.Text("cachedir")}, below...)...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}
