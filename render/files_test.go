package render_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/render"
)

func TestRoots(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for at, text := range map[string]string{
		filepath.Join(first, "a"): "first", filepath.Join(second, "a"): "second", filepath.Join(second, "b"): "only second",
	} {
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(first, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	roots := render.Roots{"base": {first, second}}
	for name, want := range map[string]string{"a": "first", "b": "only second"} {
		f, err := roots.Get(t.Context(), name, "base")
		if err != nil {
			t.Fatal(err)
		}
		if b, err := f.Read(); string(b) != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", name, b, err, want)
		}
	}
	for _, name := range []string{"c", "dir", "../" + filepath.Base(second) + "/b", "/etc/passwd", "a/b", ""} {
		if f, err := roots.Get(t.Context(), name, "base"); !errors.Is(err, fileclient.ErrNotFound) {
			t.Errorf("%q: got %v, %v", name, f.Path, err)
		}
	}
	if _, err := roots.Get(t.Context(), "a", "dev"); !errors.Is(err, fileclient.ErrNotFound) {
		t.Errorf("another environment: %v", err)
	}
}

func TestFileTemplates(t *testing.T) {
	e := engine(t, nil)
	in := render.Input{Text: "{{ x }} {{ sls is defined }} {{ tpldir is defined }}\n", Path: "/srv/t", SaltEnv: "base", Vars: map[string]any{"x": int64(1)}}
	got, err := e.Template(t.Context(), "jinja", in)
	if err != nil || got != "1 False False\n" {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = e.Template(t.Context(), "mako", in)
	if want := `The renderer "mako" of /srv/t is a template engine of Python, which is not available here: write the file for jinja`; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	_, err = e.Template(t.Context(), "yaml", render.Input{Text: "a: 1", Path: "/srv/t"})
	if want := "the renderer yaml makes data, no text, of /srv/t: it cannot render file templates"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
