package tokenfiles

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/cluster/stamp"
	"github.com/brineproject/brine/internal/atomicfile"
)

var (
	// errAbsent is wrapped if the directory cannot be read.
	errAbsent = errors.New("the token directory says nothing")
	// errForeign is wrapped if the directory has no mark of the session.
	errForeign = errors.New("the token directory is not that of before")
)

const (
	// markFile is in the directory, so that one that was removed and made again, that is not mounted,
	// or that comes from a backup is not taken for one from which tokens were deleted.
	markFile   = ".cluster"
	markPrefix = ".token-" // of temporary files, as package auth removes them
)

// A file is what the directory has.
type file struct {
	place
	name  string
	stamp stamp.Stamp
}

// A directory is the token directory as it was when it was last listed. It is not safe for concurrent
// use.
type directory struct {
	path   string
	owns   func(mark string) bool
	info   fs.FileInfo // of the directory when it was listed; nil before
	listed time.Time
	files  map[id]file
}

// open returns the directory if it is that of the session. Else the error wraps errForeign, and the
// directory is returned, or errAbsent.
func (d *directory) open() (*os.Root, error) {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAbsent, err)
	}
	mark, err := root.ReadFile(markFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !d.owns(strings.TrimSpace(string(mark))):
		return root, fmt.Errorf("%w: %s", errForeign, d.path)
	case err != nil:
		return nil, errors.Join(fmt.Errorf("%w: %w", errAbsent, err), root.Close())
	}
	return root, nil
}

// mark writes the mark of a session, and forgets what was listed.
func (d *directory) mark(root *os.Root, session string) error {
	d.info, d.files = nil, nil
	o := atomicfile.Options{Sync: true, SyncDir: true, Prefix: markPrefix}
	if err := atomicfile.WriteIn(root, markFile, []byte(session+"\n"), o); err != nil {
		return fmt.Errorf("mark the token directory: %w", err)
	}
	return nil
}

func newSession() string { return rand.Text() }

// look returns the ids whose files have changed. It lists the directory only if its time tells of a
// change, and then looks at the files that are new. If full is set it lists the directory and looks at
// each file: only so does it find one that was written anew under its name.
func (d *directory) look(full bool) ([]id, error) {
	info, err := os.Stat(d.path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAbsent, err)
	}
	if !full && d.info != nil && os.SameFile(d.info, info) && d.info.ModTime().Equal(info.ModTime()) &&
		d.listed.Sub(info.ModTime()) > stamp.Settled {
		return nil, nil
	}
	root, err := d.open()
	if root != nil {
		defer root.Close()
	}
	if err != nil {
		return nil, err
	}
	listed := time.Now()
	if info, err = root.Stat("."); err != nil {
		return nil, fmt.Errorf("%w: %w", errAbsent, err)
	}
	files, changed, err := d.list(root, full)
	if err == nil {
		err = d.same(info)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAbsent, err)
	}
	d.info, d.listed, d.files = info, listed, files
	return changed, nil
}

// same fails if the directory with an info is no longer at the path, or has lost its mark.
func (d *directory) same(info fs.FileInfo) error {
	root, err := d.open()
	if root != nil {
		defer root.Close()
	}
	if err != nil {
		return err
	}
	now, err := root.Stat(".")
	if err == nil && !os.SameFile(info, now) {
		err = errors.New("it was replaced")
	}
	return err
}

// list reads the directory, and the files that have changed.
func (d *directory) list(root *os.Root, full bool) (files map[id]file, changed []id, err error) {
	names, err := namesIn(root)
	if err != nil {
		return nil, nil, err
	}
	files = make(map[id]file, len(names))
	fresh := false
	for _, name := range names {
		i := idOf(name)
		old, known := d.files[i]
		if known && !full && !d.doubts(old) {
			files[i] = old
			continue
		}
		info, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		s := stamp.Of(info)
		if known && old.stamp == s && !d.doubts(old) {
			files[i] = old
			continue
		}
		now := file{place{side: mute}, name, s}
		raw, _, err := readFile(root, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil:
			now.place = place{has, sha256.Sum256(raw)}
		}
		files[i] = now
		if !known || old.place != now.place {
			fresh = true
			changed = append(changed, i)
		}
	}
	for i := range d.files {
		if _, there := files[i]; !there {
			changed = append(changed, i)
		}
	}
	if fresh { // or a power failure would look like a deletion
		err = atomicfile.SyncDir(root, ".")
	}
	return files, changed, err
}

func namesIn(root *os.Root) ([]string, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, name := range names {
		if auth.IsTokenName(name) {
			names[n] = name
			n++
		}
	}
	return names[:n], nil
}

// doubts reports whether a file can have changed since the listing without another stamp: it was new
// then, or this member has written it and has no stamp yet.
func (d *directory) doubts(f file) bool {
	return f.stamp == stamp.Stamp{} || f.stamp.IsFresh(d.listed)
}

// flushed is the age from which on the system has written a file to disk.
const flushed = 2 * time.Minute

// readFile returns the content of a file and its time, and flushes it to disk if it is new.
func readFile(root *os.Root, name string) ([]byte, time.Time, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		return nil, time.Time{}, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, auth.MaxToken+1))
	switch {
	case err != nil:
	case len(raw) == 0:
		err = errors.New("it is empty")
	case len(raw) > auth.MaxToken:
		err = errors.New("it is too long")
	case time.Since(info.ModTime()).Abs() < flushed:
		_ = f.Sync() // some systems demand a file that is open for writing
	}
	return raw, info.ModTime(), err
}
