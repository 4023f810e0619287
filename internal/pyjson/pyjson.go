// Package pyjson reads and writes JSON as Python's json module does: it keeps the order of maps,
// knows NaN and Infinity, converts keys that are numbers, and uses the same escapes and error
// texts.
//
//	text, err := pyjson.Append(nil, v, pyjson.Options{Comma: ", ", Colon: ": "})
//	v, err = pyjson.Load(string(text))
package pyjson

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// Options are the parameters of json.dumps.
type Options struct {
	// between elements and after keys; Python's defaults are ", ", with Lines ",", and ": "
	Comma, Colon string
	Lines        bool   // each element on a line of its own: indent is not None
	Step         string // the indent of each level with Lines
	ASCII        bool   // escape non-ASCII characters: ensure_ascii
	SkipKeys     bool   // leave out entries whose keys are invalid in JSON
	NoNaN        bool   // reject numbers that JSON does not have

	Sort func(keys []any) ([]any, error) // sorts the keys of a map; nil keeps their order
	// replaces a value of another type, or a *big.Int; nil rejects others
	Other func(v any) (any, error)
	// appends an encoded value, which other options do not change; nil, or an error of it, rejects it
	Raw func(dst []byte, v data.Raw) ([]byte, error)
	// called before each value with the bytes written so far; may be nil
	Room  func(bytes int) error
	Depth int // maximum nesting; 0 means 5000
}

// A Reason is the reason why a value cannot be written.
type Reason int

// The reasons: a value of an unsupported type, a key of an unsupported type, a number that JSON
// does not have, a value that contains itself, and too deep nesting.
const (
	BadType Reason = iota
	BadKey
	BadNumber
	Circular
	TooDeep
)

// An Error reports a value that cannot be written. Its text contains the Go type; callers that know
// Python's type make their own text.
type Error struct {
	Reason Reason
	Value  any
}

// Error returns the text.
func (e *Error) Error() string {
	switch e.Reason {
	case BadKey:
		return fmt.Sprintf("keys must be str, int, float, bool or None, not %T", e.Value)
	case BadNumber:
		return "Out of range float values are not JSON compliant"
	case Circular:
		return "Circular reference detected"
	case TooDeep:
		return "maximum recursion depth exceeded while encoding a JSON object"
	}
	return fmt.Sprintf("Object of type %T is not JSON serializable", e.Value)
}

// Append appends v as JSON to dst. The error is an *Error, or one of the functions in o.
func Append(dst []byte, v any, o Options) ([]byte, error) {
	if o.Depth == 0 {
		o.Depth = 5000
	}
	w := &writer{o: o, b: dst}
	err := w.value(v)
	return w.b, err
}

type writer struct {
	o     Options
	b     []byte
	above []any // the enclosing lists and maps, if they have an identity
}

func (w *writer) value(v any) error {
	if w.o.Room != nil {
		if err := w.o.Room(len(w.b)); err != nil {
			return err
		}
	}
	switch v := v.(type) { // most values
	case string:
		w.text(v)
		return nil
	case int64:
		w.b = strconv.AppendInt(w.b, v, 10)
		return nil
	case data.Raw:
		if w.o.Raw != nil {
			return w.raw(v)
		}
	}
	if f, ok := v.(float64); ok && w.o.NoNaN && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return &Error{BadNumber, v}
	}
	if s, ok, err := w.scalar(v); ok || err != nil {
		w.b = append(w.b, s...)
		return err
	}
	if done, err := w.collection(v, v); done {
		return err
	}
	other, err := w.other(v)
	if err != nil {
		return err
	}
	if s, ok := other.(string); ok {
		w.text(s)
		return nil
	}
	if done, err := w.collection(other, v); done {
		return err
	}
	return &Error{BadType, v}
}

func (w *writer) raw(v data.Raw) error {
	b, err := w.o.Raw(w.b, v)
	if err != nil {
		return &Error{BadType, v}
	}
	w.b = b
	return nil
}

func (w *writer) other(v any) (any, error) {
	if w.o.Other == nil {
		return nil, &Error{BadType, v}
	}
	return w.o.Other(v)
}

// scalar returns the text of a number, a truth value or None, which is also its text as a key.
func (w *writer) scalar(v any) (string, bool, error) {
	switch v := v.(type) {
	case nil:
		return "null", true, nil
	case bool:
		return strconv.FormatBool(v), true, nil
	case int64:
		return strconv.FormatInt(v, 10), true, nil
	case int:
		return strconv.Itoa(v), true, nil
	case *big.Int:
		if w.o.Other != nil {
			if _, err := w.o.Other(v); err != nil {
				return "", false, err
			}
		}
		return v.String(), true, nil
	case float64:
		return float(v), true, nil
	}
	return "", false, nil
}

