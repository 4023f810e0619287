package fileclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// A Request sends an encrypted request to a master and returns its reply, like
// loader.Masters.Request.
type Request func(ctx context.Context, load *data.Map) (reply any, err error)

// A RawRequest is a Request that returns the MessagePack of the reply, like
// loader.Masters.RequestRaw. The caller owns the reply.
type RawRequest func(ctx context.Context, load *data.Map) (reply data.Raw, err error)

// tries is how often a request is sent if the replies are malformed (salt/fileclient.py,
// RemoteClient.get_file).
const tries = 4

// remote is the file server of a Brine or Salt master.
type remote struct {
	request Request
	raw     RawRequest // for pieces of files, which it does not copy
}

var _ Source = (*remote)(nil)

// Remote returns the file server of a master. Large pieces of files are fetched by raw, which
// avoids copying them.
func Remote(request Request, raw RawRequest) Source { return &remote{request, raw} }

// ask repeats a request until read accepts the reply.
func (r *remote) ask(ctx context.Context, load *data.Map, read func(reply any) error) error {
	return retry(ctx, load.Text("cmd"), func() error {
		reply, err := r.request(ctx, load)
		if err != nil {
			return err
		}
		return read(reply)
	})
}

// retry calls once, which sends the request cmd, until the reply is well-formed.
func retry(ctx context.Context, cmd string, once func() error) error {
	var err error
	for range tries {
		if err = once(); !errors.Is(err, ErrReply) || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", cmd, err)
}

// names requests a list of names.
func (r *remote) names(ctx context.Context, load *data.Map) (names []string, err error) {
	err = r.ask(ctx, load, func(reply any) error {
		list, ok := reply.([]any)
		if !ok {
			return malformed(reply)
		}
		names = make([]string, 0, len(list))
		for _, v := range list {
			names = append(names, text(v))
		}
		return nil
	})
	return names, err
}

// table requests a dictionary.
func (r *remote) table(ctx context.Context, load *data.Map) (m *data.Map, err error) {
	err = r.ask(ctx, load, func(reply any) error {
		var ok bool
		if m, ok = reply.(*data.Map); !ok {
			return malformed(reply)
		}
		return nil
	})
	return m, err
}

func malformed(reply any) error {
	shown := data.Repr(reply)
	return fmt.Errorf("%w: %s", ErrReply, shown[:min(len(shown), 100)])
}

// text returns a text that may have arrived as bytes.
func text(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return data.Str(v)
}

func (r *remote) Envs(ctx context.Context) ([]string, error) {
	return r.names(ctx, data.NewMap("cmd", "_file_envs")) // Salt 3006.0 fails on further fields
}

func (r *remote) Files(ctx context.Context, env, prefix string) ([]string, error) {
	return r.names(ctx, data.NewMap("saltenv", env, "prefix", prefix, "cmd", "_file_list"))
}

func (r *remote) Dirs(ctx context.Context, env, prefix string) ([]string, error) {
	return r.names(ctx, data.NewMap("saltenv", env, "prefix", prefix, "cmd", "_dir_list"))
}

func (r *remote) EmptyDirs(ctx context.Context, env, prefix string) ([]string, error) {
	return r.names(ctx, data.NewMap("saltenv", env, "prefix", prefix, "cmd",
		"_file_list_emptydirs"))
}

func (r *remote) Symlinks(ctx context.Context, env, prefix string) (*data.Map, error) {
	return r.table(ctx, data.NewMap("saltenv", env, "prefix", prefix, "cmd", "_symlink_list"))
}

func (r *remote) Opts(ctx context.Context) (*data.Map, error) {
	return r.table(ctx, data.NewMap("cmd", "_master_opts"))
}

func (r *remote) Tops(ctx context.Context, opts *data.Map) (*data.Map, error) {
	return r.table(ctx, data.NewMap("cmd", "_master_tops", "id", opts.Text("id"), "opts", opts))
}

func (r *remote) Hash(ctx context.Context, env, path string) (sum Sum, err error) {
	err = r.ask(ctx, data.NewMap("path", path, "saltenv", env, "cmd", "_file_hash"),
		func(reply any) error {
			m, ok := reply.(*data.Map)
			if !ok && data.Truth(reply) {
				return malformed(reply)
			}
			sum = Sum{Type: text(m.Value("hash_type")), Hex: text(m.Value("hsum"))}
			if !data.Truth(m.Value("hsum")) {
				return fmt.Errorf("salt://%s in saltenv %s: %w", path, env, ErrNotFound)
			}
			return nil
		})
	return sum, err
}

func (r *remote) Stat(ctx context.Context, env, path string) (st Stat, err error) {
	err = r.ask(ctx, data.NewMap("path", path, "saltenv", env, "cmd", "_file_find"),
		func(reply any) error {
			m, ok := reply.(*data.Map)
			if !ok {
				return malformed(reply)
			}
			if !data.Truth(m.Value("path")) {
				return fmt.Errorf("salt://%s in saltenv %s: %w", path, env, ErrNotFound)
			}
			st = readStat(m.Value("stat"))
			return nil
		})
	return st, err
}

// Indexes in a stat list (Python's os.stat_result).
const (
	statMode = 0
	statSize = 6
)

// readStat reads a stat list. Some backends return only the mode, or nothing.
func readStat(v any) Stat {
	list, _ := v.([]any)
	at := func(i int) int64 {
		if i < len(list) {
			if n, ok := list[i].(int64); ok && n >= 0 {
				return n
			}
		}
		return -1
	}
	return Stat{Mode: at(statMode), Size: at(statSize)}
}

func (r *remote) Read(
	ctx context.Context, env, path string, loc int64, gzip int,
) (c Chunk, err error) {
	load := data.NewMap("path", path, "saltenv", env, "cmd", "_serve_file")
	if gzip != 0 {
		load.Set("gzip", int64(gzip))
	}
	load.Set("loc", loc)
	err = retry(ctx, "_serve_file", func() error {
		reply, err := r.raw(ctx, load)
		if err != nil {
			return err
		}
		c, err = readChunk(reply)
		if errors.Is(err, ErrNotFound) {
			err = fmt.Errorf("salt://%s in saltenv %s: %w", path, env, err)
		}
		return err
	})
	return c, err
}

// readChunk reads a piece of a file, which shares the memory of the reply.
func readChunk(reply data.Raw) (c Chunk, err error) {
	fields, err := payload.ParseFields(reply, payload.Limits{Size: len(reply)})
	body, ok := fields.Bytes("data")
	if err != nil || !ok {
		// a longer reply is not shown
		v, _ := payload.Unmarshal(reply[:min(len(reply), 1<<10)], payload.WireLimits())
		return c, malformed(v)
	}
	c.Data = body
	c.Gzip = len(body) > 0 && data.Truth(fields.Value("gzip"))
	if len(body) == 0 && !data.Truth(fields.Value("dest")) {
		return c, ErrNotFound
	}
	return c, nil
}
