package incron

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// testdata/calls.json has the commands and results of Salt 3006.18. The system's table has two jobs.
func TestCalls(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, systemTab)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	replay.Check(t, "testdata/calls.json", replay.Options{Root: root, Plugins: []loader.Plugin{Plugin()},
		Before: func(t *testing.T, _ int) {
			const text = "x=1\n/srv IN_CREATE,IN_MODIFY echo $$ $@\n/etc IN_OPEN logger a  b\n"
			if err := os.WriteFile(filepath.Join(dir, "salt"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}})
}

// TestTable checks the text of the system's table after each change, and what is refused.
func TestTable(t *testing.T) {
	root := t.TempDir()
	r, err := loader.NewRegistry(&loader.Env{Root: root}, []loader.Plugin{(&replay.Shell{}).Plugin(),
		Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	args := func(mask, cmd string) []any { return []any{"system", "/srv", mask, cmd} }
	if got, err := r.Invoke(t.Context(), "incron.set_job", args("IN_OPEN", "x"), nil); err == nil ||
		err.Error() != "salt cannot be written. /etc/incron.d/ does not exist" {
		t.Errorf("without the directory: %v, %v", got, err)
	}
	if err := os.MkdirAll(filepath.Join(root, systemTab), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		fun, mask, cmd, result, text string
	}{
		{"set_job", "in_open", "sync", "new", "/srv IN_OPEN sync\n"},
		{"set_job", "IN_OPEN", "sync", "present", "/srv IN_OPEN sync\n"},
		{"set_job", "IN_OPEN,IN_CLOSE", "sync", "updated", "/srv IN_OPEN,IN_CLOSE sync\n"},
		{"rm_job", "IN_OPEN", "sync", "absent", "/srv IN_OPEN,IN_CLOSE sync\n"},
		{"set_job", "IN_MODIFY", "sync", "new", "/srv IN_OPEN,IN_CLOSE sync\n/srv IN_MODIFY sync\n"},
		{"rm_job", "IN_CLOSE,IN_OPEN", "sync", "removed", "/srv IN_MODIFY sync\n"},
	} {
		got, err := r.Invoke(t.Context(), "incron."+step.fun, args(step.mask, step.cmd), nil)
		text, _ := os.ReadFile(filepath.Join(root, systemTab, "salt")) //nolint:errcheck // the text tells
		if err != nil || got != step.result || string(text) != step.text {
			t.Errorf("%s %s: %v, %v, table %q", step.fun, step.mask, got, err, text)
		}
	}
	for _, bad := range [][]any{{"system", "/a b", "IN_OPEN", "x"},
		{"system", "/a", "IN_OPEN", "x\n/ IN_OPEN y"},
		{"-u", "/a", "IN_OPEN", "x"}} {
		if got, err := r.Invoke(t.Context(), "incron.set_job", bad, nil); err == nil {
			t.Errorf("%s gives %s", data.Repr(bad), data.Repr(got))
		}
	}
}

// A table that cannot be read is not replaced. A user without one has an empty table.
func TestUnreadable(t *testing.T) {
	root := t.TempDir()
	shell := &replay.Shell{}
	r, err := loader.NewRegistry(&loader.Env{Root: root}, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	job := []any{"bob", "/srv", "IN_OPEN", "sync"}
	for text, fails := range map[string]bool{"no table for bob": false, "user 'bob' is not allowed": true,
		"": true} {
		shell.Ran = []any{}
		shell.Answers = data.NewMap("incrontab -l bob",
			data.NewMap("retcode", int64(1), "stdout", "", "stderr", text))
		got, err := r.Invoke(t.Context(), "incron.set_job", job, nil)
		if ran := len(shell.Ran.([]any)); (err != nil) != fails || (ran == 1) != fails {
			t.Errorf("%q gives %v, %v and runs %s", text, got, err, data.Repr(shell.Ran))
		}
	}
	if err := os.MkdirAll(filepath.Join(root, systemTab, "salt"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Invoke(t.Context(), "incron.raw_system_incron", nil, nil); err == nil {
		t.Errorf("a directory is the table %v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("# c\n/srv IN_OPEN echo a  b\nx\n")
	f.Fuzz(func(t *testing.T, text string) {
		one := parse(text)
		if two := parse(one.text()); !slices.Equal(one.jobs, two.jobs) {
			t.Errorf("%q: %q becomes %q", text, one.jobs, two.jobs)
		}
	})
}
