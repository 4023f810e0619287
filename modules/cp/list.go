package cp

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
)

// listStates returns the states in an environment of the file server.
//
// CLI Example:
//
//	salt '*' cp.list_states
func (m *module) listStates(ctx context.Context, a envArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	list, err := c.States(ctx, m.saltenv(a.Saltenv))
	return data.Values(list), saltError(err)
}

type listArgs struct {
	Saltenv any    `default:"None"`
	Prefix  string `default:"''"`
}

// listMaster returns the files of an environment of the file server that are below the directory
// prefix.
//
// CLI Example:
//
//	salt '*' cp.list_master
func (m *module) listMaster(ctx context.Context, a listArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	list, err := c.Files(ctx, m.saltenv(a.Saltenv), a.Prefix)
	return data.Values(list), saltError(err)
}

// listMasterDirs returns the directories of an environment of the file server that are below the
// directory prefix.
//
// CLI Example:
//
//	salt '*' cp.list_master_dirs
func (m *module) listMasterDirs(ctx context.Context, a listArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	list, err := c.Dirs(ctx, m.saltenv(a.Saltenv), a.Prefix)
	return data.Values(list), saltError(err)
}

// listMasterSymlinks returns the symbolic links of an environment of the file server that are below
// the directory prefix, with their targets.
//
// CLI Example:
//
//	salt '*' cp.list_master_symlinks
func (m *module) listMasterSymlinks(ctx context.Context, a listArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	links, err := c.Symlinks(ctx, m.saltenv(a.Saltenv), a.Prefix)
	return links, saltError(err)
}

// listMinion returns the files in the minion's cache.
//
// CLI Example:
//
//	salt '*' cp.list_minion
func (m *module) listMinion(_ context.Context, a envArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	return data.Values(c.Cached(m.saltenv(a.Saltenv))), nil
}

type fileArgs struct {
	Path    string
	Saltenv any `default:"None"`
}

// isCached returns the path of the cached copy of a URL or a path, or an empty string if it is not
// cached.
//
// CLI Example:
//
//	salt '*' cp.is_cached salt://path/to/file
func (m *module) isCached(_ context.Context, a fileArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	path, env := m.splitURL(a.Path, a.Saltenv)
	return c.IsCached(path, env), nil
}

// hashFile returns the hash of a file on the file server, given by its salt:// URL, or on the
// minion, given by its path.
//
// CLI Example:
//
//	salt '*' cp.hash_file salt://path/to/file
func (m *module) hashFile(ctx context.Context, a fileArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	path, env := m.splitURL(a.Path, a.Saltenv)
	served := fileclient.Scheme(path) == "salt"
	sum, err := c.Hash(ctx, path, env)
	switch {
	case missing(err) && served:
		return "", nil
	case missing(err):
		m.env.Log.Warnf("specified file %s is not present to generate hash: Unsupported path: %s",
			path, path)
		return data.NewMap(), nil
	case err != nil:
		return nil, saltError(err)
	case served:
		return data.NewMap("hash_type", sum.Type, "hsum", sum.Hex), nil
	}
	return data.NewMap("hsum", sum.Hex, "hash_type", sum.Type), nil
}

type statFileArgs struct {
	Path    string
	Saltenv any `default:"None"`
	Octal   any `default:"True"`
}

// statFile returns the mode of a file on the file server, given by its salt:// URL, or on the
// minion, given by its path.
//
// octal : True
//
//	True: a string of octal digits. False: st_mode, a number.
//
// CLI Example:
//
//	salt '*' cp.stat_file salt://path/to/file
func (m *module) statFile(ctx context.Context, a statFileArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	path, env := m.splitURL(a.Path, a.Saltenv)
	mode, err := c.Mode(ctx, path, env)
	switch {
	case missing(err), err == nil && mode < 0:
		return nil, nil
	case err != nil:
		return nil, saltError(err)
	case a.Octal != true:
		return mode, nil
	}
	digits := fmt.Sprintf("0o%o", mode)
	return digits[max(0, len(digits)-4):], nil
}
