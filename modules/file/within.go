//go:build unix

package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/loader"
)

// A spot is a name in an open directory. What is done there is done below the directory, also where another user puts a link into the way
// between a look and the deed.
type spot struct {
	*os.Root

	name string
}

// spotOf opens the directory within, or else the one that path is in. The caller closes the spot.
func spotOf(within any, path string) (*spot, error) {
	dir, _ := within.(string)
	if dir == "" {
		dir = filepath.Dir(path)
	}
	dir = home(dir)
	name, err := filepath.Rel(dir, path)
	if err == nil && !filepath.IsLocal(name) {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("is not below " + dir)}
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &spot{root, name}, nil
}

// chownIn is file.lchown below a directory.
func (m *module) chownIn(ctx context.Context, within any, a chownArgs) (any, error) {
	uid, gid, complaint, err := m.owners(ctx, a)
	switch {
	case err != nil:
		return nil, err
	case complaint != "":
		return complaint, nil
	}
	s, err := spotOf(within, a.Path)
	if within == nil && errors.Is(err, fs.ErrPermission) { // who may not read the directory may still change what is in it
		return nil, osError(os.Lchown(a.Path, uid, gid))
	}
	if err != nil {
		return nil, osError(err)
	}
	defer s.Close()
	return nil, osError(s.Lchown(s.name, uid, gid))
}

// setModeOf is file.set_mode, which follows no link out of the directory unless p says so. Who looks again sees what could not be done.
func (m *module) setModeOf(ctx context.Context, p *permit, mode any) error {
	s, err := spotOf(p.within, p.Name)
	if p.FollowSymlinks || p.within == nil && errors.Is(err, fs.ErrPermission) {
		_, err = m.setMode(ctx, setModeArgs{p.Name, mode})
		return err
	}
	if err != nil {
		return loader.Execution("%s: %w", p.Name, osError(err))
	}
	defer s.Close()
	if bits, ok := modeOf(mode); ok {
		_ = s.Chmod(s.name, bits)
	}
	return nil
}
