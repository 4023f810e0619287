package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/brineproject/brine/data"
)

// usualChunk is the default of the master's option salt_cp_chunk_size, in bytes.
const usualChunk = 98304

// modeOf returns the mode for the file on the minion, None on Windows.
func modeOf(info os.FileInfo) any {
	if runtime.GOOS == "windows" {
		return nil
	}
	const setuid, setgid, sticky = 0o4000, 0o2000, 0o1000
	mode := int64(info.Mode().Perm())
	for bit, flag := range map[os.FileMode]int64{os.ModeSetuid: setuid, os.ModeSetgid: setgid,
		os.ModeSticky: sticky} {
		if info.Mode()&bit != 0 {
			mode |= flag
		}
	}
	return mode
}

// sendChunked sends files in pieces, each piece as a job, and creates empty directories. It holds
// one piece in memory.
func (c *copying) sendChunked(ctx context.Context, t *tree) error {
	for _, name := range t.files {
		s := &sending{copying: c, name: name, to: c.remote(t, name), mode: t.modes[name],
			failed: data.NewMap()}
		if err := s.send(ctx); err != nil {
			return err
		}
	}
	for _, name := range t.empty {
		to := c.remote(t, name)
		answers, err := c.command(ctx, "cp.recv_chunked", to, nil)
		if err != nil {
			return err
		}
		for id, v := range answers.All() {
			c.note(id, to, v)
		}
	}
	return nil
}

// note records a minion's answer for a path.
func (c *copying) note(id any, to string, v any) {
	m, ok := c.all.Value(id).(*data.Map)
	if !ok {
		m = data.NewMap()
		c.all.Set(id, m)
	}
	m.Set(to, v)
}

// sending is the transfer of one file.
type sending struct {
	*copying
	name, to string
	mode     any
	failed   *data.Map // first answer of each minion other than True
	pieces   int       // number of pieces sent
}

func (s *sending) send(ctx context.Context) error {
	f, err := os.Open(s.name)
	if err != nil {
		return &sourceError{err.Error(), exitGeneric, false}
	}
	defer f.Close()
	piece := make([]byte, s.chunk())
	for {
		n, err := io.ReadFull(f, piece)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return &sourceError{err.Error(), exitGeneric, false}
		}
		if n == 0 && s.pieces > 0 {
			break
		}
		more, sendErr := s.piece(ctx, piece[:n])
		if sendErr != nil {
			return sendErr
		}
		if !more || err != nil {
			break
		}
	}
	for id, v := range s.failed.All() {
		s.note(id, s.to, v)
	}
	return nil
}

// chunk returns the size of a piece in bytes.
func (s *sending) chunk() int64 {
	if n, ok := s.opts.Value("salt_cp_chunk_size").(int64); ok && n > 0 {
		return n
	}
	return usualChunk
}

// piece sends a piece and reports whether any minion should get the next one.
func (s *sending) piece(ctx context.Context, piece []byte) (more bool, err error) {
	coded, err := s.encode(piece)
	if err != nil {
		return false, err
	}
	answers, err := s.command(ctx, "cp.recv_chunked", s.to, coded, s.pieces > 0,
		s.files.Gzip, s.mode)
	if err != nil {
		return false, err
	}
	s.pieces++
	if answers.Len() == 0 {
		return false, s.unpublished()
	}
	for id, v := range answers.All() {
		s.note(id, s.to, v)
		if v != true && !s.failed.Has(id) {
			s.failed.Set(id, v)
		} else if v == true && !s.failed.Has(id) {
			more = true
		}
	}
	return more, nil
}

// encode returns a piece as bytes, because a text containing = would be parsed as a keyword
// argument.
func (s *sending) encode(piece []byte) ([]byte, error) {
	if s.files.Gzip {
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err == nil {
			_, err = w.Write(piece)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("compress %s: %w", s.name, err)
		}
		piece = packed.Bytes()
	}
	return base64.StdEncoding.AppendEncode(nil, piece), nil
}

// unpublished records for the targeted minions that nobody got the piece.
func (s *sending) unpublished() error {
	ids, err := s.targeted()
	if err != nil {
		return err
	}
	partly := ""
	if s.pieces > 1 {
		partly = " File partially transferred."
	}
	for _, id := range ids {
		s.note(id, s.to, fmt.Sprintf("Publish failed.%s It may be necessary to decrease salt_cp_chunk_size (current value: %d)", partly, s.chunk()))
	}
	return nil
}
