package defaults_test

import (
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cp"
	"github.com/brineproject/brine/modules/defaults"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
)

// minion returns a minion with a state tree.
func minion(t *testing.T, srv string) *loader.Registry {
	t.Helper()
	b := render.Brought{Files: fileclient.Brought{Local: fileclient.OwnServer(fileserver.Makers{"roots": roots.Make})}}
	env := &loader.Env{Opts: calls.TreeOptions(t, srv)}
	r, err := loader.NewRegistry(env, []loader.Plugin{cp.Plugin(b), defaults.Plugin()})
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
	r := minion(t, srv)
	calls.Check(t, "testdata/calls.json", r.Invoke, "CACHE", r.Env().Opts.Text("cachedir"))
}

// Dictionaries that a template passes to defaults.merge and defaults.update change in the template.
func TestTemplatesSeeChanges(t *testing.T) {
	r := minion(t, "testdata/srv")
	e, err := render.New(render.Options{Env: r.Env(), Renderers: stdrender.Renderers()})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{% set d = {"a": {"x": 1}} %}{% do salt["defaults.merge"](d, {"a": {"y": 2}}) %}{{ d }}`:                  "{'a': {'x': 1, 'y': 2}}",
		`{% set d = {"a": 1} %}{% set e = salt.defaults.merge(d, {"b": 2}, in_place=False) %}{{ d }}{{ e }}`:       "{'a': 1}{'a': 1, 'b': 2}",
		`{% set d = {"h": {"x": 1}} %}{% do salt.defaults.update(d, {"y": [2]}) %}{{ d }}`:                         "{'h': {'y': [2], 'x': 1}}",
		`{% set d = {"a": {"x": 1}} %}{% set e = salt.defaults.deepcopy(d) %}{% do e.a.update({"x": 2}) %}{{ d }}`: "{'a': {'x': 1}}",
	} {
		for range 2 {
			got, err := e.Render(t.Context(), render.Input{Text: text, Default: "jinja"})
			if err != nil || got != want {
				t.Errorf("%s = %v, %v, want %s", text, got, err, want)
			}
		}
	}
}
