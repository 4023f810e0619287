package loader_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// scripts is a host of plug-ins that are found by name, as one of another language would be. Their
// functions are no loader.Function.
type scripts struct {
	mu    sync.Mutex
	asked []string
	found map[string][]loader.Plugin
}

func (s *scripts) Plugins(name string) []loader.Plugin {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, name)
	return s.found[name]
}

func (s *scripts) Names() []string {
	var names []string
	for name := range s.found {
		names = append(names, name)
	}
	return names
}

// script is a function whose parameters are known only at run time.
type script struct{ spec loader.Spec }

func (s script) Spec() *loader.Spec { return &s.spec }

func (s script) Call(_ context.Context, b *loader.Bound) (any, error) { return b.Values[0], nil }

func scripted(name, file string, over bool, funcs ...string) loader.Plugin {
	return loader.Plugin{Name: name, File: file, Over: over, New: func(*loader.Env) (*loader.Module, error) {
		m := &loader.Module{Doc: file}
		for _, f := range funcs {
			m.Funcs = append(m.Funcs, script{loader.Spec{Name: f, Doc: "\n    Doc of " + file +
				".\n    ", Params: []loader.Param{{Name: "x", Default: file}}}})
		}
		return m, nil
	}}
}

func listed(name, answer string) loader.Plugin {
	return loader.Plugin{Name: name, New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("f",
			func(context.Context, loader.NoArgs) (any, error) { return answer, nil })}}, nil
	}}
}

func sourced(t *testing.T, opts *data.Map) (*loader.Registry, *scripts) {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{Opts: opts},
		[]loader.Plugin{listed("both", "list"), listed("under", "list")})
	if err != nil {
		t.Fatal(err)
	}
	refusing := loader.Plugin{Name: "refused",
		New: func(*loader.Env) (*loader.Module, error) { return nil, errors.New("no interpreter") }}
	s := &scripts{found: map[string][]loader.Plugin{
		"own":   {scripted("own", "ownfile", false, "f", "g")},
		"both":  {scripted("both", "bothfile", false, "f")},
		"under": {scripted("under", "overfile", true, "f")}, "refused": {refusing},
		"wrong": {scripted("other", "x", false, "f")}, "empty": {{Name: "empty"}},
	}}
	r.Extend(s)
	return r, s
}

func TestSourceIsAskedByName(t *testing.T) {
	r, s := sourced(t, nil)
	for fun, want := range map[string]string{
		"own.f": "'ownfile'", "own.g": "'ownfile'", "both.f": "'list'", "under.f": "'overfile'",
		"own.h":     "\"'own.h' is not available.\"",
		"refused.f": "\"'refused' __virtual__ returned False: no interpreter\"",
		"wrong.f":   "\"'wrong.f' is not available.\"", "empty.f": "\"'empty.f' is not available.\"",
		"none.f": "\"'none.f' is not available.\"",
	} {
		for range 2 {
			if got := data.Repr(r.Call(t.Context(), fun, nil, loader.CallOptions{}).Value); got != want {
				t.Errorf("%s: %s, want %s", fun, got, want)
			}
		}
	}
	slices.Sort(s.asked)
	if again := slices.Compact(slices.Clone(s.asked)); len(again) != len(s.asked) {
		t.Errorf("a name was asked for more than once: %q", s.asked)
	}
	if got, err := r.Invoke(t.Context(), "own.f", []any{"y"}, nil); err != nil || got != "y" {
		t.Errorf("own.f called by another function: %v, %v", got, err)
	}
}

func TestSourceIsListedAndDocumented(t *testing.T) {
	r, _ := sourced(t, nil)
	for _, c := range []struct {
		what string
		got  any
		want string
	}{
		{"names", texts(r.Names()), "['both.f', 'own.f', 'own.g', 'under.f']"},
		{"modules", texts(r.Modules()), "['both', 'own', 'under']"},
		{"files", texts(r.Files()), "['both', 'bothfile', 'overfile', 'ownfile', 'refused', 'under']"},
		{"docs", r.Docs("own.f"), `{'own.f': '\n    Doc of ownfile.\n    '}`},
		{"argspec", r.Argspec("own.g"),
			"{'own.g': {'args': ['x'], 'defaults': ('ownfile',), 'varargs': None, 'kwargs': None}}"},
		{"doc of the module", r.ModuleDoc("own"), "'ownfile'"},
		{"provider", r.Provider("under"), "'overfile'"},
	} {
		if got := data.Repr(c.got); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

func texts(list []string) []any {
	out := []any{}
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

func TestProvidersMayNameWhatASourceHas(t *testing.T) {
	r, _ := sourced(t, data.NewMap("providers", data.NewMap("both", "bothfile", "under", "under")))
	for fun, want := range map[string]string{"both.f": "bothfile", "under.f": "list"} {
		if got, err := r.Invoke(t.Context(), fun, nil, nil); err != nil || got != want {
			t.Errorf("%s = %v, %v, want %s", fun, got, err, want)
		}
	}
}

// After a reload the source is asked again, and another environment asks the same source.
func TestSourceChanges(t *testing.T) {
	r, s := sourced(t, nil)
	if r.Has("late.f") {
		t.Fatal("late.f is there too early")
	}
	s.mu.Lock()
	s.found["late"] = []loader.Plugin{scripted("late", "latefile", false, "f")}
	s.mu.Unlock()
	if r.Has("late.f") {
		t.Error("late.f is there before a reload")
	}
	r.Reload()
	if !r.Has("late.f") || !r.With(&loader.Env{}).Has("late.f") {
		t.Error("late.f is not there after a reload")
	}
	r.Extend(nil)
	if r.Has("late.f") || !r.Has("both.f") {
		t.Error("without a source late.f is there, or what is listed is not")
	}
}

func TestSourceIsAskedByMany(t *testing.T) {
	r, _ := sourced(t, nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if !r.Has("own.f") || len(r.Names()) != 4 {
					t.Error("own.f is not there")
				}
				r.Reload()
			}
		})
	}
	all.Wait()
}
