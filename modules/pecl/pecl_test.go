package pecl

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
)

func registry(t *testing.T) *loader.Registry {
	t.Helper()
	bin, err := filepath.Abs("../../states/pecl/testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE", t.TempDir())
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCalls makes calls in sequence, with the answers of Salt 3006.18: pecl.list, pecl.install,
// pecl.update and pecl.uninstall.
func TestCalls(t *testing.T) { calls.Sequence(t, "testdata/calls.json", registry(t).Invoke) }

// An installation that fails returns False, also if others are installed; several names are several
// extensions, and a version must be the one that is asked for.
func TestInstall(t *testing.T) {
	r := registry(t)
	for _, c := range []struct {
		names any
		want  bool
	}{{"mongo", true}, {"bad", false}, {[]any{"a", "b-2.1", "pecl.php.net/c"}, true}, {[]any{"d", "bad"}, false}, {"ask", false}} {
		if got, err := r.Invoke(t.Context(), "pecl.install", []any{c.names}, nil); err != nil || got != c.want {
			t.Errorf("%v: %v, %v", c.names, got, err)
		}
	}
	list := data.NewMap("a", []any{"1.0", "stable"})
	if !has(list, "a") || !has(list, "a-1.0") || has(list, "a-2.0") || has(list, "b") {
		t.Error("versions are mixed up")
	}
}

// Names reach pecl neither as options nor as several lines.
func TestRefused(t *testing.T) {
	r := registry(t)
	for _, bad := range []string{"--x", "a\nb"} {
		for fun, args := range map[string][]any{"install": {bad}, "update": {bad}, "uninstall": {bad}, "list": {bad}} {
			if got, err := r.Invoke(t.Context(), "pecl."+fun, args, nil); err == nil {
				t.Errorf("%s %q gives %s", fun, bad, data.Repr(got))
			}
		}
	}
	if got, err := r.Invoke(t.Context(), "pecl.install", []any{"a"}, data.NewMap("preferred_state", "a\nb")); err == nil {
		t.Errorf("a state of two lines gives %v", got)
	}
}
