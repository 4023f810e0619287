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

// Partial files and their age.
const (
	resumeFrom = 1 << 20        // bytes from which a download can go on later
	keepFor    = 24 * time.Hour // how long a partial file is kept for that
)

// A partial is a file of the cache in the making.
type partial struct {
	root   *os.Root // the area
	name   string   // in root
	file   *os.File
	unlock func() error
}

// area opens one of the directories of the cache, which is made where it is missing.
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

// dropOld removes partial files that nobody will go on with.
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

// resume opens the file of a download that may have been broken off, at its end. One that is under way elsewhere is left alone.
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

// open opens the file, and gives everything back where that fails.
func (p *partial) open(flags int) (err error) {
	if p.file, err = p.root.OpenFile(p.name, flags|os.O_RDWR, 0o600); err != nil {
		p.free()
		return fmt.Errorf("open partial file: %w", err)
	}
	return nil
}

// path returns where the file lies.
func (p *partial) path() string { return filepath.Join(p.root.Name(), filepath.FromSlash(p.name)) }

// free closes what is open but the file. What goes wrong here and in discard leaves a file behind, which is dropped later.
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

// leave ends a download that failed: what came of it, the first size bytes, stays where it can be found again.
func (p *partial) leave(size int64) {
	if p.unlock == nil || size == 0 || p.file.Truncate(size) != nil {
		p.discard()
		return
	}
	_ = p.file.Close()
	p.free()
}

// put makes the file that of a place in the same area.
func (p *partial) put(pl place) error {
	err := p.makeWay(pl.rel)
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

// makeWay makes the directories above a path, in place of files that stand there, and removes a directory that stands at the path.
func (p *partial) makeWay(rel string) error {
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		if info, err := p.root.Lstat(dir); err == nil && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 {
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

// putAt makes the file the destination dest, whose directory must be there. A file that it replaces gives it mode and owner, and a link
// stays, as where Salt writes into the file; devices and pipes are written to.
func (p *partial) putAt(dest string) error {
	defer p.discard()
	return p.copyTo(dest)
}

// copyTo writes the content beside dest and renames that.
func (p *partial) copyTo(dest string) error {
	old, err := os.Stat(dest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return err
	case !old.Mode().IsRegular():
		return p.pourInto(dest)
	default:
		if dest, err = filepath.EvalSymlinks(dest); err != nil {
			return err
		}
	}
	temp := filepath.Join(filepath.Dir(dest), ".salt-"+rand.Text())
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666) // the mode that the umask leaves
	if err != nil {
		return err
	}
	if err := p.become(f, old); err != nil {
		return errors.Join(err, f.Close(), os.Remove(temp))
	}
	if err := errors.Join(f.Close(), os.Rename(temp, dest)); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

// become writes the content to f, gives f what the file had that it replaces, if any, and makes sure of it.
func (p *partial) become(f *os.File, old os.FileInfo) error {
	err := p.pour(f)
	if err == nil && old != nil {
		err = adopt(f, old)
	}
	if err == nil {
		err = f.Sync()
	}
	return err
}

// pourInto writes the content to something that is no file.
func (p *partial) pourInto(dest string) error {
	f, err := os.OpenFile(dest, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(p.pour(f), f.Close())
}

func (p *partial) pour(to io.Writer) error {
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(to, p.file)
	return err
}

// modeBits are those that a new file takes over from the one that it replaces.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// adopt gives f the owner and the mode of the file that it replaces.
func adopt(f *os.File, old os.FileInfo) error {
	if err := adoptOwner(f, old); err != nil {
		return err
	}
	return f.Chmod(old.Mode() & modeBits)
}
