package fileclient

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
)

// A recorded is a master that replays the captured answers of Salt's master to file requests.
type recorded struct {
	t       *testing.T
	replies map[string]any
}

// key identifies a request. It ignores values that are new each time, and fields whose absence
// means the same.
func key(load *data.Map) string {
	load = load.Clone()
	load.Delete("nonce")
	keys := load.Keys()
	slices.SortFunc(keys, func(a, b any) int { return slices.Compare([]byte(data.Str(a)), []byte(data.Str(b))) })
	sorted := data.NewMap()
	for _, k := range keys {
		sorted.Set(k, load.Value(k))
	}
	return data.Repr(sorted)
}

func (r *recorded) request(_ context.Context, load *data.Map) (any, error) {
	if reply, ok := r.replies[key(load)]; ok {
		return reply, nil
	}
	switch load.Text("cmd") {
	case "_file_find": // Salt's client requests it elsewhere
		return data.NewMap("path", "", "rel", ""), nil
	case "_serve_file": // beyond the end of a file
		return data.NewMap("data", "", "dest", load.Value("path")), nil
	}
	r.t.Errorf("Salt's client does not ask %s", key(load))
	return nil, errors.New("no such request was captured")
}

// TestVectorFiles fetches the files of Salt 3006.0's captured conversations, with the requests that
// Salt's client sent.
func TestVectorFiles(t *testing.T) {
	r := &recorded{t, map[string]any{}}
	files := map[string]string{}
	for _, c := range vectors.Load(t, "05-request.json").Section("requests") {
		for _, e := range c.Sub("exchanges") {
			load, ok := e.Map.Value("request_load").(*data.Map)
			if !ok {
				continue
			}
			r.replies[key(load)] = e.Map.Value("reply")
			if load.Text("cmd") == "_file_hash" {
				hash, _ := e.Map.Value("reply").(*data.Map)
				files[load.Text("path")] = hash.Text("hsum")
			}
		}
	}
	c := New(Options{Source: decoding(r.request), CacheDir: t.TempDir()})
	seen := 0
	for path, sum := range files {
		gzip := 0
		if r.replies[key(data.NewMap("path", path, "saltenv", "base", "cmd", "_serve_file",
			"loc", int64(0)))] == nil {
			gzip = 5
		}
		if path == "hello.txt" {
			continue // its content was not requested
		}
		dest := filepath.Join(t.TempDir(), "f")
		_, err := c.GetFile(t.Context(), "salt://"+path, dest, Get{Gzip: gzip})
		if sum == "" {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("GetFile(%s) = %v", path, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("GetFile(%s): %v", path, err)
			continue
		}
		if got, err := hashOf(dest, "sha256"); err != nil || got.Hex != sum {
			t.Errorf("%s has the hash %s, %v", path, got.Hex, err)
		}
		seen++
	}
	if seen < 4 {
		t.Errorf("%d files were got", seen)
	}
	if st, err := c.opts.Source.Stat(t.Context(), "base", "hello.txt"); err != nil ||
		st != (Stat{0o100644, 11}) {
		t.Errorf("Stat = %v, %v", st, err)
	}
	for _, list := range []func(context.Context, string, string) ([]string, error){c.Files, c.Dirs, c.EmptyDirs} {
		if _, err := list(t.Context(), "base", ""); err != nil {
			t.Error(err)
		}
	}
	if envs, err := c.Envs(t.Context()); err != nil || !slices.Contains(envs, "dev") {
		t.Errorf("Envs = %v, %v", envs, err)
	}
	if links, err := c.Symlinks(t.Context(), "base", ""); err != nil || links.Len() != 0 {
		t.Errorf("Symlinks = %v, %v", links, err)
	}
}
