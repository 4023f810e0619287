package localcache

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// A file is one file of a job or a return.
type file struct {
	name string
	body []byte
}

// unique returns a unique name.
func unique() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// make creates a directory with files and flushes all of it to disk.
func (c *Cache) make(folder string, files []file) error {
	if err := c.root.Mkdir(folder, 0o700); err != nil {
		return err
	}
	for _, f := range files {
		if err := c.write(filepath.Join(folder, f.name), f.body); err != nil {
			return err
		}
	}
	return c.sync(folder)
}

// write creates a file and flushes it to disk.
func (c *Cache) write(name string, body []byte) error {
	f, err := c.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	return errors.Join(err, f.Sync(), f.Close())
}

// replace replaces the content of a file atomically.
func (c *Cache) replace(folder string, f file) error {
	temp := filepath.Join(folder, "."+unique())
	if err := c.write(temp, f.body); err != nil {
		return errors.Join(err, c.remove(temp))
	}
	if err := c.root.Rename(temp, filepath.Join(folder, f.name)); err != nil {
		return errors.Join(err, c.remove(temp))
	}
	return nil
}

func (c *Cache) remove(name string) error {
	if err := c.root.Remove(name); err != nil && !missing(err) {
		return err
	}
	return nil
}

// sync makes the names in a directory survive a power failure.
func (c *Cache) sync(folder string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be flushed there
	}
	d, err := c.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// maxFile is the limit of a file that is read, in bytes: a return and its record are not larger.
const maxFile = 128 << 20

// read returns the content of a file of the tree. Anything but a regular file is an error.
func (c *Cache) read(name string) ([]byte, error) {
	b, _, err := read(c.root, name)
	return b, err
}

// read returns the content of a file and its FileInfo. Anything but a regular file is an error.
func read(dir *os.Root, name string) ([]byte, fs.FileInfo, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, nil, errOther
	}
	b := make([]byte, info.Size())
	n, err := io.ReadFull(f, b)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil // it was truncated meanwhile, which its checksum or its encoding shows
	}
	return b[:n], info, err
}

// list returns the entries of a directory, or none if it does not exist.
func (c *Cache) list(folder string) ([]os.DirEntry, error) {
	d, err := c.root.Open(folder)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadDir(-1)
}

// date sets the time of a job's file jid, by which jobs are found without being read.
func (c *Cache) date(folder string, at time.Time) error {
	return c.root.Chtimes(filepath.Join(folder, fileID), at, at)
}
