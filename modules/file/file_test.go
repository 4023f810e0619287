//go:build unix

package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// tree makes the files for testdata/calls.json.
func tree(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	errs := []error{os.MkdirAll(at("d/.hid"), 0o755)}
	for name, body := range map[string]string{"a.txt": "one\ntwo words\n", "crlf": "a\r\nb\rc\n",
		"bin": "\xff\x00\x01", ".dot": "", "d/x.conf": "x", "d/.hid/y": "y", "u": "café"} {
		errs = append(errs, os.WriteFile(at(name), []byte(body), 0o644), os.Chmod(at(name), 0o644))
	}
	errs = append(errs, os.Chmod(at("d/x.conf"), 0o755|os.ModeSetuid),
		os.Symlink("a.txt", at("link")), os.Symlink("nowhere/at", at("broken")),
		os.Symlink(at("d"), at("dlink")), os.Link(at("u"), at("hard")), unix.Mkfifo(at("fifo"),
			0o644), os.Chmod(at("fifo"), 0o644), os.Chmod(at("d"), 0o777|os.ModeSticky))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return dir
}

func registry(t *testing.T) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin(render.Brought{})})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCalls(t *testing.T) {
	need.Root(t, "to make files of root")
	calls.Check(t, "testdata/calls.json", registry(t).Invoke, "OUT", tree(t))
}

func TestReadersWaitForNoPipe(t *testing.T) {
	fifo, r := filepath.Join(tree(t), "fifo"), registry(t)
	for _, path := range []string{fifo, "/dev/zero"} {
		want := "read " + path + ": it is no regular file, and its end may never come"
		for fun, more := range map[string][]any{
			"read": nil, "seek_read": {int64(1), int64(0)}, "contains": {"x"}, "get_hash": nil,
			"check_hash": {"sha256=" + strings.Repeat("0", 64)}, "extract_hash": nil,
		} {
			for range 2 {
				v, err := r.Invoke(t.Context(), "file."+fun, append([]any{path}, more...), nil)
				if loader.KindOf(err) != loader.KindExecution || err.Error() != want {
					t.Errorf("file.%s %s = %v, %v", fun, path, v, err)
				}
			}
		}
	}
}

// TestStats compares the results with the files made here.
func TestStats(t *testing.T) {
	dir, r := tree(t), registry(t)
	for range 2 {
		v, err := r.Invoke(t.Context(), "file.stats", []any{filepath.Join(dir, "link")},
			data.NewMap("hash_type", "md5"))
		st, ok := v.(*data.Map)
		if err != nil || !ok {
			t.Fatal(v, err)
		}
		info, err := os.Stat(filepath.Join(dir, "a.txt"))
		if err != nil {
			t.Fatal(err)
		}
		mtime, _ := st.Value("mtime").(float64)
		if d := mtime - float64(info.ModTime().UnixNano())/1e9; d < -1e-5 || d > 1e-5 {
			t.Errorf("mtime is %v, want %v", mtime, info.ModTime())
		}
		for key, want := range map[string]any{"size": int64(14), "mode": "0644", "type": "file",
			"target": filepath.Join(dir, "a.txt"), "uid": int64(os.Geteuid()),
			"sum": "407f5ce89e72c8570ccf5c07f4805c85"} {
			if got := st.Value(key); got != want {
				t.Errorf("%s is %v, want %v", key, got, want)
			}
		}
		want := []any{"inode", "uid", "gid", "group", "user", "atime", "mtime", "ctime", "size",
			"mode", "sum", "type", "target"}
		if !data.Equal(st.Keys(), want) {
			t.Errorf("keys are %v, want %v", st.Keys(), want)
		}
	}
	for name, want := range map[string]any{"d": "dir", "fifo": "pipe", "broken": "link",
		"/dev/null": "char"} {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		v, err := r.Invoke(t.Context(), "file.stats", []any{name}, nil)
		if err != nil || v.(*data.Map).Value("type") != want {
			t.Errorf("%s: %v, %v, want %v", name, v, err, want)
		}
	}
	v, err := r.Invoke(t.Context(), "file.lstat", []any{filepath.Join(dir, "hard")}, nil)
	if st, ok := v.(*data.Map); err != nil || !ok || st.Value("st_nlink") != int64(2) ||
		st.Value("st_mode") != int64(0o100644) || st.Value("st_size") != int64(5) || st.Len() != 8 {
		t.Errorf("file.lstat = %v, %v", v, err)
	}
}
