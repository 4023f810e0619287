// Package atomicfile replaces files atomically: readers see the old content or the new, never a
// part. An interrupted write leaves at most a hidden file beside the old one.
//
// The content is written to a new file in the same directory, whose name another user cannot have
// created before, and then renamed. A symbolic link at the path is replaced unless Options.Follow is
// set.
package atomicfile

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// DefaultMode is the mode of a new file if none is given: only its owner can read it.
const DefaultMode fs.FileMode = 0o600

const defaultPrefix = ".new-"

// Options configure how a file is written. The zero value makes one that only its owner can read,
// and does not flush it to disk.
type Options struct {
	// Mode is the file's mode, regardless of the umask; 0 means DefaultMode minus the umask.
	Mode fs.FileMode
	// KeepMode keeps the mode of the replaced file, if there is one. If that fails only the owner
	// can read the file.
	KeepMode bool
	// Keep keeps the owner, the group, the mode and the extended attributes of the replaced file,
	// if there is one. If that fails the old file stays unchanged. Only Write and Fill support it.
	Keep bool
	// Follow follows symbolic links at the path: they stay, and the file that the last one names is
	// written, also if it does not exist. Only Write and Fill support it.
	Follow bool
	// Own is called with the file before the rename, to change its owner.
	Own func(f *os.File) error
	// Sync flushes the content to disk before the rename, SyncDir flushes the name before Write
	// returns.
	Sync, SyncDir bool
	// New rejects an existing file: the error then wraps fs.ErrExist.
	New bool
	// Prefix begins the name of the temporary file, so that files left by a crash can be
	// recognized; "" means ".new-".
	Prefix string
}

// Write replaces the content of the file at path.
func Write(path string, content []byte, o Options) error {
	return Fill(path, o, writer(content))
}

// WriteIn replaces the content of the file name below root.
func WriteIn(root *os.Root, name string, content []byte, o Options) error {
	return FillIn(root, name, o, writer(content))
}

// Fill is Write for a content that fill writes. If fill fails the old file stays unchanged.
func Fill(path string, o Options, fill func(f *os.File) error) error {
	if o.Follow {
		var err error
		if path, err = target(path); err != nil {
			return err
		}
	}
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

// maxLinks is how many links in a row are followed, as by Linux.
const maxLinks = 40

// target returns the path that the symbolic links at a path lead to.
func target(path string) (string, error) {
	at := path
	for range maxLinks {
		info, err := os.Lstat(at)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return at, nil //nolint:nilerr // what is wrong is told when the file is written
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Dir(at) + string(filepath.Separator) + to
		}
		dir, base := filepath.Split(to) // without Clean: a/../b is not b where a is a link
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return "", err
		}
		at = filepath.Join(dir, base)
	}
	return "", &fs.PathError{Op: "follow", Path: path, Err: errors.New("too many symbolic links")}
}

// keeping returns options that copy the attributes of the file at path.
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
		if err := f.Chmod(old.Mode()); err != nil { // after the owner, whose change clears bits
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

// put writes a temporary file and renames it. It copies the mode of old, the existing file, unless
// old is nil.
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

// placed replaces the path in an error of root by one that includes the root's directory.
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

// make creates the file temp. After an error it does not exist.
func (o Options) make(
	root *os.Root, temp string, old fs.FileInfo, fill func(*os.File) error,
) error {
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

// finish sets the mode, owner and so on of a file whose content is complete.
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
		_ = f.Chmod(old.Mode().Perm()) // otherwise only its owner can read it
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
	return rename(root, temp, name)
}

// rename renames the temporary file. Its error names the file that was to be written: no caller
// knows the temporary one.
func rename(root *os.Root, temp, name string) error {
	err := root.Rename(temp, name)
	l, ok := err.(*os.LinkError) //nolint:errorlint // what the root itself has just made
	if !ok {
		return err
	}
	reason := l.Err
	if errors.Is(reason, syscall.EEXIST) { // a file would be replaced
		reason = syscall.EISDIR
	}
	return placed(root, &fs.PathError{Op: "replace", Path: name, Err: reason})
}

// link adds the final name as a hard link, which fails if it exists, and removes the temporary
// name.
func link(root *os.Root, temp, name string) error {
	err := root.Link(temp, name)
	if err == nil {
		return root.Remove(temp)
	}
	if _, taken := root.Lstat(name); taken == nil {
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		return rename(root, temp, name) // a file system without hard links
	}
	return err
}
