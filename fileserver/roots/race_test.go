package roots

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/fileserver"
)

// TestFilesChangeUnderReaders replaces, renames, truncates and deletes files and re-links a
// directory while 20 clients get all listed files. Each file that they receive is a complete
// version, and lists are never stale.
func TestFilesChangeUnderReaders(t *testing.T) {
	dir := t.TempDir()
	const files = 100
	put(t, dir, "srv/sub/", "v0/", "v1/", "srv/current=->../v0")
	for i := range files {
		replace(t, filepath.Join(dir, "srv", fmt.Sprint(i)), version(i, 0))
	}
	for i := range 2 {
		replace(t, filepath.Join(dir, fmt.Sprint("v", i), "linked"), version(1000, i))
	}
	s := fileserver.New(fileserver.Options{Backends: []fileserver.Backend{backend(true,
		"base", []any{filepath.Join(dir, "srv")})}, BufferSize: 1000})
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	var writer, readers sync.WaitGroup
	steps := 0
	writer.Go(func() {
		for ; ctx.Err() == nil; steps++ {
			change(t, dir, steps, files)
			marker := fmt.Sprint("sub/", steps)
			put(t, dir, "srv/"+marker+"="+sealed("m"))
			if list, err := s.List(t.Context(),
				fileserver.ListOf{Env: "base", Prefix: "sub"}); err != nil || !slices.Contains(list, marker) {
				t.Errorf("step %d: a new file is not listed, %v", steps, err)
			}
			if err := os.Remove(filepath.Join(dir, "srv", marker)); err != nil {
				t.Error(err)
			}
			runtime.Gosched()
		}
	})
	var got [20]int
	for client := range got {
		readers.Go(func() { got[client] = getAll(t, s, fmt.Sprint("web", client)) })
	}
	readers.Wait()
	stop()
	writer.Wait()
	t.Logf("%d changes; files that clients got: %v", steps, got)
	if slices.Min(got[:]) < files/4 {
		t.Errorf("clients got %v files", got)
	}
}

// version returns a content of one or more pieces with a seal, so that a test can check that it is
// whole.
func version(i, n int) string {
	return sealed(strings.Repeat(fmt.Sprintf("%d.%d ", i, n), 20+i%7*200))
}

func sealed(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:]) + content
}

func intact(content string) bool {
	return content == "" || len(content) > 64 && sealed(content[64:]) == content
}

func replace(t *testing.T, name, content string) {
	t.Helper()
	temp := name + ".new"
	if err := errors.Join(os.WriteFile(temp, []byte(content), 0o644), os.Rename(temp, name)); err != nil {
		t.Error(err)
	}
}

// change makes one change to a tree.
func change(t *testing.T, dir string, step, files int) {
	t.Helper()
	i := rand.IntN(files)
	name := filepath.Join(dir, "srv", fmt.Sprint(i))
	var err error
	switch step % 6 {
	case 0, 1:
		replace(t, name, version(i, step))
	case 2:
		err = os.Truncate(name, 0)
	case 3:
		err = os.Remove(name)
	case 4:
		err = os.Rename(name, filepath.Join(dir, "srv", fmt.Sprint(rand.IntN(files))))
	case 5:
		temp := filepath.Join(dir, "link")
		err = errors.Join(os.Symlink(fmt.Sprintf("../v%d", step/6%2), temp),
			os.Rename(temp, filepath.Join(dir, "srv", "current")))
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// getAll gets all listed files, three times, and returns how many files it got.
func getAll(t *testing.T, s *fileserver.Server, client string) (files int) {
	for range 3 {
		list, err := s.List(t.Context(), fileserver.ListOf{Env: "base"})
		if err != nil {
			t.Error(err)
		}
		for _, name := range list {
			if strings.HasPrefix(name, "sub/") || strings.HasSuffix(name, ".new") {
				continue
			}
			content, err := get(t.Context(), s, name, client)
			switch {
			case err == nil && intact(content):
				files++
			case err == nil:
				t.Errorf("%s got a mixture of %s: %d bytes", client, name, len(content))
			case !errors.Is(err, fileserver.ErrNotFound) && !errors.Is(err, fileserver.ErrChanged):
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	return files
}

func get(ctx context.Context, s *fileserver.Server, name, client string) (string, error) {
	var all []byte
	for {
		c, err := s.Serve(ctx, fileserver.Request{Path: name, Env: "base", Loc: int64(len(all)),
			Client: client})
		if err != nil || len(c.Data) == 0 {
			return string(all), err
		}
		all = append(all, c.Data...)
	}
}

// TestMemoryDoesNotGrowWithFiles serves a large file to 20 clients.
func TestMemoryDoesNotGrowWithFiles(t *testing.T) {
	dir := t.TempDir()
	const size = 100 << 20
	f, err := os.Create(filepath.Join(dir, "big"))
	if err == nil {
		err = errors.Join(f.Truncate(size), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	s := fileserver.New(fileserver.Options{Backends: []fileserver.Backend{backend(true, "base", []any{dir})}})
	defer s.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var clients sync.WaitGroup
	for client := range 20 {
		clients.Go(func() {
			for loc := int64(0); loc < size; loc += 10 << 20 { // a tenth of the pieces will do
				if c, err := s.Serve(t.Context(),
					fileserver.Request{Path: "big", Env: "base", Loc: loc,
						Client: fmt.Sprint(client)}); err != nil || len(c.Data) != 1<<20 {
					t.Errorf("%d bytes at %d, %v", len(c.Data), loc, err)
				}
			}
		})
	}
	clients.Wait()
	if _, err := s.Hash(t.Context(), "big", "base"); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > size {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	// 200 pieces of 1 MiB were requested
	if pieces := (after.TotalAlloc - before.TotalAlloc) >> 20; pieces > 250 {
		t.Errorf("%d MiB were allocated for 200 MiB of pieces", pieces)
	}
}

// TestSlowClientKeepsItsVersion checks that a slow client keeps the version that it began with,
// though meanwhile more files are requested than may be open.
func TestSlowClientKeepsItsVersion(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "srv/")
	replace(t, filepath.Join(dir, "srv", "slow"), version(6, 0))
	s := fileserver.New(fileserver.Options{Backends: []fileserver.Backend{backend(true,
		"base", []any{filepath.Join(dir, "srv")})}, BufferSize: 1000})
	defer s.Close()
	piece := func(client, path string, loc int) string {
		t.Helper()
		c, err := s.Serve(t.Context(),
			fileserver.Request{Client: client, Env: "base", Path: path, Loc: int64(loc)})
		if err != nil {
			t.Fatal(err)
		}
		return string(c.Data)
	}
	got := piece("web1", "slow", 0)
	for i := range 300 {
		name := fmt.Sprint("other", i)
		replace(t, filepath.Join(dir, "srv", name), version(i, 1))
		for loc := 0; ; {
			data := piece(fmt.Sprint("db", i), name, loc)
			if data == "" {
				break
			}
			loc += len(data)
		}
	}
	replace(t, filepath.Join(dir, "srv", "slow"), version(6, 2))
	for {
		data := piece("web1", "slow", len(got))
		if data == "" {
			break
		}
		got += data
	}
	if got != version(6, 0) {
		t.Errorf("a mixture of %d bytes", len(got))
	}
	if piece("web1", "slow", 0) != version(6, 2)[:1000] {
		t.Error("who begins anew does not get what is there now")
	}
}
