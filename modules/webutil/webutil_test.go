package webutil_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/webutil"
	"github.com/brineproject/brine/render"
)

func newFunctions(t *testing.T, env *loader.Env) *loader.Registry {
	t.Helper()
	env.Opts = data.NewMap("id", "web1")
	r, err := loader.NewRegistry(env, []loader.Plugin{cmd.Plugin(render.Brought{}), webutil.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// testdata/calls.json has a sequence of calls with the results of Salt 3006.18 and htpasswd 2.4.
func TestCalls(t *testing.T) {
	need.Program(t, "htpasswd")
	root := t.TempDir()
	src, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode([]byte(strings.ReplaceAll(string(src), "ROOT", root)))
	if err != nil {
		t.Fatal(err)
	}
	r := newFunctions(t, &loader.Env{})
	for _, c := range vectors.Cases(t, v.([]any)) {
		c.Only("fun", "args", "kwargs", "value")
		got, err := r.Invoke(t.Context(), c.Text("fun"), c.List("args"), c.Object("kwargs"))
		if ran, ok := got.(*data.Map); ok {
			ran.Delete("pid")
		}
		if err != nil || !data.Equal(got, c.Value("value")) {
			t.Errorf("%s %s returns %s, %v\nwant %s", c.Text("fun"), data.Repr(c.List("args")), data.Repr(got), err,
				data.Repr(c.Value("value")))
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "htpasswd")); err != nil || len(text) > 0 {
		t.Errorf("the file has %q, %v", text, err)
	}
}

// TestArguments checks that passwords reach the program on its standard input, and that no argument
// is an option or has several lines.
func TestArguments(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"htpasswd", "file"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	var ran, input string
	r := newFunctions(t, &loader.Env{Run: func(_ context.Context, c *exec.Cmd) error {
		ran = strings.Join(c.Args[1:], " ")
		text, err := io.ReadAll(c.Stdin)
		input = string(text)
		return err
	}})
	file := filepath.Join(dir, "file")
	for fun, want := range map[string]string{"webutil.useradd": "-is " + file + " larry",
		"webutil.verify": "-ivs " + file + " larry"} {
		for range 2 {
			ran, input = "", ""
			_, err := r.Invoke(t.Context(), fun, []any{file, "larry", "marker", "s"}, nil)
			if err != nil || ran != want || input != "marker\n" {
				t.Errorf("%s runs %q with %q, %v, want %q", fun, ran, input, err, want)
			}
		}
	}
	ran = ""
	for _, args := range [][]any{{"-n", "larry", "x"}, {file, "-D", "x"}, {file, "a\nb", "x"}, {file, "a", "x\ny"},
		{file, "a:b", "x"}, {file, "a", "x", "D"}, {file, "a", "x", "s -D"},
		{file, "a", "x", "n"}, {file, "a", "x", "b"}, {file, "a", "x", "c"}, {file, "a", nil}} {
		for _, fun := range []string{"webutil.useradd", "webutil.verify"} {
			if got, err := r.Invoke(t.Context(), fun, args, nil); err == nil && got != false {
				t.Errorf("%s %s returns %s", fun, data.Repr(args), data.Repr(got))
			}
		}
	}
	if got, err := r.Invoke(t.Context(), "webutil.userdel", []any{file, "-n"}, nil); err == nil || ran != "" {
		t.Errorf("userdel returns %s, and it ran %q", data.Repr(got), ran)
	}
}
