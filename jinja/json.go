package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// A jsonWriter writes as Python's json.dumps does.
type jsonWriter struct {
	r      *run
	b      []byte
	indent string
	pretty bool
	above  []any
}

func filterToJSON(c *Call) (any, error) {
	args, err := c.bind(takes("do_tojson", 1, need("value"), opt("indent", nil)))
	if err != nil {
		return nil, err
	}
	w := &jsonWriter{r: c.f.run}
	if args[1] != nil {
		w.pretty = true
		if s, ok := textOf(args[1]); ok {
			w.indent = s
		} else {
			n, err := indexOf(args[1])
			if err != nil {
				return nil, err
			}
			if w.indent, err = c.f.run.repeatText(" ", max(n, 0)); err != nil {
				return nil, err
			}
		}
	}
	if err := w.value(args[0]); err != nil {
		return nil, err
	}
	if err := c.f.run.room(len(w.b)); err != nil {
		return nil, err
	}
	return Markup(jsonForHTML.Replace(string(w.b))), nil
}

var jsonForHTML = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'", `\u0027`)

func (w *jsonWriter) value(v any) error {
	if len(w.b) > w.r.limits.Value {
		return w.r.room(-1)
	}
	switch v := v.(type) {
	case nil:
		w.b = append(w.b, "null"...)
	case bool:
		w.b = strconv.AppendBool(w.b, v)
	case string:
		w.text(v)
	case Markup:
		w.text(string(v))
	case int64, *big.Int:
		text, err := w.r.repr(v)
		w.b = append(w.b, text...)
		return err
	case float64:
		w.b = append(w.b, jsonFloat(v)...)
	case *List:
		return w.nested(v, func() error { return w.list(v.Items) })
	case data.Tuple:
		return w.nested(nil, func() error { return w.list(v) })
	case *group:
		return w.nested(v, func() error { return w.list(v.tuple()) })
	case *data.Map:
		return w.nested(v, func() error { return w.dict(v) })
	default:
		return Raise(TypeError, "Object of type %s is not JSON serializable", typeName(v))
	}
	return nil
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return data.Repr(f)
}

func (w *jsonWriter) nested(v any, write func() error) error {
	for _, a := range w.above {
		if v != nil && a == v {
			return Raise(ValueError, "Circular reference detected")
		}
	}
	if len(w.above) > maxDepth {
		return Raise(PythonError, "maximum recursion depth exceeded while encoding a JSON object")
	}
	w.above = append(w.above, v)
	err := write()
	w.above = w.above[:len(w.above)-1]
	return err
}

// separate stands before an element: a comma but for the first, and a new line where lines are wanted.
func (w *jsonWriter) separate(first bool) {
	if !first {
		w.b = append(w.b, ',')
		if !w.pretty {
			w.b = append(w.b, ' ')
		}
	}
	w.line(len(w.above))
}

func (w *jsonWriter) line(depth int) {
	if w.pretty {
		w.b = append(append(w.b, '\n'), strings.Repeat(w.indent, depth)...)
	}
}

func (w *jsonWriter) list(items []any) error {
	if len(items) == 0 {
		w.b = append(w.b, "[]"...)
		return nil
	}
	w.b = append(w.b, '[')
	for i, v := range items {
		w.separate(i == 0)
		if err := w.value(v); err != nil {
			return err
		}
	}
	w.line(len(w.above) - 1)
	w.b = append(w.b, ']')
	return nil
}

// dict writes the keys in order; Jinja sorts them.
func (w *jsonWriter) dict(m *data.Map) error {
	if m.Len() == 0 {
		w.b = append(w.b, "{}"...)
		return nil
	}
	keys, err := w.r.sorted(m.Keys(), m.Keys(), false)
	if err != nil {
		return err
	}
	w.b = append(w.b, '{')
	for i, k := range keys {
		w.separate(i == 0)
		name, err := jsonKey(w.r, k)
		if err != nil {
			return err
		}
		w.text(name)
		w.b = append(w.b, ": "...)
		if err := w.value(m.Value(k)); err != nil {
			return err
		}
	}
	w.line(len(w.above) - 1)
	w.b = append(w.b, '}')
	return nil
}

func jsonKey(r *run, k any) (string, error) {
	switch k := k.(type) {
	case string:
		return k, nil
	case nil:
		return "null", nil
	case bool:
		return strconv.FormatBool(k), nil
	case float64:
		return jsonFloat(k), nil
	case int64, *big.Int:
		return r.str(k)
	}
	return "", Raise(TypeError, "keys must be str, int, float, bool or None, not %s", typeName(k))
}

func (w *jsonWriter) text(s string) {
	w.b = append(w.b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			w.b = append(w.b, '\\', byte(c))
		case c == '\n':
			w.b = append(w.b, `\n`...)
		case c == '\r':
			w.b = append(w.b, `\r`...)
		case c == '\t':
			w.b = append(w.b, `\t`...)
		case c == '\b':
			w.b = append(w.b, `\b`...)
		case c == '\f':
			w.b = append(w.b, `\f`...)
		case c < ' ' || c >= 0x7f && c < 0x10000:
			w.unicode(c)
		case c >= 0x10000:
			c -= 0x10000
			w.unicode(0xd800 + c>>10)
			w.unicode(0xdc00 + c&0x3ff)
		default:
			w.b = append(w.b, byte(c))
		}
	}
	w.b = append(w.b, '"')
}

func (w *jsonWriter) unicode(c rune) {
	const digits = "0123456789abcdef"
	w.b = append(w.b, '\\', 'u', digits[c>>12&15], digits[c>>8&15], digits[c>>4&15], digits[c&15])
}
