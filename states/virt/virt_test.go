package virt_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	state "github.com/brineproject/brine/states/virt"
)

type extArgs struct {
	External any
	Pillar   any
}

// TestKeys writes the keys that the pillar has, once. Test mode writes nothing.
func TestKeys(t *testing.T) {
	root, given := t.TempDir(), data.NewMap("libvirt.serverkey.pem", "key\n", "libvirt.cacert.pem", "ca\n", "other", "x")
	var asked any
	pillar := loader.Plugin{Name: "pillar", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("ext", func(_ context.Context, a extArgs) (any, error) {
			asked = []any{a.External, a.Pillar}
			return given, nil
		})}}, nil
	}}
	states := runs.New(t, &loader.Env{Root: root}, []loader.Plugin{pillar}, state.Plugin())
	run := func(test bool, result any, comment string, changes ...any) {
		t.Helper()
		got := states.Run(t, test, "virt.keys", "libvirt_keys", data.NewMap("country", "DE"))
		if want := data.NewMap("name", "libvirt_keys", "result", result, "changes", data.NewMap(changes...),
			"comment", comment); !data.Equal(got, want) {
			t.Errorf("got %s, want %s", data.Repr(got), data.Repr(want))
		}
	}
	run(true, nil, "Libvirt keys are set to be updated")
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("test mode leaves %v, %v", left, err)
	}
	run(false, true, "Updated libvirt certs and keys", "serverkey", "new", "cacert", "new")
	run(false, true, "All keys are correct")
	run(true, true, "All keys are correct")
	if want := []any{data.NewMap("libvirt", "_"), data.NewMap("ext_pillar_virt.country", "DE")}; !data.Equal(asked, want) {
		t.Errorf("asked for %s", data.Repr(asked))
	}
	for path, want := range map[string]struct {
		text string
		mode os.FileMode
	}{"libvirt/private/serverkey.pem": {"key\n", 0o600}, "CA/cacert.pem": {"ca\n", 0o644}} {
		path = filepath.Join(root, "etc/pki", path)
		text, err := os.ReadFile(path)
		if info, _ := os.Stat(path); err != nil || string(text) != want.text || info.Mode().Perm() != want.mode {
			t.Errorf("%s: %q, %v, %v", path, text, info.Mode(), err)
		}
	}
	given.Set("libvirt.cacert.pem", "another\n")
	run(false, true, "Updated libvirt certs and keys", "cacert", "update")
	given = data.NewMap("other", "x")
	run(false, false, "The pillar has no keys of libvirt")
	given = data.NewMap("libvirt.clientcert.pem", "c\n")
	if err := os.MkdirAll(filepath.Join(root, "etc/pki/libvirt/clientcert.pem"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := states.Run(t, false, "virt.keys", "x", nil); got.Value("result") != false {
		t.Errorf("a directory in place of a file: %s", data.Repr(got))
	}
}
