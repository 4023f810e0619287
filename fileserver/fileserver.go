// Package fileserver serves the files of environments to minions and to the programs of the master's own host
// (salt/fileserver/__init__.py).
//
// A [Server] asks its backends in order: directories (fileserver/roots), what minions pushed (fileserver/minionfs), git
// (fileserver/gitfs). The first that has a path serves it; lists are those of all backends together. [Build] makes the
// backends that the option fileserver_backend names, out of those that a program brings along.
//
//	s := fileserver.New(fileserver.Options{Backends: backends, HashType: "sha256"})
//	chunk, err := s.Serve(ctx, fileserver.Request{Path: "top.sls", Env: "base"})
//
// Paths come from minions: they are slash-separated, relative to the root of an environment, may start with | (then ? has no
// meaning in them) and may end in ?saltenv=NAME. A path that leads elsewhere is not found, and neither is anything but a
// regular file. What a list of files names can be found, and what can be found is listed.
//
// A file is never held in memory whole. Files that are being served stay open for a while, shared by those who ask for the
// same version: whoever names itself in [Request] gets all pieces of one version, also when the file is replaced meanwhile.
// Hashes are kept by version, which a backend gives only where it is sure that content cannot change under it.
//
// A Server and its backends are for several goroutines.
package fileserver

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
)

// Errors that callers decide on.
var (
	// ErrNotFound is wrapped when no backend has a file of this path in this environment.
	ErrNotFound = errors.New("file not found")
	// ErrChanged is wrapped when a file changed while it was read.
	ErrChanged = errors.New("file changed while it was read")
	// ErrRequest is wrapped when a request makes no sense.
	ErrRequest = errors.New("invalid request for a file")
)

// A Kind says what a list is of.
type Kind int

// What a list can be of. Directories have the root of the environment left out.
const (
	Files Kind = iota
	Dirs
	EmptyDirs
)

// A Backend is one place that files come from.
type Backend interface {
	// Name is that of the option fileserver_backend.
	Name() string
	// Envs returns the environments that it has now, sorted.
	Envs(ctx context.Context) ([]string, error)
	// Find looks for a file. The error wraps ErrNotFound when there is none, or when env is not one of its environments;
	// env and path come from outside, unchecked but for this: path is clean, relative and without "..".
	Find(ctx context.Context, env, path string, q Query) (*Found, error)
	// Open opens what its Find found. The error wraps ErrChanged when that is another version by now.
	Open(ctx context.Context, f *Found) (File, error)
	// List returns what an environment has whose path begins with prefix, sorted; nothing when there is no such
	// environment. It may return more than prefix asks for. The list must not be changed.
	List(ctx context.Context, env string, kind Kind, prefix string) ([]string, error)
	// Symlinks is List for symbolic links: the path of each and where it says it leads.
	Symlinks(ctx context.Context, env, prefix string) (map[string]string, error)
	// Update fetches what is new at the source, and tells whether anything is.
	Update(ctx context.Context) (Change, error)
}

// What a Backend may also be.
type (
	// An Initer checks its options and makes ready at the start of a master; an error keeps the master from starting.
	Initer interface {
		Init(ctx context.Context) error
	}
	// A RemoteUpdater fetches from several sources, each as often as is set for it.
	RemoteUpdater interface {
		// Intervals returns how often each source is to be updated, by the name of the source.
		Intervals() map[string]time.Duration
		// UpdateRemotes is Update for the sources of these names, or those that contain one of these texts.
		UpdateRemotes(ctx context.Context, remotes []string) (Change, error)
	}
	// A Clearer drops what it keeps on disk of its sources. The texts tell of what could not be dropped.
	Clearer interface {
		ClearCache(ctx context.Context) (failed []string)
	}
	// A Locker keeps sources from being updated: those whose name contains remote, or matches it as a pattern; all with "".
	// The texts are for the operator.
	Locker interface {
		Lock(ctx context.Context, remote string) (locked, failed []string)
		ClearLock(ctx context.Context, remote, kind string) (cleared, failed []string)
	}
	// A Lister keeps lists of files, and drops those of an environment; of all of them when env is nil. It returns the
	// environments whose lists it had.
	Lister interface {
		ClearLists(ctx context.Context, envs []string) (cleared []string)
	}
)

