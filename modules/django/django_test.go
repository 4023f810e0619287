package django

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
)

func registry(t *testing.T, bin string) *loader.Registry {
	t.Helper()
	path, err := filepath.Abs(bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path+":/usr/bin:/bin")
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCalls makes calls with the answers of Salt 3006.18: django.command, django.syncdb, django.migrate,
// django.createsuperuser, django.loaddata and django.collectstatic.
func TestCalls(t *testing.T) {
	calls.Check(t, "testdata/calls.json", registry(t, "testdata/bin").Invoke)
}

// The program of a virtual environment counts; without any the error says so.
func TestProgram(t *testing.T) {
	r := registry(t, t.TempDir())
	if got, err := r.Invoke(t.Context(), "django.migrate", []any{"s"}, nil); err == nil ||
		!strings.Contains(err.Error(), "not found on PATH") {
		t.Errorf("without django-admin: %v, %v", got, err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/bin/django-admin")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "bin/django-admin")
	if err := os.WriteFile(file, text, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, bin := range []string{dir, file} {
		got, err := r.Invoke(t.Context(), "django.loaddata", []any{"my settings", "a b,c", bin}, nil)
		if err != nil || got != "4 words: loaddata a b c --settings=my settings" {
			t.Errorf("%s: %v, %v", bin, got, err)
		}
	}
}

// Names reach django-admin neither as options nor as several lines.
func TestRefused(t *testing.T) {
	r := registry(t, "testdata/bin")
	for _, bad := range []string{"--x", "a\nb"} {
		for fun, args := range map[string][]any{"migrate": {"s", bad}, "loaddata": {"s", bad}} {
			if got, err := r.Invoke(t.Context(), "django."+fun, args, nil); err == nil {
				t.Errorf("%s %q gives %v", fun, args, got)
			}
		}
	}
	if got, err := r.Invoke(t.Context(), "django.syncdb", []any{"a\nb"}, nil); err == nil {
		t.Errorf("settings of two lines give %v", got)
	}
}
