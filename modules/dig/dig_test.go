package dig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// install puts a program dig into the search path; it is never run.
func install(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "dig"), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// testdata/calls.json has the commands and results of Salt 3006.18.
func TestCalls(t *testing.T) {
	install(t)
	replay.Check(t, "testdata/calls.json", replay.Options{Root: t.TempDir(), Plugins: []loader.Plugin{Plugin()}})
}

// shelf returns the module with programs that answer as given.
func shelf(t *testing.T, answers *data.Map) (*loader.Registry, *replay.Shell) {
	t.Helper()
	install(t)
	shell := &replay.Shell{Answers: answers}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r, shell
}

func prints(text string) *data.Map {
	return data.NewMap("retcode", int64(0), "stdout", text, "stderr", "")
}

// Names that dig would read as options, as a server or as lines are refused.
func TestRefused(t *testing.T) {
	r, shell := shelf(t, nil)
	for _, fun := range []string{"A", "AAAA", "CNAME", "MX", "NS", "PTR", "SPF", "TXT"} {
		for _, name := range []string{"-f/etc/passwd", "+trace", "@192.0.2.1", "a\nb"} {
			if v, err := r.Invoke(t.Context(), "dig."+fun, []any{name}, nil); err == nil {
				t.Errorf("%s %q gives %s", fun, name, data.Repr(v))
			}
		}
		if v, err := r.Invoke(t.Context(), "dig."+fun, []any{"a"}, data.NewMap("nameserver", "a\nb")); err == nil {
			t.Errorf("%s of a server with two lines gives %s", fun, data.Repr(v))
		}
	}
	if v, err := r.Invoke(t.Context(), "dig.SPF", []any{"a", "-f"}, nil); err == nil {
		t.Errorf("a record -f gives %s", data.Repr(v))
	}
	if data.Truth(shell.Ran) {
		t.Errorf("it ran %s", data.Repr(shell.Ran))
	}
}

// Names that a server returns are refused in the same way.
func TestHostileAnswers(t *testing.T) {
	r, shell := shelf(t, data.NewMap(
		"dig +short a NS", prints("-f/etc/passwd"),
		"dig +short a MX", prints("10 @192.0.2.1"),
		"dig +short a SPF", prints("v=spf1 include:+trace"),
	))
	for _, call := range [][]any{{"NS", "a"}, {"MX", "a", true}, {"SPF", "a"}} {
		if v, err := r.Invoke(t.Context(), "dig."+call[0].(string), call[1:], nil); err == nil {
			t.Errorf("%s gives %s", call, data.Repr(v))
		}
	}
	if n := len(shell.Ran.([]any)); n != 3 {
		t.Errorf("%d programs ran: %s", n, data.Repr(shell.Ran))
	}
}

// A mail server without an address is an error, and an SPF record may be empty.
func TestMissing(t *testing.T) {
	r, _ := shelf(t, data.NewMap("dig +short a MX", prints("10 mx.a."), "dig +short mx.a. A", prints(""),
		"dig +short b MX", prints(""), "dig +short a SPF", prints(`"v=spf1"`)))
	v, err := r.Invoke(t.Context(), "dig.MX", []any{"a", true}, nil)
	if err == nil || err.Error() != "the mail server mx.a. of a has no address" {
		t.Errorf("%s, %v", data.Repr(v), err)
	}
	for _, call := range [][]any{{"MX", "b", true}, {"SPF", "a"}} {
		v, err := r.Invoke(t.Context(), "dig."+call[0].(string), call[1:], nil)
		if err != nil || data.Repr(v) != "[]" {
			t.Errorf("%s gives %s, %v", call, data.Repr(v), err)
		}
	}
}

// Records that include each other, and those of endless domains, end with an error.
func TestSPFLimits(t *testing.T) {
	answers := data.NewMap("dig +short a SPF", prints("v=spf1 include:b"),
		"dig +short b SPF", prints("v=spf1 redirect=a"))
	for i := range 200 {
		answers.Set(fmt.Sprintf("dig +short n%d SPF", i), prints(fmt.Sprintf("v=spf1 include:n%d", i+1)))
	}
	r, shell := shelf(t, answers)
	for domain, want := range map[string]string{"a": "the SPF record of a includes itself",
		"n0": "the SPF record of n0 needs more than 100 lookups"} {
		if v, err := r.Invoke(t.Context(), "dig.SPF", []any{domain}, nil); err == nil || err.Error() != want {
			t.Errorf("%s gives %s, %v", domain, data.Repr(v), err)
		}
	}
	if n := len(shell.Ran.([]any)); n != 102 {
		t.Errorf("%d lookups", n)
	}
}

// Without the program the module says so.
func TestNoProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if m, err := newModule(&loader.Env{}); err == nil {
		t.Errorf("there is a module: %v", m)
	}
}

func FuzzSPF(f *testing.F) {
	f.Add(`"v=spf1 ip4:192.0.2.0/24 ~include:a -all"`)
	f.Add("v=spf1 redirect=")
	f.Fuzz(func(t *testing.T, text string) {
		for _, term := range spfTerms(text) {
			mechanism, value := spfMechanism(term)
			if mechanism != "" && !strings.HasSuffix(term, mechanism+":"+value) {
				t.Errorf("%q has %q with %q", term, mechanism, value)
			}
		}
	})
}
