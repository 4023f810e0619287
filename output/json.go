package output

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// newJSON returns the outputter json: Python's json.dumps with ensure_ascii off (salt/output/json_out.py).
func newJSON(o Options) Outputter {
	return formatter(func(v any) (string, error) {
		w := jsonWriter{item: ", ", sort: o.Indent == "pretty"}
		if step, ok := jsonStep(o.Indent); ok {
			w.item, w.lines, w.step = ",", true, step
		}
		if !w.write(v, 0) {
			return "{}", nil // Salt's answer to a key that JSON cannot have
		}
		return w.b.String(), nil
	})
}

// JSON returns v on one line as salt.utils.json.dumps writes it: as the outputter json does. The error wraps ErrKey for a
// key that JSON cannot have; bytes become the text of their Python form.
func JSON(v any) (string, error) {
	w := jsonWriter{item: ", "}
	if !w.write(v, 0) {
		return "", fmt.Errorf("write JSON: %w", ErrKey)
	}
	return w.b.String(), nil
}

// jsonStep returns what a level is indented by; ok is false when all is to stand on one line.
func jsonStep(indent any) (step string, ok bool) {
	switch n := indent.(type) {
	case NoIndent:
		return "    ", true
	case string:
		if n == "pretty" {
			return "    ", true
		}
		return n, true
	case bool:
		if n {
			return " ", true
		}
		return "", true
	}
	if n := columns(indent); n >= 0 {
		return strings.Repeat(" ", n), true
	}
	return "", false
}

// maxIndent bounds what an operator can ask for, because each line costs as much.
const maxIndent = 1000

// columns returns a number of columns, at most maxIndent; -1 when v is none or below 0.
func columns(v any) int {
	switch n := v.(type) {
	case int64:
		return int(max(-1, min(n, maxIndent)))
	case int:
		return max(-1, min(n, maxIndent))
	}
	return -1
}

// jsonWriter writes one value. The dynamic values of package data are walked here, and not by encoding/json, because
// that one has no ordered maps, no NaN and other escapes.
type jsonWriter struct {
	b     strings.Builder
	item  string // between items
	step  string
	lines bool // each item on a line of its own
	sort  bool
}

// write reports whether v could be written: a key that is neither text, number, truth value nor None cannot.
func (w *jsonWriter) write(v any, level int) bool {
	switch v := v.(type) {
	case *data.Map:
		return w.dict(v, level)
	case []any:
		return w.list(v, level)
	case data.Tuple:
		return w.list(v, level)
	case string:
		w.text(v)
	default:
		s, ok := jsonScalar(v)
		if !ok {
			w.text(data.Repr(v))
			return true
		}
		w.b.WriteString(s)
	}
	return true
}

// jsonScalar returns the text of a number, a truth value or None, which is also its text as a key.
func jsonScalar(v any) (s string, ok bool) {
	switch v := v.(type) {
	case nil:
		return "null", true
	case bool:
		return strconv.FormatBool(v), true
	case int64, int, *big.Int:
		return fmt.Sprint(v), true
	case float64:
		return jsonFloat(v), true
	}
	return "", false
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

func (w *jsonWriter) list(list []any, level int) bool {
	if len(list) == 0 {
		w.b.WriteString("[]")
		return true
	}
	w.b.WriteByte('[')
	for i, e := range list {
		w.next(i, level+1)
		if !w.write(e, level+1) {
			return false
		}
	}
	w.end(level)
	w.b.WriteByte(']')
	return true
}

func (w *jsonWriter) dict(m *data.Map, level int) bool {
	if m.Len() == 0 {
		w.b.WriteString("{}")
		return true
	}
	keys := m.Keys()
	if w.sort {
		var ok bool
		if keys, ok = sortedKeys(m); !ok {
			return false
		}
	}
	w.b.WriteByte('{')
	for i, k := range keys {
		w.next(i, level+1)
		if !w.key(k) || !w.write(m.Value(k), level+1) {
			return false
		}
	}
	w.end(level)
	w.b.WriteByte('}')
	return true
}

func (w *jsonWriter) key(k any) bool {
	s, ok := k.(string)
	if !ok {
		s, ok = jsonScalar(k)
	}
	w.text(s)
	w.b.WriteString(": ")
	return ok
}

func (w *jsonWriter) next(i, level int) {
	if i > 0 {
		w.b.WriteString(w.item)
	}
	w.end(level)
}

func (w *jsonWriter) end(level int) {
	if w.lines {
		w.b.WriteByte('\n')
		for range level {
			w.b.WriteString(w.step)
		}
	}
}

var jsonEscapes = strings.NewReplacer(jsonEscapePairs()...)

func jsonEscapePairs() []string {
	pairs := []string{`"`, `\"`, `\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\f", `\f`, "\b", `\b`}
	for c := range byte(0x20) {
		if !strings.ContainsRune("\n\r\t\f\b", rune(c)) {
			pairs = append(pairs, string(rune(c)), fmt.Sprintf(`\u%04x`, c))
		}
	}
	return pairs
}

func (w *jsonWriter) text(s string) {
	w.b.WriteByte('"')
	_, _ = jsonEscapes.WriteString(&w.b, s)
	w.b.WriteByte('"')
}
