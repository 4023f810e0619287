// Package fileserver serves the files of environments to minions and to programs on the master's
// own host (salt/fileserver/__init__.py).
//
// A [Server] asks its backends in order: directories (fileserver/roots), files pushed by minions
// (fileserver/minionfs), git (fileserver/gitfs). The first backend that has a path serves it; lists
// merge the entries of all backends. [Build] makes the backends named by the option
// fileserver_backend, from the makers that the program supplies.
//
//	s := fileserver.New(fileserver.Options{Backends: backends, HashType: "sha256"})
//	chunk, err := s.Serve(ctx, fileserver.Request{Path: "top.sls", Env: "base"})
//
// Paths come from minions. They are slash-separated and relative to the root of an environment.
// They may start with | (then ? has no special meaning) and may end in ?saltenv=NAME. A path that
// leads outside is not found, and neither is anything but a regular file. Every listed file can be
// found, and every file that can be found is listed.
//
// A file is never held in memory whole. Files being served stay open for a while and are shared by
// clients that ask for the same version. A client that identifies itself in [Request] gets all
// pieces of one version, even if the file is replaced meanwhile. Hashes are cached by version. A
// backend reports a version only if it is sure that the content cannot change under it.
//
// A Server and its backends are safe for concurrent use.
package fileserver

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
)

// Errors that callers can check for.
var (
	// ErrNotFound is wrapped when no backend has a file at this path in this environment.
	ErrNotFound = errors.New("file not found")
	// ErrChanged is wrapped when a file changed while it was being read.
	ErrChanged = errors.New("file changed while it was read")
	// ErrRequest is wrapped when a request is invalid.
	ErrRequest = errors.New("invalid request for a file")
)

// A Kind says what a list contains.
type Kind int

// Kinds of lists. Lists of directories leave out the root of the environment.
const (
	Files Kind = iota
	Dirs
	EmptyDirs
)

// A Backend is one source of files.
type Backend interface {
	// Name returns the backend's name in the option fileserver_backend.
	Name() string
	// Envs returns the current environments, sorted.
	Envs(ctx context.Context) ([]string, error)
	// Find looks for a file. The error wraps ErrNotFound if there is no such file, or if env is not
	// one of the backend's environments. Both env and path come from outside. The only guarantee is
	// that path is clean, relative and without "..".
	Find(ctx context.Context, env, path string, q Query) (*Found, error)
	// Open opens a file that this backend's Find returned. The error wraps ErrChanged if the file
	// is another version by now.
	Open(ctx context.Context, f *Found) (File, error)
	// List returns the entries of an environment whose path begins with prefix, sorted; nothing if
	// there is no such environment. It may return more than prefix asks for. The caller must not
	// change the list.
	List(ctx context.Context, env string, kind Kind, prefix string) ([]string, error)
	// Symlinks is List for symbolic links. It maps the path of each link to its target as stored.
	Symlinks(ctx context.Context, env, prefix string) (map[string]string, error)
	// Update fetches new content from the source, and reports whether anything changed.
	Update(ctx context.Context) (Change, error)
}

// Optional interfaces of a Backend.
type (
	// An Initer checks its options and prepares itself when the master starts; an error keeps the
	// master from starting.
	Initer interface {
		Init(ctx context.Context) error
	}
	// A RemoteUpdater fetches from several sources, each at its own interval.
	RemoteUpdater interface {
		// Intervals returns the update interval of each source, by the name of the source.
		Intervals() map[string]time.Duration
		// UpdateRemotes is Update for the sources with these names, and those whose name contains
		// one of these texts.
		UpdateRemotes(ctx context.Context, remotes []string) (Change, error)
	}
	// A Clearer drops its on-disk copies of its sources. The texts describe what could not be
	// dropped.
	Clearer interface {
		ClearCache(ctx context.Context) (failed []string)
	}
	// A Locker keeps sources from being updated: those whose name contains remote or matches it as
	// a pattern, or all of them if remote is "". The texts are for the operator.
	Locker interface {
		Lock(ctx context.Context, remote string) (locked, failed []string)
		ClearLock(ctx context.Context, remote, kind string) (cleared, failed []string)
	}
	// A Lister caches lists of files. It drops those of the given environments, or of all
	// environments if envs is nil, and returns the environments whose lists it had.
	Lister interface {
		ClearLists(ctx context.Context, envs []string) (cleared []string)
	}
)

