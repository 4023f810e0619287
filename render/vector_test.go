package render_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/render"
)

// TestVectorRender runs the steps of the vectors that call slsutil.renderer. The others compile
// states.
func TestVectorRender(t *testing.T) {
	ran := 0
	for _, c := range vectors.Cases(t, vectors.Load(t, "states/render.json").List) {
		for _, step := range c.Sub("steps") {
			if step.List("argv")[0] == "slsutil.renderer" {
				ran++
				t.Run(c.Text("id"), func(t *testing.T) { checkRenderer(t, c.On(t), step.On(t)) })
			}
		}
	}
	if ran < 5 {
		t.Errorf("%d steps, want 5", ran)
	}
}

func checkRenderer(t *testing.T, c, step *vectors.Case) {
	c.Only("id", "group", "files", "config", "steps")
	dir := t.TempDir()
	for name, text := range c.Object("files").Value("base").(*data.Map).All() {
		if err := os.WriteFile(filepath.Join(dir, name.(string)), []byte(text.(string)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	opts := data.NewMap("id", "web1", "cachedir", t.TempDir(), "file_client", "local",
		"fileserver_backend", []any{"roots"}, "hash_type", "sha256",
		"file_roots", data.NewMap("base", []any{dir}), "saltenv", nil, "renderer", "jinja|yaml",
		"file_buffer_size", int64(262144))
	if c.Has("config") {
		opts.Update(c.Object("config"))
	}
	grains := data.NewMap("os", "Debian", "num_cpus", int64(4))
	reg, err := loader.NewRegistry(&loader.Env{Opts: opts,
		Grains: func() *data.Map { return grains }}, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	args, kwargs := []any{}, data.NewMap()
	for _, arg := range step.List("argv")[1:] {
		if name, value, ok := loader.ParseKwarg(arg.(string)); ok {
			kwargs.Set(name, value)
		} else {
			args = append(args, arg)
		}
	}
	want := step.Object("expect")
	for range 2 {
		got, err := reg.Invoke(t.Context(), "slsutil.renderer", args, kwargs)
		if gist, fails := want.Get("fails_with"); fails {
			if calls.Text(err) != gist {
				t.Errorf("got %v, %v, want %s", got, err, gist)
			}
			continue
		}
		if err != nil || !data.Equal(got, want.Value("return")) {
			t.Errorf("got %s, %v, want %s", data.Repr(got), err, data.Repr(want.Value("return")))
		}
	}
}

// TestVectorErrorExcerpts renders the first SLS of broken ones that a renderer rejects.
func TestVectorErrorExcerpts(t *testing.T) {
	const begin = "Rendering SLS 'base:a' failed: "
	ran := 0
	for _, c := range vectors.Cases(t, vectors.Load(t, "states/error.json").List) {
		want := firstError(c)
		if !strings.HasPrefix(want, begin) ||
			c.Object("files").Value("base").(*data.Map).Text("a.sls") == "" {
			continue
		}
		ran++
		t.Run(c.Text("id"), func(t *testing.T) { checkBroken(t, c.On(t), want[len(begin):]) })
	}
	if ran < 15 {
		t.Errorf("%d cases, want 15 or more", ran)
	}
}

func firstError(c *vectors.Case) string {
	step := c.Sub("steps")[0]
	list, _ := step.Object("expect").Value("return").([]any)
	if len(list) == 0 {
		return ""
	}
	text, _ := list[0].(string)
	return text
}

func checkBroken(t *testing.T, c *vectors.Case, want string) {
	dir := t.TempDir()
	files := c.Object("files").Value("base").(*data.Map)
	for name, text := range files.All() {
		at := filepath.Join(dir, name.(string))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text.(string)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	e := engine(t, render.Roots{"base": {dir}})
	_, err := e.Render(t.Context(),
		render.Input{Text: files.Text("a.sls"), Path: filepath.Join(dir, "a.sls"), SaltEnv: "base", SLS: "a"})
	expr := regexp.QuoteMeta(want)
	expr = strings.ReplaceAll(expr, "\n@TRACEBACK@\n", `\n(?:(?s:.*)\n)?`)
	expr = strings.ReplaceAll(expr, "\n\n@TRACEBACK@", `\n(?s:.*)`)
	expr = strings.ReplaceAll(expr, "@TRACEBACK@", `(?s:.*)`)
	if err == nil || !regexp.MustCompile(`\A`+expr+`\z`).MatchString(err.Error()) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
