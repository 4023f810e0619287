package fileclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/payload"
)

func read(t *testing.T, path string) string {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// nothingPartial checks that no incomplete file is left in the cache or beside dest.
func nothingPartial(t *testing.T, c *Client, dest string) {
	t.Helper()
	for _, area := range []string{areaFiles, areaExtern, areaLocal} {
		entries, err := os.ReadDir(filepath.Join(c.opts.CacheDir, area, partialDir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		for _, e := range entries {
			t.Errorf("%s is left in %s/%s", e.Name(), area, partialDir)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(dest))
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".salt-") {
			t.Errorf("%s is left beside %s", e.Name(), dest)
		}
	}
}

func TestGetFileTwice(t *testing.T) {
	for name, size := range map[string]int{"empty": 0, "one piece": 7, "a whole piece": 1000,
		"whole pieces": 3000, "many": 123457} {
		for _, gzip := range []int{0, 6} {
			t.Run(name, func(t *testing.T) {
				m := newMaster(map[string]string{"base/a/f": long(size)})
				c := m.client(t)
				dest := filepath.Join(t.TempDir(), "f")
				for range 2 {
					got, err := c.GetFile(t.Context(), "salt://a/f", dest, Get{Gzip: gzip})
					if err != nil || got != dest {
						t.Fatalf("GetFile = %q, %v", got, err)
					}
					if read(t, dest) != long(size) {
						t.Error("the content is another")
					}
				}
				want := (size + m.buffer - 1) / m.buffer
				if n := m.count("_serve_file"); n != want {
					t.Errorf("%d pieces were asked for in two runs, want %d", n, want)
				}
				nothingPartial(t, c, dest)
			})
		}
	}
}

func TestCacheFileTwice(t *testing.T) {
	m := newMaster(map[string]string{"base/a/f": long(5000), "dev/a/f": "dev", "base/what?x=1": "odd"})
	c := m.client(t)
	for range 2 {
		for url, want := range map[string][2]string{
			"salt://a/f":             {"files/base/a/f", long(5000)},
			"salt://a/f?saltenv=dev": {"files/dev/a/f", "dev"},
			"salt://|what?x=1":       {"files/base/what?x=1", "odd"},
		} {
			got, err := c.CacheFile(t.Context(), url, "base", Fetch{})
			if err != nil || got != filepath.Join(c.opts.CacheDir, want[0]) {
				t.Fatalf("CacheFile(%s) = %q, %v", url, got, err)
			}
			if read(t, got) != want[1] {
				t.Errorf("%s has another content", url)
			}
			if info, _ := os.Stat(got); info.Mode() != 0o600 {
				t.Errorf("%s has mode %v", got, info.Mode())
			}
		}
	}
	if n := m.count("_serve_file"); n != 7 {
		t.Errorf("%d pieces were asked for in two runs, want 7", n)
	}
	nothingPartial(t, c, c.opts.CacheDir)
}

// TestPiecesAreAskedForTogether checks that several pieces are requested at once, that their number
// is limited, and that their order does not matter.
func TestPiecesAreAskedForTogether(t *testing.T) {
	body := long(40_000)
	m := newMaster(map[string]string{"base/f": body})
	var mu sync.Mutex
	waiting := 0
	all := sync.NewCond(&mu)
	m.hold = func(load *data.Map) {
		loc, _ := load.Value("loc").(int64)
		if load.Text("cmd") != "_serve_file" || loc == 0 {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		waiting++
		all.Broadcast()
		first := (loc/1000-1)/window*window + 1 // of each four that are requested together
		for waiting < int(first)+window-1 && waiting < 39 {
			all.Wait()
		}
	}
	c := m.client(t)
	dest := filepath.Join(t.TempDir(), "f")
	if _, err := c.GetFile(t.Context(), "salt://f", dest, Get{}); err != nil {
		t.Fatal(err)
	}
	if read(t, dest) != body {
		t.Error("the content is another")
	}
	if m.most > window {
		t.Errorf("%d pieces were under way at once, more than %d", m.most, window)
	}
}

func TestUnknownSize(t *testing.T) {
	for _, size := range []int{0, 10, 1000, 10_000, 10_500} {
		m := newMaster(map[string]string{"base/f": long(size)})
		m.after = func(load, reply *data.Map) *data.Map {
			if load.Text("cmd") == "_file_find" {
				reply.Set("stat", []any{int64(0o100644)}) // as with gitfs
			}
			return reply
		}
		c := m.client(t)
		dest := filepath.Join(t.TempDir(), "f")
		if _, err := c.GetFile(t.Context(), "salt://f", dest, Get{}); err != nil {
			t.Fatal(err)
		}
		if read(t, dest) != long(size) {
			t.Errorf("the content of %d bytes is another", size)
		}
	}
}

func TestPiecesOfOtherLength(t *testing.T) {
	m := newMaster(map[string]string{"base/f": long(20_000)})
	m.before = func(load *data.Map) (any, error) {
		if load.Text("cmd") == "_serve_file" {
			m.buffer = 300 + int(load.Value("loc").(int64))%700
		}
		return nil, nil
	}
	dest := filepath.Join(t.TempDir(), "f")
	if _, err := m.client(t).GetFile(t.Context(), "salt://f", dest, Get{}); err != nil {
		t.Fatal(err)
	}
	if read(t, dest) != long(20_000) {
		t.Error("the content is another")
	}
}

func TestMalformedRepliesAreRetried(t *testing.T) {
	for _, cmd := range []string{"_serve_file", "_file_hash"} {
		for _, reply := range []any{data.NewMap("x", 1), "Some exception handling minion payload",
			[]any{}, int64(7), data.NewMap("data", int64(1))} {
			m := newMaster(map[string]string{"base/f": "content"})
			left := tries - 1
			m.before = func(load *data.Map) (any, error) {
				if load.Text("cmd") != cmd || left == 0 || cmd == "_file_hash" && !data.Truth(reply) {
					return nil, nil
				}
				left--
				return reply, nil
			}
			c, dest := m.client(t), filepath.Join(t.TempDir(), "f")
			if _, isMap := reply.(*data.Map); isMap && cmd == "_file_hash" {
				continue // means that there is no file
			}
			if _, err := c.GetFile(t.Context(), "salt://f", dest, Get{}); err != nil {
				t.Errorf("%s after %d replies %v: %v", cmd, tries-1, reply, err)
			}
			left = 1000
			c, dest = m.client(t), filepath.Join(t.TempDir(), "f")
			if _, err := c.GetFile(t.Context(), "salt://f", dest, Get{}); !errors.Is(err,
				ErrReply) && data.Truth(reply) {
				t.Errorf("%s with replies %v for ever: %v", cmd, reply, err)
			}
			if n := 1000 - left; n > tries {
				t.Errorf("%s was asked for %d times", cmd, n)
			}
			if _, err := os.Lstat(dest); err == nil && data.Truth(reply) {
				t.Errorf("there is a file after replies %v", reply)
			}
			nothingPartial(t, c, dest)
		}
	}
}

func TestInterruptedDownloadResumes(t *testing.T) {
	body := long(3 << 20)
	m := newMaster(map[string]string{"base/f": body})
	m.buffer = 1 << 16
	left := 20
	m.before = func(load *data.Map) (any, error) {
		if load.Text("cmd") == "_serve_file" {
			if left--; left < 0 {
				return nil, errLost
			}
		}
		return nil, nil
	}
	cache, dest := t.TempDir(), filepath.Join(t.TempDir(), "f")
	client := func() *Client { return New(Options{Source: decoding(m.request), CacheDir: cache}) }
	if _, err := client().GetFile(t.Context(), "salt://f", dest, Get{}); !errors.Is(err, errLost) {
		t.Fatalf("GetFile = %v", err)
	}
	if _, err := os.Lstat(dest); err == nil {
		t.Error("half a file is at the destination")
	}
	m.count("")
	left = 1000
	if _, err := client().GetFile(t.Context(), "salt://f", dest, Get{}); err != nil {
		t.Fatal(err)
	}
	if read(t, dest) != body {
		t.Error("the content is another")
	}
	first := slices.MinFunc(m.asked, func(a, b *data.Map) int { return int(loc(a) - loc(b)) })
	if loc(first) < 16<<16 {
		t.Errorf("the second download began at byte %d", loc(first))
	}
	nothingPartial(t, client(), dest)

	t.Run("of another content it begins anew", func(t *testing.T) {
		for i, next := range []string{strings.ToUpper(body), body[:2<<20]} {
			left = 20
			dest := filepath.Join(t.TempDir(), "f")
			m.set("base/f", body+string(rune('a'+i)))
			if _, err := client().GetFile(t.Context(), "salt://f", dest, Get{}); !errors.Is(err, errLost) {
				t.Fatalf("GetFile = %v", err)
			}
			left = 1000
			m.set("base/f", next)
			if _, err := client().GetFile(t.Context(), "salt://f", dest, Get{}); err != nil {
				t.Fatal(err)
			}
			if read(t, dest) != next {
				t.Error("the content is another")
			}
		}
	})
}

func loc(load *data.Map) int64 {
	if n, ok := load.Value("loc").(int64); ok {
		return n
	}
	return 1 << 60
}

func TestFileThatChangesMeanwhile(t *testing.T) {
	m := newMaster(map[string]string{"base/f": long(9000)})
	next := strings.ToUpper(long(12_345))
	changed := false
	m.before = func(load *data.Map) (any, error) {
		if !changed && loc(load) == 3000 {
			changed = true
			m.files["base/f"] = next
		}
		return nil, nil
	}
	c, dest := m.client(t), filepath.Join(t.TempDir(), "f")
	if _, err := c.GetFile(t.Context(), "salt://f", dest, Get{}); err != nil {
		t.Fatal(err)
	}
	if read(t, dest) != next {
		t.Error("the content is not that of the new file")
	}
	nothingPartial(t, c, dest)
}

// TestContentWithAnotherHashIsRefused checks that content that was damaged or exchanged on the way
// does not replace the file.
func TestContentWithAnotherHashIsRefused(t *testing.T) {
	m := newMaster(map[string]string{"base/f": "right"})
	m.after = func(load, reply *data.Map) *data.Map {
		if load.Text("cmd") == "_serve_file" {
			reply.Set("data", []byte("wrong"))
		}
		return reply
	}
	c, dest := m.client(t), filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(dest, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetFile(t.Context(), "salt://f", dest, Get{}); !errors.Is(err, ErrHash) {
		t.Errorf("GetFile = %v", err)
	}
	if _, err := c.CacheFile(t.Context(), "salt://f", "base", Fetch{}); !errors.Is(err, ErrHash) {
		t.Errorf("CacheFile = %v", err)
	}
	if read(t, dest) != "old" {
		t.Error("the file was replaced")
	}
	if n := m.count("_serve_file"); n != 6 {
		t.Errorf("the file was got %d times, want 3 each", n)
	}
	nothingPartial(t, c, dest)
}

// TestCompressedPieceIsBounded sends a piece that expands to far more than the announced size.
func TestCompressedPieceIsBounded(t *testing.T) {
	// the result is a single gzip stream, too
	bomb := bytes.Repeat(packed(make([]byte, 1<<20)), maxPiece>>20+2)
	m := newMaster(map[string]string{"base/f": "small file"})
	m.after = func(load, reply *data.Map) *data.Map {
		if load.Text("cmd") == "_serve_file" {
			reply.Set("data", bomb)
			reply.Set("gzip", int64(9))
		}
		return reply
	}
	c := m.client(t)
	d := &download{c: c, env: "base", path: "f", gzip: 9, size: 10, to: io.Discard}
	if err := d.run(t.Context()); !errors.Is(err, ErrHash) || d.at > 11 {
		t.Errorf("the download took %d bytes: %v", d.at, err)
	}
	dest := filepath.Join(t.TempDir(), "f")
	if _, err := c.GetFile(t.Context(), "salt://f", dest, Get{Gzip: 9}); !errors.Is(err, ErrHash) {
		t.Errorf("GetFile = %v", err)
	}
	d = &download{c: c, env: "base", path: "f", gzip: 9, size: -1, to: io.Discard}
	if err := d.run(t.Context()); !errors.Is(err, ErrHash) || d.at > maxPiece+1 {
		t.Errorf("without a size the download took %d bytes: %v", d.at, err)
	}
	nothingPartial(t, c, dest)
}

func TestDamagedCompression(t *testing.T) {
	whole := packed([]byte(long(2000)))
	for name, body := range map[string][]byte{"cut": whole[:len(whole)-9],
		"no gzip": []byte("what"), "other bytes": append(slices.Clone(whole[:40]), whole[50:]...)} {
		d := &download{c: New(Options{}), size: 2000, to: io.Discard}
		if _, err := d.consume(piece{Chunk: Chunk{Data: body, Gzip: true}}); !errors.Is(err, ErrReply) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDestinations(t *testing.T) {
	m := newMaster(map[string]string{"base/dir/f": "new"})
	c := m.client(t)
	get := func(dest string, g Get) (string, error) { return c.GetFile(t.Context(), "salt://dir/f", dest, g) }
	dir := t.TempDir()
	t.Run("a folder", func(t *testing.T) {
		if got, err := get(dir, Get{}); err != nil || got != filepath.Join(dir, "f") {
			t.Errorf("= %q, %v", got, err)
		}
	})
	t.Run("a folder that is missing", func(t *testing.T) {
		if _, err := get(dir+"/no/f", Get{}); !errors.Is(err, ErrNoFolder) {
			t.Errorf("= %v", err)
		}
		if got, err := get(dir+"/no/", Get{Makedirs: true}); err != nil ||
			got != filepath.Join(dir, "no", "f") {
			t.Errorf("= %q, %v", got, err)
		}
	})
	t.Run("mode and links stay", func(t *testing.T) {
		file, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
		if err := errors.Join(os.WriteFile(file, []byte("old"), 0o600),
			os.Chmod(file, 0o751|fs.ModeSetuid), os.Symlink("target", link)); err != nil {
			t.Fatal(err)
		}
		if _, err := get(link, Get{}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil || read(t, file) != "new" || info.Mode() != 0o751|fs.ModeSetuid {
			t.Errorf("%q has mode %v: %v", read(t, file), info.Mode(), err)
		}
		if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("the link is gone: %v", err)
		}
	})
	t.Run("the umask counts for a new file", func(t *testing.T) {
		probe := filepath.Join(dir, "probe")
		f, err := os.OpenFile(probe, os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		want, err := f.Stat()
		f.Close()
		if _, getErr := get(filepath.Join(dir, "fresh"), Get{}); err != nil || getErr != nil {
			t.Fatal(err, getErr)
		}
		if info, _ := os.Stat(filepath.Join(dir, "fresh")); info.Mode() != want.Mode() {
			t.Errorf("mode %v, want %v", info.Mode(), want.Mode())
		}
	})
	t.Run("a pipe is written to", func(t *testing.T) {
		pipe := filepath.Join(dir, "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		came := make(chan string)
		go func() {
			body, _ := os.ReadFile(pipe)
			came <- string(body)
		}()
		if _, err := get(pipe, Get{}); err != nil {
			t.Fatal(err)
		}
		if got := <-came; got != "new" {
			t.Errorf("through the pipe came %q", got)
		}
	})
	nothingPartial(t, c, filepath.Join(dir, "f"))
}

func TestCachePlacesThatAreTaken(t *testing.T) {
	m := newMaster(map[string]string{"base/a": "file", "base/b/c": "deep"})
	c := m.client(t)
	if _, err := c.CacheMaster(t.Context(), "base"); err != nil {
		t.Fatal(err)
	}
	m.set("base/a/x/y", "below")
	m.set("base/b", "now a file")
	delete(m.files, "base/a")
	delete(m.files, "base/b/c")
	paths, err := c.CacheMaster(t.Context(), "base")
	if err != nil || len(paths) != 2 {
		t.Fatalf("CacheMaster = %v, %v", paths, err)
	}
	if read(t, paths[0]) != "below" || read(t, paths[1]) != "now a file" {
		t.Error("the contents are others")
	}
}

func TestMissingFiles(t *testing.T) {
	c := newMaster(map[string]string{"base/f": "x"}).client(t)
	for _, url := range []string{"salt://no", "salt://f?saltenv=dev", "salt://../f",
		"salt://../../etc/passwd", "salt://", "salt://f?saltenv=../.."} {
		if got, err := c.GetFile(t.Context(), url, "", Get{}); !errors.Is(err, ErrNotFound) {
			t.Errorf("GetFile(%s) = %q, %v", url, got, err)
		}
	}
	if _, err := c.GetFile(t.Context(), "/etc/hosts", "", Get{}); !errors.Is(err, ErrScheme) {
		t.Errorf("GetFile of a path = %v", err)
	}
}

// TestLinksOutOfTheCache checks that nothing is written through a link that leads out of the cache.
func TestLinksOutOfTheCache(t *testing.T) {
	c := newMaster(map[string]string{"base/d/f": "x"}).client(t)
	outside := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(c.opts.CacheDir, "files/base"), 0o700),
		os.Symlink(outside, filepath.Join(c.opts.CacheDir, "files/base/d"))); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CacheFile(t.Context(), "salt://d/f", "base", Fetch{}); err == nil {
		t.Error("the file was written through the link")
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("%s is outside", entries[0].Name())
	}
}

func TestOldPartialFilesGo(t *testing.T) {
	m := newMaster(map[string]string{"base/f": "x"})
	c := m.client(t)
	dir := filepath.Join(c.opts.CacheDir, areaFiles, partialDir)
	old, young := filepath.Join(dir, "old"), filepath.Join(dir, "young")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(old, nil, 0o600),
		os.WriteFile(young, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(old)
	if err == nil {
		err = os.Chtimes(old, info.ModTime().Add(-keepFor-1e9), info.ModTime().Add(-keepFor-1e9))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CacheFile(t.Context(), "salt://f", "base", Fetch{}); err != nil {
		t.Fatal(err)
	}
	if paths.Exists(old) || !paths.Exists(young) {
		t.Errorf("old is there: %v, young: %v", paths.Exists(old), paths.Exists(young))
	}
}

func TestDiskIsFull(t *testing.T) {
	m := newMaster(map[string]string{"base/f": long(5000)})
	d := &download{c: m.client(t), env: "base", path: "f", size: 5000, to: fullDisk{}}
	if err := d.run(t.Context()); !errors.Is(err, syscall.ENOSPC) ||
		!strings.Contains(err.Error(), "salt://f at byte 0") {
		t.Errorf("= %v", err)
	}
	if len(d.c.slots) != 0 {
		t.Errorf("%d places are still taken", len(d.c.slots))
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// FuzzPiece reads pieces of any content.
func FuzzPiece(f *testing.F) {
	f.Add(packed([]byte("hello")), true)
	f.Add([]byte("hello"), false)
	f.Add(packed(make([]byte, 1<<20)), true)
	c := New(Options{})
	f.Fuzz(func(t *testing.T, body []byte, gzip bool) {
		d := &download{c: c, size: 1000, to: io.Discard}
		n, err := d.consume(piece{Chunk: Chunk{Data: body, Gzip: gzip}})
		if n > 1001 || n > 1000 && err == nil {
			t.Errorf("took %d bytes: %v", n, err)
		}
	})
}

// FuzzReply sends replies of any form to every file request.
func FuzzReply(f *testing.F) {
	for _, v := range []any{data.NewMap("data", []byte("x"), "dest", "f"),
		[]any{"a", []byte("b"), nil}, "", data.NewMap("hsum", "00", "hash_type", "md5"),
		data.NewMap("path", "/x", "stat", []any{int64(1), "2"}), nil} {
		raw, err := payload.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := payload.Unmarshal(raw, payload.WireLimits())
		if err != nil {
			return
		}
		asked := 0
		c := New(Options{CacheDir: t.TempDir(),
			Source: decoding(func(context.Context, *data.Map) (any, error) { asked++; return v, nil })})
		s := c.opts.Source
		_, _ = s.Envs(t.Context())
		_, _ = s.Files(t.Context(), "base", "")
		_, _ = s.Symlinks(t.Context(), "base", "")
		_, _ = s.Stat(t.Context(), "base", "f")
		_, _ = s.Tops(t.Context(), data.NewMap())
		_, _ = s.Hash(t.Context(), "base", "f")
		_, _ = s.Read(t.Context(), "base", "f", 0, 0)
		if asked > 7*tries {
			t.Errorf("%d requests", asked)
		}
	})
}
