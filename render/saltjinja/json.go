package saltjinja

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
)

// A jsonWriter writes as Python's json.dumps does.
type jsonWriter struct {
	c            *jinja.Call
	b            strings.Builder
	ascii, sort  bool
	pretty       bool
	indent       string
	comma, colon string
	depth        int
	err          error
}

func filterJSON(c *jinja.Call) (any, error) {
	p := bind(c, "format_json", "value", "sort_keys=", "indent=")
	w := &jsonWriter{c: c, sort: true, comma: ", ", colon: ": "}
	if v := p.or(1, true); p.err == nil {
		w.sort, p.err = c.Truth(v)
	}
	text, err := w.run(p, p.or(2, nil))
	return jinja.Markup(strings.TrimSpace(text)), err
}

// filterToJSON is Salt's tojson, which hands options on to json.dumps.
func filterToJSON(c *jinja.Call) (any, error) {
	p := bind(c, "tojson", "val", "indent=", "sort_keys=", "ensure_ascii=", "separators=")
	w := &jsonWriter{c: c, ascii: true, comma: ", ", colon: ": "}
	w.sort = p.truth(2)
	if v := p.or(3, true); p.err == nil {
		w.ascii, p.err = c.Truth(v)
	}
	var own [2]string
	if v := p.or(4, nil); v != nil {
		pair := p.items(4)
		if len(pair) != 2 {
			return nil, jinja.Raise(jinja.ValueError, "separators must be two texts")
		}
		own[0], _ = textOf(pair[0])
		own[1], _ = textOf(pair[1])
	}
	text, err := w.withSeparators(p, own)
	text = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'", `\u0027`).Replace(text)
	return text, err
}

func (w *jsonWriter) withSeparators(p *params, own [2]string) (string, error) {
	if own != [2]string{} {
		w.comma, w.colon = own[0], own[1]
	}
	return w.run(p, p.or(1, nil))
}

// run writes the first argument.
func (w *jsonWriter) run(p *params, indent any) (string, error) {
	if p.err != nil {
		return "", p.err
	}
	switch n := indent.(type) {
	case nil:
	case int64:
		w.pretty, w.indent = true, strings.Repeat(" ", int(max(0, min(n, 1000))))
	default:
		text, ok := textOf(n)
		if !ok {
			return "", jinja.Raise(jinja.TypeError, "indent must be a number or text, not %s", jinja.TypeName(n))
		}
		w.pretty, w.indent = true, text
	}
	if w.pretty && w.comma == ", " {
		w.comma = ","
	}
	w.value(p.args[0])
	if w.err == nil {
		w.err = w.c.Room(w.b.Len())
	}
	return w.b.String(), w.err
}

func (w *jsonWriter) value(v any) {
	switch {
	case w.err != nil:
		return
	case w.depth > 500:
		w.err = jinja.Raise(jinja.ValueError, "Circular reference detected")
		return
	case w.b.Len() > 64<<20:
		w.err = jinja.Raise(jinja.LimitError, "JSON of more than %d bytes", 64<<20)
		return
	}
	switch v := v.(type) {
	case nil:
		w.b.WriteString("null")
	case bool:
		w.b.WriteString(strconv.FormatBool(v))
	case string:
		w.text(v)
	case jinja.Markup:
		w.text(string(v))
	case int64, *big.Int:
		w.b.WriteString(data.Str(v))
	case float64:
		w.b.WriteString(jsonFloat(v))
	case *jinja.List:
		w.list(v.Items)
	case data.Tuple:
		w.list(v)
	case *data.Map:
		w.dict(v)
	default:
		w.err = jinja.Raise(jinja.TypeError, "Object of type %s is not JSON serializable", jinja.TypeName(v))
	}
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

func (w *jsonWriter) list(items []any) {
	if len(items) == 0 {
		w.b.WriteString("[]")
		return
	}
	w.b.WriteByte('[')
	w.depth++
	for i, v := range items {
		w.separate(i)
		w.value(v)
	}
	w.depth--
	w.line()
	w.b.WriteByte(']')
}

// separate stands before element i.
func (w *jsonWriter) separate(i int) {
	if i > 0 {
		w.b.WriteString(w.comma)
	}
	w.line()
}

func (w *jsonWriter) line() {
	if w.pretty {
		w.b.WriteByte('\n')
		for range w.depth {
			w.b.WriteString(w.indent)
		}
	}
}

func (w *jsonWriter) dict(m *data.Map) {
	if m.Len() == 0 {
		w.b.WriteString("{}")
		return
	}
	keys := m.Keys()
	if w.sort {
		if keys, w.err = sorted(w.c, keys, func(v any) any { return v }); w.err != nil {
			return
		}
	}
	w.b.WriteByte('{')
	w.depth++
	for i, k := range keys {
		w.separate(i)
		w.key(k)
		w.b.WriteString(w.colon)
		w.value(m.Value(k))
	}
	w.depth--
	w.line()
	w.b.WriteByte('}')
}

func (w *jsonWriter) key(k any) {
	switch k := k.(type) {
	case string:
		w.text(k)
	case nil:
		w.b.WriteString(`"null"`)
	case bool:
		w.text(strconv.FormatBool(k))
	case float64:
		w.text(jsonFloat(k))
	case int64, *big.Int:
		w.text(data.Str(k))
	default:
		w.err = jinja.Raise(jinja.TypeError, "keys must be str, int, float, bool or None, not %s", jinja.TypeName(k))
	}
}

func (w *jsonWriter) text(s string) {
	w.b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			w.b.WriteByte('\\')
			w.b.WriteRune(r)
		case strings.ContainsRune("\b\f\n\r\t", r):
			w.b.WriteByte('\\')
			w.b.WriteByte("bfnrt"[strings.IndexRune("\b\f\n\r\t", r)])
		case r < ' ' || w.ascii && r > '~' && r < 0x10000:
			fmt.Fprintf(&w.b, `\u%04x`, r)
		case w.ascii && r >= 0x10000:
			r -= 0x10000
			fmt.Fprintf(&w.b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			w.b.WriteRune(r)
		}
	}
	w.b.WriteByte('"')
}
