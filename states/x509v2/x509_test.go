//go:build unix && !small

package x509v2_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/state/change"
	filestate "github.com/brineproject/brine/states/file"
	state "github.com/brineproject/brine/states/x509v2"
)

// system returns the states x509 and file with the real modules. policies are the signing policies.
func system(t *testing.T, policies *data.Map) *loader.Registry {
	t.Helper()
	opts := data.NewMap("id", "web1", "file_client", "local", "local", true, "user", "root",
		"cachedir", t.TempDir(), "hash_type", "sha256", "fileserver_backend", []any{"roots"},
		"file_roots", data.NewMap("base", []any{t.TempDir()}), "file_buffer_size", int64(262144),
		"test", false, "features", data.NewMap("x509_v2", true), "x509_signing_policies", policies)
	funcs, err := loader.NewRegistry(&loader.Env{Opts: opts}, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	if got := funcs.Provider("x509"); got != "x509_v2" {
		t.Fatalf("the module x509 is %s", got)
	}
	env := *funcs.Env()
	env.Registries = map[string]*loader.Registry{}
	states, err := loader.NewRegistry(&env, []loader.Plugin{state.Plugin(), filestate.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	env.Registries["states"] = states
	return states
}

// outcome returns the results of a state and of its calls of file.managed, or the last line of an
// exception.
func outcome(t *testing.T, states *loader.Registry, test bool, fun, name string, kwargs *data.Map) *data.Map {
	t.Helper()
	args := data.NewMap("name", name)
	args.Update(data.Clone(kwargs).(*data.Map))
	ctx := change.WithCall(t.Context(),
		&change.Call{Test: test, Low: data.NewMap("__id__", "id"), SaltEnv: "base",
			Ran: func(string) *data.Map { return nil }, Chunks: func() []*data.Map { return nil }})
	v, err := states.Invoke(ctx, fun, nil, args)
	if err != nil {
		return data.NewMap("error", err.Error())
	}
	ret := v.(*data.Map)
	subs := []any{}
	list, _ := ret.Value("sub_state_run").([]any)
	for _, sub := range list {
		subs = append(subs, shown(sub.(*data.Map)))
	}
	out := shown(ret)
	out.Set("subs", subs)
	return out
}

func shown(ret *data.Map) *data.Map {
	return data.NewMap("result", ret.Value("result"), "changes", ret.Value("changes"),
		"comment", ret.Value("comment"))
}

// wanted returns the outcome of real Salt. Of a traceback it returns the last line.
func wanted(run *data.Map) *data.Map {
	text := run.Text("comment")
	if !strings.HasPrefix(text, "An exception occurred in this state: Traceback") {
		return run
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	_, last, _ := strings.Cut(lines[len(lines)-1], ": ")
	return data.NewMap("error", last)
}

// TestRuns replays the runs of real Salt: each state in test mode, twice for real, and in test mode
// again.
func TestRuns(t *testing.T) {
	states, dir := system(t, nil), t.TempDir()
	for _, file := range []string{"ca.key", "www.key", "ec.key", "www.csr", "all.crt", "v3.csr", "ec.crt"} {
		b, err := os.ReadFile("testdata/" + file)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	src, err := os.ReadFile("testdata/runs.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode([]byte(strings.ReplaceAll(string(src), "@D@", dir)))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range v.([]any) {
		c := one.(*data.Map)
		prepare(t, dir, c.Value("pre"))
		for i, run := range c.Value("runs").([]any) {
			kwargs := c.Value("kwargs").(*data.Map)
			got, want := outcome(t, states, i == 0 || i == 3, c.Text("fun"), c.Text("name"),
				kwargs), wanted(run.(*data.Map))
			if !data.Equal(got, want) {
				t.Errorf("%s %s %s, run %d\n got %s\nwant %s", c.Text("fun"), c.Text("name"),
					data.Repr(kwargs), i, data.Repr(got), data.Repr(want))
			}
		}
	}
}

// prepare creates the files and links of a case.
func prepare(t *testing.T, dir string, v any) {
	t.Helper()
	list, _ := v.([]any)
	for _, one := range list {
		pair := one.([]any)
		path, text := filepath.Join(dir, data.Str(pair[0])), data.Str(pair[1])
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "->"); ok {
			err = os.Symlink(strings.TrimSpace(target), path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