// A Query is what stood behind the ? of a path, without saltenv.
type Query map[string]string

// A Found is a file that a backend found.
type Found struct {
	Path string // where it lies on this host; for people, never to be opened
	Rel  string // its path in the environment
	Env  string
	Stat *Stat // nil where the backend has none
	Size int64
	// Version names these very bytes among all files of the backend: as long as Find gives it, nothing was changed. It is
	// empty while the backend cannot be sure.
	Version string
	// Private is the backend's own.
	Private any
	// Backend is the name of the backend; the Server sets it.
	Backend string

	backend Backend
}

// A Stat is what Salt tells of a file (os.stat of Python). Times are in seconds since 1970.
type Stat struct {
	Mode                 uint32 // with the type, as in st_mode
	Inode, Device, Links uint64
	UID, GID             uint32
	Size                 int64
	Atime, Mtime, Ctime  int64
	// ModeOnly is set by backends that know nothing but the mode.
	ModeOnly bool
}

// Values returns the ten numbers in Salt's order, or the mode alone.
func (s *Stat) Values() []any {
	if s.ModeOnly {
		return []any{int64(s.Mode)}
	}
	return []any{int64(s.Mode), number(s.Inode), number(s.Device), number(s.Links), int64(s.UID), int64(s.GID), s.Size, s.Atime, s.Mtime, s.Ctime}
}

func number(n uint64) any {
	if int64(n) < 0 {
		return n
	}
	return int64(n)
}

// A File is an open file of a backend. Several goroutines may read it.
type File interface {
	io.ReaderAt
	io.Closer
	// Size is that of the file when it was found. What was added since is not read.
	Size() int64
	// Check returns an error that wraps ErrChanged when the file was written to since it was found.
	Check() error
}

// A Change is what an update found.
type Change struct {
	Changed bool
	// Files is nil where the backend does not tell single files. They are named by their place on this host.
	Files *FileChanges
}

// FileChanges are the files that an update found different.
type FileChanges struct{ Changed, Removed, Added []string }

// Event returns what Salt's event salt/fileserver/BACKEND/update says of a change.
func (c Change) Event(backend string) *data.Map {
	m := data.NewMap("changed", c.Changed)
	if c.Files != nil {
		m.Set("files", data.NewMap("changed", data.Values(c.Files.Changed), "removed", data.Values(c.Files.Removed), "added", data.Values(c.Files.Added)))
	}
	m.Set("backend", backend)
	return m
}

// Options say what a [Server] serves.
type Options struct {
	Backends   []Backend
	HashType   string // hash_type; "" means sha256
	BufferSize int    // file_buffer_size: bytes of a piece; 0 means 1 MiB, and more than 64 MiB are 64 MiB
	Log        logrus.FieldLogger
}

// A Request asks for a piece of a file.
type Request struct {
	Path string
	Env  string
	Loc  int64 // where the piece begins
	Gzip int   // level of compression, 1 to 9; 0 is none
	// Client is who asks. The pieces that one client gets of a path are of one version, as long as it asks for the next one
	// within two minutes. "" is nobody: each request is then of the version of its moment.
	Client string
}

// A Chunk is a piece of a file.
type Chunk struct {
	Data []byte // empty at the end of the file, and beyond
	Dest string // path in the environment, Found.Rel
	Gzip int    // the level, where Data is one gzip stream
	Size int64  // of the file
}

// A Hash is the hash of a file.
type Hash struct {
	Type string // as in the option hash_type
	Sum  string // in hex digits
}

// A ListOf says what is to be listed.
type ListOf struct {
	Env      string
	Kind     Kind
	Prefix   string   // of the paths; slashes around it do not count
	Backends []string // as in Server.Select; none means all
}
