// Package minionfs stores the files that minions push to their master with cp.push, and serves them
// to other minions (salt/fileserver/minionfs.py; salt/master.py, AESFuncs._file_recv).
//
// A file pushed by minion ID lies at minions/ID/files/PATH in the master's cachedir. An [Inbox]
// stores it, and a [Backend] serves it as MOUNTPOINT/ID/PATH in a single environment, minionfs_env.
// Neither follows a symbolic link below the directory minions. A file called top.sls is not served,
// so that no minion can decide which states another one gets.
package minionfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/disk"
	"github.com/brineproject/brine/pki"
)

// Name is the backend's name in the option fileserver_backend.
const Name = "minionfs"

// Options say which pushed files are served, and where.
type Options struct {
	CacheDir string // the master's cachedir
	Env      string // minionfs_env
	// minionfs_mountpoint: a path in the environment, with or without salt:// in front; "" is its
	// root
	Mountpoint string
	// Whitelist and Blacklist select the minions whose files are served, by globs or regular
	// expressions for the whole id (minionfs_whitelist, minionfs_blacklist). An empty whitelist
	// allows all.
	Whitelist, Blacklist []string
	Ignore               *fileserver.Ignore
	Log                  logrus.FieldLogger
}

// A Backend serves pushed files.
type Backend struct {
	opts    Options
	mount   string // "" or a clean path
	exposed *fileserver.Exposure
	pushed  fileserver.Latest[*pushed]
}

var _ fileserver.Backend = (*Backend)(nil)

// pushed is a list of pushed files and their directories.
type pushed struct{ files, dirs []string }

// New returns a backend, or an error if the mountpoint is not a valid path.
func New(o Options) (*Backend, error) {
	b := &Backend{opts: o, exposed: fileserver.NewExposure(o.Whitelist, o.Blacklist)}
	mount := o.Mountpoint
	if _, rest, ok := strings.Cut(mount, "://"); ok {
		mount = rest
	}
	if mount = strings.Trim(mount, "/"); mount != "" {
		if mount = path.Clean(mount); !fs.ValidPath(mount) {
			return nil, fmt.Errorf("minionfs_mountpoint: %q is not a path in an environment",
				o.Mountpoint)
		}
		b.mount = strings.TrimPrefix(mount, ".")
	}
	return b, nil
}

// Make is New with the options of a master; it is a fileserver.Maker. Without file_recv it returns
// no backend.
func Make(opts *data.Map, log logrus.FieldLogger) (fileserver.Backend, error) {
	if !data.Truth(opts.Value("file_recv")) {
		return nil, nil
	}
	ignore, err := fileserver.IgnoreOf(opts)
	if err != nil {
		log.Warn(err)
	}
	return New(Options{CacheDir: opts.Text("cachedir"), Env: opts.Text("minionfs_env"),
		Mountpoint: opts.Text("minionfs_mountpoint"),
		Whitelist:  data.TextsOf(opts.Value("minionfs_whitelist")),
		Blacklist:  data.TextsOf(opts.Value("minionfs_blacklist")),
		Ignore:     ignore, Log: log})
}

// Name returns minionfs.
func (b *Backend) Name() string { return Name }

// Envs returns the single environment.
func (b *Backend) Envs(context.Context) ([]string, error) { return []string{b.opts.Env}, nil }

// folder returns the directory with the files of all minions.
func folder(cacheDir string) string { return filepath.Join(cacheDir, "minions") }

