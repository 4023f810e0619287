package saltcheck_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/states"
)

// minion returns a minion with the state tree srv and further options.
func minion(t *testing.T, srv string, opts ...any) *loader.Registry {
	t.Helper()
	all := data.NewMap("pillarenv", nil, "conf_file", filepath.Join(t.TempDir(), "minion"),
		"pillar_roots", data.NewMap("base", []any{}))
	all.Update(calls.TreeOptions(t, srv))
	all.Update(data.NewMap(opts...))
	grains := data.NewMap("id", "web1")
	env := &loader.Env{Opts: all, Grains: func() *data.Map { return grains }}
	env.Host.CompilePillar = func(_ context.Context, q loader.PillarQuery) (*data.Map, error) {
		return q.Override.Clone(), nil
	}
	r, err := loader.NewRegistry(env, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	lent := *r.Env()
	own, err := loader.NewRegistry(&lent, states.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	r.Env().Registries = map[string]*loader.Registry{"states": own}
	return r
}

// timeless returns a result with zero for all durations, as in testdata/calls.json.
func timeless(v any) any {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			timeless(e)
		}
	case *data.Map:
		for k, e := range v.All() {
			switch k {
			case "duration", "Execution Time":
				v.Set(k, 0.0)
			case "start_time":
				v.Set(k, "TIME")
			default:
				timeless(e)
			}
		}
	}
	return v
}

// TestCalls compares results and return codes with those of Salt 3006.18, whose durations are
// replaced. brine_error is an error for which Brine has another text.
func TestCalls(t *testing.T) {
	srv, err := filepath.Abs("testdata/srv")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	r := minion(t, srv)
	for _, c := range vectors.Cases(t, list.([]any)) {
		c.Only("fun", "args", "kwargs", "value", "retcode", "error",
			"brine_error")
		job := &loader.Context{}
		ctx := loader.WithContext(t.Context(), job)
		said := c.Text("fun") + " " + data.Repr(c.List("args")) + " " + data.Repr(c.Object("kwargs"))
		got, err := r.Invoke(ctx, c.Text("fun"), c.List("args"), c.Object("kwargs"))
		if c.Has("error") {
			want := c.Text("error")
			if c.Has("brine_error") {
				want = c.Text("brine_error")
			}
			if calls.Text(err) != want {
				t.Errorf("%s = %s, error %q, want %q", said, data.Repr(got), calls.Text(err), want)
			}
			continue
		}
		if want := c.Value("value"); err != nil || !data.Equal(timeless(got), want) {
			t.Errorf("%s: %v%s", said, err, difference(got, want, ""))
		}
		code, _ := job.Get("retcode")
		if code == nil {
			code = int64(0)
		}
		if code != int64(c.Int("retcode")) {
			t.Errorf("%s: return code %v, want %d", said, code, c.Int("retcode"))
		}
	}
}

// TestNoStates checks the tests of an environment to which the top file assigns no states.
func TestNoStates(t *testing.T) {
	r := minion(t, "testdata/srv")
	got, err := r.Invoke(t.Context(), "saltcheck.run_highstate_tests", nil,
		data.NewMap("saltenv", "dev"))
	want := "[{'TEST RESULTS': {'Execution Time': 0.0, 'Passed': 0, 'Failed': 0, 'Skipped': 0, " +
		"'Missing Tests': 0}}]"
	if text := data.Repr(got); err != nil || text != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
}

// difference lists the parts of two values that differ.
func difference(got, want any, at string) string {
	g, isMap := got.(*data.Map)
	w, both := want.(*data.Map)
	gl, isList := got.([]any)
	wl, lists := want.([]any)
	out := ""
	switch {
	case data.Equal(got, want):
	case isMap && both:
		for k, v := range w.All() {
			out += difference(g.Value(k), v, at+"/"+data.Str(k))
		}
		for k, v := range g.All() {
			if !w.Has(k) {
				out += "\n" + at + "/" + data.Str(k) + ": got " + data.Repr(v) + ", want nothing"
			}
		}
	case isList && lists && len(gl) == len(wl):
		for i := range gl {
			out += difference(gl[i], wl[i], at+"/"+data.Str(int64(i)))
		}
	default:
		out = "\n" + at + ":\n got " + data.Repr(got) + "\nwant " + data.Repr(want)
	}
	return out
}

