// Package calls replays function calls and compares the results with Salt's, for tests of modules.
//
// A file is a list of objects: fun is the function, args and kwargs its arguments, and value Salt's
// result, or error the class and text of the exception that it raised, or error_begins the
// beginning of that. Values have the form of package vectors.
package calls

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
)

// An Invoker calls a function, as loader.Registry.Invoke does.
type Invoker func(ctx context.Context, fun string, args []any, kwargs *data.Map) (any, error)

// Check makes the calls of a file, each of them twice, and compares the results. names holds pairs
// of words and replacements, which are applied to the whole file first.
func Check(t *testing.T, file string, call Invoker, names ...string) {
	t.Helper()
	each(t, file, 2, call, names)
}

// Sequence is Check for calls that change something: it makes each of them once.
func Sequence(t *testing.T, file string, call Invoker, names ...string) {
	t.Helper()
	each(t, file, 1, call, names)
}

func each(t *testing.T, file string, times int, call Invoker, names []string) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode([]byte(strings.NewReplacer(names...).Replace(string(src))))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	list, _ := v.([]any)
	if len(list) == 0 {
		t.Fatalf("%s has no calls", file)
	}
	for _, c := range vectors.Cases(t, list) {
		c.Only("fun", "args", "kwargs", "value", "error", "error_begins")
		for range times {
			check(t, c, call)
		}
	}
}

func check(t *testing.T, c *vectors.Case, call Invoker) {
	t.Helper()
	var args []any
	kwargs := data.NewMap()
	if c.Has("args") {
		args = data.Clone(c.List("args")).([]any)
	}
	if c.Has("kwargs") {
		kwargs = data.Clone(c.Object("kwargs")).(*data.Map)
	}
	said := c.Text("fun") + " " + data.Repr(args) + " " + data.Repr(kwargs)
	got, err := call(t.Context(), c.Text("fun"), args, kwargs)
	if c.Has("error") {
		if text := Text(err); text != c.Text("error") {
			t.Errorf("%s = %s, error %q, want %q", said, data.Repr(got), text, c.Text("error"))
		}
		return
	}
	if c.Has("error_begins") {
		if text := Text(err); !strings.HasPrefix(text, c.Text("error_begins")) {
			t.Errorf("%s = %s, error %q, want %q…", said, data.Repr(got), text,
				c.Text("error_begins"))
		}
		return
	}
	want := c.Value("value")
	same := data.Equal(got, want) || data.Repr(got) == data.Repr(want) // NaN equals nothing
	if err != nil || !same || loader.TypeName(got) != loader.TypeName(want) {
		t.Errorf("%s\n got %s, %v\nwant %s", said, data.Repr(got), err, data.Repr(want))
	}
}

// Text returns the class and the text of an error in the form of Salt's exceptions.
func Text(err error) string {
	var e *loader.Error
	if !errors.As(err, &e) {
		if err == nil {
			return "no error"
		}
		return err.Error()
	}
	return class(e) + ": " + e.Text
}

func class(e *loader.Error) string {
	switch e.Kind {
	case loader.KindExecution:
		return "salt.exceptions.CommandExecutionError"
	case loader.KindInvocation:
		return "salt.exceptions.SaltInvocationError"
	case loader.KindNotFound:
		return "salt.exceptions.CommandNotFoundError"
	case loader.KindType:
		return "TypeError"
	}
	return e.Class
}
