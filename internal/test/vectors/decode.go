package vectors

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
)

type decoder struct{ j *json.Decoder }

// newDecoder returns a decoder of JSON text, in which numbers may be NaN, Infinity and -Infinity,
// as Python writes them.
func newDecoder(src []byte) *decoder {
	j := json.NewDecoder(bytes.NewReader(spellFloats(src)))
	j.UseNumber()
	return &decoder{j}
}

// spellFloats replaces the numbers that JSON does not have by $float objects. Strings are
// unchanged.
func spellFloats(src []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(src); {
		if src[i] == '"' {
			i += stringLen(src[i:])
			continue
		}
		n := floatLen(src[i:])
		if n > 0 {
			out = fmt.Appendf(append(out, src[done:i]...), `{"$float": %q}`, src[i:i+n])
			done = i + n
		}
		i += max(n, 1)
	}
	return append(out, src[done:]...)
}

// stringLen returns the length of the string that src begins with, quotes included.
func stringLen(src []byte) int {
	for i := 1; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(src)
}

func floatLen(src []byte) int {
	for _, name := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(src, []byte(name)) {
			return len(name)
		}
	}
	return 0
}

func (d *decoder) document() (any, error) {
	v, err := d.value()
	if err != nil {
		return nil, err
	}
	if _, err := d.j.Token(); err != io.EOF {
		return nil, errors.New("text after the value")
	}
	return v, nil
}

func (d *decoder) value() (any, error) {
	tok, err := d.j.Token()
	if err != nil {
		return nil, err
	}
	switch tok := tok.(type) {
	case json.Delim:
		if tok == '[' {
			return d.list()
		}
		return d.object()
	case json.Number:
		return number(string(tok))
	}
	return tok, nil
}

func (d *decoder) list() (any, error) {
	list := []any{}
	for d.j.More() {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.j.Token()
	return list, err
}

func (d *decoder) object() (any, error) {
	m := &data.Map{}
	for d.j.More() {
		k, err := d.j.Token()
		if err != nil {
			return nil, err
		}
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		m.Set(k, v)
	}
	if _, err := d.j.Token(); err != nil {
		return nil, err
	}
	return special(m)
}

func number(s string) (any, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	if n, ok := new(big.Int).SetString(s, 10); ok {
		return n, nil
	}
	return strconv.ParseFloat(s, 64)
}

// special converts a one-key object for an exact value to that value.
func special(m *data.Map) (any, error) {
	if m.Len() == 0 {
		return m, nil
	}
	kind, _ := m.Keys()[0].(string)
	if !strings.HasPrefix(kind, "$") {
		return m, nil
	}
	v, known, err := exact(kind, m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	if !known {
		return m, nil
	}
	return v, nil
}

func exact(kind string, m *data.Map) (v any, known bool, err error) {
	raw := m.Value(kind)
	text := fmt.Sprint(raw)
	switch kind {
	case "$int":
		v, err = number(text)
	case "$float":
		v, err = float(text, m.Text("bits"))
	case "$bytes", "$bytearray":
		v, err = octets(raw)
	case "$map":
		v, err = pairs(raw)
	case "$tuple":
		var l []any
		l, err = list(raw)
		v = data.Tuple(l)
	case "$set":
		v, err = list(raw)
	case "$datetime", "$date":
		v, err = moment(text)
	case "$const":
		v, err = constant(raw)
	case "$ext":
		v, err = extension(raw)
	case "$timestamp":
		v, err = timestamp(raw)
	case "$surrogate_str", "$complex", "$object":
		v = Unencodable{Kind: kind, Text: text}
	default:
		return nil, false, nil
	}
	return v, true, err
}

// octets decodes base64 text or, as in yaml.json, a list of numbers.
func octets(v any) ([]byte, error) {
	l, ok := v.([]any)
	if !ok {
		return base64.StdEncoding.DecodeString(fmt.Sprint(v))
	}
	b := make([]byte, len(l))
	for i, e := range l {
		n, ok := e.(int64)
		if !ok || n < 0 || n > 255 {
			return nil, fmt.Errorf("%v is no byte", e)
		}
		b[i] = byte(n)
	}
	return b, nil
}

func float(text, bits string) (any, error) {
	if bits == "" {
		return strconv.ParseFloat(text, 64)
	}
	b, err := hex.DecodeString(bits)
	if err != nil || len(b) != 8 {
		return nil, fmt.Errorf("bits %q", bits)
	}
	n, err := strconv.ParseUint(bits, 16, 64)
	return math.Float64frombits(n), err
}

func list(v any) ([]any, error) {
	l, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%T is not a list", v)
	}
	return l, nil
}

func pairs(v any) (any, error) {
	l, err := list(v)
	if err != nil {
		return nil, err
	}
	m := &data.Map{}
	for _, e := range l {
		p, ok := e.([]any)
		if !ok || len(p) != 2 {
			return nil, errors.New("not a pair")
		}
		// a set as a key has no counterpart, so the encoder must reject it
		if s, ok := p[0].([]any); ok {
			p[0] = Unencodable{Kind: "$set", Text: data.Repr(s)}
		}
		m.Set(p[0], p[1])
	}
	return m, nil
}

func moment(s string) (any, error) {
	for _, layout := range []string{"2006-01-02T15:04:05.999999999Z07:00",
		"2006-01-02T15:04:05.999999999", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return nil, fmt.Errorf("time %q", s)
}

func constant(v any) (any, error) {
	m, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("%T", v)
	}
	return data.Const{Name: m.Text("name"), Value: m.Value("value")}, nil
}

func extension(v any) (any, error) {
	m, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("%T", v)
	}
	code, _ := m.Value("code").(int64)
	b, err := base64.StdEncoding.DecodeString(m.Text("data"))
	return data.Ext{Code: int8(code), Data: b}, err
}

// timestamp builds the extension value -1 in the form into which the two numbers fit.
func timestamp(v any) (any, error) {
	l, ok := v.([]any)
	if !ok || len(l) != 2 {
		return nil, fmt.Errorf("%T", v)
	}
	s, _ := l[0].(int64)
	ns, _ := l[1].(int64)
	return data.Timestamp{Seconds: s, Nanoseconds: uint32(ns)}, nil
}
