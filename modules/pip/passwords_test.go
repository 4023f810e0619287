package pip_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/pip"
	"github.com/brineproject/brine/render"
)

// TestPasswordsNotInArguments checks that pip receives passwords in URLs through environment
// variables, and all else as in Salt, so that the process list shows no password.
func TestPasswordsNotInArguments(t *testing.T) {
	program := filepath.Join(t.TempDir(), "pip")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var ran []*exec.Cmd
	env := &loader.Env{Opts: data.NewMap("id", "web1", "proxy_host", "proxy",
		"proxy_port", int64(3128), "proxy_username", "u", "proxy_password", "marker1"),
		Run: func(_ context.Context, c *exec.Cmd) error {
			ran = append(ran, c)
			return nil
		}}
	funcs, err := loader.NewRegistry(env, []loader.Plugin{cmd.Plugin(render.Brought{}), pip.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ran = nil
		_, err = funcs.Invoke(t.Context(), "pip.install", []any{"demo"},
			data.NewMap("bin_env", program, "index_url", "https://pypi.example.com/simple",
				"extra_index_url", "https://u:marker2@h/simple"))
		if err != nil || len(ran) != 1 {
			t.Fatalf("it ran %d programs, %v", len(ran), err)
		}
		if got := strings.Join(ran[0].Args[1:],
			" "); got != "install --index-url https://pypi.example.com/simple demo" {
			t.Errorf("it ran %s", got)
		}
		for _, want := range []string{"PIP_PROXY=http://u:marker1@proxy:3128",
			"PIP_EXTRA_INDEX_URL=https://u:marker2@h/simple"} {
			if !slices.Contains(ran[0].Env, want) {
				t.Errorf("the environment has no %s: %q", want, ran[0].Env)
			}
		}
	}
	for _, fun := range []string{"pip.install", "pip.uninstall"} {
		if _, err := funcs.Invoke(t.Context(), fun, []any{"--index-url=http://evil,demo"},
			data.NewMap("bin_env", program)); err == nil {
			t.Errorf("%s takes an option for the name of a package", fun)
		}
	}
}
