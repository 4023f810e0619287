package data

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

func registry(t *testing.T) (*loader.Registry, string) {
	t.Helper()
	dir := t.TempDir()
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("cachedir", dir)}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r, filepath.Join(dir, "datastore")
}

func invoke(t *testing.T, r *loader.Registry, fun string, args ...any) string {
	t.Helper()
	v, err := r.Invoke(t.Context(), "data."+fun, args, nil)
	if err != nil {
		return err.Error()
	}
	return data.Repr(v)
}

// TestCalls calls the functions in turn; each call is repeated if the second result is the same.
func TestCalls(t *testing.T) {
	r, _ := registry(t)
	for _, tt := range []struct {
		fun   string
		args  []any
		want  string
		again string // of the second call; "" for the same
	}{
		{"load", nil, "{}", ""},
		{"get", []any{"a"}, "None", ""},
		{"get", []any{"a", "none"}, "'none'", ""},
		{"update", []any{"a", int64(1)}, "True", ""},
		{"update", []any{"b", []any{"x"}}, "True", ""},
		{"get", []any{"a"}, "1", ""},
		{"get", []any{[]any{"b", "nosuch", "a"}}, "[['x'], 1]", ""},
		{"get", []any{[]any{"nosuch", "a"}, "d"}, "['d', 1]", ""},
		{"has_key", []any{"a"}, "True", ""},
		{"has_key", []any{"c"}, "False", ""},
		{"keys", nil, "['a', 'b']", ""},
		{"values", nil, "[1, ['x']]", ""},
		{"items", nil, "{'a': 1, 'b': ['x']}", ""},
		{"cas", []any{"a", int64(2), int64(1)}, "True", "False"},
		{"cas", []any{"c", int64(2), nil}, "False", ""},
		{"pop", []any{"a"}, "2", "None"},
		{"pop", []any{"a", "gone"}, "'gone'", ""},
		{"dump", []any{data.NewMap("n", data.NewMap("m", nil))}, "True", ""},
		{"load", nil, "{'n': {'m': None}}", ""},
		{"dump", []any{"{'eggs': 'spam', 'l': [1, 2.5]}"}, "True", ""},
		{"load", nil, "{'eggs': 'spam', 'l': [1, 2.5]}", ""},
		{"dump", []any{"['a']"}, "False", ""},
		{"dump", []any{int64(3)}, "False", ""},
		{"dump", []any{"no literal"}, "malformed node or string: no literal", ""},
		{"update", []any{[]any{}, 1}, "unhashable type: 'list'", ""},
		{"clear", nil, "True", ""},
		{"load", nil, "{}", ""},
	} {
		if got := invoke(t, r, tt.fun, tt.args...); got != tt.want {
			t.Errorf("data.%s%s returned %s, want %s", tt.fun, data.Repr(tt.args), got, tt.want)
		}
		again := tt.again
		if again == "" {
			again = tt.want
		}
		if got := invoke(t, r, tt.fun, tt.args...); got != again {
			t.Errorf("data.%s%s a second time returned %s, want %s", tt.fun, data.Repr(tt.args), got, again)
		}
	}
}

// TestFile reads files that Salt writes, and writes files that Salt reads: MessagePack in bin form.
func TestFile(t *testing.T) {
	r, file := registry(t)
	if err := os.WriteFile(file, []byte("\x81\xa4eggs\xa4spam"), 0o600); err != nil {
		t.Fatal(err)
	}
	invoke(t, r, "update", "b", []byte{0xff})
	raw, err := os.ReadFile(file)
	if err != nil || string(raw) != "\x82\xa4eggs\xa4spam\xa1b\xc4\x01\xff" {
		t.Errorf("the file is %q, %v", raw, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	before, _ := os.Stat(file)
	invoke(t, r, "update", "eggs", "spam")
	if after, _ := os.Stat(file); !os.SameFile(before, after) {
		t.Error("the file is written anew when nothing changes")
	}
}

func TestBrokenFile(t *testing.T) {
	r, file := registry(t)
	for _, content := range []string{"", "\xc1", "\x01", "\x82\xa1a"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, fun := range []string{"load", "keys"} {
			if got := invoke(t, r, fun); !strings.Contains(got, "datastore") {
				t.Errorf("data.%s of %q returned %s", fun, content, got)
			}
		}
		if got := invoke(t, r, "update", "a", "b"); !strings.Contains(got, "datastore") {
			t.Errorf("data.update of %q returned %s", content, got)
		}
		if now, _ := os.ReadFile(file); string(now) != content {
			t.Errorf("%q became %q", content, now)
		}
	}
}

// TestConcurrentUpdates sets keys concurrently: none is lost.
func TestConcurrentUpdates(t *testing.T) {
	r, file := registry(t)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() { invoke(t, r, "update", int64(i), true) })
	}
	all.Wait()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	if m, ok := v.(*data.Map); err != nil || !ok || m.Len() != 40 {
		t.Errorf("there are %s, %v", data.Repr(v), err)
	}
}
