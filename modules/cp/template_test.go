package cp

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/test"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
)

// TestTemplates compares with the results of Salt 3006.0. testdata/templates.json has calls of
// cp.get_template, and of functions whose arguments may be templates, with files of the directory
// testdata/templates.
func TestTemplates(t *testing.T) {
	srv, err := filepath.Abs("testdata/templates")
	if err != nil {
		t.Fatal(err)
	}
	out, cache := t.TempDir(), t.TempDir()
	env := &loader.Env{
		Opts: data.NewMap("cachedir", cache, "id", "web1", "hash_type", "sha256", "file_client",
			"local", "fileserver_backend", []any{"roots"}, "file_roots", data.NewMap("base",
				[]any{srv}), "file_buffer_size", int64(262144), "saltenv", nil),
		Grains: func() *data.Map { return data.NewMap("id", "web1") },
		Pillar: func() *data.Map { return data.NewMap("p", "PV") },
	}
	b := render.Brought{Renderers: stdrender.Renderers(),
		Files: fileclient.Brought{Local: fileclient.OwnServer(fileserver.Makers{"roots": roots.Make})}}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin(b), test.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	calls.Check(t, "testdata/templates.json", r.Invoke, "SRV", srv, "OUT", out, "CACHE", cache)
	if info, err := os.Stat(filepath.Join(out, "motd")); err != nil || info.Mode() != 0o600 {
		t.Errorf("what a template became has mode %v, %v", info.Mode(), err)
	}
	source := filepath.Join(out, "own.txt") // a template on the minion itself, without a destination
	if err := os.WriteFile(source, []byte("{{ word }}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := r.Invoke(t.Context(), "cp.get_template", []any{source, ""}, data.NewMap("word", "said"))
		text, _ := os.ReadFile(data.Str(got))
		if want := filepath.Join(cache, "extrn_files", "base", source); err != nil || got != want ||
			string(text) != "said\n" {
			t.Errorf("cp.get_template of a path = %v, %v with %q, want %s", got, err, text, want)
		}
	}
	if got, err := r.Invoke(t.Context(),
		"cp.get_file", []any{"salt://{{ pillar.q }}/x", filepath.Join(out, "q")},
		data.NewMap("template", "jinja", "pillar", data.NewMap("q", "web1"))); err != nil ||
		got != filepath.Join(out, "q") {
		t.Errorf("cp.get_file with a pillar of its own = %v, %v", got, err)
	}
}
