package aliases

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
)

type anyArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// shelf returns a registry with the module and a file, and records the programs that it runs.
func shelf(t *testing.T, file string, ran *[]any) *loader.Registry {
	t.Helper()
	fake := func(module, fun string, do func(args []any) any) loader.Plugin {
		return loader.Plugin{Name: module, New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{loader.F(fun,
				func(_ context.Context, a anyArgs) (any, error) { return do(a.Args), nil })}}, nil
		}}
	}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{
		fake("config", "option", func([]any) any { return file }),
		fake("cmd", "run", func(args []any) any { *ran = append(*ran, args[0]); return "" }),
		Plugin(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRuns compares results and the resulting file with those of Salt 3006.18:
// aliases.list_aliases, aliases.get_target, aliases.has_target, aliases.set_target and
// aliases.rm_alias.
func TestRuns(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no newaliases
	src, err := os.ReadFile("testdata/runs.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range vectors.Cases(t, list.([]any)) {
		c.Only("start", "calls")
		file := filepath.Join(t.TempDir(), "aliases")
		if c.Value("start") != nil {
			if err := os.WriteFile(file, []byte(c.Text("start")), 0o640); err != nil {
				t.Fatal(err)
			}
		}
		r := shelf(t, file, new([]any))
		for _, one := range c.Sub("calls") {
			one.Only("fun", "args", "value", "error", "text")
			v, err := r.Invoke(t.Context(), one.Text("fun"), one.List("args"), nil)
			switch {
			case one.Has("error") && (err == nil || calls.Text(err) != one.Text("error")):
				t.Errorf("%s %s: %v, want %s", one.Text("fun"), data.Repr(one.List("args")), err,
					one.Text("error"))
			case !one.Has("error") && (err != nil || !data.Equal(v, one.Value("value"))):
				t.Errorf("%s %s = %s, %v, want %s", one.Text("fun"), data.Repr(one.List("args")),
					data.Repr(v), err, data.Repr(one.Value("value")))
			}
			text, err := os.ReadFile(file)
			if want := one.Value("text"); want == nil && err == nil || want != nil && string(text) != want {
				t.Errorf("after %s %s the file is\n%q, want\n%q", one.Text("fun"),
					data.Repr(one.List("args")), text, want)
			}
		}
		if info, err := os.Stat(file); err == nil && c.Value("start") != nil && info.Mode().Perm() != 0o640 {
			t.Errorf("the file has mode %v now", info.Mode())
		}
	}
}

// TestNewaliasesRuns checks that newaliases runs after a change, and only then.
func TestNewaliasesRuns(t *testing.T) {
	dir, ran := t.TempDir(), []any{}
	program := filepath.Join(dir, "newaliases")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	r := shelf(t, filepath.Join(dir, "aliases"), &ran)
	for range 2 {
		if v, err := r.Invoke(t.Context(), "aliases.set_target", []any{"a", "b"}, nil); v != true ||
			err != nil {
			t.Fatalf("%v, %v", v, err)
		}
	}
	if !data.Equal(ran, []any{program}) {
		t.Errorf("ran %s", data.Repr(ran))
	}
	if _, err := r.Invoke(t.Context(), "aliases.set_target", []any{"a", "b\nroot: mallory"},
		nil); err == nil {
		t.Error("a target brings a line of its own")
	}
}
