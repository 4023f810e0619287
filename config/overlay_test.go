package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestOverlay(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"local":     "test: true\nfileserver_backend: [git]\nfile_roots: {base: [/a]}\ninclude: more.conf\n",
		"more.conf": "pillarenv: dev\n",
		"broken":    "a: [\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opts := data.NewMap("id", "m", "test", false, "file_roots", data.NewMap("base", []any{"/srv"}))
	got, err := Overlay(filepath.Join(dir, "local"), opts, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := data.NewMap("id", "m", "test", true, "fileserver_backend", []any{"gitfs"},
		"file_roots", data.NewMap("base", []any{"/a"}), "pillarenv", "dev", "include", "more.conf",
		"conf_file", filepath.Join(dir, "local"))
	if !data.Equal(got, want) {
		t.Errorf("got %s, want %s", data.Repr(got), data.Repr(want))
	}
	if opts.Value("test") != false {
		t.Error("the options themselves are changed")
	}
	if got, err = Overlay(filepath.Join(dir, "missing"), opts, nil); err != nil ||
		got.Value("test") != false {
		t.Errorf("without a file: %s, %v", data.Repr(got), err)
	}
	if _, err = Overlay(filepath.Join(dir, "broken"), opts, nil); err == nil {
		t.Error("a broken file is taken")
	}
}
