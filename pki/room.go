package pki

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// maxFile bounds what is read as a key; a folder of denied keys may hold files of several.
const maxFile = 256 << 10

// A room is one folder, open for one operation: everything in it is reached through its Root, and the path is
// looked up anew each time, since operators replace folders too.
type room struct {
	root *os.Root
	path string
}

// enter opens a folder that must be there.
func enter(path string) (*room, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &room{root, path}, nil
}

// enterNew opens a folder and makes it if needed.
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

// regular returns what is known about a file, links within the room followed. Errors wrap ErrNotFound or ErrNotFile.
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
	// Should it have become a pipe meanwhile, opening must not wait for a writer.
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

// replace writes a file in place of any of that name.
func (r *room) replace(name string, text []byte, mode fs.FileMode) error {
	return r.write(name, text, mode, r.root.Rename)
}

// create writes a file unless there is one of that name; then the error wraps ErrExists.
func (r *room) create(name string, text []byte, mode fs.FileMode) error {
	err := r.write(name, text, mode, r.link)
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	return err
}

// link gives a file a second name, which fails when that is taken, and takes the first away.
func (r *room) link(temp, name string) error {
	err := r.root.Link(temp, name)
	if err == nil {
		return r.root.Remove(temp)
	}
	if _, taken := r.root.Lstat(name); taken == nil {
		return fs.ErrExist
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		return r.root.Rename(temp, name) // a file system without hard links
	}
	return err
}

// write puts text into a hidden file, and that into its place.
func (r *room) write(name string, text []byte, mode fs.FileMode, place func(temp, name string) error) error {
	temp := ".tmp-" + rand.Text()
	if err := r.fill(temp, text, mode); err != nil {
		r.root.Remove(temp)
		return err
	}
	if err := place(temp, name); err != nil {
		r.root.Remove(temp)
		return err
	}
	return r.sync()
}

// fill writes a new file down to the disk. The mode is set after, since it does not depend on the umask.
func (r *room) fill(temp string, text []byte, mode fs.FileMode) error {
	f, err := r.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}

// remove takes away a file that is no folder. Errors wrap ErrNotFound or ErrNotFile.
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
	return r.sync()
}

// entries returns what lies in the room.
func (r *room) entries() ([]fs.DirEntry, error) {
	f, err := r.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// names returns the regular files that are not hidden, unsorted; links that lead to one are among them.
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
