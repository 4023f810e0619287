package loop

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/loader"
)

// A condition is a boolean expression.
type condition struct{ template *jinja.Template }

// begin and end delimit statements. They contain bytes that cannot occur in expressions, so that an
// expression cannot end its statement.
const (
	begin = "\x00\x01"
	end   = "\x00\x02"
)

func syntax() jinja.Syntax {
	return jinja.Syntax{BlockStart: begin, BlockEnd: end, VariableStart: "\x00\x03",
		VariableEnd: "\x00\x04", CommentStart: "\x00\x05", CommentEnd: "\x00\x06"}
}

// newCondition parses an expression.
func newCondition(text string) (*condition, error) {
	if strings.ContainsRune(text, 0) {
		return nil, loader.Exception("ValueError", "source code string cannot contain null bytes")
	}
	env, err := jinja.New(jinja.Options{Syntax: syntax(), Undefined: jinja.Strict,
		Tests: identities(), Globals: functions()})
	if err != nil {
		return nil, err
	}
	t, err := env.Parse("condition", begin+" if "+text+" "+end+"1"+begin+" endif "+end)
	if err != nil {
		return nil, inPython(err)
	}
	return &condition{t}, nil
}

// holds reports whether the condition is true for these values.
func (c *condition) holds(ctx context.Context, names map[string]any) (bool, error) {
	out, err := c.template.Render(ctx, names)
	if err != nil {
		return false, inPython(err)
	}
	return out != "", nil
}

// inPython converts an error of an expression to a Python exception.
func inPython(err error) error {
	e, ok := errors.AsType[*jinja.Error](err)
	if !ok {
		return err
	}
	switch e.Kind {
	case jinja.SyntaxError, jinja.AssertionError:
		return loader.Exception("SyntaxError",
			"condition: %s (only the syntax common to Jinja and Python is supported)", e.Message)
	}
	return loader.Exception(string(e.Kind), "%s", e.Message)
}

// identities are Python's "is True", "is False" and "is None" as tests.
func identities() map[string]jinja.Func {
	is := func(want any) jinja.Func {
		return func(c *jinja.Call) (any, error) { return c.Args[0] == want, nil }
	}
	return map[string]jinja.Func{"True": is(true), "False": is(false), "None": is(nil)}
}

// functions are the Python functions that conditions often use.
func functions() map[string]any {
	filter := func(name string) jinja.Func {
		return func(c *jinja.Call) (any, error) {
			if len(c.Args) != 1 || len(c.Kw) > 0 {
				return nil, jinja.Raise(jinja.TypeError,
					"a function of a condition takes exactly one argument (%d given)",
					len(c.Args)+len(c.Kw))
			}
			return c.Filter(name, c.Args[0])
		}
	}
	return map[string]any{
		"len": filter("length"), "str": filter("string"), "int": filter("int"),
		"float": filter("float"), "list": filter("list"), "sorted": filter("sort"),
		"min": filter("min"), "max": filter("max"), "sum": filter("sum"), "abs": filter("abs"),
		"bool": jinja.Func(truth), "any": quantifier(true), "all": quantifier(false),
	}
}

func truth(c *jinja.Call) (any, error) {
	args, err := c.Bind("bool", "object")
	if err != nil {
		return nil, err
	}
	return c.Truth(args[0])
}

// quantifier returns any, which looks for a true element, or all, which looks for a false one.
func quantifier(sought bool) jinja.Func {
	return func(c *jinja.Call) (any, error) {
		args, err := c.Bind("any", "iterable")
		if err != nil {
			return nil, err
		}
		items, err := c.Items(args[0])
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			if is, err := c.Truth(item); err != nil || is == sought {
				return sought, err
			}
		}
		return !sought, nil
	}
}
