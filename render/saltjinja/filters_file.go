package saltjinja

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
)

// fileFilters returns the filters that inspect files of this host (salt/utils/files.py, path.py,
// user.py).
func fileFilters() map[string]jinja.Func {
	return map[string]jinja.Func{
		"is_empty":     pathFilter("is_empty", isEmpty),
		"is_text_file": pathFilter("is_text", isTextFile), "is_bin_file": pathFilter("is_binary",
			isBinaryFile), "list_files": pathFilter("list_files", listFiles),
		"which": which, "path_join": pathJoin, "get_uid": getUID,
	}
}

// osError returns Python's OSError.
func osError(err error, name string) error {
	var no syscall.Errno
	if !errors.As(err, &no) {
		return jinja.Raise("OSError", "%s", err)
	}
	text := no.Error()
	return jinja.Raise("OSError", "[Errno %d] %s: %s", int(no), strings.ToUpper(text[:1])+text[1:],
		data.Repr(name))
}

func pathFilter(name string, fn func(string) any) jinja.Func {
	return func(c *jinja.Call) (any, error) {
		p := bind(c, name, "path")
		at := p.text(0)
		if p.err != nil {
			return nil, p.err
		}
		return fn(at), nil
	}
}

func isEmpty(name string) any {
	st, err := os.Stat(name)
	return err == nil && st.Size() == 0
}

// head returns the first bytes of a file.
func head(name string, size int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, size)
	n, err := io.ReadFull(f, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return b[:n], err
}

// oddShare returns the share of bytes that are neither printable ASCII nor in white.
func oddShare(b []byte, white string) float64 {
	n := 0
	for _, c := range b {
		if (c < ' ' || c > '~') && strings.IndexByte(white, c) < 0 {
			n++
		}
	}
	return float64(n) / float64(max(1, len(b)))
}

func isTextFile(name string) any {
	b, err := head(name, 512)
	if err != nil || bytes.IndexByte(b, 0) >= 0 {
		return false
	}
	return len(b) == 0 || utf8.Valid(b) || oddShare(b, "\n\r\t\f\b") <= 0.30
}

func isBinaryFile(name string) any {
	if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() {
		return false
	}
	b, err := head(name, 2048)
	switch {
	case err != nil:
		return false
	case !utf8.Valid(b):
		return true
	case len(b) == 0:
		return false
	}
	runes := []rune(string(b))
	n := 0
	for _, r := range runes {
		if (r < ' ' || r > '~') && !strings.ContainsRune("\n\r\t\b", r) {
			n++
		}
	}
	return bytes.IndexByte(b, 0) >= 0 || float64(n)/float64(len(runes)) > 0.30
}

// listFiles returns a directory and everything below it, sorted.
func listFiles(dir string) any {
	out := jinja.NewList(dir)
	_ = filepath.WalkDir(dir, func(at string, _ fs.DirEntry, err error) error {
		if err == nil && at != dir {
			out.Items = append(out.Items, at)
		}
		return nil // unreadable directories are left out, as in Salt
	})
	return out
}

func which(c *jinja.Call) (any, error) {
	p := bind(c, "which", "exe=")
	name, _ := textOf(p.or(0, ""))
	if p.err != nil || name == "" {
		return nil, p.err
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return nil, nil
	}
	return found, nil
}

func pathJoin(c *jinja.Call) (any, error) {
	for _, k := range c.Kw {
		if k.Name != "use_posixpath" {
			return nil, jinja.Raise(jinja.TypeError,
				"The following keyword arguments are not valid: %s=%s", k.Name,
				data.Str(plain(k.Value)))
		}
	}
	parts := make([]string, len(c.Args))
	for i, a := range c.Args {
		s, ok := textOf(a)
		if !ok {
			return nil, typeError(a, "expected str, bytes, or bytearray not <class '"+
				jinja.TypeName(a)+"'>")
		}
		parts[i] = path.Clean(s)
		if i > 0 {
			parts[i] = strings.TrimLeft(parts[i], "/")
		}
	}
	joined := path.Join(parts...)
	if s, _ := textOf(c.Args[0]); strings.HasPrefix(s, "//") && !strings.HasPrefix(s, "///") {
		joined = "/" + joined // two leading slashes stay two, as in POSIX
	}
	return joined, nil
}

func getUID(c *jinja.Call) (any, error) {
	p := bind(c, "get_uid", "user=")
	v := p.or(0, nil)
	if p.err != nil || v == nil {
		return int64(os.Geteuid()), p.err
	}
	name, ok := textOf(v)
	if !ok {
		return nil, typeError(v, "getpwnam() argument must be str, not "+jinja.TypeName(v))
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, nil
	}
	n, err := strconv.ParseInt(u.Uid, 10, 64)
	return n, err
}
