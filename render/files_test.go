package render_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/render"
)

func TestRoots(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for at, text := range map[string]string{
		filepath.Join(first, "a"): "first", filepath.Join(second, "a"): "second",
		filepath.Join(second, "b"): "only second",
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
	for _, name := range []string{"c", "dir", "../" + filepath.Base(second) + "/b",
		"/etc/passwd", "a/b", ""} {
		if f, err := roots.Get(t.Context(), name, "base"); !errors.Is(err, fileclient.ErrNotFound) {
			t.Errorf("%q: got %v, %v", name, f.Path, err)
		}
	}
	if _, err := roots.Get(t.Context(), "a", "dev"); !errors.Is(err, fileclient.ErrNotFound) {
		t.Errorf("another environment: %v", err)
	}
}

// TestVersionsChangeWithEachEdit changes a file within one clock tick to another text of the same
// size, and restores its times.
func TestVersionsChangeWithEachEdit(t *testing.T) {
	dir := t.TempDir()
	at, past := filepath.Join(dir, "a"), time.Now().Add(-time.Hour)
	put := func(text string) os.FileInfo {
		t.Helper()
		if err := errors.Join(os.WriteFile(at, []byte(text), 0o644), os.Chtimes(at, past, past)); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(at)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	first := put("one")
	if f, err := (render.Roots{"base": {dir}}).Get(t.Context(), "a", "base"); err != nil ||
		runtime.GOOS == "linux" && f.Version != "" {
		t.Errorf("a file that was just written has version %q, %v", f.Version, err)
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	second, later := put("two"), time.Now().Add(time.Minute)
	if a, b := render.VersionOf(first, later), render.VersionOf(second, later); a == "" ||
		b == "" || runtime.GOOS == "linux" && a == b {
		t.Errorf("the versions are %q and %q", a, b)
	}
	put("new")
	if err := os.Chtimes(at, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	for after, sure := range map[time.Duration]bool{-time.Hour: false, 2 * time.Second: false,
		4 * time.Second: true} {
		if (render.VersionOf(st, st.ModTime().Add(after)) != "") != sure {
			t.Errorf("%s after the change: sure is not %v", after, sure)
		}
	}
}

// TestImportsAreNeverStale imports a file that is changed at once to another text of the same size.
func TestImportsAreNeverStale(t *testing.T) {
	dir := t.TempDir()
	e := engine(t, nil)
	for _, want := range []string{"1", "2", "3", "4", "5"} {
		if err := os.WriteFile(filepath.Join(dir, "map.jinja"), []byte("{% set x = "+want+" %}"),
			0o644); err != nil {
			t.Fatal(err)
		}
		got, err := e.Template(t.Context(),
			"jinja", render.Input{Text: "{% from './map.jinja' import x %}{{ x }}",
				Path: filepath.Join(dir, "t")})
		if err != nil || got != want {
			t.Fatalf("got %q, %v, want %s", got, err, want)
		}
	}
}

func TestFileTemplates(t *testing.T) {
	e := engine(t, nil)
	in := render.Input{Text: "{{ x }} {{ sls is defined }} {{ tpldir is defined }}\n",
		Path: "/srv/t", SaltEnv: "base", Vars: map[string]any{"x": int64(1)}}
	got, err := e.Template(t.Context(), "jinja", in)
	if err != nil || got != "1 False False\n" {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = e.Template(t.Context(), "mako", in)
	if want := `The renderer "mako" of /srv/t is a template engine of Python, which is not available here: write the file for jinja`; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	_, err = e.Template(t.Context(), "yaml", render.Input{Text: "a: 1", Path: "/srv/t"})
	if want := "the renderer yaml returns data, not text, for /srv/t: it cannot render file templates"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
