package output

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// prettyWidth is the line length that Python's pprint aims at.
const prettyWidth = 80

// newPretty returns the outputter pprint: Python's pprint.pformat (salt/output/pprint_out.py).
func newPretty(o Options) Outputter {
	return formatter(func(v any) (string, error) {
		p := pretty{indent: 1}
		switch o.Indent.(type) {
		case NoIndent:
		case int64, int:
			if n := columns(o.Indent); n >= 0 {
				p.indent = n
			}
		default:
			return "", fmt.Errorf("indent by %v: %w", o.Indent, ErrValue)
		}
		return p.text(v), nil
	})
}

// pretty prints values as pprint.PrettyPrinter of Python 3.11 does: on one line if that fits,
// otherwise one item per line.
type pretty struct{ indent int }

func (p pretty) text(v any) string {
	w := &prettyWriter{step: p.indent}
	w.value(v, 0, 0, 0)
	return w.b.String()
}

type prettyWriter struct {
	b    strings.Builder
	step int
}

// value writes v, which begins at column indent and is followed by allowance characters on its last
// line.
func (w *prettyWriter) value(v any, indent, allowance, level int) {
	rep := prettyRepr(v)
	if utf8.RuneCountInString(rep) <= prettyWidth-indent-allowance {
		w.b.WriteString(rep)
		return
	}
	switch v := v.(type) {
	case *data.Map:
		if v.Class() == data.DefaultOrderedDict {
			// Salt's class has a __repr__ of its own, which pprint does not wrap
			w.b.WriteString(rep)
			return
		}
		if v.Ordered() && v.Len() > 0 {
			w.orderedDict(v, indent, allowance, level+1)
			return
		}
		w.dict(v, indent, allowance+1, level+1)
	case []any:
		w.items("[", v, "]", indent, allowance, level+1)
	case data.Tuple:
		end := ")"
		if len(v) == 1 {
			end = ",)"
		}
		w.items("(", v, end, indent, allowance, level+1)
	case string:
		w.string(v, indent, allowance, level+1)
	case []byte:
		w.bytes(v, indent, allowance, level+1)
	default:
		w.b.WriteString(rep)
	}
}

func (w *prettyWriter) breakLine(indent int) {
	w.b.WriteString("\n" + strings.Repeat(" ", indent))
}

func (w *prettyWriter) open(bracket string) {
	w.b.WriteString(bracket + strings.Repeat(" ", max(0, w.step-1)))
}

func (w *prettyWriter) dict(m *data.Map, indent, allowance, level int) {
	w.open("{")
	indent += w.step
	keys := prettyKeys(m)
	for i, k := range keys {
		rep := prettyRepr(k)
		w.b.WriteString(rep + ": ")
		after := 1
		if i == len(keys)-1 {
			after = allowance
		}
		w.value(m.Value(k), indent+utf8.RuneCountInString(rep)+2, after, level)
		if i < len(keys)-1 {
			w.b.WriteByte(',')
			w.breakLine(indent)
		}
	}
	w.b.WriteByte('}')
}

// orderedDict writes a map as Python's pprint writes an OrderedDict and its subclasses: by its
// items, in their order.
func (w *prettyWriter) orderedDict(m *data.Map, indent, allowance, level int) {
	name := m.Class().String() + "("
	w.b.WriteString(name)
	w.value(itemsOf(m), indent+len(name), allowance+1, level)
	w.b.WriteString(")")
}

// itemsOf returns the keys and values of a map as a list of pairs.
func itemsOf(m *data.Map) []any {
	var items []any
	for k, v := range m.All() {
		items = append(items, data.Tuple{k, v})
	}
	return items
}

func (w *prettyWriter) items(open string, list []any, end string, indent, allowance, level int) {
	w.open(open)
	indent += w.step
	for i, e := range list {
		if i > 0 {
			w.b.WriteByte(',')
			w.breakLine(indent)
		}
		after := 1
		if i == len(list)-1 {
			after = allowance + len(end)
		}
		w.value(e, indent, after, level)
	}
	w.b.WriteString(end)
}

// string writes text in pieces that fit, one per line, in round brackets if it is the whole value.
func (w *prettyWriter) string(s string, indent, allowance, level int) {
	if level == 1 {
		indent++
		allowance++
	}
	chunks := prettyChunks(s, prettyWidth-indent, allowance)
	w.pieces(chunks, indent, level == 1 && len(chunks) > 1)
}