// Find looks for a pushed file.
func (b *Backend) Find(
	_ context.Context, env, name string, _ fileserver.Query,
) (*fileserver.Found, error) {
	missing := fmt.Errorf("%q of minions: %w", name, fileserver.ErrNotFound)
	id, rest, ok := b.split(name)
	if env != b.opts.Env || !ok || path.Base(rest) == "top.sls" || !b.exposed.Has(id) {
		return nil, missing
	}
	at := path.Join(id, "files", rest)
	full := filepath.Join(folder(b.opts.CacheDir), filepath.FromSlash(at))
	root, err := os.OpenRoot(folder(b.opts.CacheDir))
	if errors.Is(err, fs.ErrNotExist) || b.opts.Ignore.Match(name, full) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := lstat(root, at)
	if err != nil || !info.Mode().IsRegular() {
		return nil, missing
	}
	return disk.NewFound(disk.Place{Root: folder(b.opts.CacheDir), Name: filepath.FromSlash(at)},
		info, full, name, env), nil
}

// split splits the path of a file into the minion's id and the path among that minion's files.
func (b *Backend) split(name string) (id, rest string, ok bool) {
	if b.mount != "" {
		if name, ok = strings.CutPrefix(name, b.mount+"/"); !ok {
			return "", "", false
		}
	}
	id, rest, ok = strings.Cut(name, "/")
	return id, rest, ok && fs.ValidPath(rest) && pki.ValidID(id) == nil
}

// lstat returns the file info of a path below root, and rejects links on the way. The path itself
// may be a link.
func lstat(root *os.Root, name string) (info os.FileInfo, err error) {
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		if info, err = root.Lstat(filepath.FromSlash(name[:i])); err != nil {
			return nil, err
		}
		if i < len(name) && !info.IsDir() {
			return nil, fmt.Errorf("%q: %w", name[:i], syscall.ENOTDIR)
		}
	}
	return info, nil
}

// Open opens a file that Find returned.
func (b *Backend) Open(_ context.Context, f *fileserver.Found) (fileserver.File, error) {
	return disk.Open(f)
}

// List returns the pushed files or their directories. Minions push no empty directories.
func (b *Backend) List(
	ctx context.Context, env string, kind fileserver.Kind, _ string,
) ([]string, error) {
	if env != b.opts.Env || kind == fileserver.EmptyDirs {
		return nil, nil
	}
	p, err := b.pushed.Get(func(*pushed) (*pushed, error) { return b.read(ctx) })
	if err != nil {
		return nil, err
	}
	if kind == fileserver.Dirs {
		return p.dirs, nil
	}
	return p.files, nil
}

// Symlinks returns nothing: links are not served.
func (b *Backend) Symlinks(context.Context, string, string) (map[string]string, error) {
	return nil, nil
}

// Update does nothing: the served files are never out of date.
func (b *Backend) Update(context.Context) (fileserver.Change, error) {
	return fileserver.Change{}, nil
}

// read reads the directories of all exposed minions.
func (b *Backend) read(ctx context.Context) (*pushed, error) {
	p := &pushed{}
	root, err := os.OpenRoot(folder(b.opts.CacheDir))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	minions, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	for _, m := range minions {
		if m.IsDir() && pki.ValidID(m.Name()) == nil && b.exposed.Has(m.Name()) {
			if err := b.readMinion(ctx, root, m.Name(), p); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(p.files)
	slices.Sort(p.dirs)
	return p, nil
}

// readMinion reads the files of one minion. WalkDir follows no links.
func (b *Backend) readMinion(ctx context.Context, root *os.Root, id string, p *pushed) error {
	top := path.Join(id, "files")
	return fs.WalkDir(root.FS(), top, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == top {
			return ctx.Err() // a missing or unreadable directory counts as empty
		}
		rel := path.Join(b.mount, id, strings.TrimPrefix(name, top+"/"))
		if !utf8.ValidString(rel) || b.opts.Ignore.Match(rel,
			filepath.Join(folder(b.opts.CacheDir), filepath.FromSlash(name))) {
			return nil
		}
		switch {
		case e.IsDir():
			p.dirs = append(p.dirs, rel)
		case e.Type().IsRegular() && path.Base(name) != "top.sls":
			p.files = append(p.files, rel)
		}
		return ctx.Err()
	})
}
