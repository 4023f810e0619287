package quota

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// program puts a program setquota into the search path; it is never run.
func program(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "setquota"), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// testdata/calls.json has the commands and results of Salt 3006.18 for output in the form of quota
// 4.06.
func TestCalls(t *testing.T) {
	program(t)
	replay.Check(t, "testdata/calls.json", replay.Options{Root: t.TempDir(),
		Plugins: []loader.Plugin{Plugin()}})
}

// No argument reaches a program as an option or as several lines, and a failing program is an error. warn
// runs warnquota.
func TestOperands(t *testing.T) {
	program(t)
	shell := &replay.Shell{}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"-a", "a\nb"} {
		for _, fun := range []string{"report", "on", "off", "get_mode"} {
			if got, err := r.Invoke(t.Context(), "quota."+fun, []any{bad}, nil); err == nil {
				t.Errorf("%s %q returns %s", fun, bad, data.Repr(got))
			}
		}
		for _, key := range []string{"user", "group", "file-soft-limit"} {
			kwargs := data.NewMap(key, bad)
			if key == "file-soft-limit" {
				kwargs.Set("user", "bob")
			}
			if got, err := r.Invoke(t.Context(), "quota.set", []any{"/srv"}, kwargs); err == nil {
				t.Errorf("%s %q gives %s", key, bad, data.Repr(got))
			}
		}
	}
	shell.Ran = []any{}
	for fun, args := range map[string][]any{"on": {"/srv"}, "off": {"/srv"}, "report": {"/srv"}, "stats": nil} {
		if got, err := r.Invoke(t.Context(), "quota."+fun, args, nil); err == nil {
			t.Errorf("%s with a failing program gives %s", fun, data.Repr(got))
		}
	}
	shell.Ran = []any{}
	shell.Answers = data.NewMap("warnquota", data.NewMap("retcode", int64(0), "stdout", "", "stderr", ""))
	if _, err := r.Invoke(t.Context(), "quota.warn", nil, nil); err != nil ||
		data.Repr(shell.Ran) != "[['warnquota']]" {
		t.Errorf("warn runs %s, %v", data.Repr(shell.Ran), err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("Block grace time: 7days; Inode grace time: 7days\n----\nroot -- 20 0 0 0 2 0 0 0\n")
	f.Add("user quota on / (/dev/sda1) is off\nquotaon: Cannot find x")
	f.Fuzz(func(t *testing.T, text string) {
		if all := parse(text, "Users"); !all.Has("Users") {
			t.Errorf("%q: %s", text, data.Repr(all))
		}
		modes(text, "/")
	})
}
