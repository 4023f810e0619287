package unpack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/brineproject/brine/internal/atomicfile"
)

// A Folder extracts members into a directory.
type Folder struct {
	// Owner returns the owner of a member of a tar archive; nil leaves members to the running user.
	Owner func(h *tar.Header) (uid, gid int)

	root  *os.Root
	later []folderMeta // directories in order of appearance
}

// folderMeta holds attributes of a directory that are set after its content was extracted.
type folderMeta struct {
	name string
	mode fs.FileMode
	time time.Time
	h    *tar.Header
}

// OpenFolder opens an existing directory.
func OpenFolder(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{root: root}, nil
}

// Local returns the name of a member relative to the directory: without leading slashes. Names with
// .. are rejected.
func Local(name string) (string, error) {
	local := path.Clean(strings.TrimLeft(name, "/"))
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", fmt.Errorf("%w: %s", ErrOutside, name)
		}
	}
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("%w: %q", ErrOutside, name)
	}
	return local, nil
}

// Close sets the modes and times of the created directories, and closes f.
func (f *Folder) Close() error {
	var errs []error
	for i := len(f.later) - 1; i >= 0; i-- {
		d := f.later[i]
		if d.h != nil {
			errs = append(errs, f.own(d.name, d.h))
		}
		errs = append(errs, f.root.Chmod(d.name, d.mode))
		if !d.time.IsZero() {
			errs = append(errs, f.root.Chtimes(d.name, d.time, d.time))
		}
	}
	errs = append(errs, f.root.Close())
	return errors.Join(errs...)
}

// Put extracts the member of a tar archive described by h; r has its content. Devices and pipes are
// rejected.
func (f *Folder) Put(h *tar.Header, r io.Reader) error {
	name, err := Local(h.Name)
	if err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if err := f.Dir(name, 0o700, false); err != nil {
			return err
		}
		f.later = append(f.later, folderMeta{name, h.FileInfo().Mode(), h.ModTime, h})
		return nil
	case tar.TypeSymlink:
		if err := f.Symlink(name, h.Linkname); err != nil {
			return err
		}
		return f.own(name, h)
	case tar.TypeLink:
		return f.link(name, h.Linkname)
	case tar.TypeReg, tar.TypeRegA, tar.TypeCont, tar.TypeGNUSparse:
		return f.regular(name, h, r)
	}
	return fmt.Errorf("%s is a device or a pipe, which only the program tar makes", h.Name)
}

func (f *Folder) regular(name string, h *tar.Header, r io.Reader) error {
	// special mode bits follow after the owner was set
	if err := f.File(name, h.FileInfo().Mode().Perm(), r); err != nil {
		return err
	}
	if err := f.own(name, h); err != nil {
		return err
	}
	// changing the owner clears the set-user-id bits
	if err := f.root.Chmod(name, h.FileInfo().Mode()); err != nil {
		return err
	}
	return f.root.Chtimes(name, h.ModTime, h.ModTime)
}

func (f *Folder) own(name string, h *tar.Header) error {
	if f.Owner == nil {
		return nil
	}
	uid, gid := f.Owner(h)
	return f.root.Lchown(name, uid, gid)
}

// File writes the file name with a content and a mode. Mode 0 means that of new files.
func (f *Folder) File(name string, mode fs.FileMode, r io.Reader) error {
	if err := f.above(name); err != nil {
		return err
	}
	keep := mode.Perm() | mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky)
	fill := func(to *os.File) error {
		_, err := io.Copy(to, r)
		return err
	}
	return atomicfile.FillIn(f.root, name, atomicfile.Options{Mode: keep}, fill)
}

// Dir creates a directory unless it exists. With keep its mode is set when f is closed.
func (f *Folder) Dir(name string, mode fs.FileMode, keep bool) error {
	if name == "." {
		return nil
	}
	if err := f.above(name); err != nil {
		return err
	}
	err := f.root.Mkdir(name, mode.Perm()|0o700)
	if errors.Is(err, fs.ErrExist) {
		info, statErr := f.root.Stat(name)
		if statErr != nil {
			return statErr
		}
		if info.IsDir() {
			err = nil
		}
	}
	if err == nil && keep {
		f.later = append(f.later, folderMeta{name: name, mode: mode})
	}
	return err
}

// Symlink creates a symbolic link, and replaces an existing file or link.
func (f *Folder) Symlink(name, target string) error {
	if err := f.clear(name); err != nil {
		return err
	}
	return f.root.Symlink(target, name)
}

// link creates a hard link to an earlier member.
func (f *Folder) link(name, to string) error {
	old, err := Local(to)
	if err != nil {
		return err
	}
	if old == name {
		return nil
	}
	if err := f.clear(name); err != nil {
		return err
	}
	return f.root.Link(old, name)
}

// clear removes an existing file or link.
func (f *Folder) clear(name string) error {
	if err := f.above(name); err != nil {
		return err
	}
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	return f.root.Remove(name)
}

func (f *Folder) above(name string) error {
	if dir := path.Dir(name); dir != "." {
		return f.root.MkdirAll(dir, 0o777)
	}
	return nil
}

// Needs returns the additional bytes that a member takes compared with the existing file.
func (f *Folder) Needs(name string, size int64) int64 {
	local, err := Local(name)
	if err != nil {
		return 0
	}
	if info, err := f.root.Lstat(local); err == nil && info.Mode().IsRegular() {
		size -= info.Size()
	}
	return max(0, size)
}

// Room returns an error if fewer than the needed bytes are free on the file system of the
// directory.
func (f *Folder) Room(needed int64) error {
	free, known := freeBytes(f.root.Name())
	if known && needed > free {
		return fmt.Errorf("the archive holds %d bytes more than are there, and %s has only %d bytes free", needed, f.root.Name(), free)
	}
	return nil
}
