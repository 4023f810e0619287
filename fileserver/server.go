package fileserver

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
)

// A Server serves the files of its backends.
type Server struct{}

// New returns a server. Close gives back what it keeps open.
func New(o Options) *Server { return &Server{} }

// SetOptions replaces what New was given. Backends that are no longer among those of o are closed when they are
// io.Closers.
func (s *Server) SetOptions(o Options) {}

// Close closes open files and backends.
func (s *Server) Close() error { return nil }

// Sweep closes files that nobody asked for in this time.
func (s *Server) Sweep(idle time.Duration) {}

// Backends returns the backends, in order.
func (s *Server) Backends() []Backend { return nil }

// Select returns the backends that are named, in that order; names that begin with - are taken from all, when all do. No
// name means all, and a name that there is not means none (salt/fileserver/__init__.py, Fileserver.backends).
func (s *Server) Select(names ...string) []Backend { return nil }

// Envs returns the environments of backends, sorted.
func (s *Server) Envs(ctx context.Context, backends ...string) ([]string, error) { return nil, nil }

// Find looks for a file. The error wraps ErrNotFound when there is none.
func (s *Server) Find(ctx context.Context, path, env string, backends ...string) (*Found, error) {
	return nil, ErrNotFound
}

// Hash returns the hash of a file.
func (s *Server) Hash(ctx context.Context, path, env string) (Hash, error) { return Hash{}, ErrNotFound }

// HashAndStat returns the hash of a file and what its backend knows of it, or nil.
func (s *Server) HashAndStat(ctx context.Context, path, env string) (Hash, *Stat, error) {
	return Hash{}, nil, ErrNotFound
}

// Serve returns a piece of a file.
func (s *Server) Serve(ctx context.Context, r Request) (Chunk, error) { return Chunk{}, ErrNotFound }

// List returns the paths of an environment, sorted and each once.
func (s *Server) List(ctx context.Context, l ListOf) ([]string, error) { return nil, nil }

// Symlinks returns the symbolic links of an environment, in order of their paths, and where each says it leads. Kind has
// no meaning here.
func (s *Server) Symlinks(ctx context.Context, l ListOf) (*data.Map, error) { return data.NewMap(), nil }

// Update updates backends, all without names, and calls report with each that was.
func (s *Server) Update(ctx context.Context, report func(backend string, c Change), backends ...string) error {
	return nil
}
