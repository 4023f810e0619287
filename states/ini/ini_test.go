package ini_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	module "github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/ini"
)

const file = "/t.ini"

// shelf returns the states with the modules of a minion with its own directory.
func shelf(t *testing.T) (*loader.Registry, string) {
	t.Helper()
	root := t.TempDir()
	modules, err := loader.NewRegistry(&loader.Env{Root: root, Opts: data.NewMap()},
		module.Plugins(module.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Root: root, Opts: data.NewMap(), Functions: modules, Call: modules.Invoke}
	states, err := loader.NewRegistry(env, []loader.Plugin{ini.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return states, filepath.Join(root, file)
}

func run(t *testing.T, r *loader.Registry, test bool, fun string, kwargs *data.Map) *data.Map {
	t.Helper()
	call := *change.CallOf(t.Context())
	call.Test, call.Run = test, "run"
	v, err := r.Invoke(change.WithCall(t.Context(), &call), "ini."+fun, []any{file}, kwargs)
	ret, ok := v.(*data.Map)
	if err != nil || !ok {
		t.Fatalf("%s: %v, %v", fun, v, err)
	}
	ret.Delete("name")
	return ret
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// testdata/runs.json has the results of Salt 3006.0 in test mode, the real run, a second one and
// test mode again, and the resulting files.
func TestRuns(t *testing.T) {
	src, err := os.ReadFile("testdata/runs.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range vectors.Cases(t, list.([]any)) {
		c.Only("fun", "kwargs", "before", "steps")
		r, path := shelf(t)
		if c.Has("before") {
			write(t, path, c.Text("before"))
		}
		before := c.Map.Value("before")
		for i, s := range c.List("steps") {
			step := s.(*data.Map)
			want := step.Value("return").(*data.Map)
			got := run(t, r, step.Value("test") == true, c.Text("fun"), c.Object("kwargs"))
			if !data.Equal(got, want) {
				t.Errorf("%s %s step %d\n got %s\nwant %s", c.Text("fun"),
					data.Repr(c.Object("kwargs")), i, data.Repr(got), data.Repr(want))
			}
			if data.Truth(want.Value("changes")) && step.Value("test") == false {
				before = step.Value("after")
			}
			text, _ := os.ReadFile(path)
			if wanted, _ := before.(string); string(text) != wanted {
				t.Errorf("%s %s step %d leaves %q, want %q", c.Text("fun"),
					data.Repr(c.Object("kwargs")), i, text, wanted)
			}
		}
	}
}

// Cases in which Salt's real run differs from its test mode.
func TestDeviations(t *testing.T) {
	for _, c := range []struct {
		fun           string
		kwargs        *data.Map
		would         string
		before, after string
		changes       *data.Map
	}{
		{"options_absent", data.NewMap("sections", data.NewMap("top", "")), "Deleted key top.\n",
			"top=1\n[s]\na=1\n", "[s]\na = 1\n", data.NewMap("top", "1")},
		{"options_absent", data.NewMap("sections", data.NewMap("s", []any{"a"})),
			"Deleted key a in section s.\n", "[s]\na=\n", "[s]\n", data.NewMap("s", data.NewMap("a", ""))},
		{"sections_absent", data.NewMap("sections", []any{"s"}), "Deleted section s.\n",
			"a=1\n[s]\n", "a = 1\n", data.NewMap("s", data.NewMap())},
	} {
		r, path := shelf(t)
		write(t, path, c.before)
		would := run(t, r, true, c.fun, c.kwargs)
		if want := data.NewMap("changes", data.NewMap(), "result", nil,
			"comment", c.would); !data.Equal(would, want) {
			t.Errorf("%s would give %s", c.fun, data.Repr(would))
		}
		done := run(t, r, false, c.fun, c.kwargs)
		if want := data.NewMap("changes", c.changes, "result", true, "comment",
			"Changes take effect"); !data.Equal(done, want) {
			t.Errorf("%s gives %s", c.fun, data.Repr(done))
		}
		if text, _ := os.ReadFile(path); string(text) != c.after {
			t.Errorf("%s leaves %q", c.fun, text)
		}
		again := run(t, r, false, c.fun, c.kwargs)
		if want := data.NewMap("changes", data.NewMap(), "result", true, "comment",
			"No anomaly detected"); !data.Equal(again, want) {
			t.Errorf("%s gives %s the second time", c.fun, data.Repr(again))
		}
	}
}

// As in Salt, test mode does not report a section without options, or a section that replaces an
// option.
func TestSectionsThatTestModeOmits(t *testing.T) {
	for _, c := range []struct {
		fun           string
		kwargs        *data.Map
		would, done   string
		before, after string
		changes       *data.Map
	}{
		{"options_present", data.NewMap("sections", data.NewMap("s", data.NewMap())), "",
			"No anomaly detected", "a=1\n", "a = 1\n\n[s]\n",
			data.NewMap("s", data.NewMap("before", nil, "after", data.NewMap()))},
		{"sections_present", data.NewMap("sections", []any{"s"}), "Section unchanged s.\n",
			"Changes take effect", "s=1\n", "[s]\n",
			data.NewMap("s", data.NewMap("before", "1", "after", data.NewMap()))},
	} {
		r, path := shelf(t)
		write(t, path, c.before)
		say := func(test bool, changes *data.Map, comment string) {
			t.Helper()
			got := run(t, r, test, c.fun, c.kwargs)
			if want := data.NewMap("changes", changes, "result", true,
				"comment", comment); !data.Equal(got, want) {
				t.Errorf("%s, test %v: %s\nwant %s", c.fun, test, data.Repr(got), data.Repr(want))
			}
		}
		say(true, data.NewMap(), c.would)
		if text, _ := os.ReadFile(path); string(text) != c.before {
			t.Errorf("test mode leaves %q", text)
		}
		say(false, c.changes, "Changes take effect")
		if text, _ := os.ReadFile(path); string(text) != c.after {
			t.Errorf("%s leaves %q, want %q", c.fun, text, c.after)
		}
		say(false, data.NewMap(), c.done)
		say(true, data.NewMap(), c.would)
	}
}

// TestFormats checks that the states pass encoding and no_spaces on: a file in UTF-16 stays one.
func TestFormats(t *testing.T) {
	wide := func(text string) string {
		out := "\xff\xfe"
		for _, r := range text {
			out += string(rune(r)) + "\x00"
		}
		return out
	}
	words := func(more ...any) *data.Map {
		m := data.NewMap("encoding", "utf-16")
		m.Update(data.NewMap(more...))
		return m
	}
	r, path := shelf(t)
	write(t, path, wide("a = 1\n\n[s]\nb = 2\n"))
	for _, step := range []struct {
		fun    string
		kwargs *data.Map
		want   string
	}{
		{"options_present", words("sections", data.NewMap("s", data.NewMap("c", "3")), "no_spaces", true),
			"a=1\n\n[s]\nb=2\nc=3\n"},
		{"options_present", words("sections", data.NewMap("s", data.NewMap("c", "3")), "strict", true,
			"no_spaces", true), "[s]\nc=3\n"},
		{"sections_present", words("sections", []any{"t"}), "[s]\nc = 3\n\n[t]\n"},
		{"options_absent", words("sections", data.NewMap("s", []any{"c"})), "[s]\n\n[t]\n"},
		{"sections_absent", words("sections", []any{"s"}), "[t]\n"},
	} {
		for i := range 2 {
			got := run(t, r, false, step.fun, step.kwargs)
			text, err := os.ReadFile(path)
			if got.Value("result") != true || (got.Value("changes").(*data.Map).Len() > 0) != (i == 0) ||
				err != nil || string(text) != wide(step.want) {
				t.Errorf("%s %s, call %d: %s, %v, left %q", step.fun, data.Repr(step.kwargs), i,
					data.Repr(got), err, text)
			}
		}
	}
}
