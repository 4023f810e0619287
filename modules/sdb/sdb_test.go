package sdb

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/render"
)

func registry(t *testing.T, opts *data.Map) *loader.Registry {
	t.Helper()
	file, err := filepath.Abs("testdata/a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pillar := data.NewMap("inpillar", data.NewMap("driver", "yaml", "files", []any{file}))
	env := &loader.Env{Opts: opts, Pillar: func() *data.Map { return pillar }}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin(render.Brought{}), config.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// profiles returns the profiles that testdata/calls.json was made with.
func profiles(t *testing.T) *data.Map {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	files := func(driver string, more ...any) *data.Map {
		m := data.NewMap("driver", "yaml")
		var list []any
		for _, name := range strings.Fields(driver) {
			list = append(list, filepath.Join(dir, name))
		}
		m.Set("files", list)
		m.Update(data.NewMap(more...))
		return m
	}
	return data.NewMap("myenv", data.NewMap("driver", "env"),
		"nofiles", data.NewMap("driver", "yaml"), "nodriver", data.NewMap("a", int64(1)),
		"nope", data.NewMap("driver", "nope"), "text", "hello", "at", "sdb://myyaml/user",
		"myyaml", files("a.yaml b.yaml nope.yaml list.yaml"), "mybad", files("bad.yaml"),
		"mylists", files("a.yaml b.yaml", "merge", data.NewMap("merge_lists", true)),
		"mylist", files("a.yaml b.yaml", "merge", data.NewMap("strategy", "list")))
}

func TestCalls(t *testing.T) {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("BRINE_TEST_SET", "here")
	for _, name := range []string{"NEW", "HASH", "NUM", "X"} {
		t.Setenv("BRINE_TEST_"+name, "") // restored when the test ends
		if err := os.Unsetenv("BRINE_TEST_" + name); err != nil {
			t.Fatal(err)
		}
	}
	calls.Check(t, "testdata/calls.json", registry(t, profiles(t)).Invoke, "SRV", dir)
}

// TestGetOrSetHash checks that a random text is stored and that the next call returns the same one.
func TestGetOrSetHash(t *testing.T) {
	t.Setenv("BRINE_TEST_HASH", "")
	if err := os.Unsetenv("BRINE_TEST_HASH"); err != nil {
		t.Fatal(err)
	}
	r := registry(t, profiles(t))
	var first any
	for i := range 2 {
		got, err := r.Invoke(t.Context(),
			"sdb.get_or_set_hash", []any{"sdb://myenv/BRINE_TEST_HASH", int64(40)}, nil)
		if text, ok := got.(string); err != nil || !ok || len(text) != 40 || i > 0 && got != first {
			t.Errorf("run %d = %v, %v, after %v", i, got, err, first)
		}
		first = got
	}
}

// TestUnknownDriver checks that the error for an unknown driver names the drivers. Salt returns a
// traceback.
func TestUnknownDriver(t *testing.T) {
	r := registry(t, data.NewMap("kept", data.NewMap("driver", "sqlite3", "password", "hunter2")))
	for _, f := range []string{"sdb.get", "sdb.delete", "sdb.get_or_set_hash"} {
		got := r.Call(t.Context(), f, []any{"sdb://kept/x"}, loader.CallOptions{})
		if want := "ERROR: The sdb driver 'sqlite3' does not exist. Available drivers: env, yaml"; got.Value != want || got.Retcode == 0 {
			t.Errorf("%s: %s, code %d, want %s", f, data.Repr(got.Value), got.Retcode, want)
		}
	}
}

// TestConfigGet checks that config.get resolves sdb URIs.
func TestConfigGet(t *testing.T) {
	r := registry(t, profiles(t))
	for key, want := range map[string]any{"at": "root", "text": "hello", "myyaml:driver": "yaml"} {
		for range 2 {
			if got, err := r.Invoke(t.Context(), "config.get", []any{key}, nil); err != nil || got != want {
				t.Errorf("config.get %s = %v, %v, want %v", key, got, err, want)
			}
		}
	}
}

// TestDecrypted checks that values pass through the renderer gpg if the profile sets gpg.
func TestDecrypted(t *testing.T) {
	file, err := filepath.Abs("testdata/a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Opts: data.NewMap("safe",
		data.NewMap("driver", "yaml", "gpg", true, "files", []any{file}))}
	r, err := loader.NewRegistry(env,
		[]loader.Plugin{Plugin(render.Brought{Renderers: []render.Renderer{unseal{}}})})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := r.Invoke(t.Context(), "sdb.get", []any{"sdb://safe/pass:db"},
			nil); err != nil || got != "clear" {
			t.Errorf("sdb.get = %v, %v", got, err)
		}
	}
}

// unseal replaces the renderer gpg.
type unseal struct{}

func (unseal) Name() string { return "gpg" }

func (unseal) Render(_ context.Context, s *render.Step) (any, error) {
	if data.Equal(s.Data.(*data.Map).Value("pass"), data.NewMap("db", "secret", "list", []any{"a", "b"})) {
		return data.NewMap("pass", data.NewMap("db", "clear")), nil
	}
	return s.Data, nil
}
