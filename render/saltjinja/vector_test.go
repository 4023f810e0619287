package saltjinja

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// TestVectorJinja compares text and errors with those of Salt.
func TestVectorJinja(t *testing.T) {
	f := vectors.Load(t, "states/jinja.json")
	r := New()
	for _, c := range vectors.Cases(t, f.List) {
		t.Run(c.Text("id"), func(t *testing.T) { checkVector(t, r, c.On(t)) })
	}
	if len(f.List) < 288 {
		t.Errorf("%d cases, want 288", len(f.List))
	}
}

func checkVector(t *testing.T, r *Renderer, c *vectors.Case) {
	c.Only("id", "template", "files", "context", "opts", "expect")
	opts := data.NewMap("id", "web1")
	if env := c.Map.Value("opts"); env != nil {
		opts.Set("jinja_env", env)
	}
	vars := vectorVars(t)
	if more, ok := c.Map.Value("context").(*data.Map); ok {
		for k, v := range more.All() {
			vars[k.(string)] = v
		}
	}
	e := engine(t, r, &loader.Env{Opts: opts}, roots(t, c.Map.Value("files")))
	got, err := e.Template(t.Context(),
		"jinja", render.Input{Text: c.Text("template"), SaltEnv: "base", Vars: vars})
	want := c.Object("expect")
	text, fine := want.Get("text")
	switch {
	case fine && (err != nil || !sameText(c.Text("id"), got, text.(string))):
		t.Errorf("%s\ngot  %q, %v\nwant %q", c.Text("template"), got, err, text)
	case !fine && (err == nil || !pattern(want.Text("message")).MatchString(err.Error())):
		t.Errorf("%s\ngot  %q, %v\nwant %s", c.Text("template"), got, err, want.Text("message"))
	}
}

// sameText compares texts. One case prints a set of letters, whose order Python changes with each
// process.
func sameText(id, got, want string) bool {
	if id != "filt-09" {
		return got == want
	}
	a, b := strings.Split(got, ""), strings.Split(want, "")
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b) && strings.HasPrefix(got, "[1, 2, 3] ")
}

// pattern matches a message of the vectors, in which some marks stand for any text.
func pattern(message string) *regexp.Regexp {
	expr := regexp.QuoteMeta(message)
	expr = strings.ReplaceAll(expr, "\n@TRACEBACK@\n", `\n(?:(?s:.*)\n)?`)
	expr = strings.ReplaceAll(expr, "@TRACEBACK@", `(?s:.*)`)
	expr = strings.ReplaceAll(expr, "@CACHE@", `[^\n]*`)
	return regexp.MustCompile(`\A` + expr + `\z`)
}

func engine(t testing.TB, r *Renderer, env *loader.Env, files render.Files) *render.Engine {
	t.Helper()
	reg, err := loader.NewRegistry(env, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := render.New(render.Options{Env: reg.Env(), Files: files,
		Renderers: []render.Renderer{r, render.YAML{}, render.JSON{}}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// roots writes files of an environment base to a directory.
func roots(t testing.TB, files any) render.Roots {
	t.Helper()
	dir := t.TempDir()
	m, _ := files.(*data.Map)
	for name, text := range m.All() {
		at := filepath.Join(dir, name.(string))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text.(string)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return render.Roots{"base": {dir}}
}

// vectorVars returns the variables of every case, as in the README of the vectors.
func vectorVars(t *testing.T) map[string]any {
	t.Helper()
	v, err := vectors.Decode([]byte(`{
		"x": 5, "s": "Hello World", "lst": [3, 1, 2], "d": {"b": 1, "a": 2}, "nested": {"x": {"y": [1, {"z": "deep"}]}},
		"tree": [{"n": "a", "c": [{"n": "b", "c": []}, {"n": "c", "c": [{"n": "d", "c": []}]}]}, {"n": "e", "c": []}],
		"grains": {"os": "Debian", "os_family": "Debian", "roles": ["web", "cache"], "id": "web1"},
		"pillar": {"app": {"port": 8080, "hosts": ["a", "b"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]any{}
	for k, v := range v.(*data.Map).All() {
		vars[k.(string)] = v
	}
	return vars
}
