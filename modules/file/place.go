//go:build unix

package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/state/change"
)

// tempPrefix begins the names of files in the directory for temporary ones that hold what will be a file.
const tempPrefix = "__salt.tmp."

// test reports whether nothing may be written: in runs of states what they say, else the option test.
func (m *module) test(ctx context.Context) bool {
	if call := change.CallOf(ctx); call.Run != "" {
		return call.Test
	}
	return m.env.Option("test") == true
}

// A placing says how a content comes to its place.
type placing struct {
	mode   fs.FileMode // of a file that was not there; 0 means 0600
	backup string      // minion keeps what was there
}

// place gives the file at dest a content as a whole; owners, mode and extended attributes stay (salt/utils/files.py, copyfile).
func (m *module) place(dest string, p placing, fill func(*os.File) error) error {
	info, err := os.Stat(dest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return atomicfile.Fill(dest, atomicfile.Options{Mode: p.mode, Prefix: "." + tempPrefix}, fill)
	case err != nil:
		return err
	}
	if p.backup == "minion" || p.backup == "both" {
		if err := m.backUp(dest, info); err != nil {
			return err
		}
	}
	keep := func(f *os.File) error { return keepAs(f, dest, info) }
	err = atomicfile.Fill(dest, atomicfile.Options{Own: keep, Prefix: "." + tempPrefix}, fill)
	if errors.Is(err, syscall.EBUSY) { // a mount point, as /etc/hosts is in a container
		return writeThrough(dest, fill)
	}
	return err
}

// writeThrough gives a file another content in place, so that its inode stays.
func writeThrough(path string, fill func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}

// keepAs gives a file that will stand at dest the owners, attributes and mode of the one that is there.
func keepAs(f *os.File, dest string, info fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	st, known := info.Sys().(*syscall.Stat_t)
	own, _ := now.Sys().(*syscall.Stat_t)
	if known && (own.Uid != st.Uid || own.Gid != st.Gid) {
		if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	if err := f.Chmod(info.Mode()); err != nil {
		return err
	}
	return copyAttributes(f, dest)
}

// backUp copies a file to where module functions for backups find it (salt/utils/files.py, backup_minion).
func (m *module) backUp(path string, info fs.FileInfo) error {
	now := time.Now()
	name := fmt.Sprintf("%s_%s%06d_%d", filepath.Base(path), now.Format("Mon_Jan_02_15:04:05_"), now.Nanosecond()/1000, now.Year())
	dest := filepath.Join(m.backupRoot(), filepath.Dir(path), name)
	if err := os.MkdirAll(filepath.Dir(dest), 0o755); err != nil {
		return err
	}
	keep := func(f *os.File) error { return keepAs(f, path, info) }
	return atomicfile.Fill(dest, atomicfile.Options{Own: keep}, copyOf(path))
}

func (m *module) backupRoot() string {
	return filepath.Join(data.Str(m.env.Option("cachedir")), "file_backup")
}

// backupMode returns the way of backups that is asked for, or that of the option backup_mode.
func (m *module) backupMode(asked any) string {
	if !data.Truth(asked) {
		asked = m.env.Option("backup_mode")
	}
	if !data.Truth(asked) {
		return ""
	}
	return data.Str(asked)
}

// copyOf fills a file with the content of another.
func copyOf(path string) func(*os.File) error {
	return func(f *os.File) error {
		src, err := os.Open(path)
		if err != nil {
			return err
		}
		defer src.Close()
		_, err = io.Copy(f, src)
		return err
	}
}

func bytesOf(body []byte) func(*os.File) error {
	return func(f *os.File) error {
		_, err := io.Copy(f, bytes.NewReader(body))
		return err
	}
}

// umask returns the mask for new files: that of the state, or of the process.
func umask(ctx context.Context) fs.FileMode {
	if n, err := strconv.ParseUint(change.CallOf(ctx).Umask, 8, 32); err == nil {
		return fs.FileMode(n & 0o777)
	}
	return processUmask()
}

// temporary makes a file in the directory for temporary ones with a content, and returns its path.
func temporary(body []byte) (string, error) {
	f, err := os.CreateTemp("", tempPrefix)
	if err != nil {
		return "", err
	}
	_, err = f.Write(body)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// clean removes a file that temporary made, and no other.
func clean(path string) {
	if strings.HasPrefix(path, filepath.Join(os.TempDir(), tempPrefix)) {
		_ = os.Remove(path) // it lies where such files are removed some day
	}
}
