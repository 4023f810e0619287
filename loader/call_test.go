package loader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

// calling returns a registry with the function m.f, which has one parameter and does what fn does.
func calling(t *testing.T, fn func(ctx context.Context, text any) (any, error)) *Registry {
	t.Helper()
	return registry(t, &Env{}, Plugin{Name: "m", New: func(*Env) (*Module, error) {
		f := F("f", func(ctx context.Context, a one) (any, error) { return fn(ctx, a.Text) }).Document("\n    Doc.\n    ").Out("highstate")
		return &Module{Funcs: []Func{f}}, nil
	}})
}

func TestTextsOfErrors(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want string
		kind Kind
	}{
		{"execution", Execution("it broke: %d", 3), "ERROR: it broke: 3", KindExecution},
		{"plain error", fmt.Errorf("read x: %w", os.ErrNotExist),
			"ERROR: read x: file does not exist", KindExecution},
		{"wrapped execution", fmt.Errorf("install: %w", Execution("no space")),
			"ERROR: install: no space", KindExecution},
		{"details", ExecutionInfo("it broke", data.NewMap("a", 1)),
			"ERROR: it broke. Additional info follows:\n\na:\n    1", KindExecution},
		{"invocation", Invocation("not so"), "ERROR executing 'm.f': not so", KindInvocation},
		{"command missing", NotFound("apt-get"), "Command required for 'm.f' not found: apt-get",
			KindNotFound},
		{"type error", TypeError("no int"),
			"Passed invalid arguments to m.f: no int\n\n    Doc.\n    ", KindType},
		{"exception", Exception("ValueError", "bad"),
			"The minion function caused an exception: Traceback (most recent call last):\nValueError: bad\n", KindException},
		{"exception without text", Exception("AssertionError", ""),
			"The minion function caused an exception: Traceback (most recent call last):\nAssertionError\n", KindException},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := calling(t, func(context.Context, any) (any, error) { return "lost", tt.err })
			res := r.Call(t.Context(), "m.f", []any{"x"}, CallOptions{})
			if res.Value != tt.want || res.Retcode != 1 || res.Success || res.Out != "nested" ||
				res.Kind() != tt.kind {
				t.Errorf("Call gives %+v\nwant %q of kind %d", res, tt.want, tt.kind)
			}
		})
	}
}

func TestErrorsKeepTheirCause(t *testing.T) {
	if err := Execution("open: %w", os.ErrPermission); !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v is not os.ErrPermission", err)
	}
}

func TestWhatAFailedFunctionChanged(t *testing.T) {
	changes := data.NewMap("vim", data.NewMap("old", "", "new", "9"))
	for _, c := range []struct {
		err     error
		changes *data.Map
		text    string
		ok      bool
	}{
		{ExecutionInfo("it broke", data.NewMap("errors", []any{"E: lock"}, "changes", changes)), changes,
			"it broke. Additional info follows:\n\nerrors:\n    - E: lock", true},
		{fmt.Errorf("state: %w", ExecutionInfo("it broke", data.NewMap("changes", changes))),
			changes, "it broke", true},
		{ExecutionInfo("it broke!", []any{"a"}), &data.Map{},
			"it broke! Additional info follows:\n\n- a", true},
		{ExecutionInfo("it broke", nil), nil, "", false},
		{Execution("it broke"), nil, "", false},
		{os.ErrPermission, nil, "", false},
	} {
		got, text, ok := Changed(c.err)
		if !data.Equal(got, c.changes) || text != c.text || ok != c.ok {
			t.Errorf("Changed(%q) = %s, %q, %t, want %s, %q, %t", c.err, data.Repr(got), text, ok,
				data.Repr(c.changes), c.text, c.ok)
		}
	}
}

func TestWrongCalls(t *testing.T) {
	r := calling(t, func(_ context.Context, text any) (any, error) { return text, nil })
	for want, arg := range map[string][]any{
		"Passed invalid arguments to m.f: f() takes 1 positional argument but 2 were given\n\n    Doc.\n    ":   {1, 2},
		"Passed invalid arguments to m.f: f() missing 1 required positional argument: 'text'\n\n    Doc.\n    ": {},
		"ERROR executing 'm.f': The following keyword arguments are not valid: a=1":                             {"x", "a=1"},
		"Passed invalid arguments to m.f: f() got multiple values for argument 'text'\n\n    Doc.\n    ":        {"x", "text=y"},
	} {
		if res := r.Call(t.Context(), "m.f", arg, CallOptions{}); res.Value != want || res.Success {
			t.Errorf("Call with %v gives %+v\nwant %q", arg, res, want)
		}
	}
}

func TestRetcodes(t *testing.T) {
	tests := []struct {
		name  string
		set   any // retcode that the function leaves in its context
		value any
		code  int
	}{
		{"plain", nil, true, 0},
		{"false is no failure", nil, false, 0},
		{"result false", nil, data.NewMap("result", false), 1},
		{"success false", nil, data.NewMap("success", false, "result", true), 1},
		{"result None", nil, data.NewMap("result", nil), 1},
		{"result true", nil, data.NewMap("result", true), 0},
		{"set", 3, "x", 3},
		{"set wins over result", 3, data.NewMap("result", false), 3},
		{"set to something odd", "abc", true, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := calling(t, func(ctx context.Context, _ any) (any, error) {
				if tt.set != nil {
					ContextOf(ctx).Set("retcode", tt.set)
				}
				return tt.value, nil
			})
			res := r.Call(t.Context(), "m.f", []any{1}, CallOptions{})
			if res.Retcode != tt.code || res.Success != (tt.code == 0) || res.Out != "highstate" ||
				res.Err != nil {
				t.Errorf("Call gives %+v, want retcode %d", res, tt.code)
			}
		})
	}
}

