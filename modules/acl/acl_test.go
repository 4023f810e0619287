package acl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
)

// program puts a program getfacl into the search path; it is never run.
func program(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "getfacl"), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// testdata/calls.json has the commands and results of Salt 3006.18 for output of getfacl 2.3.1.
func TestCalls(t *testing.T) {
	program(t)
	replay.Check(t, "testdata/calls.json", replay.Options{Root: t.TempDir(),
		Plugins: []loader.Plugin{Plugin()}})
}

// No argument reaches setfacl as an option or as several lines.
func TestOperands(t *testing.T) {
	program(t)
	shell := &replay.Shell{}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for fun, args := range map[string][]any{
		"getfacl": {"-x"}, "wipefacls": {"/a", "--restore=x"}, "modfacl": {"user", "bob", "r", "-x"},
		"delfacl": {"user", "a\nb", "/a"},
	} {
		if got, err := r.Invoke(t.Context(), "acl."+fun, args, nil); err == nil {
			t.Errorf("%s %s returns %s", fun, data.Repr(args), data.Repr(got))
		}
	}
	for _, args := range [][]any{{"user", "bob:rwx,user:eve", "r", "/a"}, {"user", "bob", "r,o::rwx", "/a"}} {
		if got, err := r.Invoke(t.Context(), "acl.modfacl", args, nil); err == nil {
			t.Errorf("%s returns %s", data.Repr(args), data.Repr(got))
		}
	}
	if got, err := r.Invoke(t.Context(), "acl.delfacl", []any{"user", "bob,g:x", "/a"}, nil); err == nil {
		t.Errorf("two entries to delete give %s", data.Repr(got))
	}
	if data.Repr(shell.Ran) != "[]" {
		t.Errorf("it ran %s", data.Repr(shell.Ran))
	}
}

// A list that cannot be read is an error. A file that does not exist has none.
func TestUnreadable(t *testing.T) {
	program(t)
	shell := &replay.Shell{}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for text, fails := range map[string]bool{"getfacl: /a: No such file or directory": false,
		"getfacl: /a/b: Permission denied": true, "": true,
		"getfacl: /a: No such file or directory\ngetfacl: /b: Input/output error": true} {
		shell.Answers = data.NewMap("getfacl --absolute-names /a",
			data.NewMap("retcode", int64(1), "stdout", "# file: /a\nuser::rwx\n", "stderr", text))
		if got, err := r.Invoke(t.Context(), "acl.getfacl", []any{"/a"}, nil); (err != nil) != fails {
			t.Errorf("%q gives %s, %v", text, data.Repr(got), err)
		}
	}
}

// TestFiles changes the list of a real file.
func TestFiles(t *testing.T) {
	need.Program(t, "getfacl", "setfacl")
	file := filepath.Join(t.TempDir(), "a b")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Opts: data.NewMap("id", "web1")}
	r, err := loader.NewRegistry(env, []loader.Plugin{cmd.Plugin(render.Brought{}), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	call := func(fun string, args ...any) any {
		got, err := r.Invoke(t.Context(), "acl."+fun, args, data.NewMap("raise_err", true))
		if err != nil {
			t.Fatalf("%s: %v", fun, err)
		}
		return got
	}
	entries := func() string {
		list, _ := call("getfacl", file).(*data.Map).Value(file).(*data.Map)
		return data.Repr(list.Value("user"))
	}
	const other = "'65533': {'permissions': {'read': True, 'write': False, 'execute': True}, 'octal': 5}"
	call("modfacl", "user", "65533", "rx", file)
	if got := entries(); !strings.Contains(got, other) {
		t.Errorf("after modfacl: %s", got)
	}
	call("delfacl", "u", "65533", file)
	if got := entries(); strings.Contains(got, "65533") {
		t.Errorf("after delfacl: %s", got)
	}
	_, err = r.Invoke(t.Context(), "acl.modfacl", []any{"user", "no such user", "r", file},
		data.NewMap("raise_err", true))
	if loader.KindOf(err) != loader.KindExecution || !strings.Contains(err.Error(), "setfacl") {
		t.Errorf("an unknown user: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("# file: /a\\040b\n# owner: root\n# group: root\n# flags: s-t\nuser::rwx\n" +
		"user:bob:rwx\t#effective:r--\nmask::r--\n")
	f.Add("default:user::rwx\n#\n# file: x\ndefault:other::---\n::")
	f.Fuzz(func(t *testing.T, text string) {
		for file, v := range parse(text).All() {
			list, ok := v.(*data.Map)
			if comment, _ := list.Value("comment").(*data.Map); !ok || !comment.Has("file") {
				t.Errorf("%q: %s has %s", text, data.Repr(file), data.Repr(v))
			}
		}
	})
}
