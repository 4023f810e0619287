package render

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"

	"github.com/brineproject/brine/fileclient"
)

// A File is a file that a template imports.
type File struct {
	Path    string // on this host, for messages
	Version string // changes with the content; "" means that the file is read each time
	Read    func() ([]byte, error)
}

// Files finds the files that templates import. It must be safe for concurrent use.
type Files interface {
	// Get returns the file at a path of an environment, relative to its roots and without a leading
	// slash. The error wraps fileclient.ErrNotFound if there is none.
	Get(ctx context.Context, path, saltenv string) (File, error)
}

// Client returns Files that are fetched by a file client.
func Client(c *fileclient.Client) Files { return clientFiles{c} }

type clientFiles struct{ c *fileclient.Client }

func (f clientFiles) Get(ctx context.Context, name, saltenv string) (File, error) {
	at, err := f.c.CacheFile(ctx, fileclient.SaltURL(name), saltenv, fileclient.Fetch{})
	if err != nil {
		return File{}, err
	}
	return diskFile(at)
}

// Roots are files in directories of this host: for each environment, the directories to search in
// order.
type Roots map[string][]string

// Get implements Files. Files outside of the directories are not found; symbolic links are
// followed.
func (r Roots) Get(_ context.Context, name, saltenv string) (File, error) {
	if !filepath.IsLocal(name) {
		return File{}, fmt.Errorf("%s: %w", name, fileclient.ErrNotFound)
	}
	for _, root := range r[saltenv] {
		f, err := diskFile(filepath.Join(root, filepath.FromSlash(path.Clean(name))))
		if !errors.Is(err, fileclient.ErrNotFound) {
			return f, err
		}
	}
	return File{}, fmt.Errorf("%s in environment %s: %w", name, saltenv, fileclient.ErrNotFound)
}

// diskFile returns a file of this host.
func diskFile(at string) (File, error) {
	st, err := os.Stat(at)
	switch {
	case err != nil && (errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)),
		err == nil && !st.Mode().IsRegular():
		return File{}, fmt.Errorf("%s: %w", at, fileclient.ErrNotFound)
	case err != nil:
		return File{}, err
	}
	return File{Path: at, Version: VersionOf(st, time.Now()),
		Read: func() ([]byte, error) { return os.ReadFile(at) }}, nil
}

type noFiles struct{}

func (noFiles) Get(_ context.Context, name, _ string) (File, error) {
	return File{}, fmt.Errorf("%s: %w", name, fileclient.ErrNotFound)
}