func TestContextIsSharedInAJobAndItsRetcodeStartsAnew(t *testing.T) {
	var r *Registry
	r = calling(t, func(ctx context.Context, depth any) (any, error) {
		if depth == 1 {
			ContextOf(ctx).SetRetcode(7)
			ContextOf(ctx).Set("seen", "inner")
			return nil, nil
		}
		return r.Env().Call(ctx, "m.f", []any{1}, nil)
	})
	c := &Context{}
	c.SetRetcode(9)
	if res := r.Call(WithContext(t.Context(), c), "m.f", []any{0}, CallOptions{}); res.Retcode != 7 {
		t.Errorf("retcode %d, want the 7 of the function within", res.Retcode)
	}
	if seen, _ := c.Get("seen"); seen != "inner" {
		t.Errorf("the job's context has %v", seen)
	}
}

func TestPanicIsAnException(t *testing.T) {
	r := calling(t, func(context.Context, any) (any, error) {
		var m map[string]int
		m["x"] = 1
		return nil, nil
	})
	res := r.Call(t.Context(), "m.f", []any{1}, CallOptions{})
	text, _ := res.Value.(string)
	if !strings.HasPrefix(text, "The minion function caused an exception: Traceback (most recent call last):\n  File ") ||
		!strings.Contains(text, "call_test.go") ||
		!strings.HasSuffix(text, "\nRuntimeError: assignment to entry in nil map\n") {
		t.Errorf("Call gives %s", text)
	}
}

func TestSteps(t *testing.T) {
	tests := []struct {
		name  string
		steps []any
		want  any
	}{
		{"maps are joined", []any{data.NewMap("a", 1), data.NewMap("b", 2)}, data.NewMap("a", 1, "b", 2)},
		{"others are listed", []any{1, "x"}, []any{1, "x"}},
		{"a map behind others", []any{1, data.NewMap("a", 1)}, []any{1, data.NewMap("a", 1)}},
		{"none", nil, &data.Map{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := calling(t, func(context.Context, any) (any, error) {
				return Steps(func(yield func(any, error) bool) {
					for _, s := range tt.steps {
						if !yield(s, nil) {
							return
						}
					}
				}), nil
			})
			var seen []any
			res := r.Call(t.Context(), "m.f", []any{1}, CallOptions{Progress: func(n int, v any) {
				if n != len(seen) {
					t.Errorf("step %d has number %d", len(seen), n)
				}
				seen = append(seen, v)
			}})
			same(t, "value", res.Value, tt.want)
			same(t, "progress", seen, tt.steps)
		})
	}
}

func TestStepsThatFail(t *testing.T) {
	r := calling(t, func(context.Context, any) (any, error) {
		return Steps(func(yield func(any, error) bool) {
			if yield(1, nil) {
				yield(nil, Execution("half way"))
			}
		}), nil
	})
	if res := r.Call(t.Context(), "m.f", []any{1}, CallOptions{}); res.Value != "ERROR: half way" ||
		res.Success {
		t.Errorf("Call gives %+v", res)
	}
}

func TestInvokeOfAMissingFunction(t *testing.T) {
	_, err := registry(t, &Env{}).Invoke(t.Context(), "x.y", nil, nil)
	if err == nil || err.Error() != "'x.y'" || KindOf(err) != KindMissing ||
		Traceback(err) != "Traceback (most recent call last):\nKeyError: 'x.y'\n" {
		t.Errorf("Invoke gives %v, %q", err, Traceback(err))
	}
}

func TestAliasOfAFunction(t *testing.T) {
	f := F("long_name", func(context.Context, NoArgs) (any, error) { return nil, nil }).Document("\n    Doc.\n    ")
	alias := f.Alias("short")
	if want := "\nThis function is an alias of ``long_name``.\n\n    Doc.\n    "; alias.Spec().Docstring() != want || alias.Spec().Name != "short" || f.Spec().Name != "long_name" {
		t.Errorf("alias is %+v, want doc %q", alias.Spec(), want)
	}
	if _, err := alias.Spec().Bind([]any{1}, nil); err == nil ||
		!strings.HasPrefix(err.Error(), "long_name() takes") {
		t.Errorf("error %v, want one of long_name()", err)
	}
}

// dynamic is a function that is known at run time only.
type dynamic struct{ spec Spec }

func (d *dynamic) Spec() *Spec                                   { return &d.spec }
func (d *dynamic) Call(_ context.Context, b *Bound) (any, error) { return b.Values[0], nil }

func TestFunctionsOfAnotherKind(t *testing.T) {
	f := &dynamic{Spec{Name: "d", Params: []Param{{Name: "x", Default: "dflt"}}}}
	r := registry(t, &Env{}, Plugin{Name: "m",
		New: func(*Env) (*Module, error) { return &Module{Funcs: []Func{f}}, nil }})
	if res := r.Call(t.Context(), "m.d", []any{"x=5"}, CallOptions{}); res.Value != int64(5) {
		t.Errorf("Call gives %+v", res)
	}
	if res := r.Call(t.Context(), "m.d", nil, CallOptions{}); res.Value != "dflt" {
		t.Errorf("Call gives %+v", res)
	}
}
