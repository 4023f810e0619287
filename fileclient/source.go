package fileclient

import (
	"context"

	"github.com/brineproject/brine/data"
)

// A Source is a file server: Remote returns that of a master, Local one in this process. Paths are
// relative to the roots of an environment, with slashes. It is safe for concurrent use.
type Source interface {
	Envs(ctx context.Context) ([]string, error)
	// Hash returns the hash of a file; the error wraps ErrNotFound if there is none.
	Hash(ctx context.Context, env, path string) (Sum, error)
	// Stat returns mode and size of a file; the error wraps ErrNotFound if there is none.
	Stat(ctx context.Context, env, path string) (Stat, error)
	// Read returns the piece that begins at byte loc, empty at the end. With gzip, a level from 1
	// to 9, it may be compressed. The error wraps ErrNotFound if there is no such file, and
	// ErrReply if a retry may help.
	Read(ctx context.Context, env, path string, loc int64, gzip int) (Chunk, error)
	Files(ctx context.Context, env, prefix string) ([]string, error)
	Dirs(ctx context.Context, env, prefix string) ([]string, error)
	EmptyDirs(ctx context.Context, env, prefix string) ([]string, error)
	// Symlinks returns the links of an environment and their targets.
	Symlinks(ctx context.Context, env, prefix string) (*data.Map, error)
	// Opts returns the options of the master that states need; see section _master_opts of Salt's
	// salt/master.py.
	Opts(ctx context.Context) (*data.Map, error)
	// Tops returns the result of the master's master_tops for the minion with these options.
	Tops(ctx context.Context, opts *data.Map) (*data.Map, error)
}

// A Sum is a file's hash.
type Sum struct {
	Type string // sha256, md5, …
	Hex  string
}

// A Stat is a file server's data about a file; a field is -1 if the server does not report it.
type Stat struct {
	Mode int64 // st_mode
	Size int64 // bytes
}

// A Chunk is a piece of a file.
type Chunk struct {
	Data []byte
	Gzip bool // Data is a whole gzip stream
}
