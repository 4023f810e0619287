package test

import (
	"context"
	"errors"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func TestValues(t *testing.T) {
	kwargs := func(pairs ...any) *data.Map { return data.NewMap(append([]any{"__kwarg__", true}, pairs...)...) }
	tests := []struct {
		fun  string
		arg  []any
		want string // repr of the value
	}{
		{"test.ping", nil, "True"},
		{"test.false", nil, "False"},
		{"test.outputter", []any{data.NewMap("a", 1)}, "{'a': 1}"},
		{"test.arg_clean", []any{1, "a=b"}, "{'args': (1,), 'kwargs': {'a': 'b'}}"},
		{"test.arg_clean", []any{kwargs("__x", 1, "y", 2)}, "{'args': (), 'kwargs': {'y': 2}}"},
		{"test.arg_type", []any{nil, []any{}, data.NewMap("a", 1), new(big.Int).Lsh(big.NewInt(1), 80)},
			`{'args': ["<class 'NoneType'>", "<class 'list'>", "<class 'dict'>", "<class 'int'>"], 'kwargs': {'__pub_fun': "<class 'str'>"}}`},
		{"test.attr_call", nil, "'facts'"},
		{"test.conf_test", nil, "'unconfigured'"},
		{"test.cross_test", []any{"test.echo", []any{"x"}}, "'x'"},
		{"test.cross_test", []any{"test.echo", int64(0)}, "0"},
		{"test.provider", []any{"nosuch"}, "''"},
		{"test.provider", []any{"test"}, "'test'"},
		{"test.providers", nil, "{'config': 'config', 'grains': 'grains', 'aptpkg': 'pkg', 'test': 'test'}"},
		{"test.opts_pkg", nil, "{'id': 'web1', 'hash_type': 'sha256', 'grains': {'os': 'Debian'}}"},
		{"test.tty", []any{"tty0", "x"}, "'ERROR: This function has been moved to cmd.tty'"},
		{"test.deprecation_warning", nil, "True"},
		{"test.assertion", []any{true}, "None"},
		{"test.try", []any{"module=test.ping"}, "True"},
		{"test.try", []any{"test.echo"}, "None"},
		{"test.try", []any{"test.echo", "text=x"}, "'x'"},
		{"test.try", []any{"test.exception", true}, "'Test Exception'"},
		{"test.try", []any{"nosuch.fun"}, "None"},
		{"test.raise_exception", []any{"int"}, "False"},
		{"test.raise_exception", []any{"BaseException"}, "False"},
		{"test.raise_exception", []any{"CommandExecutionError", "x"}, "False"},
	}
	for _, tt := range tests {
		t.Run(tt.fun+" "+data.Repr(tt.arg), func(t *testing.T) {
			pub := data.NewMap("fun", tt.fun)
			res := registry(t).Call(t.Context(), tt.fun, tt.arg, loader.CallOptions{Pub: pub})
			if got := data.Repr(res.Value); got != tt.want || !res.Success {
				t.Errorf("gives %s (%v), want %s", got, res.Err, tt.want)
			}
		})
	}
}

// The final lines are those that Salt 3006.0 prints.
func TestExceptions(t *testing.T) {
	const caused, invalid = "The minion function caused an exception: Traceback (most recent call last):\n", "Passed invalid arguments to "
	tests := []struct {
		fun  string
		arg  []any
		want string
	}{
		{"test.exception", nil, caused + "Exception: Test Exception\n"},
		{"test.assertion", []any{false}, caused + "AssertionError\n"},
		{"test.fib", []any{int64(-1)}, caused + "ValueError: Negative number is not allowed!\n"},
		{"test.rand_sleep", []any{"max=-4"}, caused +
			"ValueError: empty range for randrange() (0, -3, -3)\n"},
		{"test.sleep", []any{int64(-1)}, caused + "ValueError: sleep length must be non-negative\n"},
		{"test.random_hash", []any{"hash_type=foo"}, caused +
			"AttributeError: module 'hashlib' has no attribute 'foo'\n"},
		{"test.cross_test", []any{"x.y"}, caused + "KeyError: 'x.y'\n"},
		{"test.raise_exception", []any{"OSError", int64(2), "foo"},
			caused + "FileNotFoundError: [Errno 2] foo\n"},
		{"test.raise_exception", []any{"OSError", "foo"}, caused + "OSError: foo\n"},
		{"test.raise_exception", []any{"KeyError", "a"}, caused + "KeyError: 'a'\n"},
		{"test.raise_exception", []any{"ValueError", "a", "b"}, caused + "ValueError: ('a', 'b')\n"},
		{"test.raise_exception", []any{"ValueError", "a", "k=1"}, invalid +
			"test.raise_exception: ValueError() takes no keyword arguments\n"},
		{"test.raise_exception", []any{"TypeError", "bad"}, invalid + "test.raise_exception: bad\n"},
		{"test.raise_exception", []any{"salt.exceptions.CommandExecutionError", "a", "b"},
			"ERROR: a. Additional info follows:\n\nb"},
		{"test.raise_exception", []any{"salt.exceptions.CommandExecutionError", "a", "message=3"},
			invalid + "test.raise_exception: CommandExecutionError.__init__() got multiple values for argument 'message'\n"},
		{"test.raise_exception", []any{"salt.exceptions.CheckError", "a"}, "ERROR: a"},
		{"test.raise_exception", []any{"salt.exceptions.SaltException", "a", "b"},
			invalid + "test.raise_exception: SaltException.__init__() takes from 1 to 2 positional arguments but 3 were given\n"},
		{"test.raise_exception", []any{"salt.exceptions.SaltInvocationError", "bad"},
			"ERROR executing 'test.raise_exception': bad"},
		{"test.raise_exception", []any{"salt.exceptions.CommandNotFoundError", "x"},
			"Command required for 'test.raise_exception' not found: x"},
		{"test.raise_exception", []any{"salt.exceptions.GitLockError", int64(3), "foo"}, caused +
			"salt.exceptions.GitLockError: foo\n"},
		{"test.raise_exception", []any{"salt.exceptions.SaltClientTimeout", "foo"},
			caused + "salt.exceptions.SaltClientTimeout: foo\n"},
	}
	for _, tt := range tests {
		t.Run(tt.fun+" "+data.Repr(tt.arg), func(t *testing.T) {
			res := registry(t).Call(t.Context(), tt.fun, tt.arg, loader.CallOptions{})
			text := data.Str(res.Value)
			if doc, _, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(text, invalid) {
				text = doc + "\n"
			}
			if text != tt.want || res.Success {
				t.Errorf("gives %q\nwant  %q", text, tt.want)
			}
		})
	}
}

func TestCollatz(t *testing.T) {
	for start, want := range map[int64]string{
		1: "[]",
		6: "[6, 3.0, 10.0, 5.0, 16.0, 8.0, 4.0, 2.0]",
		7: "[7, 22, 11.0, 34.0, 17.0, 52.0, 26.0, 13.0, 40.0, 20.0, 10.0, 5.0, 16.0, 8.0, 4.0, 2.0]",
	} {
		if got := data.Repr(pair(t, "test.collatz", start)[0]); got != want {
			t.Errorf("collatz of %d gives %s, want %s", start, got, want)
		}
	}
	for _, start := range []any{int64(0), int64(-5), int64(1 << 62), "9223372036854775807"} {
		if res := registry(t).Call(t.Context(), "test.collatz", []any{start},
			loader.CallOptions{}); res.Success {
			t.Errorf("collatz of %v gives %v, want an end with an error", start, res.Value)
		}
	}
}

func TestFib(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 1: "1", 2: "1", 10: "55", 100: "354224848179261915075"} {
		if got := data.Repr(pair(t, "test.fib", n)[0]); got != want {
			t.Errorf("fib of %d gives %s, want %s", n, got, want)
		}
	}
}

