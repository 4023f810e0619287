package jinja

import (
	"errors"
	"math/big"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
)

func filterToJSON(c *Call) (any, error) {
	args, err := c.bind(takes("do_tojson", 1, need("value"), opt("indent", nil)))
	if err != nil {
		return nil, err
	}
	o := c.f.run.json()
	if args[1] != nil {
		o.Lines, o.Comma = true, ","
		if s, ok := textOf(args[1]); ok {
			o.Step = s
		} else {
			n, err := indexOf(args[1])
			if err != nil {
				return nil, err
			}
			if o.Step, err = c.f.run.repeatText(" ", max(n, 0)); err != nil {
				return nil, err
			}
		}
	}
	text, err := pyjson.Append(nil, args[0], o)
	if err != nil {
		return nil, JSONError(err)
	}
	if err := c.f.run.room(len(text)); err != nil {
		return nil, err
	}
	return Markup(jsonForHTML.Replace(string(text))), nil
}

var jsonForHTML = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'", `\u0027`)

// json returns Jinja's options for JSON: sorted keys.
func (r *run) json() pyjson.Options {
	return pyjson.Options{
		Comma: ", ", Colon: ": ", ASCII: true, Depth: maxDepth,
		Sort:  func(keys []any) ([]any, error) { return r.sorted(keys, slices.Clone(keys), false) },
		Other: func(v any) (any, error) { return r.inJSON(v) },
		Room: func(bytes int) error {
			if bytes > r.limits.Value {
				return r.room(-1)
			}
			return nil
		},
	}
}

// inJSON converts a template's value to one that JSON supports.
func (r *run) inJSON(v any) (any, error) {
	switch v := v.(type) {
	case Markup:
		return string(v), nil
	case *big.Int:
		_, err := r.str(v)
		return v, err
	case *List:
		return v.Items, nil
	case *group:
		return data.Tuple(v.tuple()), nil
	}
	return nil, &pyjson.Error{Reason: pyjson.BadType, Value: v}
}

// JSONError converts an error of pyjson.Append for a template's value to the error that Python
// raises.
func JSONError(err error) error {
	var e *pyjson.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Reason {
	case pyjson.BadType:
		return Raise(TypeError, "Object of type %s is not JSON serializable", typeName(e.Value))
	case pyjson.BadKey:
		return Raise(TypeError, "keys must be str, int, float, bool or None, not %s",
			typeName(e.Value))
	case pyjson.TooDeep:
		return Raise(PythonError, "%s", e)
	}
	return Raise(ValueError, "%s", e)
}
