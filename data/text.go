package data

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Str returns v as Python's str() prints it: text as it is, everything else as Repr, except for
// times.
func Str(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case time.Time:
		return timeText(v)
	}
	return Repr(v)
}

// Repr returns v as Python's repr() prints it; a Map prints as a dict does. Go's Unicode tables
// decide which characters are printable; they may include a few newer ones than Python's.
func Repr(v any) string { return string(AppendRepr(nil, v)) }

// AppendRepr appends Repr of v to b.
func AppendRepr(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "None"...)
	case string:
		return appendText(b, v)
	case []any:
		return append(appendItems(append(b, '['), v), ']')
	case *Map:
		return appendMap(b, v)
	case Tuple:
		return appendTuple(b, v)
	case Set:
		if len(v) == 0 {
			return append(b, "set()"...)
		}
		return append(appendItems(append(b, '{'), v), '}')
	}
	return appendScalar(b, v)
}

func appendScalar(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		if v {
			return append(b, "True"...)
		}
		return append(b, "False"...)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case *big.Int:
		return v.Append(b, 10)
	case float64:
		return appendFloat(b, v)
	case []byte:
		return appendBytes(b, v)
	}
	return appendObject(b, v)
}

func appendObject(b []byte, v any) []byte {
	switch v := v.(type) {
	case Raw:
		return appendBytes(b, v)
	case time.Time:
		return append(b, timeRepr(v)...)
	case Const:
		return appendConst(b, v)
	case Object:
		return append(b, v.Repr...)
	case Timestamp:
		return fmt.Appendf(b, "Timestamp(seconds=%d, nanoseconds=%d)", v.Seconds, v.Nanoseconds)
	case Ext:
		b = fmt.Appendf(b, "ExtType(code=%d, data=", v.Code)
		return append(appendBytes(b, v.Data), ')')
	}
	return fmt.Appendf(b, "<%T>", v)
}

func appendConst(b []byte, c Const) []byte {
	if !Truth(c.Value) {
		return fmt.Appendf(b, "<Constant.%s>", c.Name)
	}
	return fmt.Appendf(b, "<Constant.%s value=%s>", c.Name, Str(c.Value))
}

func appendItems(b []byte, items []any) []byte {
	for i, e := range items {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = AppendRepr(b, e)
	}
	return b
}

func appendTuple(b []byte, t Tuple) []byte {
	b = appendItems(append(b, '('), t)
	if len(t) == 1 {
		b = append(b, ',')
	}
	return append(b, ')')
}

func appendMap(b []byte, m *Map) []byte {
	b = append(b, '{')
	first := true
	for k, v := range m.All() {
		if !first {
			b = append(b, ", "...)
		}
		first = false
		b = append(AppendRepr(b, k), ": "...)
		b = AppendRepr(b, v)
	}
	return append(b, '}')
}

// appendFloat prints the shortest digits that read back as f: plain from 1e-4 to below 1e16,
// otherwise with an exponent of two digits or more. A whole number gets ".0".
func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "nan"...)
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	start := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if strings.IndexByte(string(b[start:]), '.') < 0 {
		b = append(b, ".0"...)
	}
	return b
}

// quoteFor returns Python's choice of quote: ' unless the text contains only that one.
func quoteFor(single, double bool) byte {
	if single && !double {
		return '"'
	}
	return '\''
}

func appendText(b []byte, s string) []byte {
	q := quoteFor(strings.Contains(s, "'"), strings.Contains(s, `"`))
	b = append(b, q)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			// as the surrogateescape error handler decodes such a byte
			b = fmt.Appendf(b, `\udc%02x`, s[i])
		case r < utf8.RuneSelf:
			b = appendByte(b, byte(r), q)
		case unicode.IsPrint(r):
			b = append(b, s[i:i+n]...)
		default:
			b = appendEscape(b, r)
		}
		i += n
	}
	return append(b, q)
}

func appendEscape(b []byte, r rune) []byte {
	switch {
	case r < 0x100:
		return fmt.Appendf(b, `\x%02x`, r)
	case r < 0x10000:
		return fmt.Appendf(b, `\u%04x`, r)
	}
	return fmt.Appendf(b, `\U%08x`, r)
}

func appendByte(b []byte, c, quote byte) []byte {
	switch {
	case c == quote || c == '\\':
		return append(b, '\\', c)
	case c == '\n':
		return append(b, `\n`...)
	case c == '\r':
		return append(b, `\r`...)
	case c == '\t':
		return append(b, `\t`...)
	case c < ' ' || c >= 0x7f:
		return fmt.Appendf(b, `\x%02x`, c)
	}
	return append(b, c)
}

func appendBytes(b, s []byte) []byte {
	q := quoteFor(strings.IndexByte(string(s), '\'') >= 0, strings.IndexByte(string(s), '"') >= 0)
	b = append(b, 'b', q)
	for _, c := range s {
		b = appendByte(b, c, q)
	}
	return append(b, q)
}

// timeText is str() of a datetime. A time in UTC counts as one without a zone.
func timeText(t time.Time) string {
	layout := "2006-01-02 15:04:05"
	if t.Nanosecond() >= 1000 {
		layout += ".000000"
	}
	if t.Location() != time.UTC {
		layout += "-07:00"
	}
	return t.Format(layout)
}

func timeRepr(t time.Time) string {
	parts := []int{t.Year(), int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second(),
		t.Nanosecond() / 1000}
	n := 7
	for n > 5 && parts[n-1] == 0 {
		n--
	}
	text := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(parts[:n])), ", "), "[]")
	if _, offset := t.Zone(); t.Location() != time.UTC {
		text += ", tzinfo=datetime.timezone(" + offsetRepr(offset) + ")"
	}
	return "datetime.datetime(" + text + ")"
}

func offsetRepr(seconds int) string {
	if seconds >= 0 {
		return fmt.Sprintf("datetime.timedelta(seconds=%d)", seconds)
	}
	return fmt.Sprintf("datetime.timedelta(days=-1, seconds=%d)", seconds+86400)
}
