package saltutil_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/saltutil"
)

type anyArgs struct {
	Kwargs *data.Map `kwargs:"kwargs"`
}

// states returns the state with a module saltutil whose function fun calls do.
func states(t *testing.T, fun string, do func(words *data.Map) (any, error)) *loader.Registry {
	t.Helper()
	_, name, _ := strings.Cut(fun, ".")
	module := loader.Plugin{Name: "saltutil", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F(name, func(_ context.Context, a anyArgs) (any, error) { return do(a.Kwargs) }),
		}}, nil
	}}
	functions, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{module})
	if err != nil {
		t.Fatal(err)
	}
	r, err := loader.NewRegistry(&loader.Env{Functions: functions, Call: functions.Invoke},
		[]loader.Plugin{saltutil.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRuns replays all functions with the calls and results of Salt 3006.18.
func TestRuns(t *testing.T) {
	src, err := os.ReadFile("testdata/runs.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	replayed := map[string]bool{}
	for _, c := range vectors.Cases(t, list.([]any)) {
		c.Only("fun", "kwargs", "test", "answer", "called", "error", "return")
		fun, called := "saltutil."+c.Text("fun"), []any{}
		replayed[fun] = true
		r := states(t, fun, func(words *data.Map) (any, error) {
			called = append(called, []any{fun, words})
			if c.Has("error") {
				return nil, errors.New(c.Text("error"))
			}
			return c.Value("answer"), nil
		})
		call := *change.CallOf(t.Context())
		call.Test = c.Bool("test")
		words := c.Object("kwargs").Clone()
		words.Set("name", "x")
		ret, err := r.Invoke(change.WithCall(t.Context(), &call), fun, nil, words)
		if err != nil || !data.Equal(ret, c.Value("return")) {
			t.Errorf("%s: got %s, %v, want %s", fun, data.Repr(ret), err, data.Repr(c.Value("return")))
		}
		if !c.Has("error") && !data.Equal(called, c.Value("called")) {
			t.Errorf("%s: called %s, want %s", fun, data.Repr(called), data.Repr(c.Value("called")))
		}
	}
	for _, fun := range states(t, "saltutil.none", nil).Names() {
		if !replayed[fun] {
			t.Errorf("%s is not among the runs", fun)
		}
	}
}
