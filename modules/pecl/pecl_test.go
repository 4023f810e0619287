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

// An extension may have a state, or a channel as an address. For an archive the return code of pecl counts.
func TestForms(t *testing.T) {
	r := registry(t)
	for range 2 {
		for _, c := range []struct {
			name, state string
			want        bool
		}{
			{"xdebug-beta", "stable", true}, {"apcu-beta", "beta", true}, {"yaml-stable", "beta", false},
			{"redis-snapshot", "devel", true}, {"bad-beta", "stable", false},
			{"channel://pecl.php.net/x-1.0", "stable", true},
			{"channel://pecl.php.net/bad-1.0", "stable", false}, {"https://example.com/get/y-1.0.tgz", "stable", true},
			{"https://example.com/get/bad", "stable", false}, {"/srv/z-1.0.tgz", "stable", true},
			{"/srv/bad-1.0.tgz", "stable", false}, {"./package.xml", "stable", true},
		} {
			got, err := r.Invoke(t.Context(), "pecl.install", []any{c.name}, data.NewMap("preferred_state", c.state))
			if err != nil || got != c.want {
				t.Errorf("%s: %v, %v", c.name, got, err)
			}
		}
	}
	list := data.NewMap("a", []any{"1.0", "beta"})
	for name, want := range map[string]bool{"a-beta": true, "a-alpha": true, "a-devel": true,
		"a-stable": false, "a-x": false, "abeta": false, "a-": false} {
		if has(list, name) != want {
			t.Errorf("%s: %v", name, !want)
		}
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
