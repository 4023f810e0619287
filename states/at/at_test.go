package at_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testat"
	"github.com/brineproject/brine/loader"
	modules "github.com/brineproject/brine/modules/at"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/at"
)

// users is a module user with root as the only user.
func users() loader.Plugin {
	return loader.Plugin{Name: "user", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("info",
			func(_ context.Context, a struct{ Name string }) (any, error) {
				if a.Name == "root" {
					return data.NewMap("name", "root"), nil
				}
				return &data.Map{}, nil
			})}}, nil
	}}
}

func newStates(t *testing.T) *loader.Registry {
	t.Helper()
	env := &loader.Env{Grains: func() *data.Map { return data.NewMap("os", "Debian", "os_family", "Debian") }}
	functions, err := loader.NewRegistry(env,
		[]loader.Plugin{cmd.Plugin(render.Brought{}), modules.Plugin(), users()})
	if err != nil {
		t.Fatal(err)
	}
	states, err := loader.NewRegistry(functions.Env(), []loader.Plugin{at.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// TestStates compares with the results of Salt 3006.18 in this order, except for the differences in
// the package comment.
func TestStates(t *testing.T) {
	dir := testat.Install(t)
	states := newStates(t)
	run := func(test bool, fun string, words ...any) string {
		t.Helper()
		before := queue(t, dir)
		v, err := states.Invoke(change.WithCall(t.Context(), &change.Call{Test: test}), "at."+fun,
			nil, data.NewMap(append([]any{"name", "n"}, words...)...))
		ret, ok := v.(*data.Map)
		if err != nil || !ok {
			t.Fatalf("at.%s %s: %v", fun, data.Repr(words), err)
		}
		if test && queue(t, dir) != before {
			t.Errorf("at.%s %s writes in test mode", fun, data.Repr(words))
		}
		return data.Repr(ret.Value("result")) + " " + data.Repr(ret.Value("changes")) + " " +
			ret.Text("comment")
	}
	job := func(n, tag string) string {
		return "{'job': " + n + ", 'date': '2026-11-24', 'time': '03:06:00', 'queue': 'a', 'user': 'root', 'tag': '" + tag + "'}"
	}
	const day = "now +1 day"
	unique := []any{"job", "echo u", "timespec", day, "tag", "u1", "unique_tag", true}
	watched := append([]any{"sfun", "watch"}, unique...)
	for i, tt := range []struct {
		test  bool
		fun   string
		words []any
		want  string
	}{
		{true, "present", []any{"timespec", day}, "None {} job n added and will run on now +1 day"},
		{false, "present", []any{"timespec", day}, "True " + job("1", "None") +
			" job n added and will run on now +1 day"},
		{false, "present", []any{"timespec", day}, "True " + job("2", "None") +
			" job n added and will run on now +1 day"},
		{true, "present", unique, "None {} job echo u added and will run on now +1 day"},
		{false, "present", unique, "True " + job("3", "u1") + " job echo u added and will run on now +1 day"},
		{false, "present", unique, "True {} atleast one job with tag u1 exists."},
		{true, "present", unique, "True {} atleast one job with tag u1 exists."},
		{false, "present", []any{"timespec", day, "unique_tag", true},
			"False {} no tag provided and unique_tag is set to True"},
		{false, "present", []any{"timespec", day, "user", "nosuch"}, "False {} user nosuch does not exists"},
		{false, "present", []any{"timespec", "blah"}, "False {} invalid timespec"},
		{false, "present", []any{"timespec", "past"},
			"False {} at: refusing to create job destined in the past"},
		{false, "watch", unique, "True {} "},
		{false, "mod_watch", watched, "True {} atleast one job with tag u1 exists."},
		{false, "mod_watch", []any{"sfun", "present", "timespec", day}, "False {} "},
		{false, "absent", []any{"limit", int64(3)}, "False {} limit parameter not supported n"},
		{false, "absent", []any{"user", "jim"},
			"False {} 'user' is not a condition for removing jobs: tag, runas, hour, minute, day, month, year"},
		{true, "absent", []any{"jobid", int64(3)}, "None {} removed ? job(s)"},
		{false, "absent", []any{"jobid", int64(3)}, "True {'removed': ['3']} job with id 3 was removed"},
		{false, "absent", []any{"jobid", int64(3)}, "True {} job with id 3 not present"},
		{true, "absent", []any{"jobid", "3"}, "True {} job with id 3 not present"},
		{true, "mod_watch", watched, "None {} job echo u added and will run on now +1 day"},
		{false, "mod_watch", watched, "True " + job("3", "u1") +
			" job echo u added and will run on now +1 day"},
		{false, "absent", []any{"tag", "nosuch"}, "True {} removed 0 job(s)"},
		{false, "absent", []any{"runas", "jim"}, "True {} removed 0 job(s)"},
		{false, "absent", []any{"tag", "u1", "day", int64(24)}, "True {'removed': ['3']} removed 1 job(s)"},
		{true, "absent", nil, "None {} removed ? job(s)"},
		{false, "absent", nil, "True {'removed': ['1', '2']} removed 2 job(s)"},
		{false, "absent", nil, "True {} removed 0 job(s)"},
		{true, "absent", nil, "True {} removed 0 job(s)"},
	} {
		if got := run(tt.test, tt.fun, tt.words...); got != tt.want {
			t.Errorf("%d: at.%s %s, test %t\n got %s\nwant %s", i, tt.fun, data.Repr(tt.words),
				tt.test, got, tt.want)
		}
	}
	stuck(t, dir)
	if got, want := run(false, "absent"), "False {} failed to remove job with id 9"; got != want {
		t.Errorf("a job that stays: %s, want %s", got, want)
	}
}

// queue returns the names of the jobs.
func queue(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "q/*"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(files, " ")
}

// stuck adds a job that cannot be removed.
func stuck(t *testing.T, dir string) {
	t.Helper()
	for _, file := range []string{"q/9", "s/9"} {
		if err := os.WriteFile(filepath.Join(dir, file),
			[]byte("9\tTue Nov 24 03:06:00 2026 a root\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
