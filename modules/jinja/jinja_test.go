package jinja_test

import (
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/internal/calls"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/jinja"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/render/all"
)

// minion returns a minion of a state tree.
func minion(t *testing.T, srv string) *loader.Registry {
	t.Helper()
	b := render.Brought{Renderers: all.Renderers(), Files: fileclient.Brought{Local: fileclient.OwnServer(fileserver.Makers{"roots": roots.Make})}}
	env := &loader.Env{Opts: data.NewMap("id", "web1", "cachedir", t.TempDir(), "file_client", "local", "fileserver_backend", []any{"roots"},
		"file_roots", data.NewMap("base", []any{srv}), "hash_type", "sha256", "saltenv", nil, "renderer", "jinja|yaml", "file_buffer_size", int64(262144))}
	r, err := loader.NewRegistry(env, []loader.Plugin{jinja.Plugin(b)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCalls(t *testing.T) {
	srv, err := filepath.Abs("testdata/srv")
	if err != nil {
		t.Fatal(err)
	}
	calls.Check(t, "testdata/calls.json", minion(t, srv).Invoke)
}
