//go:build unix

package file

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/brineproject/brine/loader"
)

// chownIn is file.lchown confined to a directory.
func chownIn(ctx context.Context, within any, a chownArgs) (any, error) {
	uid, gid, complaint, err := idsOf(ctx, a)
	switch {
	case err != nil:
		return nil, err
	case complaint != "":
		return complaint, nil
	}
	s, err := spotOf(within, a.Path)
	// the directory is unreadable, not its files
	if within == nil && errors.Is(err, fs.ErrPermission) {
		return nil, osError(os.Lchown(a.Path, uid, gid))
	}
	if err != nil {
		return nil, osError(err)
	}
	defer s.Close()
	return nil, osError(s.Lchown(s.name, uid, gid))
}

// chmod is file.set_mode, but follows no link out of the directory unless p allows it. It ignores a
// failed chmod; verify notices it.
func (p *permit) chmod(ctx context.Context, mode any) error {
	s, err := spotOf(p.within, p.Name)
	if p.FollowSymlinks || p.within == nil && errors.Is(err, fs.ErrPermission) {
		_, err = setMode(ctx, setModeArgs{p.Name, mode})
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
