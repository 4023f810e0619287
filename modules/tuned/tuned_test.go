package tuned

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// program puts a program tuned-adm into the search path; it is never run.
func program(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tuned-adm"), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// testdata/calls.json has the commands and results of Salt 3006.18 for output of TuneD 2.20.
func TestCalls(t *testing.T) {
	program(t)
	replay.Check(t, "testdata/calls.json", replay.Options{Root: t.TempDir(),
		Plugins: []loader.Plugin{Plugin()}})
}

// A name reaches tuned-adm neither as an option nor as several lines.
func TestOperands(t *testing.T) {
	program(t)
	shell := &replay.Shell{}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"--debug", "a\nb"} {
		if got, err := r.Invoke(t.Context(), "tuned.profile", []any{bad}, nil); err == nil {
			t.Errorf("%q gives %s", bad, data.Repr(got))
		}
	}
}

// If tuned-adm cannot tell, there is neither no profile nor an empty list of them.
func TestFailures(t *testing.T) {
	program(t)
	denied := data.NewMap("retcode", int64(1), "stdout", "", "stderr", "Cannot talk to TuneD daemon via DBus.")
	shell := &replay.Shell{Answers: data.NewMap("tuned-adm active", denied, "tuned-adm list", denied)}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, fun := range []string{"active", "list"} {
		if got, err := r.Invoke(t.Context(), "tuned."+fun, nil, nil); err == nil {
			t.Errorf("%s gives %s", fun, data.Repr(got))
		}
	}
}

func FuzzProfiles(f *testing.F) {
	f.Add("Available profiles:\n- a - x\n- b\nCurrent active profile: a\n** COLLECTED WARNINGS **\n- c\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range profiles(text) {
			if _, ok := name.(string); !ok {
				t.Errorf("%q has the profile %v", text, name)
			}
		}
	})
}
