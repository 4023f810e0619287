package supervisord_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/teststate"
)

// newShelf returns the states of a minion with the program of testdata/bin, and its directory.
func newShelf(t *testing.T) (*teststate.Shelf, string) {
	t.Helper()
	bin, err := filepath.Abs("testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("FAKE", dir)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return teststate.NewShelf(t, data.NewMap("id", "web1")), dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// compared is equal to Salt's results, except that test mode of dead looks at the process.
func compared(got, want *data.Map) bool {
	if strings.HasSuffix(want.Text("comment"), " is set to be stopped") && got.Value("result") == true {
		return strings.HasSuffix(got.Text("comment"), " is not running") ||
			strings.HasSuffix(got.Text("comment"), " doesn't exist")
	}
	return data.Equal(got, want)
}

// TestRuns replays results of Salt 3006.18 with the same program: test mode, real runs, and test
// mode again.
func TestRuns(t *testing.T) {
	shelf, dir := newShelf(t)
	write(t, filepath.Join(dir, "configured"), "web\ngrp:a\ngrp:b\nbroken\n")
	shelf.Replay(t, "testdata/runs.json", "brine_", compared)
	write(t, filepath.Join(dir, "configured"), "web\ngrp:a\ngrp:b\nbroken\nlate\n")
	shelf.Replay(t, "testdata/update.json", "brine_", compared)
}

// TestDead checks that a group is stopped while one of its processes runs, and that test mode does
// not stop it.
func TestDead(t *testing.T) {
	shelf, dir := newShelf(t)
	running := filepath.Join(dir, "running")
	write(t, running, "grp:a STOPPED\ngrp:b RUNNING\n")
	for i, c := range []struct {
		test             bool
		result           any
		comment, running string
	}{
		{true, nil, "Service grp: is set to be stopped", "grp:a STOPPED\ngrp:b RUNNING\n"},
		{false, true, "Stopping service: grp:", "grp:a STOPPED\ngrp:b STOPPED\n"},
		{false, true, "Service grp: is not running", "grp:a STOPPED\ngrp:b STOPPED\n"},
		{true, true, "Service grp: is not running", "grp:a STOPPED\ngrp:b STOPPED\n"},
	} {
		got := shelf.Run(t, c.test, "supervisord.dead", "grp:", data.NewMap())
		text, err := os.ReadFile(running)
		if err != nil || got.Value("result") != c.result || got.Text("comment") != c.comment || string(text) != c.running {
			t.Errorf("run %d: %s, %q, %v", i, data.Repr(got), text, err)
		}
	}
}

// TestNoDaemon checks that no process counts as dead if the daemon does not answer.
func TestNoDaemon(t *testing.T) {
	shelf, dir := newShelf(t)
	program := filepath.Join(dir, "ctl")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho unix:///run/supervisor.sock no such file\nexit 4\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, fun := range []string{"supervisord.dead", "supervisord.running"} {
		for _, test := range []bool{true, false} {
			got := shelf.Run(t, test, fun, "web", data.NewMap("bin_env", program))
			if want := "ERROR: unix:///run/supervisor.sock no such file"; got.Value("result") != false ||
				got.Text("comment") != want {
				t.Errorf("%s, test %v: %s", fun, test, data.Repr(got))
			}
		}
	}
}

// TestWatch checks that a watched change restarts a process that runs.
func TestWatch(t *testing.T) {
	shelf, dir := newShelf(t)
	write(t, filepath.Join(dir, "running"), "web RUNNING\n")
	for range 2 {
		got := shelf.Run(t, false, "supervisord.mod_watch", "web", data.NewMap("sfun", "running"))
		if got.Text("comment") != "Restarting service: web" || got.Value("result") != true {
			t.Errorf("mod_watch: %s", data.Repr(got))
		}
	}
}

// TestRunsOnce replays results of Salt 3006.18 for a process that ends as soon as it was started.
func TestRunsOnce(t *testing.T) {
	shelf, dir := newShelf(t)
	write(t, filepath.Join(dir, "running"), "once STOPPED\n")
	shelf.Replay(t, "testdata/once.json", "brine_", teststate.Equal)
}

// TestUpdateFails replays results of Salt 3006.18 for a failed update. The comment is its error,
// whereas Salt's is that of the command after it.
func TestUpdateFails(t *testing.T) {
	shelf, dir := newShelf(t)
	write(t, filepath.Join(dir, "running"), "web STOPPED\n")
	write(t, filepath.Join(dir, "unreadable"), "")
	shelf.Replay(t, "testdata/unreadable.json", "brine_", func(got, want *data.Map) bool {
		if want.Value("result") == false {
			want = want.Clone()
			want.Set("comment", "ERROR: CANT_REREAD: File contains no section headers")
		}
		return data.Equal(got, want)
	})
}
