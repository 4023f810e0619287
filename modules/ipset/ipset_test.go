package ipset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
)

// program puts a program ipset into the search path; it is never run.
func program(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ipset"), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// testdata/calls.json has the commands and results of Salt 3006.18 with sets of ipset 7.17. Only hash:mac,
// which not every kernel has, was not tried: a new set prints nothing.
func TestCalls(t *testing.T) {
	program(t)
	replay.Check(t, "testdata/calls.json", replay.Options{Root: t.TempDir(),
		Plugins: []loader.Plugin{Plugin()}})
}

// No argument reaches ipset as an option or as several lines.
func TestOperands(t *testing.T) {
	program(t)
	answer := data.NewMap("retcode", int64(0), "stdout", "Type: hash:ip\nHeader: comment", "stderr", "")
	shell := &replay.Shell{Answers: data.NewMap("ipset list -t s", answer, "ipset list s", answer)}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"-file", "a\nb"} {
		for fun, args := range map[string][]any{
			"new_set": {bad, "hash:ip"}, "delete_set": {bad}, "rename_set": {bad, "a"}, "check_set": {bad},
			"add": {"s", bad}, "delete": {"s", bad}, "check": {bad, "1.2.3.4"}, "test": {"s",
				bad}, "flush": {bad},
		} {
			if got, err := r.Invoke(t.Context(), "ipset."+fun, args, nil); err == nil {
				t.Errorf("%s %s returns %s", fun, data.Repr(args), data.Repr(got))
			}
		}
		got, err := r.Invoke(t.Context(), "ipset.add", []any{"s", "1.2.3.4"}, data.NewMap("comment", bad))
		if err == nil {
			t.Errorf("the comment %q gives %s", bad, data.Repr(got))
		}
	}
}

// A list that fails is an error and not a set that does not exist.
func TestFailedLists(t *testing.T) {
	program(t)
	list := data.NewMap("retcode", int64(0), "stdout", "Name: s\nType: hash:ip\nHeader: x", "stderr", "")
	denied := data.NewMap("retcode", int64(1), "stdout",
		"ipset v7.17: Kernel error received: Operation not permitted", "stderr", "")
	shell := &replay.Shell{}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, answers := range []*data.Map{
		data.NewMap("ipset list -t s", denied, "ipset list -t", denied),
		data.NewMap("ipset list -t s", list, "ipset list s", denied),
	} {
		shell.Answers = answers
		for fun, args := range map[string][]any{"check_set": {"s"}, "check": {"s", "1.2.3.4"},
			"add": {"s", "1.2.3.4"}, "list_sets": nil, "rename_set": {"s", "n"}, "delete": {"s", "1.2.3.4"}} {
			got, err := r.Invoke(t.Context(), "ipset."+fun, args, nil)
			if err == nil && (fun == "check" || fun == "add" || fun == "list_sets" ||
				data.Equal(answers.Value("ipset list -t s"), denied)) {
				t.Errorf("%s gives %s with %s", fun, data.Repr(got), data.Repr(answers))
			}
		}
	}
}

// TestSets changes real sets in a network of its own.
func TestSets(t *testing.T) {
	if !need.Network(t, "ipset list") {
		return
	}
	env := &loader.Env{Opts: data.NewMap("id", "web1")}
	r, err := loader.NewRegistry(env, []loader.Plugin{cmd.Plugin(render.Brought{}), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	check := func(want any, fun string, kwargs *data.Map, args ...any) {
		t.Helper()
		if got, err := r.Invoke(t.Context(), "ipset."+fun, args, kwargs); err != nil ||
			!data.Equal(got, want) {
			t.Errorf("%s %s gives %s, %v, want %s", fun, data.Repr(args), data.Repr(got), err,
				data.Repr(want))
		}
	}
	check(true, "new_set", data.NewMap("timeout", int64(600), "counters", true), "a", "hash:ip,port", "ipv4",
		true)
	check(true, "check_set", nil, "a")
	check("Success", "add", data.NewMap("comment", "two words", "timeout", int64(500)), "a", "192.0.2.1,80")
	check(true, "check", nil, "a", "192.0.2.1,80")
	check(true, "check", nil, "a", "192.0.2.1,tcp:80 timeout 500 comment two words")
	check(false, "check", nil, "a", "192.0.2.1,80 comment other")
	check(false, "check", nil, "a", "192.0.2.1,udp:80")
	check(false, "check", nil, "a", "192.0.2.0/24,80") // True in Salt, for one of its addresses
	check(false, "check", nil, "a", "192.0.2.1,80 nomatch")
	check(true, "check", nil, "a", []any{"192.0.2.9,80", "192.0.2.1,http"})
	check(true, "test", nil, "a", "192.0.2.1,80")
	check("Success", "delete", nil, "a", "192.0.2.1,80")
	check(false, "check", nil, "a", "192.0.2.1,80")
	check(true, "rename_set", nil, "a", "b")
	check(true, "flush", nil, "b")
	check(true, "delete_set", nil, "b")
	check(false, "check_set", nil, "b")
}
