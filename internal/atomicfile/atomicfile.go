// Package atomicfile puts files in their places as a whole: who reads one sees the old content or the new, never a part, and what
// ends the writer between leaves at most a hidden file beside it.
//
// The content goes to a new file in the same directory, which no name that another user planted there can stand for, and is renamed. A
// symbolic link at the place is replaced, not followed.
package atomicfile

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// DefaultMode is the mode of a new file when none is named: it is its owner's alone.
const DefaultMode fs.FileMode = 0o600

const defaultPrefix = ".new-"

// Options say how a file comes to its place. The zero value makes one that its owner alone may read, and leaves it to the system when
// it is on disk.
type Options struct {
	// Mode is what the file gets, whatever the umask is; 0 means DefaultMode less the umask.
	Mode fs.FileMode
	// KeepMode gives it the mode of the file that it replaces, if there is one. Where that cannot be done it stays its owner's alone.
	KeepMode bool
	// Keep gives it the owner, the group, the mode and the extended attributes of the file that it replaces, if there is one. Where
	// that cannot be done the file stays as it was. Write and Fill alone know it.
	Keep bool
	// Own is called with the file before it is in place, to give it to another user.
	Own func(f *os.File) error
	// Sync has the content on disk before the file is in place, and SyncDir the name when Write returns.
	Sync, SyncDir bool
	// New refuses to replace a file: then the error wraps fs.ErrExist.
	New bool
	// Prefix begins the name of the file on its way, by which a crash's leavings can be known; "" means ".new-".
	Prefix string
}

// Write gives the file at path a content.
func Write(path string, content []byte, o Options) error {
	return Fill(path, o, writer(content))
}

// WriteIn gives the file name below root a content.
func WriteIn(root *os.Root, name string, content []byte, o Options) error {
	return FillIn(root, name, o, writer(content))
}

// Fill is Write for a content that fill writes. An error of fill leaves the place as it was.
func Fill(path string, o Options, fill func(f *os.File) error) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	var old fs.FileInfo
	if o.KeepMode {
		old, _ = os.Stat(path) // a link may lead out of the directory
	}
	if o.Keep {
		if o, err = o.keeping(path); err != nil {
			return err
		}
	}
	return o.put(root, filepath.Base(path), old, fill)
}

// keeping returns the options with which a file becomes as the one at path.
func (o Options) keeping(path string) (Options, error) {
	old, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	own := o.Own
	o.Own = func(f *os.File) error {
		if err := keepOwners(f, old); err != nil {
			return err
		}
		if err := f.Chmod(old.Mode()); err != nil { // after the owner, which takes bits away
			return err
		}
		if err := keepAttributes(f, path); err != nil || own == nil {
			return err
		}
		return own(f)
	}
	return o, err
}

// FillIn is WriteIn for a content that fill writes.
func FillIn(root *os.Root, name string, o Options, fill func(f *os.File) error) error {
	var old fs.FileInfo
	if o.KeepMode {
		old, _ = root.Stat(name)
	}
	return o.put(root, name, old, fill)
}

// put makes a file and gives it its place. Of old, the file that is there, it takes the mode, unless old is nil.
func (o Options) put(root *os.Root, name string, old fs.FileInfo, fill func(*os.File) error) error {
	dir := filepath.Dir(name)
	temp := filepath.Join(dir, cmp.Or(o.Prefix, defaultPrefix)+rand.Text())
	if err := o.make(root, temp, old, fill); err != nil {
		return err
	}
	if err := o.place(root, temp, name); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	if o.SyncDir {
		return SyncDir(root, dir)
	}
	return nil
}

// placed gives the path in an error of a root the directory that the root is.
func placed(root *os.Root, err error) error {
	p, ok := err.(*fs.PathError) //nolint:errorlint // what the root itself has just made
	if !ok || filepath.IsAbs(p.Path) {
		return err
	}
	return &fs.PathError{Op: p.Op, Path: filepath.Join(root.Name(), p.Path), Err: p.Err}
}

func writer(content []byte) func(*os.File) error {
	return func(f *os.File) error {
		_, err := f.Write(content)
		return err
	}
}

// make makes the file temp. After an error there is none.
func (o Options) make(root *os.Root, temp string, old fs.FileInfo, fill func(*os.File) error) error {
	f, err := root.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, DefaultMode)
	if err != nil {
		return placed(root, err)
	}
	err = fill(f)
	if err == nil {
		err = o.finish(f, old)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// finish gives a file that has its content all else that it is to have.
func (o Options) finish(f *os.File, old fs.FileInfo) error {
	err := o.chmod(f, old)
	if err == nil && o.Own != nil {
		err = o.Own(f)
	}
	if err == nil && o.Sync {
		err = f.Sync()
	}
	return err
}

func (o Options) chmod(f *os.File, old fs.FileInfo) error {
	switch {
	case old != nil:
		_ = f.Chmod(old.Mode().Perm()) // else it stays its owner's alone
		return nil
	case o.Mode == 0:
		return nil
	}
	return f.Chmod(o.Mode)
}

func (o Options) place(root *os.Root, temp, name string) error {
	if o.New {
		return link(root, temp, name)
	}
	return root.Rename(temp, name)
}

// link gives a file a second name, which fails when that is taken, and takes the first away.
func link(root *os.Root, temp, name string) error {
	err := root.Link(temp, name)
	if err == nil {
		return root.Remove(temp)
	}
	if _, taken := root.Lstat(name); taken == nil {
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		return root.Rename(temp, name) // a file system without hard links
	}
	return err
}
