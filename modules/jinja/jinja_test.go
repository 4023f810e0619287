package jinja_test

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
	"github.com/brineproject/brine/modules/jinja"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
)

// minion returns a minion with a state tree.
func minion(t *testing.T, srv string) *loader.Registry {
	t.Helper()
	b := render.Brought{Renderers: stdrender.Renderers(),
		Files: fileclient.Brought{Local: fileclient.OwnServer(fileserver.Makers{"roots": roots.Make})}}
	env := &loader.Env{Opts: calls.TreeOptions(t, srv)}
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

// Names built from tpldir in a map are relative to the directory of the map, and absolute paths
// below the roots are found.
func TestLoadMapFindsItsFiles(t *testing.T) {
	srv := t.TempDir()
	for name, text := range map[string]string{
		"app/map.jinja":     `{% set root = tpldir.split("/")[0] %}{% import_yaml root ~ "/defaults.yaml" as app %}`,
		"app/defaults.yaml": "port: 1\n",
		"abs.jinja":         `{% from "` + srv + `/app/x.jinja" import x with context %}{% set y = x %}`,
		"app/x.jinja":       `{% set x = "here" %}`,
	} {
		if err := os.MkdirAll(filepath.Join(srv, "app"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(srv, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		path, name string
		want       any
	}{{"app/map.jinja", "app", data.NewMap("port", int64(1))}, {"abs.jinja", "y", "here"}} {
		v, err := minion(t, srv).Invoke(t.Context(), "jinja.load_map", []any{tt.path, tt.name}, nil)
		if err != nil || !data.Equal(v, tt.want) {
			t.Errorf("jinja.load_map %s %s = %s, %v, want %s", tt.path, tt.name, data.Repr(v), err,
				data.Repr(tt.want))
		}
	}
	if _, err := minion(t, srv).Invoke(t.Context(), "jinja.load_map", []any{"/etc/passwd", "x"},
		nil); err == nil {
		t.Error("a file outside the roots was read")
	}
}

// TestDictionariesArePlain checks that outputters sort the results, as in Salt
// (salt/modules/jinja.py, _strip_odict).
func TestDictionariesArePlain(t *testing.T) {
	srv := t.TempDir()
	files := map[string]string{
		"m.jinja": `{% set x = {"z": [{"b": 1, "a": 2}], "a": 1} %}`,
		"m.yaml":  "z: [{b: 1, a: 2}]\na: 1\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(srv, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for fun, args := range map[string][]any{"jinja.load_map": {"m.jinja", "x"},
		"jinja.import_yaml": {"m.yaml"}} {
		v, err := minion(t, srv).Invoke(t.Context(), fun, args, nil)
		outer, ok := v.(*data.Map)
		if err != nil || !ok || outer.Ordered() {
			t.Fatalf("%s returned %s, %v", fun, data.Repr(v), err)
		}
		list, _ := outer.Value("z").([]any)
		if inner, ok := list[0].(*data.Map); !ok || inner.Ordered() {
			t.Errorf("%s: the inner dictionary is an OrderedDict", fun)
		}
	}
}
