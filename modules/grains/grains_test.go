package grains

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
)

// TestCalls compares with Salt 3006.0: testdata/calls.json has chains of calls, each with its
// result, the requested refresh, the grains file and the grains afterwards.
func TestCalls(t *testing.T) {
	src, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	all := v.(*data.Map)
	for _, c := range vectors.Cases(t, all.Value("cases").([]any)) {
		t.Run(c.Name, func(t *testing.T) {
			m := newMinion(t, all.Value("grains").(*data.Map))
			if text, ok := c.Map.Value("grains_file").(string); ok {
				m.write(t, text)
			}
			for _, step := range c.On(t).Sub("steps") {
				m.step(t, step)
			}
		})
	}
}

// minion is the environment of the module in a test.
type minion struct {
	env       *loader.Env
	calls     *loader.Registry
	dir       string
	refreshed []any
}

func newMinion(t *testing.T, grains *data.Map) *minion {
	t.Helper()
	m := &minion{dir: t.TempDir()}
	grains = data.Clone(grains).(*data.Map)
	m.env = &loader.Env{
		Opts:   data.NewMap("conf_file", filepath.Join(m.dir, "minion"), "cachedir", m.dir, "id", "web1"),
		Grains: func() *data.Map { return grains },
	}
	refresh := loader.Plugin{Name: "saltutil", New: func(*loader.Env) (*loader.Module, error) {
		type args struct {
			RefreshPillar any `default:"True"`
		}
		return &loader.Module{Funcs: []loader.Func{loader.F("refresh_grains",
			func(_ context.Context, a args) (any, error) {
				m.refreshed = append(m.refreshed, data.NewMap("refresh_pillar", a.RefreshPillar))
				return true, nil
			})}}, nil
	}}
	r, err := loader.NewRegistry(m.env, []loader.Plugin{Plugin(), refresh})
	if err != nil {
		t.Fatal(err)
	}
	m.calls = r
	return m
}

func (m *minion) file() string { return filepath.Join(m.dir, "grains") }

func (m *minion) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(m.file(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (m *minion) call(t *testing.T, fun string, args []any, kwargs *data.Map) (any, error) {
	t.Helper()
	return m.calls.Invoke(t.Context(), "grains."+fun, args, kwargs)
}

func (m *minion) step(t *testing.T, step *vectors.Case) {
	t.Helper()
	step.Only("fun", "args", "kwargs", "result", "error", "refreshed", "file", "grains")
	fun, args, kwargs := step.Text("fun"), step.List("args"), step.Object("kwargs")
	what := fun + data.Repr(data.Tuple(args)) + data.Repr(kwargs)
	m.refreshed = []any{}
	got, err := m.call(t, fun, args, kwargs)
	if step.Has("error") {
		want := step.Object("error").Text("text")
		if err == nil || err.Error() != want {
			t.Errorf("%s = %s, %v, want the error %q", what, data.Repr(got), err, want)
		}
	} else if g, w := strings.ReplaceAll(data.Repr(got), m.dir, "DIR"),
		data.Repr(step.Value("result")); err != nil || g != w {
		t.Errorf("%s = %s, %v\nwant %s", what, g, err, w)
	}
	if g, w := data.Repr(m.refreshed), data.Repr(step.List("refreshed")); g != w {
		t.Errorf("%s asked for the refreshs %s, want %s", what, g, w)
	}
	text, err := os.ReadFile(m.file())
	want, there := step.Value("file").(string)
	if (err == nil) != there || string(text) != want {
		t.Errorf("%s left the file %q, %v, want %q", what, text, err, want)
	}
	if step.Has("grains") {
		after, err := m.call(t, "items", nil, data.NewMap())
		if d := cmp.Diff(data.Repr(step.Object("grains")), data.Repr(after)); d != "" || err != nil {
			t.Errorf("grains after %s (-Salt +ours): %s %v", what, d, err)
		}
	}
}

// A change is stored in the file, and an identical second change does not touch the file.
func TestSecondChangeLeavesTheFileAlone(t *testing.T) {
	m := newMinion(t, data.NewMap())
	for _, fun := range []string{"setval", "set"} {
		if _, err := m.call(t, fun, []any{"k", "v"}, nil); err != nil {
			t.Fatal(err)
		}
		before := stat(t, m.file())
		if _, err := m.call(t, fun, []any{"k", "v"}, nil); err != nil {
			t.Fatal(err)
		}
		if !os.SameFile(before, stat(t, m.file())) {
			t.Errorf("the second %s replaced the file", fun)
		}
	}
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// Jobs that set grains concurrently do not lose each other's changes.
func TestConcurrentChanges(t *testing.T) {
	m := newMinion(t, data.NewMap())
	var wg sync.WaitGroup
	m.env.Opts.Set("local", true)
	for i := range 20 {
		wg.Go(func() {
			if _, err := m.call(t, "setval", []any{int64(i), int64(i)}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	stored, err := readFile(m.file())
	if err != nil || stored.Len() != 20 {
		t.Errorf("%d grains are stored, %v, want 20", stored.Len(), err)
	}
}

// The file keeps its mode, and a link to it remains a link.
func TestFileKeepsModeAndLink(t *testing.T) {
	m := newMinion(t, data.NewMap())
	target := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.WriteFile(target, []byte("a: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, m.file()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.call(t, "setval", []any{"b", int64(2)}, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(target)
	if err != nil || string(text) != "a: 1\nb: 2\n" || stat(t, target).Mode().Perm() != 0o600 {
		t.Errorf("the file behind the link holds %q, %v, mode %v", text, err, stat(t, target).Mode())
	}
	if st, err := os.Lstat(m.file()); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
}

// A file that cannot be written is an error, and the grains stay unchanged.
func TestUnwritableFile(t *testing.T) {
	m := newMinion(t, data.NewMap())
	if err := os.Mkdir(m.file(), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := m.call(t, "setval", []any{"k", "v"}, nil); err == nil ||
		!strings.Contains(err.Error(), "grains file") {
		t.Errorf("setval = %v, want an error that names the grains file", err)
	}
	if v, err := m.call(t, "get", []any{"k"}, nil); err != nil || v != "" {
		t.Errorf("get after that = %v, %v, want nothing", v, err)
	}
}