func float(f float64) string {
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

// collection writes a list or map; same identifies it.
func (w *writer) collection(v, same any) (done bool, err error) {
	switch v := v.(type) {
	case *data.Map:
		return true, w.nested(same, func() error { return w.dict(v) })
	case []any:
		return true, w.nested(same, func() error { return w.list(v) })
	case data.Tuple:
		return true, w.nested(same, func() error { return w.list(v) })
	}
	return false, nil
}

func (w *writer) nested(v any, write func() error) error {
	switch v.(type) {
	case []any, data.Tuple:
		v = nil // it cannot be compared
	}
	if len(w.above) > w.o.Depth {
		return &Error{TooDeep, v}
	}
	for _, a := range w.above {
		if v != nil && a == v {
			return &Error{Circular, v}
		}
	}
	w.above = append(w.above, v)
	err := write()
	w.above = w.above[:len(w.above)-1]
	return err
}

func (w *writer) list(items []any) error {
	w.b = append(w.b, '[')
	for i, v := range items {
		w.separate(i)
		if err := w.value(v); err != nil {
			return err
		}
	}
	w.end(len(items), ']')
	return nil
}

func (w *writer) dict(m *data.Map) error {
	m, err := w.sorted(m)
	if err != nil {
		return err
	}
	w.b = append(w.b, '{')
	n := 0
	for k, v := range m.All() {
		name, ok, err := w.key(k)
		switch {
		case err != nil:
			return err
		case !ok && w.o.SkipKeys:
			continue
		case !ok:
			return &Error{BadKey, k}
		}
		w.separate(n)
		n++
		w.text(name)
		w.b = append(w.b, w.o.Colon...)
		if err := w.value(v); err != nil {
			return err
		}
	}
	w.end(n, '}')
	return nil
}

// sorted returns m with its keys in the order of the options.
func (w *writer) sorted(m *data.Map) (*data.Map, error) {
	if w.o.Sort == nil || m.Len() == 0 {
		return m, nil
	}
	keys, err := w.o.Sort(m.Keys())
	if err != nil {
		return nil, err
	}
	ordered := &data.Map{}
	ordered.Grow(len(keys))
	for _, k := range keys {
		ordered.Set(k, m.Value(k))
	}
	return ordered, nil
}

func (w *writer) key(k any) (string, bool, error) {
	if s, ok := k.(string); ok {
		return s, true, nil
	}
	return w.scalar(k)
}

// separate writes the separator before element n.
func (w *writer) separate(n int) {
	if n > 0 {
		w.b = append(w.b, w.o.Comma...)
	}
	w.line(len(w.above))
}

// end writes the end after n elements.
func (w *writer) end(n int, bracket byte) {
	if n > 0 {
		w.line(len(w.above) - 1)
	}
	w.b = append(w.b, bracket)
}

func (w *writer) line(level int) {
	if !w.o.Lines {
		return
	}
	w.b = append(w.b, '\n')
	for range level {
		w.b = append(w.b, w.o.Step...)
	}
}

func (w *writer) text(s string) { w.b = appendText(w.b, s, w.o.ASCII) }

// AppendText appends a text of UTF-8 as JSON, without Options.ASCII.
func AppendText(dst, text []byte) []byte { return appendText(dst, text, false) }

// AppendFloat appends a number as JSON.
func AppendFloat(dst []byte, f float64) []byte { return append(dst, float(f)...) }

func appendText[T string | []byte](dst []byte, s T, ascii bool) []byte {
	dst = append(dst, '"')
	for len(s) > 0 {
		n := 0
		for n < len(s) && s[n] >= ' ' && s[n] != '"' && s[n] != '\\' &&
			(!ascii || s[n] <= '~') {
			n++
		}
		dst = append(dst, s[:n]...)
		if s = s[n:]; len(s) == 0 {
			break
		}
		r, size := utf8.DecodeRuneInString(string(s[:min(len(s), utf8.UTFMax)]))
		dst = appendEscape(dst, r)
		s = s[size:]
	}
	return append(dst, '"')
}

func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	if r >= 0x10000 {
		r -= 0x10000
		dst = appendUnit(dst, 0xd800+r>>10)
		r = 0xdc00 + r&0x3ff
	}
	return appendUnit(dst, r)
}

func appendUnit(dst []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