func pair(t *testing.T, fun string, arg any) data.Tuple {
	t.Helper()
	res := registry(t).Call(t.Context(), fun, []any{arg}, loader.CallOptions{})
	p, ok := res.Value.(data.Tuple)
	if !ok || len(p) != 2 {
		t.Fatalf("%s of %v gives %+v, want a pair", fun, arg, res)
	}
	if _, ok := p[1].(float64); !ok {
		t.Errorf("%s of %v took %v, want seconds", fun, arg, p[1])
	}
	return p
}

func TestLongJobsEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, fun := range []string{"test.sleep", "test.fib"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if fun == "test.fib" {
				cancel()
			}
			_, err := registry(t).Invoke(ctx, fun, []any{int64(1_000_000)}, nil)
			if cancel(); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
				t.Errorf("%s gives error %v, want that of the context", fun, err)
			}
		}
	})
}

func TestRandSleepStaysWithinMax(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t)
		for range 20 {
			start := time.Now()
			if res := r.Call(t.Context(), "test.rand_sleep", []any{int64(3)},
				loader.CallOptions{}); res.Value != true {
				t.Fatalf("gives %+v", res)
			}
			if d := time.Since(start); d > 3*time.Second {
				t.Errorf("slept %v, want at most 3s", d)
			}
		}
	})
}

func TestRandomHash(t *testing.T) {
	for arg, size := range map[string]int{"hash_type=md5": 32, "size=5": 64, "hash_type=sha512": 128} {
		for _, fun := range []string{"test.random_hash", "test.rand_str"} {
			res := registry(t).Call(t.Context(), fun, []any{arg}, loader.CallOptions{})
			if s, _ := res.Value.(string); !regexp.MustCompile(`^[0-9a-f]+$`).MatchString(s) ||
				len(s) != size {
				t.Errorf("%s %s gives %+v, want %d hex digits", fun, arg, res, size)
			}
		}
	}
}

func TestReports(t *testing.T) {
	r := registry(t)
	report, _ := r.Call(t.Context(), "test.versions", nil, loader.CallOptions{}).Value.(string)
	if !strings.Contains(report, "Salt: 3006") || !strings.HasSuffix(report, "\n ") {
		t.Errorf("test.versions gives %q", report)
	}
	info, _ := r.Call(t.Context(), "test.versions_information", nil, loader.CallOptions{}).Value.(*data.Map)
	if v, _ := data.Lookup(info, "Salt Version:Salt", ":"); data.Str(v) == "None" || info.Len() != 4 {
		t.Errorf("test.versions_information gives %s", data.Repr(info))
	}
	modules, _ := r.Call(t.Context(), "test.module_report", nil, loader.CallOptions{}).Value.(*data.Map)
	if got := data.Repr(modules.Value("functions")); !strings.HasPrefix(got,
		"['config.option', 'grains.items', 'pkg.install', 'test.arg'") {
		t.Errorf("test.module_report has functions %s", got)
	}
	stack, _ := r.Call(t.Context(), "test.stack", nil, loader.CallOptions{}).Value.(string)
	if !regexp.MustCompile(`^(  File "[^"]+", line \d+, in \S+\n)+$`).MatchString(stack) ||
		!strings.Contains(stack, "module).stack") {
		t.Errorf("test.stack gives %s", stack)
	}
}
