// Package disk helps file server backends with files on a disk. It identifies versions of a file,
// and opens files so that a pipe or a device cannot block.
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

// A Place is the location of a file: Name below the directory Root, which links cannot leave, or
// anywhere if Root is "".
type Place struct{ Root, Name string }

// located is the private data that NewFound hands to Open.
type located struct {
	Place
	id Identity
}

// NewFound returns the Found for a file at a place. The argument info comes from Place.Stat, path
// is the location shown to people, and rel and env are those that minions use.
func NewFound(p Place, info os.FileInfo, path, rel, env string) *fileserver.Found {
	return &fileserver.Found{Path: path, Rel: rel, Env: env, Stat: statOf(info), Size: info.Size(),
		Version: version(p, info, time.Now()),
		Private: located{p, Identify(info)}}
}

// Stat returns the file info of the place. It follows links.
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

// open opens a regular file. It does not block if a pipe has replaced the file.
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

// Open opens a file that NewFound returned. The caller closes it.
func Open(f *fileserver.Found) (fileserver.File, error) {
	at, ok := f.Private.(located)
	if !ok {
		return nil, fmt.Errorf("open %q: not a file of a disk backend", f.Rel)
	}
	file, err := at.open()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("open %q: %w: it no longer exists", f.Rel, fileserver.ErrChanged)
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular() || Identify(info) != at.id:
		err = fmt.Errorf("open %q: %w: it was replaced by another file", f.Rel,
			fileserver.ErrChanged)
	default:
		return &regular{file, at.id, info.Size()}, nil
	}
	_ = file.Close()
	return nil, err
}

// regular is an open regular file.
type regular struct {
	*os.File
	id   Identity
	size int64
}

var _ fileserver.File = (*regular)(nil)

// ReadAt reads only bytes that were there when the file was opened.
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

// Size returns the size of the file when it was opened.
func (r *regular) Size() int64 { return r.size }

// Check returns an error that wraps ErrChanged if the file was written to since it was opened.
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

// File systems record times in steps, so two writes within one step look the same. A file whose
// times are younger than this may be written to again without a visible change.
const (
	fineStep   = 100 * time.Millisecond // kernel ticks, on file systems with nanoseconds
	coarseStep = 2100 * time.Millisecond
)

// Settled reports whether a change made at now would be visible in these times.
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
