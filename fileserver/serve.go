package fileserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
)

// Serve returns a piece of a file: Options.BufferSize bytes, or the rest. The error wraps
// ErrNotFound if there is no such file, ErrRequest if the request is invalid, and ErrChanged if the
// file has become shorter since the client began to read it.
func (s *Server) Serve(ctx context.Context, r Request) (Chunk, error) {
	if r.Loc < 0 || r.Gzip < 0 || r.Gzip > gzip.BestCompression {
		return Chunk{}, fmt.Errorf("%w: loc %d, gzip %d", ErrRequest, r.Loc, r.Gzip)
	}
	o := s.opts.Load()
	for try := 1; ; try++ {
		c, err := s.piece(ctx, o, r)
		if errors.Is(err, ErrChanged) && r.Loc == 0 && try < attempts {
			continue
		}
		return c, err
	}
}

// piece reads one piece.
func (s *Server) piece(ctx context.Context, o *Options, r Request) (Chunk, error) {
	f, err := s.acquire(ctx, o.Backends, r)
	if err != nil {
		return Chunk{}, err
	}
	defer s.files.release(f.openFile)
	c := Chunk{Dest: f.rel, Size: f.Size()}
	if r.Loc >= f.Size() {
		s.files.finished(pinKey{r.Client, r.Env, r.Path})
		return c, nil
	}
	c.Data = make([]byte, min(int64(o.BufferSize), f.Size()-r.Loc))
	switch n, err := f.ReadAt(c.Data, r.Loc); {
	case n == len(c.Data):
	case errors.Is(err, io.EOF):
		return Chunk{}, fmt.Errorf("read %q: %w: it ends at byte %d, not %d", shown(f.rel),
			ErrChanged, r.Loc+int64(n), f.Size())
	default:
		return Chunk{}, fmt.Errorf("read %q: %w", shown(f.rel), err)
	}
	if r.Gzip > 0 {
		c.Gzip = r.Gzip
		c.Data, err = s.compress(c.Data, r.Gzip)
	}
	return c, err
}

// compress returns b as a gzip stream.
func (s *Server) compress(b []byte, level int) ([]byte, error) {
	var out bytes.Buffer
	w, _ := s.gzips[level].Get().(*gzip.Writer)
	if w == nil {
		var err error
		if w, err = gzip.NewWriterLevel(&out, level); err != nil {
			return nil, err
		}
	} else {
		w.Reset(&out)
	}
	defer s.gzips[level].Put(w)
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
