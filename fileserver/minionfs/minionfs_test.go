package minionfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
)

func put(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		full := filepath.Join(dir, "minions", filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755),
			os.WriteFile(full, []byte(name), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBackend(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "web1/files/etc/hosts", "web1/files/top.sls", "web1/files/etc/x.pyc", "web1/data.p",
		"db1/files/var/a", "db2/files/b", "none/mine.p")
	log, _ := logtest.NewNullLogger()
	for _, link := range [][2]string{{"/etc/passwd", "web1/files/link"},
		{"../../db1/files/var", "web1/files/dir"}, {"db1", "db9"}} {
		if err := os.Symlink(link[0], filepath.Join(dir, "minions", link[1])); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name        string
		opts        []any
		files, dirs string
		found       []string
		missing     []string
	}{
		{"as it is", nil, "[db1/var/a db2/b web1/etc/hosts]",
			"[db1/var web1/etc]", []string{"db1/var/a", "web1/etc/hosts"},
			[]string{"web1/top.sls", "web1/etc/x.pyc", "web1/link", "web1/dir/a", "db9/var/a",
				"web1", "web1/../db1/var/a", "../web1/data.p", "web1/etc", "x/y", "web1/../data.p", ".x/y"}},
		{"mounted", []any{"minionfs_mountpoint", "salt://from/minions/"},
			"[from/minions/db1/var/a from/minions/db2/b from/minions/web1/etc/hosts]",
			"[from/minions/db1/var from/minions/web1/etc]", []string{"from/minions/db2/b"},
			[]string{"db2/b", "from/minionsx/db2/b", "from/minions"}},
		{"white", []any{"minionfs_whitelist", []any{"db*", "web1.+"}}, "[db1/var/a db2/b]",
			"[db1/var]", []string{"db2/b"}, []string{"web1/etc/hosts"}},
		{"black", []any{"minionfs_blacklist", []any{"db[12]"}}, "[web1/etc/hosts]",
			"[web1/etc]", []string{"web1/etc/hosts"}, []string{"db1/var/a"}},
		{"both", []any{"minionfs_blacklist", []any{"(db|web)1"}, "minionfs_whitelist",
			[]any{"*1", "db2"}}, "[db2/b]", "[]", []string{"db2/b"}, []string{"web1/etc/hosts"}},
		{"another environment", []any{"minionfs_env", "dev"}, "[]", "[]", nil, []string{"db2/b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts := data.NewMap("file_recv", true, "cachedir", dir, "minionfs_env", "base",
				"file_ignore_glob", []any{"*.pyc"})
			opts.Update(data.NewMap(tt.opts...))
			made, err := Make(opts, log)
			if err != nil {
				t.Fatal(err)
			}
			b := made.(*Backend)
			for kind, want := range map[fileserver.Kind]string{fileserver.Files: tt.files,
				fileserver.Dirs: tt.dirs, fileserver.EmptyDirs: "[]"} {
				if got, err := b.List(t.Context(), "base", kind, ""); err != nil || fmt.Sprint(got) != want {
					t.Errorf("list %d: %v, %v, want %s", kind, got, err, want)
				}
			}
			for _, name := range tt.found {
				f, err := b.Find(t.Context(), "base", name, nil)
				if err != nil {
					t.Errorf("find %s: %v", name, err)
					continue
				}
				file, err := b.Open(t.Context(), f)
				if err != nil {
					t.Errorf("open %s: %v", name, err)
					continue
				}
				content, err := io.ReadAll(io.NewSectionReader(file, 0, 100))
				if want := strings.Replace(strings.TrimPrefix(name, "from/minions/"), "/",
					"/files/", 1); err != nil || string(content) != want || f.Rel != name {
					t.Errorf("%s has %q, %v, want %q", f.Rel, content, err, want)
				}
				if err := file.Close(); err != nil {
					t.Error(err)
				}
			}
			for _, name := range tt.missing {
				if f, err := b.Find(t.Context(), "base", name, nil); !errors.Is(err, fileserver.ErrNotFound) {
					t.Errorf("find %s: %+v, %v", name, f, err)
				}
			}
		})
	}
}

func TestNothingPushedYet(t *testing.T) {
	b, err := New(Options{CacheDir: t.TempDir(), Env: "base"})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := b.List(t.Context(), "base", fileserver.Files, ""); err != nil || len(list) > 0 {
		t.Errorf("list %v, %v", list, err)
	}
	if _, err := b.Find(t.Context(), "base", "web1/x", nil); !errors.Is(err, fileserver.ErrNotFound) {
		t.Errorf("find: %v", err)
	}
	log, _ := logtest.NewNullLogger()
	if b, err := Make(data.NewMap("file_recv", false), log); b != nil || err != nil {
		t.Errorf("without file_recv: %v, %v", b, err)
	}
	if _, err := New(Options{Mountpoint: "salt://../x"}); err == nil {
		t.Error("a mountpoint outside is none")
	}
}

