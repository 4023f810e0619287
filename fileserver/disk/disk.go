// Package disk has what backends of the file server need of files on a disk: what tells one version from the next, and a
// way to open them that a pipe or a device cannot hold up.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/brineproject/brine/fileserver"
)

// A Place is where a file is opened: Name below the directory Root, which it cannot leave whatever links there are, or
// anywhere when Root is "".
type Place struct{ Root, Name string }

// located is what NewFound gives to Open.
type located struct {
	Place
	id Identity
}

// NewFound returns what a backend found at a place: info is that of Place.Stat, path where people know it, rel and env where
// minions do.
func NewFound(p Place, info os.FileInfo, path, rel, env string) *fileserver.Found {
	return &fileserver.Found{Path: path, Rel: rel, Env: env, Stat: statOf(info), Size: info.Size(), Version: version(p, info, time.Now()),
		Private: located{p, Identify(info)}}
}

// Stat looks at what is there, and follows links.
func (p Place) Stat() (os.FileInfo, error) {
	if p.Root == "" {
		return os.Stat(p.Name)
	}
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Stat(p.Name)
}

// open opens a regular file. A pipe that has taken its Place does not make it wait.
func (p Place) open() (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	if p.Root == "" {
		return os.OpenFile(p.Name, flags, 0)
	}
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(p.Name, flags, 0)
}

// Open opens a file that NewFound returned.
func Open(f *fileserver.Found) (fileserver.File, error) {
	at, ok := f.Private.(located)
	if !ok {
		return nil, fmt.Errorf("open %q: it was not found on a disk", f.Rel)
	}
	file, err := at.open()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("open %q: %w: it is gone", f.Rel, fileserver.ErrChanged)
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular() || Identify(info) != at.id:
		err = fmt.Errorf("open %q: %w: another file is in its Place", f.Rel, fileserver.ErrChanged)
	default:
		return &regular{file, at.id, info.Size()}, nil
	}
	_ = file.Close()
	return nil, err
}

// regular is an open file.
type regular struct {
	*os.File
	id   Identity
	size int64
}

var _ fileserver.File = (*regular)(nil)

// ReadAt reads what was there when the file was opened.
func (r *regular) ReadAt(p []byte, off int64) (int, error) {
	if off >= r.size {
		return 0, io.EOF
	}
	short := int64(len(p)) > r.size-off
	if short {
		p = p[:r.size-off]
	}
	n, err := r.File.ReadAt(p, off)
	if short && err == nil {
		err = io.EOF
	}
	return n, err
}

// Size is that of the file when it was opened.
func (r *regular) Size() int64 { return r.size }

// Check tells whether the file was written to.
func (r *regular) Check() error {
	info, err := r.File.Stat()
	if err != nil {
		return err
	}
	if Identify(info) != r.id {
		return fmt.Errorf("%w: it was written to", fileserver.ErrChanged)
	}
	return nil
}

// The times that file systems give to files have steps: what is written twice in one looks the same. A file whose times
// are younger than this may be written to again without a trace.
const (
	fineStep   = 100 * time.Millisecond // ticks of the kernel, of file systems with nanoseconds
	coarseStep = 2100 * time.Millisecond
)

// Settled reports whether a change at now would show beside these times.
func Settled(now time.Time, times ...time.Time) bool {
	for _, t := range times {
		step := fineStep
		if t.Nanosecond() == 0 {
			step = coarseStep
		}
		if now.Sub(t) < step {
			return false
		}
	}
	return true
}
