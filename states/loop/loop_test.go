package loop_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/teststate"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/loop"
)

// TestRuns replays results of Salt 3006.18 for loop.until and loop.until_no_eval.
func TestRuns(t *testing.T) {
	teststate.NewShelf(t, &data.Map{}).Replay(t, "testdata/runs.json", "brine_", teststate.Equal)
}

type echoArgs struct{ Text any }

// states returns the state with a module whose function test.echo returns its argument and counts
// the calls.
func states(t *testing.T, calls *int) *loader.Registry {
	t.Helper()
	module := loader.Plugin{Name: "test", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("echo",
			func(_ context.Context, a echoArgs) (any, error) {
				*calls++
				return a.Text, nil
			})}}, nil
	}}
	functions, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{module})
	if err != nil {
		t.Fatal(err)
	}
	r, err := loader.NewRegistry(&loader.Env{Functions: functions, Call: functions.Invoke},
		[]loader.Plugin{loop.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestUntilWaits checks how often the function is called, and the total time.
func TestUntilWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, begin := 0, time.Now()
		r := states(t, &calls)
		args := data.NewMap("name", "test.echo", "condition", "m_ret == 2",
			"m_args", []any{int64(1)}, "period", 2.5, "timeout", int64(10))
		ret, err := r.Invoke(t.Context(), "loop.until", nil, args)
		if err != nil || ret.(*data.Map).Value("comment") != "Timed out while waiting for condition m_ret == 2" {
			t.Errorf("got %s, %v", data.Repr(ret), err)
		}
		if took := time.Since(begin); calls != 4 || took != 10*time.Second {
			t.Errorf("%d calls in %v, want 4 in 10s", calls, took)
		}

		calls, begin = 0, time.Now()
		args = data.NewMap("name", "test.echo", "expected", int64(2), "args", []any{int64(1)},
			"period", int64(1), "timeout", 2.5, "init_wait", int64(5))
		ret, err = r.Invoke(t.Context(), "loop.until_no_eval", nil, args)
		if err != nil || ret.(*data.Map).Value("comment") != "Call did not produce the expected result after 3 attempts" {
			t.Errorf("got %s, %v", data.Repr(ret), err)
		}
		if took := time.Since(begin); calls != 3 || took != 8*time.Second {
			t.Errorf("%d calls in %v, want 3 in 8s", calls, took)
		}
	})
}

func TestUntilEndsWithItsJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		args := data.NewMap("name", "test.echo", "condition", "m_ret", "m_args", []any{false},
			"period", int64(60), "timeout", int64(1e18))
		if _, err := states(t, &calls).Invoke(ctx, "loop.until", nil, args); err == nil || calls != 2 {
			t.Errorf("%d calls, %v", calls, err)
		}
	})
}

// TestInvalidConditions checks the errors for conditions that Python's eval rejects, or that only
// Python supports.
func TestInvalidConditions(t *testing.T) {
	for condition, want := range map[string]string{
		"m_ret.x.y == 1":               "UndefinedError: 'str object' has no attribute 'x'",
		"unknown":                      "UndefinedError: 'unknown' is undefined",
		"[x for x in m_ret]":           "SyntaxError: condition: ",
		"m_ret ==":                     "SyntaxError: condition: ",
		"1 %}{% endif %}{% if 1":       "SyntaxError: condition: ",
		"1 \x00\x02\x00\x01 endif":     "ValueError: source code string cannot contain null bytes",
		"m_ret > 1":                    "TypeError: '>' not supported between instances of 'str' and 'int'",
		"__import__('os').system('x')": "UndefinedError: '__import__' is undefined",
	} {
		calls := 0
		args := data.NewMap("name", "test.echo", "condition", condition, "m_args", []any{"a"})
		ret, err := states(t, &calls).Invoke(t.Context(), "loop.until", nil, args)
		if err == nil || !strings.Contains(loader.Traceback(err), want) {
			t.Errorf("%s: got %s, %v, want %s", condition, data.Repr(ret), err, want)
		}
	}
}
