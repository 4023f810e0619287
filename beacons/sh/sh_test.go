package sh

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// TestParse has lines of strace and what Salt makes of them.
func TestParse(t *testing.T) {
	for line, want := range map[string]string{
		`[pid  4321] execve("/bin/ls", ["ls", "-l", "/tmp"], 0x55d /* 20 vars */) = 0`: "{'cmd': '/bin/ls', 'args': ['ls', '-l', '/tmp']}",
		`strace: Process 4321 attached`: "None",
		`execve("/bin/true"`:            "{'cmd': '/bin/true', 'args': []}",
	} {
		var got any
		if event := parse(line); event != nil {
			got = event
		}
		if data.Repr(got) != want {
			t.Errorf("%s: %s, want %s", line, data.Repr(got), want)
		}
	}
}

// TestTrace traces two shells with a program in place of strace, which ends for the second.
func TestTrace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	bin := t.TempDir()
	script := "#!/bin/sh\necho 'execve(\"/bin/ls\", [\"ls\"]) = 0' >&2\n[ \"$5\" = 8 ] || exec sleep 100\n"
	if err := os.WriteFile(filepath.Join(bin, "strace"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	procs := data.NewMap("7", data.NewMap("cmd", "-bash", "user", "ann"), "8", data.NewMap("cmd", "sh", "user", "bob"),
		"9", data.NewMap("cmd", "nginx", "user", "www"), "10", data.NewMap("cmd", "", "user", "root"))
	env := &loader.Env{}
	functions, err := loader.NewRegistry(env, []loader.Plugin{
		module("cmd", "shells", func() any { return []any{"/bin/bash", "/bin/sh"} }),
		module("status", "procs", func() any { return procs }),
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := loader.NewRegistry(functions.Env(), []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, scope := loader.WithScope(t.Context())
	seen := map[string]bool{}
	for end := time.Now().Add(20 * time.Second); len(seen) < 2 && time.Now().Before(end); {
		got, err := r.Invoke(ctx, "sh.beacon", []any{[]any{}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range data.ListOf(got) {
			seen[data.Repr(e)] = true
		}
		procs.Delete("8") // its strace ends, so it must not start again
	}
	for _, want := range []string{"{'cmd': '/bin/ls', 'args': ['ls'], 'tag': '7', 'user': 'ann'}",
		"{'cmd': '/bin/ls', 'args': ['ls'], 'tag': '8', 'user': 'bob'}"} {
		if !seen[want] {
			t.Errorf("no %s in %v", want, seen)
		}
	}
	if err := scope.Close(); err != nil { // which ends strace
		t.Error(err)
	}
}

func module(name, fun string, result func() any) loader.Plugin {
	return loader.Plugin{Name: name, New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F(fun,
			func(context.Context, loader.NoArgs) (any, error) { return result(), nil })}}, nil
	}}
}
