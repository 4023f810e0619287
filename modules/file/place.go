package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// tempPrefix begins the names of our temporary files.
const tempPrefix = "__salt.tmp."

// testMode reports whether files must stay unchanged. A state run decides for its calls; otherwise
// the option test does.
func testMode(ctx context.Context, env *loader.Env) bool {
	if call := change.CallOf(ctx); call.Run != "" {
		return call.Test
	}
	return env.Option("test") == true
}

// A placing holds options for place.
type placing struct {
	mode fs.FileMode                              // of a new file; 0 means 0600
	save func(path string, old fs.FileInfo) error // copies the old file; nil keeps no copy
}

// place replaces the content of the file at dest as a whole. Owners, mode and extended attributes
// stay (salt/utils/files.py, copyfile).
func place(dest string, p placing, fill func(*os.File) error) error {
	info, err := os.Stat(dest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return atomicfile.Fill(dest, atomicfile.Options{Mode: p.mode, Prefix: "." + tempPrefix},
			fill)
	case err != nil:
		return err
	}
	if p.save != nil {
		if err := p.save(dest, info); err != nil {
			return err
		}
	}
	keep := func(f *os.File) error { return keepAs(f, dest, info) }
	err = atomicfile.Fill(dest, atomicfile.Options{Own: keep, Prefix: "." + tempPrefix}, fill)
	if errors.Is(err, syscall.EBUSY) { // a mount point, such as /etc/hosts in a container
		return writeThrough(dest, fill)
	}
	return err
}

// writeThrough overwrites a file in place, so that its inode stays.
func writeThrough(path string, fill func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}

// copyOf returns a function that copies the content of path to a file.
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

// umask returns the mask for new files: the state's, or else the process's.
func umask(ctx context.Context) fs.FileMode {
	if n, err := strconv.ParseUint(change.CallOf(ctx).Umask, 8, 32); err == nil {
		return fs.FileMode(n & 0o777)
	}
	return processUmask()
}

// temporary writes a content to a new temporary file and returns its path.
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

// clean removes a file that temporary made, and leaves other files alone.
func clean(path string) {
	if strings.HasPrefix(path, filepath.Join(os.TempDir(), tempPrefix)) {
		_ = os.Remove(path) // the system cleans the directory
	}
}
