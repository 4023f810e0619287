package keyfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/cluster/stamp"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/pki"
)

var (
	// errAbsent is wrapped if a directory cannot be read.
	errAbsent = errors.New("the key directories say nothing")
	// errForeign is wrapped if a directory has no mark of the session.
	errForeign = errors.New("the key directories are not those of before")
)

// markFile is in each directory, so that one that was removed and made again, that is not mounted, or
// that comes from a backup is not taken for one from which keys were deleted.
const markFile = ".cluster"

// A tree checks that the directories are those of the session. It is safe for concurrent use.
type tree struct {
	paths [len(states)]string
	j     *journal

	mu      sync.Mutex
	trusted [len(states)]fs.FileInfo // with a mark of the session
}

func newTree(dir *pki.Dir, j *journal) *tree {
	t := &tree{j: j}
	for i, state := range states {
		t.paths[i] = filepath.Join(dir.Path(), state.Dir())
	}
	return t
}

// inspect returns nil if all directories are there with a mark of the session.
func (t *tree) inspect() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var foreign error
	for i, path := range t.paths {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no directory", path)
		}
		if err != nil {
			t.trusted[i] = nil
			return fmt.Errorf("%w: %w", errAbsent, err)
		}
		if old := t.trusted[i]; old != nil && os.SameFile(old, info) && old.ModTime().Equal(info.ModTime()) {
			continue
		}
		t.trusted[i] = nil
		mark, err := os.ReadFile(filepath.Join(path, markFile))
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && !t.j.owns(strings.TrimSpace(string(mark))):
			foreign = fmt.Errorf("%w: %s", errForeign, path)
		case err != nil:
			return fmt.Errorf("%w: %w", errAbsent, err)
		case time.Since(info.ModTime()) > stamp.Settled:
			t.trusted[i] = info
		}
	}
	return foreign
}

// mark writes the session into all directories.
func (t *tree) mark() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := []byte(t.j.mark() + "\n")
	for i, path := range t.paths {
		t.trusted[i] = nil
		o := atomicfile.Options{Sync: true, SyncDir: true, Prefix: ".tmp-"}
		if err := atomicfile.Write(filepath.Join(path, markFile), text, o); err != nil {
			return fmt.Errorf("mark the key directories: %w", err)
		}
	}
	return nil
}

// A room is what a directory had when it was last listed.
type room struct {
	path     string
	modified time.Time
	listed   time.Time
	files    map[string]stamp.Stamp
}

// look returns the directory as it is now, and the ids whose files have changed. It lists the
// directory only if its time tells of a change, or full is set: the time does not tell of files that
// are overwritten in place.
func (r room) look(full bool) (now room, ids []string, err error) {
	now = room{path: r.path, listed: time.Now()}
	info, err := os.Stat(r.path)
	if err != nil {
		return r, nil, err
	}
	now.modified = info.ModTime()
	if !full && now.modified.Equal(r.modified) && r.listed.Sub(r.modified) > stamp.Settled {
		return r, nil, nil
	}
	if now.files, err = list(r.path, len(r.files)); err != nil {
		return r, nil, err
	}
	for id, s := range now.files {
		old, ok := r.files[id]
		if !ok || s != old || full && r.doubts(s) {
			ids = append(ids, id)
		}
	}
	for id := range r.files {
		if _, ok := now.files[id]; !ok {
			ids = append(ids, id)
		}
	}
	return now, ids, nil
}

// doubts reports whether a file with a stamp can have changed since the listing: it was new then, or
// it is a link.
func (r room) doubts(s stamp.Stamp) bool { return s.IsFresh(r.listed) || s.IsLink() }

// list returns the files of a directory that can be keys.
func list(path string, size int) (map[string]stamp.Stamp, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	files := make(map[string]stamp.Stamp, max(size, len(entries)))
	for _, e := range entries {
		if e.Name()[0] == '.' || e.IsDir() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[e.Name()] = stamp.Of(info)
	}
	return files, nil
}
