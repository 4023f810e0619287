package pki

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/brineproject/brine/internal/atomicfile"
)

// maxFile limits the size of key files, in bytes; a file of denied keys may hold several keys.
const maxFile = 256 << 10

// A room is a directory opened for one operation. All files in it are accessed through its Root.
// The path is resolved anew each time, since operators may replace directories.
type room struct {
	root *os.Root
	path string
}

// enter opens an existing directory.
func enter(path string) (*room, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &room{root, path}, nil
}

// enterNew opens a directory and creates it if needed.
func enterNew(path string) (*room, error) {
	r, err := enter(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return enter(path)
}

func (r *room) leave() { r.root.Close() }

// regular returns the FileInfo of a regular file, following links within the directory. Errors wrap
// ErrNotFound or ErrNotFile.
func (r *room) regular(name string) (fs.FileInfo, error) {
	info, err := r.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotFile
	}
	return info, nil
}

// read returns the contents of a regular file of at most maxFile bytes.
func (r *room) read(name string) ([]byte, error) {
	text, _, err := r.readInfo(name)
	return text, err
}

func (r *room) readInfo(name string) ([]byte, fs.FileInfo, error) {
	if _, err := r.regular(name); err != nil {
		return nil, nil, err
	}
	// If it has become a pipe in the meantime, opening must not block.
	f, err := r.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, ErrNotFound
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, ErrNotFile
	}
	text, err := readAtMost(f, maxFile)
	return text, info, err
}

func readAtMost(f io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		return nil, ErrTooLarge
	}
	return text, err
}

// replace writes a file durably, replacing any with that name.
func (r *room) replace(name string, text []byte, mode fs.FileMode) error {
	return atomicfile.WriteIn(r.root, name, text, written(mode))
}

// create writes a file. If it exists, the error wraps ErrExists.
func (r *room) create(name string, text []byte, mode fs.FileMode) error {
	o := written(mode)
	o.New = true
	err := atomicfile.WriteIn(r.root, name, text, o)
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	return err
}

func written(mode fs.FileMode) atomicfile.Options {
	return atomicfile.Options{Mode: mode, Sync: true, SyncDir: true, Prefix: ".tmp-"}
}

// remove removes a file other than a directory. Errors wrap ErrNotFound or ErrNotFile.
func (r *room) remove(name string) error {
	info, err := r.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	if err == nil && info.IsDir() {
		return ErrNotFile
	}
	if err == nil {
		err = r.root.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	if err != nil {
		return err
	}
	return atomicfile.SyncDir(r.root, ".")
}

// entries returns the entries of the directory.
func (r *room) entries() ([]fs.DirEntry, error) {
	f, err := r.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// names returns the names of regular files that are not hidden, including links to such files,
// unsorted.
func (r *room) names() ([]string, error) {
	entries, err := r.entries()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", r.path, err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.Name()[0] != '.' && r.holdsFile(e) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (r *room) holdsFile(e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink != 0 {
		_, err := r.regular(e.Name())
		return err == nil
	}
	return e.Type().IsRegular()
}
