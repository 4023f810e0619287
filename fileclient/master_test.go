package fileclient

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// A fakeMaster answers _file_* commands as Salt's master does. It records its requests.
type fakeMaster struct {
	buffer int // bytes of a piece

	mu    sync.Mutex
	files map[string]string // environment/path → content
	empty []string
	asked []*data.Map
	busy  int
	most  int // most requests in progress at once
	// may reply instead of the fake; nil, nil to continue
	before func(load *data.Map) (reply any, err error)
	hold   func(load *data.Map)                            // called before a reply, without the lock held
	after  func(load *data.Map, reply *data.Map) *data.Map // may change a reply
}

func newMaster(files map[string]string) *fakeMaster { return &fakeMaster{buffer: 1000, files: files} }

func (f *fakeMaster) request(ctx context.Context, load *data.Map) (any, error) {
	f.enter(load)
	defer f.exit()
	if f.hold != nil {
		f.hold(load)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.before != nil {
		if reply, err := f.before(load); reply != nil || err != nil {
			return reply, err
		}
	}
	reply := f.answer(load)
	if m, ok := reply.(*data.Map); ok && f.after != nil {
		reply = f.after(load, m)
	}
	return reply, nil
}

func (f *fakeMaster) enter(load *data.Map) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, load)
	f.busy++
	f.most = max(f.most, f.busy)
}

func (f *fakeMaster) exit() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy--
}

func (f *fakeMaster) answer(load *data.Map) any {
	env, path := load.Text("saltenv"), strings.TrimPrefix(load.Text("path"), "|")
	body, found := f.files[env+"/"+path]
	switch load.Text("cmd") {
	case "_file_envs":
		return []any{"base", "dev"}
	case "_file_list":
		return f.list(env, load.Text("prefix"))
	case "_file_list_emptydirs":
		out := []any{}
		for _, d := range f.empty {
			out = append(out, d)
		}
		return out
	case "_file_hash":
		if !found {
			return ""
		}
		sum := sha256.Sum256([]byte(body))
		return data.NewMap("hash_type", "sha256", "hsum", hex.EncodeToString(sum[:]))
	case "_file_find":
		if !found {
			return data.NewMap("path", "", "rel", "")
		}
		return data.NewMap("path", "/srv/"+path, "rel", path, "stat",
			[]any{int64(0o100640), int64(1), int64(1), int64(1), int64(0), int64(0),
				int64(len(body)), int64(1), int64(1), int64(1)})
	case "_serve_file":
		return f.serve(load, path, body, found)
	}
	return data.NewMap()
}

func (f *fakeMaster) list(env, prefix string) []any {
	out := []any{}
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		if rel, ok := strings.CutPrefix(name, env+"/"); ok && strings.HasPrefix(rel, prefix) {
			out = append(out, rel)
		}
	}
	return out
}

func (f *fakeMaster) serve(load *data.Map, path, body string, found bool) any {
	if !found {
		return data.NewMap("data", "", "dest", "")
	}
	loc := min(int(load.Value("loc").(int64)), len(body))
	piece := []byte(body[loc:min(loc+f.buffer, len(body))])
	reply := data.NewMap("dest", path, "data", piece)
	if level, ok := load.Value("gzip").(int64); ok && len(piece) > 0 {
		reply.Set("data", packed(piece))
		reply.Set("gzip", level)
	}
	return reply
}

func packed(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

// count returns how often a command was requested, and forgets all recorded requests.
func (f *fakeMaster) count(cmd string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, load := range f.asked {
		if load.Text("cmd") == cmd {
			n++
		}
	}
	f.asked = nil
	return n
}

func (f *fakeMaster) set(name, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[name] = body
}

// client returns a client of the master with its own cache.
func (f *fakeMaster) client(t *testing.T) *Client {
	t.Helper()
	return New(Options{Source: decoding(f.request), CacheDir: t.TempDir()})
}

// long returns a text of n bytes in which no two pieces are alike.
func long(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()[:n]
}

var errLost = errors.New("connection lost")

// decoding returns the file server of a master whose replies all arrive decoded.
func decoding(request Request) Source {
	return Remote(request, func(ctx context.Context, load *data.Map) (data.Raw, error) {
		reply, err := request(ctx, load)
		if err != nil {
			return nil, err
		}
		return payload.MarshalBin(reply)
	})
}