// TestOptions checks the options of the minion: another directory, details and tests that run at
// the same time.
func TestOptions(t *testing.T) {
	srv := tree(t, map[string]string{
		"web/checks/unit/init.tst": "one:\n  module_and_function: test.echo\n  args: [a]\n" +
			"  assertion: assertEqual\n  expected_return: a\n" +
			"two:\n  module_and_function: test.echo\n  args: [b]\n  assertion: assertEqual\n" +
			"  expected_return: a\n",
	})
	for _, parallel := range []any{false, true} {
		r := minion(t, srv, "saltcheck_test_location", "checks/unit",
			"saltcheck_output_details", true, "saltcheck_parallel", parallel,
			"saltcheck_processes", 2.5)
		got, err := r.Invoke(t.Context(), "saltcheck.run_state_tests", []any{"web"}, nil)
		want := "[{'web': {'one': {'status': 'Pass', 'module.function [args]': 'test.echo [\"a\"]', " +
			"'saltcheck assertion': 'a == a', 'duration': 0.0}, 'two': {'status': 'Fail: a is not equal " +
			"to b', 'module.function [args]': 'test.echo [\"b\"]', 'saltcheck assertion': 'a == b', " +
			"'duration': 0.0}}}, {'TEST RESULTS': {'Execution Time': 0.0, 'Passed': 1, 'Failed': 1, " +
			"'Skipped': 0, 'Missing Tests': 0}}]"
		if text := data.Repr(timeless(got)); err != nil || text != want {
			t.Errorf("parallel %v: %s, %v, want %s", parallel, text, err, want)
		}
	}
}

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestParallelTestsMeet checks that tests run at the same time with saltcheck_parallel: each waits
// for a file that the other one writes.
func TestParallelTestsMeet(t *testing.T) {
	srv := t.TempDir()
	wait := func(mine, other string) string {
		return "module_and_function: cmd.retcode, assertion: assertEqual, expected_return: 0, args: ['touch " +
			filepath.Join(srv, mine) + "; i=0; until [ -e " + filepath.Join(srv, other) +
			" ]; do i=$((i+1)); [ $i -lt 300 ] || exit 1; sleep 0.1; done'], kwargs: {python_shell: true}"
	}
	dir := filepath.Join(srv, "meet/saltcheck-tests")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "one: {" + wait("a", "b") + "}\ntwo: {" + wait("b", "a") + "}\n"
	if err := os.WriteFile(filepath.Join(dir, "init.tst"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r := minion(t, srv, "saltcheck_parallel", true, "saltcheck_processes", int64(2))
	got, err := r.Invoke(t.Context(), "saltcheck.run_state_tests", []any{"meet"}, nil)
	if text := data.Repr(got); err != nil || !strings.Contains(text, "'Passed': 2, 'Failed': 0") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestStateApplyRuns checks that saltcheck.state_apply changes the minion, and that its pillar_data
// reaches the SLS.
func TestStateApplyRuns(t *testing.T) {
	out := filepath.Join(t.TempDir(), "made")
	srv := tree(t, map[string]string{
		"make.sls": out + ":\n  file.managed:\n    - contents: {{ pillar['text'] }}\n    - makedirs: True\n",
		"web/saltcheck-tests/init.tst": "make:\n  module_and_function: saltcheck.state_apply\n" +
			"  args: [make]\n  pillar_data: {text: hello}\nlook:\n  module_and_function: file.read\n" +
			"  args: [" + out + "]\n  assertion: assertEqual\n  expected_return: \"hello\\n\"\n",
	})
	r := minion(t, srv, "saltcheck_parallel", true)
	for range 2 {
		got, err := r.Invoke(t.Context(), "saltcheck.run_state_tests", []any{"web"}, nil)
		if text := data.Repr(got); err != nil || !strings.Contains(text, "'Passed': 2, 'Failed': 0") {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// times matches the durations in XML.
var times = regexp.MustCompile(` time="[0-9.e-]+"`)

// TestJUnit compares the XML with that of Salt 3007.10 and junit_xml 1.9, without
// durations.
func TestJUnit(t *testing.T) {
	srv := tree(t, map[string]string{
		"web/saltcheck-tests/init.tst": "b é:\n  module_and_function: test.echo\n  args: ['<a> & \"b\"']\n" +
			"  assertion: assertEqual\n  expected_return: é\n" +
			"a:\n  module_and_function: test.true\n  assertion: assertTrue\n" +
			"c:\n  module_and_function: test.true\n  assertion: assertTrue\n  skip: True\n",
	})
	r := minion(t, srv)
	got, err := r.Invoke(t.Context(), "saltcheck.run_state_tests", []any{"web,none"},
		data.NewMap("junit", true))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/junit.xml")
	if err != nil {
		t.Fatal(err)
	}
	if text := times.ReplaceAllString(got.(string), ""); text != string(want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}
