package augeas

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
)

// host returns the module on a host with two files.
func host(t *testing.T) (r *loader.Registry, root string, fresh func()) {
	t.Helper()
	need.Program(t, "augtool")
	root = t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	fresh = func() {
		for name, text := range map[string]string{"hosts": "127.0.0.1 localhost\n192.168.1.1 test t\n",
			"other": "10.0.0.1 other\n"} {
			if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	fresh()
	env := &loader.Env{Root: root, Opts: data.NewMap("id", "web1")}
	r, err := loader.NewRegistry(env, []loader.Plugin{cmd.Plugin(render.Brought{}), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r, root, fresh
}

// testdata/calls.json has the results of Salt 3006.18 with the library Augeas 1.14, for the two files.
func TestCalls(t *testing.T) {
	r, _, fresh := host(t)
	calls.Check(t, "testdata/calls.json",
		func(ctx context.Context, fun string, args []any, kwargs *data.Map) (any, error) {
			fresh()
			return r.Invoke(ctx, fun, args, kwargs)
		})
}

// TestFiles checks what is saved, and that nothing is if a command fails.
func TestFiles(t *testing.T) {
	r, root, fresh := host(t)
	read := func() string {
		text, err := os.ReadFile(filepath.Join(root, "etc/hosts"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := read()
	for _, tt := range []struct {
		commands []any
		want     string // "" for an error and the old file
	}{
		{[]any{"set 1/canonical me", "rm 2"}, "127.0.0.1 me\n"},
		{[]any{`set "*[ipaddr = '192.168.1.1']/canonical" "it"`}, "127.0.0.1 localhost\n192.168.1.1 it t\n"},
		{[]any{"set 1/canonical me", "mv 9 8"}, ""},
		{[]any{"set 1/canonical 'a\nset b'"}, ""},
	} {
		fresh()
		kwargs := data.NewMap("context", "/files/etc/hosts", "lens", "Hosts.lns", "commands", tt.commands)
		got, err := r.Invoke(t.Context(), "augeas.execute", nil, kwargs)
		if (err == nil) != (tt.want != "") {
			t.Errorf("%q gives %s, %v", tt.commands, data.Repr(got), err)
		}
		if want := tt.want; read() != want && (want != "" || read() != before) {
			t.Errorf("%q makes the file %q", tt.commands, read())
		}
	}
}

func TestCommand(t *testing.T) {
	if got := command("set", `a[. = "x\y"]`, "it's"); got != `set "a[. = \"x\\y\"]" "it's"` {
		t.Errorf("the command is %s", got)
	}
}

func FuzzNodes(f *testing.F) {
	f.Add("/files/etc/hosts/1 = (none)\n/a = b = c\n  (no matches)\n")
	f.Fuzz(func(t *testing.T, text string) {
		for path := range nodes(text).All() {
			if !strings.HasPrefix(data.Str(path), "/") {
				t.Errorf("%q has the node %s", text, data.Repr(path))
			}
		}
		translate(text, "/files/x")
	})
}

// An augtool that does not run is an error, and not a file without nodes or a saved one.
func TestFailures(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "augtool"), []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for fun, args := range map[string][]any{"match": {"/files"}, "ls": {"/files"}, "tree": {"/files"},
		"setvalue": {"/files/a", "b"}, "execute": {"/files/a", nil, []any{"set b c"}}, "remove": {"/files/a"}} {
		if got, err := r.Invoke(t.Context(), "augeas."+fun, args, nil); err == nil {
			t.Errorf("%s gives %s", fun, data.Repr(got))
		}
	}
}
