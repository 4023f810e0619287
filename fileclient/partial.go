package fileclient

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/daemon"
)

// Limits of partial files.
const (
	resumeFrom = 1 << 20        // size in bytes from which a download can be resumed later
	keepFor    = 24 * time.Hour // how long a partial file is kept for that
)

// A partial is an incomplete file of the cache.
type partial struct {
	root   *os.Root // the area
	name   string   // in root
	file   *os.File
	unlock func() error
}

// area opens one of the directories of the cache. It makes the directory if it is missing.
func (c *Client) area(name string) (*os.Root, error) {
	dir := filepath.Join(c.opts.CacheDir, name)
	if err := os.MkdirAll(filepath.Join(dir, partialDir), 0o700); err != nil {
		return nil, fmt.Errorf("make cache: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	c.tidy.Do(func() { c.dropOld(root) })
	return root, nil
}

// dropOld removes partial files that nobody will resume.
func (c *Client) dropOld(root *os.Root) {
	dir, err := root.Open(partialDir)
	if err != nil {
		return
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(100)
		if err != nil {
			return
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > keepFor {
				_ = root.Remove(path.Join(partialDir, e.Name()))
			}
		}
	}
}

// newPartial makes an empty file in an area.
func (c *Client) newPartial(area string) (*partial, error) {
	root, err := c.area(area)
	if err != nil {
		return nil, err
	}
	p := &partial{root: root, name: path.Join(partialDir, rand.Text())}
	return p, p.open(os.O_CREATE | os.O_EXCL)
}

// resume opens the file of a possibly interrupted download at its end. It does not touch a download
// that is in progress elsewhere.
func (c *Client) resume(area string, key ...string) (*partial, error) {
	root, err := c.area(area)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	for _, k := range key {
		fmt.Fprintf(h, "%d:%s", len(k), k)
	}
	p := &partial{root: root, name: path.Join(partialDir, hex.EncodeToString(h.Sum(nil))+".part")}
	p.unlock, err = daemon.LockFile(p.path() + ".lock")
	if err != nil {
		p.name, p.unlock = path.Join(partialDir, rand.Text()), nil
	}
	return p, p.open(os.O_CREATE)
}

// open opens the file, and releases everything if that fails.
func (p *partial) open(flags int) (err error) {
	if p.file, err = p.root.OpenFile(p.name, flags|os.O_RDWR, 0o600); err != nil {
		p.free()
		return fmt.Errorf("open partial file: %w", err)
	}
	return nil
}

// path returns the path of the file.
func (p *partial) path() string { return filepath.Join(p.root.Name(), filepath.FromSlash(p.name)) }

// free releases everything except the open file. Errors here and in discard leave a file behind,
// which dropOld removes later.
func (p *partial) free() {
	if p.unlock != nil {
		_ = p.root.Remove(p.name + ".lock")
		_ = p.unlock()
	}
	_ = p.root.Close()
}

// discard removes the file.
func (p *partial) discard() {
	_ = p.file.Close()
	_ = p.root.Remove(p.name)
	p.free()
}

// suspend ends a failed download: it keeps the first size bytes where resume can find them.
func (p *partial) suspend(size int64) {
	if p.unlock == nil || size == 0 || p.file.Truncate(size) != nil {
		p.discard()
		return
	}
	_ = p.file.Close()
	p.free()
}

// put moves the file to a place in the same area.
func (p *partial) put(pl place) error {
	err := p.clearPath(pl.rel)
	if err == nil {
		if old, statErr := p.root.Stat(pl.rel); statErr == nil {
			err = adopt(p.file, old)
		}
	}
	if err == nil {
		err = p.file.Close()
	}
	if err == nil {
		err = p.root.Rename(p.name, pl.rel)
	}
	if err != nil {
		p.discard()
		return fmt.Errorf("cache: %w", err)
	}
	p.free()
	return nil
}

// clearPath makes the directories above a path, replacing files of the same names, and removes a
// directory at the path itself.
func (p *partial) clearPath(rel string) error {
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		if info, err := p.root.Lstat(dir); err == nil && !info.IsDir() &&
			info.Mode()&fs.ModeSymlink == 0 {
			if err := p.root.Remove(dir); err != nil {
				return err
			}
		}
	}
	if err := p.root.MkdirAll(path.Dir(rel), 0o700); err != nil {
		return err
	}
	if info, err := p.root.Lstat(rel); err == nil && info.IsDir() {
		return p.root.RemoveAll(rel)
	}
	return nil
}

// putAt moves the file to the destination dest, whose directory must exist. The new file gets mode
// and owner of the one that it replaces, and a link stays, as in Salt, which writes into the file.
// Devices and pipes are written to.
func (p *partial) putAt(dest string) error {
	defer p.discard()
	return p.copyTo(dest)
}

// copyTo writes the content beside dest and renames that file to dest.
func (p *partial) copyTo(dest string) error {
	old, err := os.Stat(dest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return err
	case !old.Mode().IsRegular():
		return p.writeInto(dest)
	default:
		if dest, err = filepath.EvalSymlinks(dest); err != nil {
			return err
		}
	}
	temp := filepath.Join(filepath.Dir(dest), ".salt-"+rand.Text())
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666) // the umask applies
	if err != nil {
		return err
	}
	if err := p.finish(f, old); err != nil {
		return errors.Join(err, f.Close(), os.Remove(temp))
	}
	if err := errors.Join(f.Close(), os.Rename(temp, dest)); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

// finish writes the content to f, gives it owner and mode of the file that it replaces, if any, and
// syncs it.
func (p *partial) finish(f *os.File, old os.FileInfo) error {
	err := p.copyContent(f)
	if err == nil && old != nil {
		err = adopt(f, old)
	}
	if err == nil {
		err = f.Sync()
	}
	return err
}

// writeInto writes the content to something that is not a regular file.
func (p *partial) writeInto(dest string) error {
	f, err := os.OpenFile(dest, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(p.copyContent(f), f.Close())
}

func (p *partial) copyContent(to io.Writer) error {
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(to, p.file)
	return err
}

// modeBits are the mode bits that a new file takes over from the one that it replaces.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// adopt gives f the owner and the mode of the file that it replaces.
func adopt(f *os.File, old os.FileInfo) error {
	if err := adoptOwner(f, old); err != nil {
		return err
	}
	return f.Chmod(old.Mode() & modeBits)
}
