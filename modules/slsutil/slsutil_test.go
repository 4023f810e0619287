package slsutil_test

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
	"github.com/brineproject/brine/modules/cp"
	"github.com/brineproject/brine/modules/slsutil"
	"github.com/brineproject/brine/modules/test"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
)

// minion returns a minion with a state tree.
func minion(t *testing.T, srv string) *loader.Registry {
	t.Helper()
	b := render.Brought{Renderers: stdrender.Renderers(),
		Files: fileclient.Brought{Local: fileclient.OwnServer(fileserver.Makers{"roots": roots.Make})}}
	env := &loader.Env{Opts: calls.TreeOptions(t, srv)}
	r, err := loader.NewRegistry(env, []loader.Plugin{cp.Plugin(b), slsutil.Plugin(b), test.Plugin()})
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
	calls.Check(t, "testdata/calls.json", minion(t, srv).Invoke, "SRV", srv)
}

// TestTemplatesSeeChanges checks that slsutil.update changes the dictionary in the template, and
// that slsutil.merge does so only with the strategy overwrite.
func TestTemplatesSeeChanges(t *testing.T) {
	r := minion(t, "testdata/srv")
	for text, want := range map[string]string{
		`{% set d = {"a": {"x": 1}} %}{% set in = d.a %}{% do salt["slsutil.update"](d, {"a": {"y": 2}}) %}{{ d }} {{ in.y }}`: "{'a': {'x': 1, 'y': 2}} 2",
		`{% set d = {"a": 1} %}{% set e = salt.slsutil.merge(d, {"a": 2, "b": 3}) %}{{ d }} {{ e }}`:                           "{'a': 1} {'a': 2, 'b': 3}",
		`{% set d = {"a": 1} %}{% set e = salt.slsutil.merge(d, {"a": 2, "b": 3}, "overwrite") %}{{ d }}`:                      "{'a': 2}",
	} {
		for range 2 {
			got, err := r.Invoke(t.Context(), "slsutil.renderer", nil,
				data.NewMap("string", text, "default_renderer", "jinja"))
			if err != nil || got != want {
				t.Errorf("%s = %v, %v, want %s", text, got, err, want)
			}
		}
	}
}

// TestSerializeOfAJob checks that fields of a publication are not passed as options of a format.
func TestSerializeOfAJob(t *testing.T) {
	r := minion(t, "testdata/srv")
	got := r.Call(t.Context(), "slsutil.serialize", []any{"json", data.NewMap("a", int64(1))},
		loader.CallOptions{Pub: data.NewMap("fun", "slsutil.serialize", "jid", "1")})
	if got.Value != `{"a": 1}` {
		t.Errorf("slsutil.serialize = %v", got.Value)
	}
}

// TestRendererWithinItself checks that a template which renders itself gets an error.
func TestRendererWithinItself(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "self.sls"),
		[]byte(`a: {{ salt["slsutil.renderer"]("salt://self.sls") }}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := minion(t, dir).Invoke(t.Context(), "slsutil.renderer", []any{"salt://self.sls"},
		nil); err == nil {
		t.Errorf("it gives %v", got)
	}
}