// A Query is the part of a path after the ?, without saltenv.
type Query map[string]string

// A Found is a file that a backend found.
type Found struct {
	Path string // location on this host; for display only, never to be opened
	Rel  string // path in the environment
	Env  string
	Stat *Stat // nil if the backend has none
	Size int64
	// Version identifies the exact content among all files of the backend. As long as Find returns
	// the same version, the content is unchanged. It is empty while the backend cannot be sure.
	Version string
	// Private is for the backend's own use.
	Private any
	// Backend is the name of the backend; the Server sets it.
	Backend string

	backend Backend
}

// A Stat is what Salt reports about a file (os.stat of Python). Times are in seconds since 1970.
type Stat struct {
	Mode                 uint32 // including the file type, as in st_mode
	Inode, Device, Links uint64
	UID, GID             uint32
	Size                 int64
	Atime, Mtime, Ctime  int64
	// ModeOnly is set by backends that know only the mode.
	ModeOnly bool
}

// Values returns the ten numbers in Salt's order, or only the mode.
func (s *Stat) Values() []any {
	if s.ModeOnly {
		return []any{int64(s.Mode)}
	}
	return []any{int64(s.Mode), number(s.Inode), number(s.Device), number(s.Links), int64(s.UID),
		int64(s.GID), s.Size, s.Atime, s.Mtime, s.Ctime}
}

func number(n uint64) any {
	if int64(n) < 0 {
		return n
	}
	return int64(n)
}

// A File is an open file of a backend. It is safe for concurrent reads.
type File interface {
	io.ReaderAt
	io.Closer
	// Size returns the size of the file when it was found. Bytes added since are not read.
	Size() int64
	// Check returns an error that wraps ErrChanged if the file was written to since it was found.
	Check() error
}

// A Change is the result of an update.
type Change struct {
	Changed bool
	// Files is nil if the backend does not report single files. They are named by their location on
	// this host.
	Files *FileChanges
}

// FileChanges are the files that an update found changed.
type FileChanges struct{ Changed, Removed, Added []string }

// Event returns the data of Salt's event salt/fileserver/BACKEND/update for a change.
func (c Change) Event(backend string) *data.Map {
	m := data.NewMap("changed", c.Changed)
	if c.Files != nil {
		m.Set("files", data.NewMap("changed", data.Values(c.Files.Changed),
			"removed", data.Values(c.Files.Removed), "added", data.Values(c.Files.Added)))
	}
	m.Set("backend", backend)
	return m
}

// Options configure a [Server].
type Options struct {
	Backends   []Backend
	HashType   string // hash_type; "" means sha256
	BufferSize int    // file_buffer_size: bytes per piece; 0 means 1 MiB, and the maximum is 64 MiB
	Log        logrus.FieldLogger
}

// A Request asks for a piece of a file.
type Request struct {
	Path string
	Env  string
	Loc  int64 // offset of the piece in bytes
	Gzip int   // compression level, 1 to 9; 0 means no compression
	// Client identifies the requester. All pieces of a path that one client gets are of one
	// version, as long as it asks for the next piece within two minutes. With "", each request gets
	// the version that is current at that moment.
	Client string
}

// A Chunk is a piece of a file.
type Chunk struct {
	Data []byte // empty at and beyond the end of the file
	Dest string // path in the environment, Found.Rel
	Gzip int    // the level, if Data is one gzip stream
	Size int64  // of the whole file
}

// A Hash is the hash of a file.
type Hash struct {
	Type string // algorithm, as in the option hash_type
	Sum  string // hex digits
}

// A ListOf says what to list.
type ListOf struct {
	Env      string
	Kind     Kind
	Prefix   string   // of the paths; surrounding slashes are ignored
	Backends []string // as in Server.Select; none means all
}
