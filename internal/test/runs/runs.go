// Package runs runs states in tests over the modules that they need, and compares the results with
// Salt's.
package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// A Shelf holds states over the modules that they call.
type Shelf struct{ registry *loader.Registry }

// New returns states over modules, in a minion's environment: its options, grains and root directory.
func New(t testing.TB, env *loader.Env, modules []loader.Plugin, states ...loader.Plugin) *Shelf {
	t.Helper()
	functions, err := loader.NewRegistry(env, modules)
	if err != nil {
		t.Fatal(err)
	}
	over := *env
	over.Functions, over.Call = functions, functions.Invoke
	r, err := loader.NewRegistry(&over, states)
	if err != nil {
		t.Fatal(err)
	}
	return &Shelf{r}
}

// Programs puts the programs of testdata/bin first into the search path, and returns the directory in
// which they keep their files: $FAKE.
func Programs(t testing.TB) string {
	t.Helper()
	bin, err := filepath.Abs("testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("FAKE", dir)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return dir
}

// Run runs a state, in test mode or not, and returns its result.
func (s *Shelf) Run(t testing.TB, test bool, fun string, name any, kwargs *data.Map) *data.Map {
	t.Helper()
	call := *change.CallOf(t.Context())
	call.Test, call.Run = test, "run"
	ctx := loader.WithContext(change.WithCall(t.Context(), &call), &loader.Context{})
	all := kwargs.Clone()
	all.Set("name", name)
	v, err := s.registry.Invoke(ctx, fun, nil, all)
	ret, ok := v.(*data.Map)
	if err != nil || !ok {
		t.Fatalf("%s %s: %v, %v", fun, data.Repr(kwargs), v, err)
	}
	return ret
}

// Same compares a result with Salt's; data.Equal is the strictest.
type Same func(got, want *data.Map) bool

// Equal is the Same that allows no difference.
func Equal(got, want *data.Map) bool { return data.Equal(got, want) }

// Replay runs the states of a file in sequence, and compares the results. A file is a list of
// objects: state is the function, name and kwargs its arguments, and steps the runs, each with its
// test mode and Salt's result. The name brine_ is replaced by prefix.
func (s *Shelf) Replay(t *testing.T, file, prefix string, same Same) {
	t.Helper()
	s.replay(t, file, prefix, same, func(*vectors.Case, *data.Map) {})
}

// replay runs the states of a file, and after the steps of each calls after with the last result.
func (s *Shelf) replay(
	t *testing.T, file, prefix string, same Same, after func(*vectors.Case, *data.Map),
) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode([]byte(strings.ReplaceAll(string(src), "brine_", prefix)))
	if err != nil {
		t.Fatal(err)
	}
	cases := vectors.Cases(t, list.([]any))
	if len(cases) == 0 {
		t.Fatalf("%s has no states", file)
	}
	for _, c := range cases {
		c.Only("state", "name", "kwargs", "steps")
		var last *data.Map
		for i, step := range c.List("steps") {
			last = s.step(t, c, i, step.(*data.Map), same)
		}
		after(c, last)
	}
}

// Settle is Replay for files whose last step of each state is a real run. After a success it runs the state
// again, in test mode and for real: both must succeed without changes. Salt's states often do not.
func (s *Shelf) Settle(t *testing.T, file, prefix string, same Same) {
	t.Helper()
	s.replay(t, file, prefix, same, func(c *vectors.Case, last *data.Map) {
		if last.Value("result") != true {
			return
		}
		for _, test := range []bool{true, false} {
			got := s.Run(t, test, c.Text("state"), c.Value("name"), c.Object("kwargs"))
			if got.Value("result") != true || data.Truth(got.Value("changes")) {
				t.Errorf("%s %s, again, test mode %v: %s", c.Text("state"), data.Repr(c.Object("kwargs")), test,
					data.Repr(got))
			}
		}
	})
}

func (s *Shelf) step(t *testing.T, c *vectors.Case, i int, step *data.Map, same Same) *data.Map {
	t.Helper()
	got := s.Run(t, step.Value("test") == true, c.Text("state"), c.Value("name"),
		c.Object("kwargs"))
	if want := step.Value("return").(*data.Map); !same(got, want) {
		t.Errorf("%s %s step %d\n got %s\nwant %s", c.Text("state"), data.Repr(c.Object("kwargs")),
			i, data.Repr(got), data.Repr(want))
	}
	return got
}
