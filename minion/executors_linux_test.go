package minion

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// echoing returns a registry with a function that returns its argument.
func echoing(t *testing.T) *loader.Registry {
	t.Helper()
	type text struct{ Text any }
	r, err := loader.NewRegistry(&loader.Env{},
		[]loader.Plugin{{Name: "test", New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{loader.F("echo",
				func(_ context.Context, a text) (any, error) { return a.Text, nil })}}, nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSplayWaitsForThePlaceOfTheMinion compares with the waits of salt/executors/splay.py, 3006.18.
func TestSplayWaitsForThePlaceOfTheMinion(t *testing.T) {
	for _, tt := range []struct {
		id         string
		own, asked any
		want       time.Duration
	}{
		{"web1", nil, nil, 234 * time.Second},
		{"web1", int64(60), nil, 46 * time.Second},
		{"db-7.example.org", int64(60), int64(1000), 61 * time.Second},
		{"x", nil, 10.5, 1 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := Executors{Opts: data.NewMap("id", tt.id, "splaytime", tt.own), Functions: echoing(t)}
			names, err := e.Names([]any{"splay", "direct_call"})
			if err != nil {
				t.Fatal(err)
			}
			options := data.NewMap()
			if tt.asked != nil {
				options.Set("splaytime", tt.asked)
			}
			begun := time.Now()
			out := e.Call(t.Context(), names, options, "test.echo", []any{"a"}, loader.CallOptions{})
			if waited := time.Since(begun); waited != tt.want || out.Value != "a" || !out.Success {
				t.Errorf("%s, splaytime %v %v: waited %s, want %s; %+v", tt.id, tt.own, tt.asked,
					waited, tt.want, out)
			}
		})
	}
	e := Executors{Opts: data.NewMap("id", "web1"), Functions: echoing(t)}
	out := e.Call(t.Context(), []string{"splay", "direct_call"}, data.NewMap("splaytime", int64(0)),
		"test.echo", []any{"a"}, loader.CallOptions{})
	if out.Success || !strings.Contains(fmt.Sprint(out.Value), "splaytime must be a positive integer") {
		t.Errorf("splaytime 0: %+v", out)
	}
	ended, end := context.WithCancelCause(t.Context())
	end(errKilled)
	if out := e.Call(ended, []string{"splay", "direct_call"}, nil, "test.echo", []any{"a"},
		loader.CallOptions{}); out.Success {
		t.Errorf("a job that was ended while it waited: %+v", out)
	}
}

// TestSudoCallsSaltCall puts programs of the test in the place of sudo: they print what they were
// given as salt-call prints it.
func TestSudoCallsSaltCall(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\nfor word; do printf '%s\\n' \"$word\"; done > " +
		filepath.Join(dir, "words") + "\n. " + filepath.Join(dir, "answer") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "sudo"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	opts := data.NewMap("id", "web1", "sudo_user", "saltdev", "conf_file", "/etc/salt/minion")
	e := Executors{Opts: opts, Functions: echoing(t)}
	t.Setenv("PATH", filepath.Join(dir, "nothing"))
	if _, err := e.Names("sudo"); err == nil || err.Error() != "Executor 'sudo' is not available" {
		t.Errorf("without the program sudo: %v", err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	for _, tt := range []struct {
		name, fun string
		arg       []any
		answer    string
		words     string
		want      string
	}{
		{"arguments", "test.echo", []any{"a b", int64(5), "5", "x=y", []any{int64(1)},
			data.NewMap("__kwarg__", true, "k", "v", "n", "1")},
			`echo '{"local": {"jid": "1", "return": {"a": 1}, "retcode": 3, "out": "nested"}}'`,
			"a b|5|\"5\"|\"x=y\"|[1]|k=v|n=\"1\"", "{'a': 1} 3 false nested"},
		{"a run of states", "state.apply", []any{"web"},
			`echo '{"local": {"return": true, "retcode": 0}}'`, "web|concurrent=True", "True 0 true "},
		{"a failure", "test.echo", nil, "echo no >&2; exit 7", "", "'no' 7 false "},
	} {
		if err := os.WriteFile(filepath.Join(dir, "answer"), []byte(tt.answer), 0o600); err != nil {
			t.Fatal(err)
		}
		out := e.Call(t.Context(), []string{"sudo"}, nil, tt.fun, tt.arg, loader.CallOptions{})
		if got := fmt.Sprint(data.Repr(out.Value), " ", out.Retcode, " ", out.Success,
			" ", out.Out); got != tt.want {
			t.Errorf("%s: %s, want %s (%v)", tt.name, got, tt.want, out.Err)
		}
		said, err := os.ReadFile(filepath.Join(dir, "words"))
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Split(strings.TrimSuffix(string(said), "\n"), "\n")
		if head := "-u saltdev salt-call --out json --metadata -c /etc/salt -- " +
			tt.fun; strings.Join(words[:10], " ") != head || strings.Join(words[10:], "|") != tt.words {
			t.Errorf("%s: called with %q", tt.name, words)
		}
		if back := loader.WireArgs(words[10:]); tt.fun == "test.echo" &&
			!slices.EqualFunc(back, tt.arg, data.Equal) {
			t.Errorf("%s: salt-call reads %s, want %s", tt.name, data.Repr(back), data.Repr(tt.arg))
		}
	}
}
