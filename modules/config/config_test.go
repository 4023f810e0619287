package config

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
)

// goldens returns testdata/calls.json: the results of Salt 3006.0 for the given options, grains and
// pillar.
func goldens(t *testing.T) *data.Map {
	t.Helper()
	src, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*data.Map)
}

// registry returns the module config of a minion together with other modules.
func registry(t *testing.T, opts, grains, pillar *data.Map, more ...loader.Plugin) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{
		Opts: opts, Grains: func() *data.Map { return grains },
		Pillar: func() *data.Map { return pillar }, Root: t.TempDir(),
	}, append(more, Plugin()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCalls(t *testing.T) {
	all := goldens(t)
	opts, grains, pillar := all.Value("opts").(*data.Map), all.Value("grains").(*data.Map),
		all.Value("pillar").(*data.Map)
	r := registry(t, opts, grains, pillar)
	before := data.Repr(all)
	for i, c := range all.Value("cases").([]any) {
		c := c.(*data.Map)
		args, _ := c.Value("args").([]any)
		kwargs, _ := c.Value("kwargs").(*data.Map)
		t.Run(fmt.Sprintf("%d %s %s %s", i, c.Text("fun"), data.Repr(args), data.Repr(kwargs)),
			func(t *testing.T) {
				got, err := r.Invoke(t.Context(), c.Text("fun"), args, kwargs)
				if want, ok := c.Value("error").(*data.Map); ok {
					checkError(t, err, want)
					return
				}
				if err != nil || !same(got, c.Value("result")) {
					t.Errorf("returned %s, %v\nwant  %s", data.Repr(got), err, data.Repr(c.Value("result")))
				}
			})
	}
	if data.Repr(all) != before {
		t.Error("the calls changed options, grains or pillar")
	}
}

func checkError(t *testing.T, err error, want *data.Map) {
	t.Helper()
	if err == nil || !strings.Contains(loader.Traceback(err), want.Text("type")+": "+want.Text("message")) {
		t.Errorf("returned %v, want %s", err, data.Repr(want))
	}
}

// same reports whether two values are equal and of the same types; the order of dictionaries does
// not matter.
func same(a, b any) bool {
	return data.Equal(a, b) && loader.TypeName(a) == loader.TypeName(b)
}

func TestVectorConfig(t *testing.T) {
	opts := data.NewMap("master_port", int64(4606), "hash_type", "sha256", "id", "web2")
	r := registry(t, opts, data.NewMap("id", "web2"), data.NewMap("company", "acme"))
	f, ran := vectors.Load(t, "10-cli.json"), 0
	for _, section := range []string{"modules", "salt_call"} {
		for _, c := range f.Section(section) {
			argv := c.List("argv")
			if len(argv) < 2 {
				continue // without a function
			}
			fun, _ := argv[1].(string)
			if !strings.HasPrefix(fun, "config.") {
				continue // of another module
			}
			ran++
			t.Run(section+" "+data.Repr(argv), func(t *testing.T) {
				c := c.On(t)
				c.Only("program", "argv", "exit_code", "stdout", "stderr", "volatile", "seq")
				id := "web1"
				if section == "salt_call" {
					id = "local"
				}
				res := r.Call(t.Context(), fun, argv[2:], loader.CallOptions{})
				text, err := output.Printout(output.Choice{Asked: res.Out, Fun: fun},
					data.NewMap(id, res.Value), output.Options{Indent: output.NoIndent{}})
				if err != nil || strings.TrimRight(text, "\n") != strings.TrimRight(c.Text("stdout"), "\n") {
					t.Errorf("prints %q, %v, want %q", text, err, c.Text("stdout"))
				}
			})
		}
	}
	if ran != 5 {
		t.Errorf("ran %d cases of config, want 5", ran)
	}
}

func TestItemsAreTheOptions(t *testing.T) {
	got, err := registry(t, data.NewMap("a", int64(1)), data.NewMap("os", "Debian"),
		data.NewMap("p", "q")).Invoke(t.Context(), "config.items", nil, nil)
	if want := "{'a': 1, 'grains': {'os': 'Debian'}, 'pillar': {'p': 'q'}}"; err != nil ||
		data.Repr(got) != want {
		t.Errorf("returned %s, %v, want %s", data.Repr(got), err, want)
	}
}

func TestMergeListsAsTheMasterDoes(t *testing.T) {
	r := registry(t, data.NewMap("l", []any{"a", "b"}), nil, data.NewMap("l", []any{"c", "b"}))
	dir := filepath.Join(r.Env().Root, "etc", "salt")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	merged := func() string {
		v, err := r.Invoke(t.Context(), "config.get", []any{"l"}, data.NewMap("merge", "recurse"))
		if err != nil {
			t.Fatal(err)
		}
		return data.Repr(v)
	}
	if got := merged(); got != "['a', 'b']" {
		t.Errorf("without a master: %s", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "master"), []byte("pillar_merge_lists: true\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if got := merged(); got != "['c', 'b', 'a']" {
		t.Errorf("with pillar_merge_lists: %s", got)
	}
}

func TestSDB(t *testing.T) {
	opts := data.NewMap("password", "sdb://vault/k/1", "vault", data.NewMap("driver", "kv"),
		"other", "sdb://elsewhere/k", "elsewhere", data.NewMap("x", 1))
	r := registry(t, opts, nil, nil)
	res := r.Call(t.Context(), "config.get", []any{"password"}, loader.CallOptions{})
	if want := "ERROR: cannot look up sdb://vault/k/1: sdb has no driver kv here"; res.Value != want {
		t.Errorf("without a driver: %v", res.Value)
	}
	if v, err := r.Invoke(t.Context(), "config.get", []any{"other"}, nil); err != nil ||
		v != "sdb://elsewhere/k" {
		t.Errorf("without a driver in the profile: %v, %v", v, err)
	}
	type args struct {
		Key     string
		Profile any
	}
	kv, err := loader.NewRegistry(&loader.Env{},
		[]loader.Plugin{{Name: "kv", New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{loader.F("get",
				func(_ context.Context, a args) (any, error) {
					return "value of " + a.Key + " by " + data.Repr(a.Profile), nil
				})}}, nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	r.Env().Registries = map[string]*loader.Registry{"sdb": kv}
	if v, err := r.Invoke(t.Context(), "config.get", []any{"password"}, nil); err != nil ||
		v != "value of k/1 by {'driver': 'kv'}" {
		t.Errorf("with a driver: %v, %v", v, err)
	}
}

// getURL returns a module cp that fetches URLs.
func getURL(body any) loader.Plugin {
	return loader.Plugin{Name: "cp", New: func(*loader.Env) (*loader.Module, error) {
		type args struct {
			Path string
			Dest any
		}
		return &loader.Module{Funcs: []loader.Func{loader.F("get_url",
			func(_ context.Context, a args) (any, error) {
				if a.Dest != nil || a.Path != bootstrapURL && a.Path != "http://x/y.sh" {
					return nil, fmt.Errorf("unexpected %v", a)
				}
				return body, nil
			})}}, nil
	}}
}

func TestGatherBootstrapScript(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(t.TempDir(), "mine.sh")
	if err := os.WriteFile(source, []byte("echo hi\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	more := t.TempDir()
	opts := data.NewMap("conf_file", filepath.Join(dir, "minion"), "deploy_scripts_search_path",
		[]any{filepath.Join(more, "missing"), more})
	tests := []struct {
		name, arg, file, body string
		cp                    []loader.Plugin
	}{
		{"path", source, "mine.sh", "echo hi\n", nil},
		{"text", "echo x", "392262810eba6c114d8c9007df3dff6b616b76dd.sh", "echo x", nil},
		{"address", "http://x/y.sh", "y.sh", "fetched", []loader.Plugin{getURL("fetched")}},
		{"usual", "", "bootstrap-salt.sh", "fetched", []loader.Plugin{getURL("fetched")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := registry(t, opts, nil, nil, tt.cp...).Invoke(t.Context(),
				"config.gather_bootstrap_script", []any{tt.arg}, nil)
			if err != nil || got != filepath.Join(more, tt.file) {
				t.Fatalf("returned %v, %v, want %s", got, err, filepath.Join(more, tt.file))
			}
			for _, d := range []string{more, filepath.Join(dir, "cloud.deploy.d")} {
				if body, err := os.ReadFile(filepath.Join(d, tt.file)); err != nil ||
					string(body) != tt.body {
					t.Errorf("in %s: %q, %v", d, body, err)
				}
			}
		})
	}
}

func TestGatherBootstrapScriptFails(t *testing.T) {
	opts := data.NewMap("conf_file", filepath.Join(t.TempDir(), "minion"))
	for name, cp := range map[string][]loader.Plugin{"no cp": nil, "no file": {getURL(false)}} {
		res := registry(t, opts, nil, nil, cp...).Call(t.Context(),
			"config.gather_bootstrap_script", nil, loader.CallOptions{})
		if text, _ := res.Value.(string); !strings.HasPrefix(text,
			"ERROR: Failed to download the latest stable version of the bootstrap-salt.sh script") {
			t.Errorf("%s: %v", name, res.Value)
		}
	}
}
