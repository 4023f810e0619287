package npm_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"os/exec"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/npm"
	"github.com/brineproject/brine/render"
)

// install puts a program into the search path.
func install(t *testing.T, name string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// testdata/calls.json has the commands and results of Salt 3006.18.
func TestCalls(t *testing.T) {
	install(t, "npm")
	replay.Check(t, "testdata/calls.json",
		replay.Options{Root: t.TempDir(), Plugins: []loader.Plugin{npm.Plugin()}})
}

// TestOperands checks that no argument reaches the program as an option or as several lines.
func TestOperands(t *testing.T) {
	install(t, "npm")
	shell := &replay.Shell{}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), npm.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fun string
		arg any
	}{
		{"npm.install", "--prefix=/"}, {"npm.install", "a\nb"}, {"npm.uninstall", "-x"},
		{"npm.list", "-x"}, {"npm.cache_clean", "-x"}, {"npm.cache_list", "-x"},
	} {
		if got, err := r.Invoke(t.Context(), c.fun, []any{c.arg}, nil); err == nil {
			t.Errorf("%s %v returns %s", c.fun, c.arg, data.Repr(got))
		}
	}
	if data.Repr(shell.Ran) != "[]" {
		t.Errorf("it ran %s", data.Repr(shell.Ran))
	}
}

// TestPasswordNotInArguments checks that the password of a registry reaches npm in its environment.
func TestPasswordNotInArguments(t *testing.T) {
	install(t, "npm")
	var ran []*exec.Cmd
	env := &loader.Env{Opts: data.NewMap("id", "web1"), Run: func(_ context.Context, c *exec.Cmd) error {
		ran = append(ran, c)
		return nil
	}}
	r, err := loader.NewRegistry(env, []loader.Plugin{cmd.Plugin(render.Brought{}), npm.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ran = nil
		_, err = r.Invoke(t.Context(), "npm.install", []any{"x"},
			data.NewMap("registry", "https://u:marker@r.example/", "env", data.NewMap("A", "b")))
		if err != nil || len(ran) != 1 {
			t.Fatalf("it ran %d programs, %v", len(ran), err)
		}
		if want := []string{"install", "--json", "--silent", "--global", "x"}; !slices.Equal(ran[0].Args[1:], want) {
			t.Errorf("the arguments are %q", ran[0].Args)
		}
		for _, want := range []string{"npm_config_registry=https://u:marker@r.example/", "A=b"} {
			if !slices.Contains(ran[0].Env, want) {
				t.Errorf("the environment has no %s", want)
			}
		}
	}
}
