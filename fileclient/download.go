package fileclient

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
)

// Limits for requests in progress.
const (
	window    = 4        // pieces of one file
	maxPieces = 8        // pieces of all files of a client
	maxFiles  = 4        // files of one call
	maxPiece  = 64 << 20 // bytes of a piece if the file's size is not known
)

// A download writes one file to a writer, starting at byte at.
type download struct {
	c         *Client
	env, path string
	gzip      int
	size      int64 // of the file; -1 if the server does not report it
	to        io.Writer
	at        int64 // bytes that were written
	step      int64 // bytes of a piece; 0 until it is known
	ended     bool
}

// A piece is one reply of the file server.
type piece struct {
	Chunk
	err error
}

func (d *download) run(ctx context.Context) error {
	for !d.done() {
		if err := d.round(ctx); err != nil {
			return fmt.Errorf("salt://%s at byte %d: %w", d.path, d.at, err)
		}
	}
	return nil
}

func (d *download) done() bool { return d.ended || d.size >= 0 && d.at >= d.size }

// round requests piece after piece, a few at a time. It ends with the file, or when a piece has
// another length than those before it.
func (d *download) round(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var asked []<-chan piece
	defer func() {
		cancel()
		for _, a := range asked {
			<-a
			<-d.c.slots
		}
	}()
	next := d.at
	for {
		for d.wants(next, len(asked)) && d.c.slot(ctx, len(asked) == 0) {
			asked = append(asked, d.ask(ctx, next))
			next += d.step
		}
		if len(asked) == 0 {
			return ctx.Err()
		}
		p := <-asked[0]
		asked = asked[1:]
		n, err := d.consume(p)
		<-d.c.slots
		if err != nil || n == 0 {
			d.ended = true
			return err
		}
		if d.step == 0 {
			d.step, next = n, d.at
		}
		if n != d.step || d.done() {
			d.step = 0
			return nil
		}
	}
}

// wants reports whether to request the piece at next now, with that many requests in progress.
func (d *download) wants(next int64, asked int) bool {
	if asked >= window || d.step == 0 && asked > 0 {
		return false
	}
	return d.size < 0 || next < d.size
}

// slot takes one of the slots for pieces in progress. Without wait it fails if none is free.
func (c *Client) slot(ctx context.Context, wait bool) bool {
	select {
	case c.slots <- struct{}{}:
		return true
	default:
	}
	if !wait {
		return false
	}
	select {
	case c.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (d *download) ask(ctx context.Context, loc int64) <-chan piece {
	answer := make(chan piece, 1)
	go func() {
		chunk, err := d.c.opts.Source.Read(ctx, d.env, d.path, loc, d.gzip)
		answer <- piece{chunk, err}
	}()
	return answer
}

// consume writes a piece and returns its length.
func (d *download) consume(p piece) (int64, error) {
	if p.err != nil {
		return 0, p.err
	}
	body := io.Reader(bytes.NewReader(p.Data))
	if p.Gzip {
		packed, err := gzip.NewReader(body)
		if err != nil {
			return 0, fmt.Errorf("%w: %w", ErrReply, err)
		}
		body = unpacked{packed}
	}
	most := int64(maxPiece)
	if d.size >= 0 {
		most = d.size - d.at
	}
	n, err := io.Copy(d.to, io.LimitReader(body, most+1))
	d.at += n
	if err == nil && n > most {
		err = fmt.Errorf("%w: the content is longer than the server reported: %w",
			ErrReply, ErrHash)
	}
	return n, err
}

// unpacked reads a gzip stream. Its errors wrap ErrReply.
type unpacked struct{ stream io.Reader }

// Read reads decompressed bytes.
func (u unpacked) Read(b []byte) (int, error) {
	n, err := u.stream.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", ErrReply, err)
	}
	return n, err
}