func TestInboxIsBounded(t *testing.T) {
	dir := t.TempDir()
	in := NewInbox(dir)
	in.maxNames = 100
	push := func(parts ...string) error { return in.Receive(Piece{Minion: "web1", Path: parts, Max: 10}) }
	if err := push("a"); err != nil {
		t.Fatal(err)
	}
	in.used["web1"] = usage{names: in.maxNames - 3}
	for i := range 3 {
		if err := push(fmt.Sprint("b", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := push("c"); err != nil { // counted again: there are few
		t.Errorf("after a new count: %v", err)
	}
	if n := in.used["web1"].names; n != 6 { // the directory itself, a, b0 to b2, c
		t.Errorf("%d names are counted", n)
	}
	files := filepath.Join(dir, "minions", "web1", "files")
	for i := range in.maxNames {
		if err := os.WriteFile(filepath.Join(files, fmt.Sprint("x", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in.used["web1"] = usage{names: in.maxNames}
	for _, parts := range [][]string{{"d"}, {"e", "f"}} {
		if err := push(parts...); !errors.Is(err, ErrTooMany) {
			t.Errorf("push of %v: %v", parts, err)
		}
	}
	if err := push("a"); err != nil {
		t.Errorf("a file that is there: %v", err)
	}
	if err := in.Receive(Piece{Minion: "db1", Path: []string{"d"}, Max: 10}); err != nil {
		t.Errorf("another minion: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(files, "e")); err == nil {
		t.Error("a folder was made for a file that was refused")
	}
}

// TestOneMinionCannotFillTheDisk pushes as many files as fit. The total size is limited, replaced
// and removed files no longer count, and other minions have room.
func TestOneMinionCannotFillTheDisk(t *testing.T) {
	dir := t.TempDir()
	in := NewInbox(dir)
	if in.minBytes != 1<<30 {
		t.Errorf("%d bytes are for each minion", in.minBytes)
	}
	in.minBytes = 100
	clock := time.Now()
	in.now = func() time.Time { return clock }
	push := func(minion, name string, loc int64, size int) error {
		return in.Receive(Piece{Minion: minion, Path: []string{name}, Loc: loc,
			Data: make([]byte, size), Max: 20})
	}
	total := func() (n int64) {
		list, err := os.ReadDir(filepath.Join(dir, "minions", "web1", "files"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return n
	}
	var refused error
	for i := range 30 {
		name := fmt.Sprint("f", i)
		refused = errors.Join(push("web1", name, 0, 8), push("web1", name, 8, 8), push("web1", name, 8, 8))
	}
	if n := total(); n != 200 || !errors.Is(refused, ErrTooMuch) { // 10 files of the largest size
		t.Errorf("%d bytes were taken; %v", n, refused)
	}
	if err := errors.Join(push("web1", "f1", 0, 3), push("web1", "f1", 3, 13)); err != nil {
		t.Errorf("a file is replaced: %v", err)
	}
	if err := push("db1", "f", 0, 20); err != nil {
		t.Errorf("another minion: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "minions", "web1", "files", "f2")); err != nil {
		t.Fatal(err)
	}
	if err := push("web1", "g", 0, 16); !errors.Is(err, ErrTooMuch) {
		t.Errorf("it is counted anew at each push: %v", err)
	}
	clock = clock.Add(fullFor)
	if err := push("web1", "g", 0, 16); err != nil {
		t.Errorf("after a file was taken away: %v", err)
	}
	if n := total(); n != 200 {
		t.Errorf("%d bytes are there", n)
	}
}

func FuzzReceive(f *testing.F) {
	dir := f.TempDir()
	in := NewInbox(filepath.Join(dir, "cache"))
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("mine"), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Add("web1", "etc/motd", int64(0), []byte("abc"))
	f.Add("..", "../x", int64(3), []byte("abc"))
	f.Fuzz(func(t *testing.T, minion, name string, loc int64, content []byte) {
		parts := strings.Split(name, "/")
		err := in.Receive(Piece{Minion: minion, Path: parts, Loc: loc, Data: content, Max: 1000})
		if err == nil {
			info, err := os.Lstat(filepath.Join(dir, "cache", "minions", minion,
				"files", filepath.Join(parts...)))
			if err != nil || !info.Mode().IsRegular() || info.Size() > 1000 {
				t.Errorf("%q of %q: %v, %v", name, minion, info, err)
			}
		}
		if got, err := os.ReadFile(filepath.Join(dir, "x")); err != nil || string(got) != "mine" {
			t.Fatalf("%q of %q was written to where it does not belong: %q, %v", name, minion, got, err)
		}
	})
}
