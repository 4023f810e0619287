package jinja

import (
	"context"
	"fmt"
	"testing"
)

// countingLoader counts how often sources are read.
type countingLoader struct {
	texts map[string]string
	reads *int
}

func (l countingLoader) ID() string { return "counting" }
func (l countingLoader) Find(_ context.Context, name, _ string) (Source, error) {
	text, ok := l.texts[name]
	if !ok {
		return Source{}, ErrNotFound
	}
	return Source{Name: name, Version: fmt.Sprint(len(text)),
		Read: func() (string, error) { *l.reads++; return text, nil }}, nil
}

func TestCacheReadsAgainWhatHasChanged(t *testing.T) {
	reads := 0
	l := countingLoader{map[string]string{"a": "one {{ x }}"}, &reads}
	cache := NewCache(10, 1<<20)
	load := func(o Options) string {
		t.Helper()
		o.Loader, o.Cache = l, cache
		tpl, err := environment(t, o).Load(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		got, err := tpl.Render(t.Context(), map[string]any{"x": 1})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := load(Options{}) + load(Options{}); got != "one 1one 1" || reads != 1 {
		t.Errorf("got %q after %d reads", got, reads)
	}
	l.texts["a"] = "second {{ x }}"
	if got := load(Options{}); got != "second 1" || reads != 2 {
		t.Errorf("got %q after %d reads", got, reads)
	}
	if got := load(Options{Syntax: Syntax{VariableStart: "<<",
		VariableEnd: ">>"}}); got != "second {{ x }}" || reads != 3 {
		t.Errorf("other delimiters give %q after %d reads", got, reads)
	}
}

func TestCacheHoldsNoMoreThanItMay(t *testing.T) {
	cache := NewCache(3, 100)
	env := environment(t, Options{Cache: cache})
	for i := range 10 {
		if _, err := env.Parse(fmt.Sprint(i), "text"); err != nil {
			t.Fatal(err)
		}
	}
	if cache.Len() != 3 {
		t.Errorf("%d templates, want 3", cache.Len())
	}
	for _, size := range []int{60, 60, 200} {
		if _, err := env.Parse(fmt.Sprint("size", size), string(make([]byte, size))); err != nil {
			t.Fatal(err)
		}
	}
	if cache.used > 100 || cache.Len() < 1 {
		t.Errorf("%d bytes of %d templates", cache.used, cache.Len())
	}
}

func TestFiltersAreLookedForInEachEnvironment(t *testing.T) {
	cache := NewCache(3, 100)
	with := environment(t, Options{Cache: cache,
		Filters: map[string]Func{"mine": func(*Call) (any, error) { return 1, nil }}})
	if _, err := with.Parse("x", "{{ 1|mine }}"); err != nil {
		t.Error(err)
	}
	if _, err := environment(t, Options{Cache: cache}).Parse("x", "{{ 1|mine }}"); !isKind(err, AssertionError) {
		t.Errorf("a filter that is not there gives %v", err)
	}
}
