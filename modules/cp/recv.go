package cp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
)

type recvArgs struct {
	Files *data.Map
	Dest  string
}

// recv writes files that the program salt-cp sends. It returns a dictionary of paths and whether
// each was written.
//
// CLI Example:
//
//	salt '*' cp.recv
func (m *module) recv(_ context.Context, a recvArgs) (any, error) {
	ret := data.NewMap()
	for k, v := range a.Files.All() {
		name := filepath.Base(data.Str(k))
		final := a.Dest
		switch {
		case paths.IsDir(a.Dest):
			final = filepath.Join(a.Dest, name)
		case name != filepath.Base(a.Dest) && !paths.IsDir(filepath.Dir(a.Dest)):
			return "Destination unavailable", nil
		}
		body, ok := v.(string)
		if !ok {
			return nil, loader.TypeError("write() argument must be str, not %s", kindOf(v))
		}
		ret.Set(final, os.WriteFile(final, []byte(body), 0o666) == nil)
	}
	return ret, nil
}

// kindOf returns the type name of a value that is not a string.
func kindOf(v any) string {
	if _, ok := v.([]byte); ok {
		return "bytes"
	}
	return "object"
}

type recvChunkedArgs struct {
	Dest       string
	Chunk      any
	Append     bool `default:"False"`
	Compressed bool `default:"True"`
	Mode       any  `default:"None"`
}

// recvChunked writes a chunk of a file that the program salt-cp sends, or creates a directory. It
// returns True, or an error text.
//
// CLI Example:
//
//	salt '*' cp.recv_chunked
func (m *module) recvChunked(ctx context.Context, a recvChunkedArgs) (any, error) {
	var err error
	switch piece := a.Chunk.(type) {
	case nil:
		if info, statErr := os.Stat(a.Dest); statErr == nil && !info.IsDir() {
			return "Path exists and is a file", nil
		}
		err = os.MkdirAll(a.Dest, 0o777)
	case string:
		err = receive(a, []byte(piece))
	case []byte:
		err = receive(a, piece)
	default:
		return nil, loader.TypeError("argument should be a bytes-like object or ASCII string, not '%s'", kindOf(piece))
	}
	if err == nil {
		return true, nil
	}
	text, ok := pathText(err)
	if !ok {
		return nil, err
	}
	loader.ContextOf(ctx).SetRetcode(1)
	return text, nil
}

// pathText returns Python's text for a file error or an invalid chunk.
func pathText(err error) (string, bool) {
	if bad, ok := errors.AsType[*badChunk](err); ok {
		return bad.Error(), true
	}
	number, ok := errors.AsType[syscall.Errno](err)
	p, isPath := errors.AsType[*fs.PathError](err)
	if !ok || !isPath {
		return "", false
	}
	return loader.OSErrorText(number, p.Path), true
}

// maxUnpacked is the maximum decompressed size of one chunk, in bytes. A publication cannot hold a
// larger uncompressed one.
const maxUnpacked = 100 << 20

// receive writes a chunk to the file. It creates the file and its directory if they are missing.
func receive(a recvChunkedArgs, encoded []byte) error {
	piece, err := decode64(encoded)
	if err != nil {
		return err
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if a.Append {
		flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	f, err := os.OpenFile(a.Dest, flags, 0o666)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(a.Dest), 0o777); err != nil {
			return err
		}
		f, err = os.OpenFile(a.Dest, flags, 0o666)
	}
	if err != nil {
		return err
	}
	err = unpack(f, piece, a.Compressed)
	if mode, isNumber := a.Mode.(int64); err == nil && isNumber && !a.Append {
		err = os.Chmod(a.Dest, fileMode(mode))
	}
	return errors.Join(err, f.Close())
}

// decode64 decodes base64 as Python does, which ignores invalid characters.
func decode64(encoded []byte) ([]byte, error) {
	signs := make([]byte, 0, len(encoded))
	for _, b := range encoded {
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '+' ||
			b == '/' || b == '=' {
			signs = append(signs, b)
		}
	}
	piece := make([]byte, base64.StdEncoding.DecodedLen(len(signs)))
	n, err := base64.StdEncoding.Decode(piece, signs)
	if err != nil {
		return nil, loader.Exception("binascii.Error", "Incorrect padding")
	}
	return piece[:n], nil
}

// A badChunk is the error for a chunk that is not gzip data; it has the first bytes.
type badChunk struct{ start []byte }

func (e *badChunk) Error() string { return "Not a gzipped file (" + data.Repr(e.start) + ")" }

// unpack writes a chunk to f.
func unpack(f io.Writer, piece []byte, compressed bool) error {
	if !compressed {
		_, err := f.Write(piece)
		return err
	}
	if len(piece) == 0 {
		return nil // as Python reads it
	}
	r, err := gzip.NewReader(bytes.NewReader(piece))
	if err != nil {
		return &badChunk{piece[:min(2, len(piece))]}
	}
	n, err := io.Copy(f, io.LimitReader(r, maxUnpacked+1))
	if err == nil && n > maxUnpacked {
		return loader.Execution("a compressed chunk expands to more than %d bytes",
			int64(maxUnpacked))
	}
	return err
}

// fileMode converts the permission bits of st_mode.
func fileMode(bits int64) fs.FileMode {
	mode := fs.FileMode(bits).Perm()
	for bit, flag := range map[int64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid,
		0o1000: fs.ModeSticky} {
		if bits&bit != 0 {
			mode |= flag
		}
	}
	return mode
}
