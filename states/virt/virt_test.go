package virt_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
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

// Symbolic links and the owners of files stay. Private keys are for their owner alone.
func TestLinks(t *testing.T) {
	root := t.TempDir()
	pillar := loader.Plugin{Name: "pillar", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("ext", func(context.Context, extArgs) (any, error) {
			return data.NewMap("libvirt.serverkey.pem", "key\n", "libvirt.cacert.pem", "ca\n"), nil
		})}}, nil
	}}
	states := runs.New(t, &loader.Env{Root: root}, []loader.Plugin{pillar}, state.Plugin())
	files := map[string]os.FileMode{"libvirt/private/serverkey.pem": 0o600, "CA/cacert.pem": 0o664}
	owner := func(path string) [2]uint32 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		stat := info.Sys().(*syscall.Stat_t)
		return [2]uint32{stat.Uid, stat.Gid}
	}
	owners := map[string][2]uint32{}
	for name := range files {
		link := filepath.Join(root, "etc/pki", name)
		target := filepath.Join(root, filepath.Base(name))
		err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.WriteFile(target, nil, 0o600),
			os.Chmod(target, 0o664), os.Symlink(target, link))
		if os.Getuid() == 0 {
			err = errors.Join(err, os.Chown(target, 12, 34))
		}
		if err != nil {
			t.Fatal(err)
		}
		owners[name] = owner(target)
	}
	for _, comment := range []string{"Updated libvirt certs and keys", "All keys are correct"} {
		if got := states.Run(t, false, "virt.keys", "x", nil); got.Text("comment") != comment {
			t.Errorf("got %s, want %s", data.Repr(got), comment)
		}
		for name, mode := range files {
			target := filepath.Join(root, filepath.Base(name))
			to, err := os.Readlink(filepath.Join(root, "etc/pki", name))
			info, _ := os.Stat(target)
			if err != nil || to != target || info.Size() == 0 || info.Mode() != mode || owner(target) != owners[name] {
				t.Errorf("%s: a link to %s, %v, %v", name, to, info.Mode(), err)
			}
		}
	}
}
