package nfs3

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

const file = "# what is exported\n/srv/a 10.0.2.0/24(rw,sync) *.example.com(ro)\n" +
	"/srv/b /srv/c *(ro)\n\n/srv/a host(rw)\n"

// site puts a program showmount into the search path, which is never run, and returns a function that
// writes the exports below root.
func site(t *testing.T, root string) func(*testing.T, int) {
	t.Helper()
	for _, dir := range []string{"bin", "etc"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "bin/showmount"), []byte("#!/bin/false\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
	return func(t *testing.T, _ int) {
		if err := os.WriteFile(filepath.Join(root, "etc/exports"), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// testdata/calls.json has the results of Salt 3006.18 for the file above.
func TestCalls(t *testing.T) {
	root := t.TempDir()
	replay.Check(t, "testdata/calls.json",
		replay.Options{Root: root, Plugins: []loader.Plugin{Plugin()}, Before: site(t, root)})
}

// TestFile checks the text of the file after changes, and what is refused.
func TestFile(t *testing.T) {
	root := t.TempDir()
	fresh := site(t, root)
	r, err := loader.NewRegistry(&loader.Env{Root: root}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	call := func(fun string, kwargs *data.Map) (string, error) {
		fresh(t, 0)
		_, err := r.Invoke(t.Context(), "nfs3."+fun, nil, kwargs)
		text, readErr := os.ReadFile(filepath.Join(root, "etc/exports"))
		if readErr != nil {
			t.Fatal(readErr)
		}
		return string(text), err
	}
	for _, tt := range []struct {
		fun      string
		kwargs   *data.Map
		old, new string
	}{
		{"add_export", data.NewMap("path", "/srv/a", "hosts", "h", "options", []any{"rw"}), "(ro)\n/srv/b",
			"(ro) h(rw)\n/srv/b"},
		{"add_export", data.NewMap("path", "/srv/c", "hosts", "h"), "host(rw)\n", "host(rw)\n/srv/c h()\n"},
		{"add_export", data.NewMap("path", "/srv/d", "hosts", "h", "options", "rw,sync"), "host(rw)\n",
			"host(rw)\n/srv/d h(rw,sync)\n"},
		{"del_export", data.NewMap("path", "/srv/b"), "/srv/b /srv/c", "/srv/c"},
	} {
		if got, err := call(tt.fun, tt.kwargs); err != nil ||
			got != strings.Replace(file, tt.old, tt.new, 1) {
			t.Errorf("%s %s: %v\n%s", tt.fun, data.Repr(tt.kwargs), err, got)
		}
	}
	if got, err := call("del_export", data.NewMap("path", "/srv/a")); err != nil ||
		got != "# what is exported\n/srv/b /srv/c *(ro)\n\n" {
		t.Errorf("without /srv/a: %v\n%s", err, got)
	}
	for _, kwargs := range []*data.Map{
		data.NewMap("path", "/a b", "hosts", "h"), data.NewMap("path", "/a", "hosts", "h(rw) *"),
		data.NewMap("path", "/a", "hosts", "h", "options", []any{"rw\n/etc *(rw)"}),
		data.NewMap("path", "/a\\", "hosts", "h"), data.NewMap("path", "a", "hosts", "h"),
		data.NewMap("path", "/a", "hosts", "-rw"), data.NewMap("path", "/a", "hosts", "/b"),
	} {
		if got, err := call("add_export", kwargs); err == nil || got != file {
			t.Errorf("%s gives %v and\n%s", data.Repr(kwargs), err, got)
		}
	}
}
