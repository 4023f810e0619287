package fileclient

import (
	"context"

	"github.com/brineproject/brine/data"
)

// A Source is a file server: Remote is that of a master, Local that in this process. Paths are relative to the roots of an
// environment, with slashes. Several goroutines may use it.
type Source interface {
	Envs(ctx context.Context) ([]string, error)
	// Hash returns the hash of a file; the error wraps ErrNotFound where there is none.
	Hash(ctx context.Context, env, path string) (Sum, error)
	// Stat returns what is known of a file beside its content; the error wraps ErrNotFound where there is none.
	Stat(ctx context.Context, env, path string) (Stat, error)
	// Read returns the piece that begins at byte loc, an empty one at the end. With gzip, a level from 1 to 9, it may be
	// compressed. The error wraps ErrNotFound where there is no file, and ErrReply where asking again may help.
	Read(ctx context.Context, env, path string, loc int64, gzip int) (Chunk, error)
	Files(ctx context.Context, env, prefix string) ([]string, error)
	Dirs(ctx context.Context, env, prefix string) ([]string, error)
	EmptyDirs(ctx context.Context, env, prefix string) ([]string, error)
	// Symlinks returns the links of an environment with what they lead to.
	Symlinks(ctx context.Context, env, prefix string) (*data.Map, error)
	// Opts returns the options that states need of a master; see section _master_opts of Salt's salt/master.py.
	Opts(ctx context.Context) (*data.Map, error)
	// Tops returns what the master's master_tops say of a minion, whose options are given.
	Tops(ctx context.Context, opts *data.Map) (*data.Map, error)
}

// A Sum is a file's hash.
type Sum struct {
	Type string // sha256, md5, …
	Hex  string
}

// A Stat is what a file server tells of a file; a field is -1 where it is not told.
type Stat struct {
	Mode int64 // st_mode
	Size int64 // bytes
}

// A Chunk is a piece of a file.
type Chunk struct {
	Data []byte
	Gzip bool // Data is a whole gzip stream
}
