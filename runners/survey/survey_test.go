package survey

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/runners"
)

// A site answers orders.
type site struct {
	answers *data.Map
	fails   error
	order   *data.Map
	*runners.Client
}

func newSite(t *testing.T, answers *data.Map, fails error) *site {
	t.Helper()
	s := &site{answers: answers, fails: fails}
	env := &loader.Env{Opts: data.NewMap("timeout", int64(5))}
	env.Host.Order = func(_ context.Context, order *data.Map, yield func(string, *data.Map) bool) error {
		s.order = order
		for id, ret := range s.answers.All() {
			yield(id.(string), data.NewMap("ret", ret))
		}
		return s.fails
	}
	shelf, err := loader.NewRegistry(env, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	log := logging.Discard()
	s.Client = runners.New(runners.Options{Kind: runners.Runner, Functions: shelf, Log: log})
	return s
}

// run returns what a function prints and returns.
func (s *site) run(t *testing.T, fun string, args []any, kwargs *data.Map) (string, any) {
	t.Helper()
	var printed strings.Builder
	done := s.Run(t.Context(), runners.Call{Fun: "survey." + fun, Args: args, Kwargs: kwargs,
		JID:   "20260101000000000000",
		Print: func(text string) { printed.WriteString(text) }})
	return printed.String(), done.Value("return")
}

// TestSurveys compares with the output and results of Salt 3006.0 for the same answers.
func TestSurveys(t *testing.T) {
	text, err := os.ReadFile("testdata/surveys.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	cases := vectors.Cases(t, list.([]any))
	if len(cases) < 40 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		s := newSite(t, c.Object("answers"), nil)
		for range 2 {
			printed, result := s.run(t, c.Text("function"), []any{"*", "test.x", int64(1), "two"},
				c.Object("kwargs").Clone())
			if printed != c.Text("printed") || !data.Equal(result, c.Value("result")) {
				t.Errorf("%s of %s\nprints %q\nwant   %q\nis   %s\nwant %s", c.Text("function"),
					data.Repr(c.Value("answers")), printed, c.Text("printed"), data.Repr(result),
					data.Repr(c.Value("result")))
			}
		}
		want := loader.ConditionInput([]any{int64(1), "two"}, c.Object("words"))
		if !data.Equal(s.order.Value("arg"), want) ||
			s.order.Value("tgt_type") != c.Value("tgt_type") || s.order.Value("fun") != "test.x" {
			t.Errorf("the order is %s", data.Repr(s.order))
		}
	}
}

func TestNoSurvey(t *testing.T) {
	s := newSite(t, data.NewMap(), errors.New("no minion is there"))
	for range 2 {
		for _, fun := range []string{"hash", "diff"} {
			printed, result := s.run(t, fun, []any{"*", "test.ping"}, data.NewMap())
			if m, ok := result.(*data.Map); printed != "no minion is there\n" || !ok || m.Len() != 0 {
				t.Errorf("%s prints %q and is %s", fun, printed, data.Repr(result))
			}
			if _, result := s.run(t, fun, []any{"*"}, nil); !strings.Contains(data.Str(result),
				"tuple index out of range") {
				t.Errorf("%s without a function is %s", fun, data.Repr(result))
			}
		}
	}
}
