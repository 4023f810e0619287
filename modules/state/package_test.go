package state_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/states"
)

// pack writes an archive as salt-ssh makes it, and returns its hash.
func pack(t *testing.T, file string, members ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(members); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: members[i], Mode: 0o644,
			Size: int64(len(members[i+1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(members[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close(), os.WriteFile(file, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:])
}

func TestPackage(t *testing.T) {
	dir := t.TempDir()
	opts := data.NewMap("id", "web1", "file_client", "remote",
		"cachedir", filepath.Join(dir, "cache"), "hash_type", "sha256", "renderer", "jinja|yaml",
		"saltenv", "base")
	registry, err := loader.NewRegistry(&loader.Env{Opts: opts}, states.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Opts: opts, Registries: map[string]*loader.Registry{"states": registry}}
	r, err := loader.NewRegistry(env, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	target, file := filepath.Join(dir, "made"), filepath.Join(dir, "state.tgz")
	low := `[{"state": "file", "fun": "managed", "name": "` + target +
		`", "__id__": "made", "__sls__": "web", "__env__": "base", "order": 10000, ` +
		`"source": "salt://f.jinja", "template": "jinja"}]`
	sum := pack(t, file, "lowstate.json", low, "base/f.jinja",
		"{{ pillar.word }} {{ grains.fact }}\n", "pillar.json", `{"word": "given"}`,
		"roster_grains.json", `{"fact": "known"}`)
	run := func(kwargs ...any) *data.Map {
		t.Helper()
		v, err := r.Invoke(t.Context(), "state.pkg", []any{file, sum, "sha256"}, data.NewMap(kwargs...))
		results, ok := v.(*data.Map)
		if err != nil || !ok || results.Len() != 1 {
			t.Fatalf("got %s, %v", data.Repr(v), err)
		}
		return results.Value("file_|-made_|-" + target + "_|-managed").(*data.Map)
	}
	if ret := run("test", true); ret.Value("result") != nil || ret.Text("comment") == "" {
		t.Errorf("in test mode %s", data.Repr(ret))
	}
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("test mode has written %s", target)
	}
	for i := range 2 {
		ret := run()
		if ret.Value("result") != true || data.Truth(ret.Value("changes")) != (i == 0) {
			t.Errorf("run %d: %s", i, data.Repr(ret))
		}
		if text, err := os.ReadFile(target); string(text) != "given known\n" {
			t.Errorf("the file has %q, %v", text, err)
		}
	}
}

func TestPackagesThatDoNotRun(t *testing.T) {
	h, dir := newHarness(t, nil), t.TempDir()
	at := filepath.Join(dir, "state.tgz")
	h.expect(t, "{}", 0, "state.pkg", filepath.Join(dir, "none.tgz"), "x", "sha256")
	pack(t, at, "lowstate.json", "[]")
	h.expect(t, "{}", 0, "state.pkg", at, "another", "sha256")
	for _, name := range []string{"../out", "a/../../out", "/out"} {
		h.expect(t, "{}", 0, "state.pkg", at, pack(t, at, name, "x", "lowstate.json", "[]"), "sha256")
	}
	h.expect(t, "['Rendering SLS failed']", 0, "state.pkg", at,
		pack(t, at, "lowstate.json", `["Rendering SLS failed"]`), "sha256")
}
