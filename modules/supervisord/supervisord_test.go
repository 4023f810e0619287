package supervisord_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/supervisord"
)

// newRoot returns a directory with a configuration and a directory without supervisorctl, and puts
// the programs supervisorctl and myctl into the search path.
func newRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	text, err := os.ReadFile("testdata/supervisord.conf")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"super.conf": string(text), "novenv/x": "",
		"bin/supervisorctl": "#!/bin/false\n", "bin/myctl": "#!/bin/false\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
	return root
}

// testdata/calls.json has the commands and results of Salt 3006.18.
func TestCalls(t *testing.T) {
	replay.Check(t, "testdata/calls.json",
		replay.Options{Root: newRoot(t), Plugins: []loader.Plugin{supervisord.Plugin()}})
}

func newFunctions(t *testing.T, answers *data.Map) (*loader.Registry, *replay.Shell) {
	t.Helper()
	shell := &replay.Shell{Answers: answers}
	r, err := loader.NewRegistry(&loader.Env{Root: newRoot(t)},
		[]loader.Plugin{shell.Plugin(), supervisord.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r, shell
}

// TestStoppedProcess checks that the first process keeps its name while another one is stopped.
func TestStoppedProcess(t *testing.T) {
	r, _ := newFunctions(t, data.NewMap("supervisorctl status", data.NewMap("retcode", int64(3), "stdout",
		"bar   RUNNING   pid 12, uptime 0:00:05\nfoo   STOPPED   Not started", "stderr", "")))
	want := "{'bar': {'state': 'RUNNING', 'reason': 'pid 12, uptime 0:00:05'}, 'foo': {'state': 'STOPPED', 'reason': 'Not started'}}"
	for range 2 {
		if got, err := r.Invoke(t.Context(), "supervisord.status", nil, nil); err != nil || data.Repr(got) != want {
			t.Errorf("the status is %s, %v", data.Repr(got), err)
		}
	}
}

// TestOperands checks that no argument reaches the program as an option or as several lines.
func TestOperands(t *testing.T) {
	r, shell := newFunctions(t, nil)
	for _, fun := range []string{"start", "stop", "restart", "add", "remove", "status", "status_raw", "custom"} {
		for _, name := range []string{"-c/tmp/x", "a\nshutdown"} {
			if got, err := r.Invoke(t.Context(), "supervisord."+fun, []any{name}, nil); err == nil {
				t.Errorf("%s %q returns %s", fun, name, data.Repr(got))
			}
		}
	}
	for _, kwargs := range []*data.Map{data.NewMap("name", "-x"), data.NewMap("conf_file", "-x")} {
		if got, err := r.Invoke(t.Context(), "supervisord.update", nil, kwargs); err == nil {
			t.Errorf("update %s returns %s", data.Repr(kwargs), data.Repr(got))
		}
	}
	if got, err := r.Invoke(t.Context(), "supervisord.status_bool", []any{"a\nshutdown"}, nil); err == nil {
		t.Errorf("status_bool returns %s", data.Repr(got))
	}
	if data.Repr(shell.Ran) != "[]" {
		t.Errorf("it ran %s", data.Repr(shell.Ran))
	}
}
