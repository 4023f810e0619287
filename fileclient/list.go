package fileclient

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// Envs returns the environments of the file server.
func (c *Client) Envs(ctx context.Context) ([]string, error) { return c.opts.Source.Envs(ctx) }

// Files returns the paths of an environment that begin with prefix.
func (c *Client) Files(ctx context.Context, env, prefix string) ([]string, error) {
	return c.opts.Source.Files(ctx, env, prefix)
}

// Dirs returns the directories of an environment.
func (c *Client) Dirs(ctx context.Context, env, prefix string) ([]string, error) {
	return c.opts.Source.Dirs(ctx, env, prefix)
}

// EmptyDirs returns the empty directories of an environment.
func (c *Client) EmptyDirs(ctx context.Context, env, prefix string) ([]string, error) {
	return c.opts.Source.EmptyDirs(ctx, env, prefix)
}

// Symlinks returns the symbolic links of an environment and their targets.
func (c *Client) Symlinks(ctx context.Context, env, prefix string) (*data.Map, error) {
	return c.opts.Source.Symlinks(ctx, env, prefix)
}

// MasterOpts returns the options of the master that states need.
func (c *Client) MasterOpts(ctx context.Context) (*data.Map, error) {
	return c.opts.Source.Opts(ctx)
}

// MasterTops returns the result of the master's master_tops for the minion with these options.
func (c *Client) MasterTops(ctx context.Context, opts *data.Map) (*data.Map, error) {
	return c.opts.Source.Tops(ctx, opts)
}

// States returns the names of the sls files of an environment, sorted (salt/fileclient.py,
// Client.list_states).
func (c *Client) States(ctx context.Context, env string) ([]string, error) {
	files, err := c.Files(ctx, env, "")
	if err != nil {
		return nil, err
	}
	states := []string{}
	for _, f := range files {
		if name, ok := strings.CutSuffix(f, ".sls"); ok {
			states = append(states, strings.ReplaceAll(strings.TrimSuffix(name, "/init"), "/", "."))
		}
	}
	slices.Sort(states)
	return slices.Compact(states), nil
}

// State caches the file of a state, NAME.sls or NAME/init.sls, and returns its URL and its path.
// The error wraps ErrNotFound (salt/fileclient.py, Client.get_state).
func (c *Client) State(ctx context.Context, sls, env string) (url, file string, err error) {
	base := strings.ReplaceAll(sls, ".", "/")
	for _, end := range []string{".sls", "/init.sls"} {
		url = SaltURL(base + end)
		if file, err = c.CacheFile(ctx, url, env, Fetch{}); !errors.Is(err, ErrNotFound) {
			return url, file, err
		}
	}
	return "", "", err
}

// Cached returns the paths of cached files that belong to an environment or are copies of the
// minion's own files, sorted (salt/fileclient.py, Client.file_local_list).
func (c *Client) Cached(env string) []string {
	found := []string{}
	dirs := []string{filepath.Join(c.opts.CacheDir, areaLocal)}
	if pl, err := newPlace(areaFiles, env, "x"); err == nil {
		dirs = append(dirs, filepath.Dir(c.path(pl)))
	}
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // Salt ignores what it cannot read
			case d.IsDir() && d.Name() == partialDir:
				return fs.SkipDir
			case !d.IsDir():
				found = append(found, path)
			}
			return nil
		})
	}
	slices.Sort(found)
	return found
}

// Hash returns the hash of a file: on the file server for a salt:// URL, otherwise on the disk. The
// error wraps ErrNotFound (salt/fileclient.py, RemoteClient.hash_file).
func (c *Client) Hash(ctx context.Context, url, env string) (Sum, error) {
	file, own, ok := ParseURL(url)
	if own != "" {
		env = own
	}
	if ok {
		return c.opts.Source.Hash(ctx, env, file)
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return Sum{}, notOnDisk(file)
	}
	return hashOf(file, c.opts.HashType)
}

// Mode returns the st_mode of a file: on the file server for a salt:// URL, otherwise on the disk.
// It is -1 if the server does not report it. The error wraps ErrNotFound.
func (c *Client) Mode(ctx context.Context, url, env string) (int64, error) {
	file, own, ok := ParseURL(url)
	if own != "" {
		env = own
	}
	if ok {
		st, err := c.opts.Source.Stat(ctx, env, file)
		return st.Mode, err
	}
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return -1, notOnDisk(file)
	}
	return unixMode(info.Mode()), nil
}

// unixMode returns the st_mode of a regular file.
func unixMode(m fs.FileMode) int64 {
	const regular, setuid, setgid, sticky = 0o100000, 0o4000, 0o2000, 0o1000
	mode := regular | int64(m.Perm())
	for bit, flag := range map[fs.FileMode]int64{fs.ModeSetuid: setuid, fs.ModeSetgid: setgid,
		fs.ModeSticky: sticky} {
		if m&bit != 0 {
			mode |= flag
		}
	}
	return mode
}

func notOnDisk(file string) error { return &fs.PathError{Op: "stat", Path: file, Err: ErrNotFound} }
