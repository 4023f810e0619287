package fileclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
)

// local is a file server in this process, for file_client: local (salt/fileserver/__init__.py,
// FSChan).
type local struct{ server *fileserver.Server }

var _ Source = (*local)(nil)

// Local returns s as a Source.
func Local(s *fileserver.Server) Source { return &local{s} }

// translateNotFound converts a file server's ErrNotFound to the one of this package.
func translateNotFound(err error) error {
	if errors.Is(err, fileserver.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}

func (l *local) Envs(ctx context.Context) ([]string, error) { return l.server.Envs(ctx) }

func (l *local) Hash(ctx context.Context, env, path string) (Sum, error) {
	h, err := l.server.Hash(ctx, path, env)
	return Sum{Type: h.Type, Hex: h.Sum}, translateNotFound(err)
}

func (l *local) Stat(ctx context.Context, env, path string) (Stat, error) {
	f, err := l.server.Find(ctx, path, env)
	if err != nil {
		return Stat{-1, -1}, translateNotFound(err)
	}
	st := Stat{Mode: -1, Size: f.Size}
	if f.Stat != nil {
		st.Mode = int64(f.Stat.Mode)
	}
	return st, nil
}

// Read does not compress: nothing goes over a network.
func (l *local) Read(ctx context.Context, env, path string, loc int64, _ int) (Chunk, error) {
	c, err := l.server.Serve(ctx, fileserver.Request{Path: path, Env: env, Loc: loc})
	return Chunk{Data: c.Data}, translateNotFound(err)
}

func (l *local) list(
	ctx context.Context, kind fileserver.Kind, env, prefix string,
) ([]string, error) {
	return l.server.List(ctx, fileserver.ListOf{Env: env, Kind: kind, Prefix: prefix})
}

func (l *local) Files(ctx context.Context, env, prefix string) ([]string, error) {
	return l.list(ctx, fileserver.Files, env, prefix)
}

func (l *local) Dirs(ctx context.Context, env, prefix string) ([]string, error) {
	return l.list(ctx, fileserver.Dirs, env, prefix)
}

func (l *local) EmptyDirs(ctx context.Context, env, prefix string) ([]string, error) {
	return l.list(ctx, fileserver.EmptyDirs, env, prefix)
}

func (l *local) Symlinks(ctx context.Context, env, prefix string) (*data.Map, error) {
	return l.server.Symlinks(ctx, fileserver.ListOf{Env: env, Prefix: prefix})
}

// Opts returns nothing: the minion uses its own options.
func (l *local) Opts(context.Context) (*data.Map, error) { return data.NewMap(), nil }

// Tops returns nothing, as there is no master.
func (l *local) Tops(context.Context, *data.Map) (*data.Map, error) { return data.NewMap(), nil }
