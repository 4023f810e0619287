package firewalld

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// program puts a program firewall-cmd into the search path; it is never run.
func program(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "firewall-cmd"), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// testdata/calls.json has the commands and results of Salt 3006.18.
func TestCalls(t *testing.T) {
	program(t)
	replay.Check(t, "testdata/calls.json",
		replay.Options{Root: t.TempDir(), Plugins: []loader.Plugin{Plugin()}})
}

// Values stay inside their options, and those with a line end reach no program.
func TestRefused(t *testing.T) {
	program(t)
	shell := &replay.Shell{Answers: data.NewMap()}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for fun, args := range map[string][]any{"new_zone": {"a\nb"}, "add_port": {"dmz", "80\n"},
		"add_rich_rule": {"dmz", "rule\n"}, "list_all": {"a\rb"}, "add_service": {"a\n", "dmz"}} {
		for range 2 {
			if v, err := r.Invoke(t.Context(), "firewalld."+fun, args, nil); err == nil ||
				!strings.Contains(err.Error(), "line end") {
				t.Errorf("%s %q gives %s, %v", fun, args, data.Repr(v), err)
			}
		}
	}
	if data.Truth(shell.Ran) {
		t.Errorf("programs ran: %s", data.Repr(shell.Ran))
	}
	for range 2 {
		_, err = r.Invoke(t.Context(), "firewalld.add_port", []any{"-x; reboot", "80 --panic-on"}, nil)
	}
	if ran := data.Repr(shell.Ran); err == nil || !strings.HasPrefix(ran,
		"[['firewall-cmd', '--zone=-x; reboot', '--add-port=80 --panic-on', '--permanent'], ") {
		t.Errorf("it ran %s, %v", ran, err)
	}
}

func FuzzParsed(f *testing.F) {
	f.Add("public (active)\n  target: default\n  rich rules: \n\trule service name=\"ssh\" accept\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		for zone := range parsed(text).All() {
			if !strings.Contains(text, data.Str(zone)) {
				t.Errorf("%q has no zone %q", text, data.Str(zone))
			}
		}
	})
}
