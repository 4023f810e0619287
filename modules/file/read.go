package file

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// mostRead is the size limit of a file to return, in bytes.
const mostRead = 256 << 20

// errEndless is wrapped in errors about files that may never end.
var errEndless = errors.New("it is no regular file, and its end may never come")

// open opens a file to read. Pipes, sockets and devices such as /dev/zero are errors; Salt would
// wait or read forever.
func open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		return nil, osError(err)
	}
	info, err := f.Stat()
	if err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeCharDevice|fs.ModeIrregular) == 0 {
		return f, nil
	}
	if err == nil {
		err = errEndless
	}
	f.Close()
	return nil, loader.Execution("read %s: %w", path, err)
}

type readArgs struct {
	Path   string
	Binary any `default:"False"`
}

// read returns the content of a file.
//
// binary : False
//
//	Return bytes instead of text.
//
// CLI Example:
//
//	salt '*' file.read /path/to/file
func read(_ context.Context, a readArgs) (any, error) {
	f, err := open(a.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, loader.Exception("IsADirectoryError", "[Errno 21] Is a directory: %s",
			data.Repr(a.Path))
	}
	body, err := io.ReadAll(io.LimitReader(f, mostRead+1))
	switch {
	case err != nil:
		return nil, osError(err)
	case len(body) > mostRead:
		return nil, loader.Execution("%s has more than %d bytes", a.Path, mostRead)
	case a.Binary == true:
		return body, nil
	case !utf8.Valid(body):
		return nil, loader.Exception("UnicodeDecodeError", "%s is no text in UTF-8", a.Path)
	}
	return string(body), nil
}

type seekReadArgs struct {
	Path   string
	Size   int64
	Offset int64
}

// seekRead returns up to size bytes of a file, starting at an offset.
//
// CLI Example:
//
//	salt '*' file.seek_read /path/to/file 4096 0
func seekRead(_ context.Context, a seekReadArgs) (any, error) {
	f, err := open(home(a.Path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if a.Size < 0 || a.Offset < 0 {
		return nil, loader.Exception("OSError", "[Errno 22] Invalid argument")
	}
	body, err := io.ReadAll(io.NewSectionReader(f, a.Offset, min(a.Size, mostRead)))
	if err != nil {
		return nil, osError(err)
	}
	return body, nil
}

// readdir returns the names in a directory, preceded by . and ..
//
// CLI Example:
//
//	salt '*' file.readdir /path/to/dir/
func readdir(_ context.Context, a pathArgs) (any, error) {
	path := home(a.Path)
	if !filepath.IsAbs(path) {
		return nil, loader.Invocation("Dir path must be absolute.")
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, loader.Invocation("A valid directory was not specified.")
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, osError(err)
	}
	names := []any{".", ".."}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

type readlinkArgs struct {
	Path         string
	Canonicalize bool `default:"False"`
}

// readlink returns the target of a symbolic link.
//
// canonicalize : False
//
//	Follow all links, and return a path without any.
//
// CLI Example:
//
//	salt '*' file.readlink /path/to/link
func readlink(_ context.Context, a readlinkArgs) (any, error) {
	path := os.Expand(home(a.Path), func(name string) string {
		if v, ok := os.LookupEnv(name); ok {
			return v
		}
		return "$" + name
	})
	if !filepath.IsAbs(path) {
		return nil, loader.Invocation("Path to link must be absolute: %s", path)
	}
	to, err := os.Readlink(path)
	if err != nil {
		return nil, loader.Invocation("A valid link was not specified: %s", path)
	}
	if a.Canonicalize {
		return realPath(path, 0), nil
	}
	return to, nil
}

type containsArgs struct {
	Path string
	Text any
}

// contains reports whether a file contains a text.
//
// CLI Example:
//
//	salt '*' file.contains /etc/crontab 'mymaintenance.sh'
func contains(_ context.Context, a containsArgs) (any, error) {
	f, err := open(home(a.Path))
	if errors.Is(err, errEndless) {
		return nil, err
	}
	if err != nil {
		return false, nil //nolint:nilerr // like Salt
	}
	defer f.Close()
	return within(f, []byte(strings.TrimSpace(data.Str(a.Text))))
}

// within searches for a text piece by piece.
func within(r io.Reader, text []byte) (bool, error) {
	buf := make([]byte, 0, 1<<20+len(text))
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if len(text) > 0 && bytes.Contains(buf, text) || len(text) == 0 && len(buf) > 0 {
			return true, nil
		}
		if err != nil {
			return false, nil //nolint:nilerr // at the end or after a read error, like Salt
		}
		if keep := max(0, len(text)-1); len(buf) > keep {
			buf = append(buf[:0], buf[len(buf)-keep:]...)
		}
	}
}

type hashArgs struct {
	Path      string
	Form      any `default:"'sha256'"`
	ChunkSize any `default:"65536"`
}

// getHash returns the hash of a file.
//
// form : sha256
//
//	The kind of hash: md5, sha1, sha224, sha256, sha384 or sha512.
//
// CLI Example:
//
//	salt '*' file.get_hash /etc/shadow
func getHash(_ context.Context, a hashArgs) (any, error) {
	return hashFile(home(a.Path), data.Str(a.Form))
}

type sumArgs struct {
	Path string
	Form any `default:"'sha256'"`
}

// getSum returns the hash of a file, or a text if there is no such file.
//
// form : sha256
//
//	As in file.get_hash.
//
// CLI Example:
//
//	salt '*' file.get_sum /etc/passwd sha512
func getSum(_ context.Context, a sumArgs) (any, error) {
	path := home(a.Path)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "File not found", nil //nolint:nilerr // Salt's result
	}
	return hashFile(path, data.Str(a.Form))
}

func hashFile(path, form string) (any, error) {
	h, err := crypto.NewHash(form)
	if err != nil {
		return nil, loader.Exception("ValueError", "Invalid hash type: %s", form)
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return nil, osError(err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