func (w *prettyWriter) pieces(chunks []string, indent int, brackets bool) {
	if brackets {
		w.b.WriteByte('(')
	}
	for i, c := range chunks {
		if i > 0 {
			w.breakLine(indent)
		}
		w.b.WriteString(c)
	}
	if brackets {
		w.b.WriteByte(')')
	}
}

// prettyChunks splits text at its line ends and, if a line is too long, at white space.
func prettyChunks(s string, width, allowance int) []string {
	var chunks []string
	lines := splitLines(s, true)
	for i, line := range lines {
		last := i == len(lines)-1
		room := width
		if last {
			room -= allowance
		}
		if rep := data.Repr(line); utf8.RuneCountInString(rep) <= room {
			chunks = append(chunks, rep)
			continue
		}
		chunks = append(chunks, prettyWords(line, width, room)...)
	}
	return chunks
}

// prettyWords fills chunks of at most width characters with the words of a line; room is the width
// of the last chunk.
func prettyWords(line string, width, room int) []string {
	var chunks []string
	current := ""
	parts := wordParts(line)
	for i, part := range parts {
		if i == len(parts)-1 {
			width = room
		}
		if current != "" && utf8.RuneCountInString(data.Repr(current+part)) > width {
			chunks = append(chunks, data.Repr(current))
			current = ""
		}
		current += part
	}
	if current != "" {
		chunks = append(chunks, data.Repr(current))
	}
	return chunks
}

// wordParts splits a line into words, each with the white space after it.
func wordParts(line string) []string {
	var parts []string
	start, space := 0, false
	for i, r := range line {
		if space && !isSpace(r) {
			parts = append(parts, line[start:i])
			start = i
		}
		space = isSpace(r)
	}
	return append(parts, line[start:])
}

func (w *prettyWriter) bytes(b []byte, indent, allowance, level int) {
	if len(b) <= 4 {
		w.b.WriteString(data.Repr(b))
		return
	}
	if level == 1 {
		indent++
		allowance++
	}
	w.pieces(byteChunks(b, prettyWidth-indent, allowance), indent, level == 1)
}

// byteChunks fills chunks of at most width characters with groups of four bytes.
func byteChunks(b []byte, width, allowance int) []string {
	var chunks []string
	start := 0
	for i := 0; i < len(b); i += 4 {
		if i == len(b)/4*4 {
			width -= allowance
		}
		if len(data.Repr(b[start:min(i+4, len(b))])) > width && start < i {
			chunks = append(chunks, data.Repr(b[start:i]))
			start = i
		}
	}
	return append(chunks, data.Repr(b[start:]))
}

// prettyRepr is Repr with the keys of all maps sorted.
func prettyRepr(v any) string {
	var b strings.Builder
	writePretty(&b, v)
	return b.String()
}

func writePretty(b *strings.Builder, v any) {
	switch v := v.(type) {
	case *data.Map:
		if v.Ordered() {
			// pprint leaves the contents to repr(), so the keys of a dict in it are not sorted
			b.WriteString(data.ClassText(v))
			return
		}
		b.WriteByte('{')
		for i, k := range prettyKeys(v) {
			if i > 0 {
				b.WriteString(", ")
			}
			writePretty(b, k)
			b.WriteString(": ")
			writePretty(b, v.Value(k))
		}
		b.WriteByte('}')
	case []any:
		writePrettyItems(b, "[", v, "]")
	case data.Tuple:
		if len(v) == 1 {
			writePrettyItems(b, "(", v, ",)")
			return
		}
		writePrettyItems(b, "(", v, ")")
	default:
		b.WriteString(data.Repr(v))
	}
}

func writePrettyItems(b *strings.Builder, open string, list []any, end string) {
	b.WriteString(open)
	for i, e := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		writePretty(b, e)
	}
	b.WriteString(end)
}

// prettyKeys returns the keys sorted; keys that cannot be compared are sorted by the name of their
// type.
func prettyKeys(m *data.Map) []any {
	keys := m.Keys()
	slices.SortStableFunc(keys, func(a, b any) int {
		if c, ok := compare(a, b); ok {
			return c
		}
		return cmp.Compare(typeName(a), typeName(b))
	})
	return keys
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, int, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case []byte:
		return "bytes"
	case data.Tuple:
		return "tuple"
	case []any:
		return "list"
	case *data.Map:
		return "dict"
	case time.Time:
		return "datetime.datetime"
	}
	return fmt.Sprintf("%T", v)
}
