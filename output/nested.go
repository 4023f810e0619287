package output

import (
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// nested is Salt's outputter for people (salt/output/nested.py).
type nested struct {
	colours
	keepEscapes bool
	base        int
	failed      bool
	keepOrder   bool
}

func newNested(o Options) Outputter {
	return &nested{newColours(o), o.KeepEscapes, o.NestedIndent, o.Retcode != 0, o.KeepOrder}
}

func (n *nested) Format(v any) (string, error) {
	return strings.Join(n.lines(nil, v, n.base, ""), "\n"), nil
}

// lines appends the lines of v at a column; the first begins with prefix.
func (n *nested) lines(out []string, v any, indent int, prefix string) []string {
	if b, ok := v.([]byte); ok && utf8.Valid(b) {
		v = string(b)
	}
	switch v := v.(type) {
	case nil, bool, int64, int, float64, *big.Int:
		return append(out, n.line(indent, n.lightYellow, prefix+data.Repr(v)))
	case string:
		return n.text(out, v, indent, prefix)
	case []any:
		return n.list(out, v, indent)
	case data.Tuple:
		return n.list(out, v, indent)
	case *data.Map:
		return n.dict(out, v, indent, prefix)
	}
	return out
}

func (n *nested) line(indent int, colour, text string) string {
	return strings.Repeat(" ", indent) + colour + text + n.normal
}

func (n *nested) text(out []string, s string, indent int, prefix string) []string {
	for _, line := range splitLines(s, false) {
		if !n.keepEscapes {
			line = stripEscapes(line)
		}
		out = append(out, n.line(indent, n.green, prefix+line))
		prefix = strings.Repeat(" ", len(prefix))
	}
	return out
}

func stripEscapes(s string) string { return strings.ReplaceAll(s, "\x1b", "?") }

func (n *nested) list(out []string, list []any, indent int) []string {
	colour := n.green
	if n.failed {
		colour = n.red
	}
	for _, e := range list {
		switch e.(type) {
		case *data.Map:
			out = append(out, n.line(indent, colour, "|_"))
			out = n.lines(out, e, indent+2, "")
		case []any, data.Tuple:
			out = append(out, n.line(indent, colour, "|_"))
			out = n.lines(out, e, indent+2, "- ")
		default:
			out = n.lines(out, e, indent, "- ")
		}
	}
	return out
}

func (n *nested) dict(out []string, m *data.Map, indent int, prefix string) []string {
	colour := n.cyan
	if n.failed {
		colour = n.red
	}
	if indent > 0 {
		out = append(out, n.line(indent, colour, "----------"))
	}
	keys, sorted := m.Keys(), n.keepOrder || m.Ordered()
	if !sorted {
		keys, sorted = sortedKeys(m)
	}
	if !sorted {
		m = textKeys(m)
		keys, _ = sortedKeys(m)
	}
	for _, k := range keys {
		out = append(out, n.line(indent, colour, prefix+data.Str(k))+":")
		out = n.lines(out, m.Value(k), indent+4, "")
	}
	return out
}

// textKeys returns m with all keys as text; if several keys have the same text, the last value
// wins.
func textKeys(m *data.Map) *data.Map {
	t := &data.Map{}
	for k, v := range m.All() {
		t.Set(data.Str(k), v)
	}
	return t
}
