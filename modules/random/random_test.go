package random

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
)

func registry(t *testing.T) *loader.Registry {
	t.Helper()
	env := &loader.Env{Grains: func() *data.Map { return data.NewMap("id", "web1") }}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCalls(t *testing.T) { calls.Check(t, "testdata/calls.json", registry(t).Invoke) }

// TestRandomResults checks that random results have the requested form and differ each time.
func TestRandomResults(t *testing.T) {
	r := registry(t)
	call := func(fun string, kwargs *data.Map) any {
		t.Helper()
		v, err := r.Invoke(t.Context(), fun, nil, kwargs)
		if err != nil {
			t.Fatalf("%s: %v", fun, err)
		}
		return v
	}
	for _, tt := range []struct {
		kwargs *data.Map
		of     string
	}{
		{data.NewMap("length", int64(300)), lowercase + uppercase + digits + punctuation},
		{data.NewMap("length", int64(300), "punctuation", false, "uppercase", false), lowercase + digits},
		{data.NewMap("length", int64(300), "lowercase", false, "whitespace", true),
			uppercase + digits + punctuation + whitespace},
		{data.NewMap("length", int64(300), "printable", true, "chars", "a"),
			lowercase + uppercase + digits + punctuation + whitespace},
		{data.NewMap("length", int64(300), "chars", "€x"), "€x"},
	} {
		a, b := call("random.get_str", tt.kwargs).(string), call("random.get_str", tt.kwargs)
		if utf8.RuneCountInString(a) != 300 || a == b || strings.Trim(a, tt.of) != "" {
			t.Errorf("%s: %q and %q", data.Repr(tt.kwargs), a, b)
		}
	}
	seen := map[any]bool{}
	for range 200 {
		seen[call("random.rand_int", nil)] = true
	}
	if len(seen) != 10 || !seen[int64(1)] || !seen[int64(10)] {
		t.Errorf("numbers from 1 to 10: %v", seen)
	}
	if a, b := call("random.shadow_hash", nil).(string), call("random.shadow_hash", nil); a == b ||
		len(a) != 106 || !strings.HasPrefix(a, "$6$") {
		t.Errorf("hashes %v and %v", a, b)
	}
	for _, algorithm := range []string{"sha512", "sha256"} {
		v, err := r.Invoke(t.Context(), "random.shadow_hash", []any{"rounds=1000001$x", "p", algorithm}, nil)
		if loader.KindOf(err) != loader.KindExecution ||
			err.Error() != "rounds=1000001 of the salt are more than 1000000" {
			t.Errorf("%s with too many rounds: %v, %v", algorithm, v, err)
		}
	}
	if _, err := r.Invoke(t.Context(), "random.shadow_hash", []any{"x", "p", "crypt"},
		nil); loader.KindOf(err) != loader.KindInvocation {
		t.Errorf("a method that there is not: %v", err)
	}
	list := data.NewMap("value", []any{int64(1), int64(2), int64(3)})
	if got := call("random.shuffle", list).([]any); len(got) != 3 {
		t.Errorf("random.shuffle = %v", got)
	}
	list.Set("size", int64(2))
	if got := call("random.sample", list).([]any); len(got) != 2 || got[0] == got[1] {
		t.Errorf("random.sample = %v", got)
	}
}
