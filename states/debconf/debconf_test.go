package debconf

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// A store is a debconf that accepts all answers except to questions that end in refused.
type store struct{ answers []any }

type words struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

func (s *store) take(question, kind, value string) {
	if !strings.HasSuffix(question, "refused") {
		s.answers = append(s.answers, []any{question, kind, value})
	}
}

func (s *store) registry(t *testing.T) *loader.Registry {
	t.Helper()
	f := func(name string, fn func([]any) any) loader.Func {
		return loader.F(name, func(_ context.Context, a words) (any, error) { return fn(a.Args), nil })
	}
	debconf := loader.Plugin{Name: "debconf", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			f("show", func([]any) any { return s.answers }),
			f("set", func(a []any) any { s.take(data.Str(a[1]), data.Str(a[2]), data.Str(a[3])); return true }),
			f("set_file", func(a []any) any {
				text, _ := os.ReadFile(data.Str(a[0]))
				for _, w := range parse(string(text)) {
					s.take(w.question, w.kind, w.value)
				}
				return true
			}),
		}}, nil
	}}
	cp := loader.Plugin{Name: "cp", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{f("cache_file", func(a []any) any { return a[0] })}}, nil
	}}
	funcs, err := loader.NewRegistry(&loader.Env{Grains: func() *data.Map { return data.NewMap("os_family", "Debian") }}, []loader.Plugin{debconf, cp})
	if err != nil {
		t.Fatal(err)
	}
	r, err := loader.NewRegistry(funcs.Env(), []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestStates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "answers")
	if err := os.WriteFile(file, []byte("# remark\nown q/a string red \\\n  green\nown q/b boolean true\nown q/b seen true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	answer := func(kind string, v any) *data.Map { return data.NewMap("type", kind, "value", v) }
	for _, c := range []struct {
		fun           string
		kwargs        *data.Map
		would, change *data.Map
		good          bool
	}{
		{"set", data.NewMap("name", "own",
			"data", data.NewMap("q/a", answer("string", "x"), "q/b", answer("boolean", true),
				"q/c", answer("password", "secret"))),
			data.NewMap("q/a", "New value: x", "q/b", "New value: true", "q/c",
				"New value: (password hidden)"),
			data.NewMap("q/a", "x", "q/b", "true", "q/c", "(password hidden)"), true},
		{"set_file", data.NewMap("name", "own", "source", file),
			data.NewMap("q/a", "red green", "q/b", "true"), data.NewMap("q/a", "red green", "q/b",
				"true"), true},
		{"set", data.NewMap("name", "own", "data", data.NewMap("q/refused", answer("string", "x"))),
			data.NewMap("q/refused", "New value: x"), data.NewMap("q/refused", "Failed to set!"), false},
	} {
		s := &store{}
		r := s.registry(t)
		run := func(ctx context.Context) *data.Map {
			t.Helper()
			ret, err := r.Invoke(ctx, "debconf."+c.fun, nil, c.kwargs)
			if err != nil {
				t.Fatal(err)
			}
			return ret.(*data.Map)
		}
		testMode := change.WithCall(t.Context(), &change.Call{Test: true})
		if got := run(testMode); got.Value("result") != nil ||
			!data.Equal(got.Value("changes"), c.would) || s.answers != nil {
			t.Errorf("test mode gives %s", data.Repr(got))
		}
		if got := run(t.Context()); got.Value("result") != c.good ||
			!data.Equal(got.Value("changes"), c.change) {
			t.Errorf("the first run gives %s", data.Repr(got))
		}
		if got := run(t.Context()); c.good &&
			(got.Value("result") != true || data.Truth(got.Value("changes"))) {
			t.Errorf("the second run gives %s", data.Repr(got))
		}
		if got := run(testMode); c.good && (got.Value("result") != true || data.Truth(got.Value("changes"))) {
			t.Errorf("test mode gives %s then", data.Repr(got))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("own q/a string red \\\n green\n")
	f.Fuzz(func(_ *testing.T, text string) { parse(text) })
}
