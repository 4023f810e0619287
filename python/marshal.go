package python

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Format of Python's module marshal, version 2 (Python/marshal.c): a value is a byte for its type
// and its content, with numbers in little endian.
const (
	typeNull      = '0' // ends a dictionary
	typeNone      = 'N'
	typeTrue      = 'T'
	typeFalse     = 'F'
	typeEllipsis  = '.' // begins a tuple that stands for a value of another type
	typeInt       = 'i' // 32 bits
	typeLong      = 'l' // number of digits, negative for a negative number, and digits of 15 bits
	typeFloat     = 'g' // 64 bits
	typeComplex   = 'y'
	typeText      = 'u' // length and UTF-8, in which lone surrogates may stand
	typeBytes     = 's'
	typeTuple     = '('
	typeList      = '['
	typeDict      = '{'
	typeSet       = '<'
	typeFrozenSet = '>'
)

// Limits of a value from a worker.
const (
	maxDepth = 1000
	maxDigit = 1 << 16 // digits of an integer, of 15 bits each
	// maxValues is the most values that one message may have, keys included. A master accepts a
	// million in a return.
	maxValues = 5_000_000
)

var errTruncated = errors.New("value is truncated")

// appendValue appends v in marshal's format.
func appendValue(b []byte, v any) ([]byte, error) {
	e := encoder{b: b}
	if err := e.value(v, 0); err != nil {
		return nil, err
	}
	return e.b, nil
}

type encoder struct{ b []byte }

func (e *encoder) size(n int) { e.b = binary.LittleEndian.AppendUint32(e.b, uint32(n)) }

func (e *encoder) text(s string) {
	e.b = append(e.b, typeText)
	e.size(len(s))
	e.b = append(e.b, s...)
}

func (e *encoder) value(v any, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("value nests deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case nil:
		e.b = append(e.b, typeNone)
	case bool:
		kind := byte(typeFalse)
		if v {
			kind = typeTrue
		}
		e.b = append(e.b, kind)
	case int:
		e.int(int64(v))
	case int64:
		e.int(v)
	case *big.Int:
		e.big(v)
	case float64:
		e.b = append(e.b, typeFloat)
		e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(v))
	case string:
		e.text(escaped(v))
	case []byte:
		e.bytes(v)
	case []any:
		return e.list(typeList, v, depth)
	case []string:
		return e.list(typeList, data.Values(v), depth)
	case data.Tuple:
		return e.list(typeTuple, v, depth)
	case data.Set:
		return e.list(typeSet, v, depth)
	case *data.Map:
		return e.dict(v, depth)
	case loader.Reference:
		return e.tag("function", data.Tuple{v.Kind, v.Name}, depth)
	case time.Time:
		return e.tag("datetime", v.Format("2006-01-02T15:04:05.999999"), depth)
	case data.Object:
		return e.tag("repr", v.Repr, depth)
	default:
		return fmt.Errorf("value of type %T cannot be sent to Python", v)
	}
	return nil
}

func (e *encoder) int(n int64) {
	if n < math.MinInt32 || n > math.MaxInt32 {
		e.big(big.NewInt(n))
		return
	}
	e.b = append(e.b, typeInt)
	e.b = binary.LittleEndian.AppendUint32(e.b, uint32(int32(n)))
}

func (e *encoder) big(n *big.Int) {
	var digits []uint16
	have, bits := uint32(0), 0 // of the bytes read
	for _, b := range slices.Backward(n.Bytes()) {
		have |= uint32(b) << bits
		if bits += 8; bits >= 15 {
			digits = append(digits, uint16(have&0x7fff))
			have, bits = have>>15, bits-15
		}
	}
	if have > 0 {
		digits = append(digits, uint16(have))
	}
	e.b = append(e.b, typeLong)
	e.size(len(digits) * n.Sign())
	for _, d := range digits {
		e.b = binary.LittleEndian.AppendUint16(e.b, d)
	}
}

func (e *encoder) bytes(v []byte) {
	e.b = append(e.b, typeBytes)
	e.size(len(v))
	e.b = append(e.b, v...)
}

func (e *encoder) list(kind byte, items []any, depth int) error {
	e.b = append(e.b, kind)
	e.size(len(items))
	for _, v := range items {
		if err := e.value(v, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) dict(m *data.Map, depth int) error {
	if m == nil {
		e.b = append(e.b, typeNone)
		return nil
	}
	e.b = append(e.b, typeDict)
	for k, v := range m.All() {
		if err := e.value(k, depth+1); err != nil {
			return err
		}
		if err := e.value(v, depth+1); err != nil {
			return err
		}
	}
	e.b = append(e.b, typeNull)
	return nil
}

// tag appends the tuple (..., name, value), which the reader resolves.
func (e *encoder) tag(name string, v any, depth int) error {
	e.b = append(e.b, typeTuple)
	e.size(3)
	e.b = append(e.b, typeEllipsis)
	e.text(name)
	return e.value(v, depth+1)
}

// escaped returns a text with the bytes that are no UTF-8 as lone surrogates, Python's
// surrogateescape: the byte 0xff is U+DCFF, in three bytes.
func escaped(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			b.Write([]byte{0xed, 0xb0 | s[0]>>6, 0x80 | s[0]&0x3f})
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// unescaped is the reverse of escaped.
func unescaped(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if i+2 < len(s) && s[i] == 0xed && s[i+1]&0xfc == 0xb0 && s[i+1]&2 != 0 && s[i+2]&0xc0 == 0x80 {
			b = append(b, s[i+1]<<6|s[i+2]&0x3f)
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

// readValue returns the value that b holds, all of it, in marshal's format. Tuples that begin with
// an ellipsis are resolved. Lengths are checked against what b still has before anything is
// allocated.
func readValue(b []byte) (any, error) {
	d := decoder{b: b}
	v, err := d.item(0)
	if err == nil && len(d.b) > 0 {
		err = fmt.Errorf("%d bytes follow the value", len(d.b))
	}
	return outside(v), err
}

type decoder struct {
	b      []byte
	values int // read so far
}

type (
	null     struct{} // end of a dictionary
	ellipsis struct{}
)

func (d *decoder) take(n int) ([]byte, error) {
	if n < 0 || n > len(d.b) {
		return nil, errTruncated
	}
	taken := d.b[:n]
	d.b = d.b[n:]
	return taken, nil
}

func (d *decoder) number() (int, error) {
	b, err := d.take(4)
	if err != nil {
		return 0, err
	}
	return int(int32(binary.LittleEndian.Uint32(b))), nil
}

// sized returns the content of a text or of bytes.
func (d *decoder) sized() ([]byte, error) {
	n, err := d.number()
	if err != nil {
		return nil, err
	}
	return d.take(n)
}

func (d *decoder) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("value nests deeper than %d", maxDepth)
	}
	if d.values++; d.values > maxValues {
		return nil, fmt.Errorf("more than %d values", maxValues)
	}
	kind, err := d.take(1)
	if err != nil {
		return nil, err
	}
	switch kind[0] {
	case typeNull:
		return null{}, nil
	case typeNone:
		return nil, nil
	case typeTrue:
		return true, nil
	case typeFalse:
		return false, nil
	case typeEllipsis:
		return ellipsis{}, nil
	case typeInt:
		n, err := d.number()
		return int64(n), err
	case typeLong:
		return d.long()
	case typeFloat:
		return d.float()
	case typeComplex:
		return d.complex()
	case typeText:
		b, err := d.sized()
		return unescaped(string(b)), err
	case typeBytes:
		b, err := d.sized()
		return append([]byte{}, b...), err
	case typeTuple, typeList, typeSet, typeFrozenSet:
		return d.list(kind[0], depth)
	case typeDict:
		return d.dict(depth)
	}
	return nil, fmt.Errorf("unknown type %q", kind[0])
}

func (d *decoder) long() (any, error) {
	n, err := d.number()
	if err != nil {
		return nil, err
	}
	count := max(n, -n)
	if count > maxDigit {
		return nil, fmt.Errorf("integer of %d digits", count)
	}
	b, err := d.take(2 * count)
	if err != nil {
		return nil, err
	}
	var little []byte
	have, bits := uint32(0), 0 // of the digits read
	for i := range count {
		have |= uint32(binary.LittleEndian.Uint16(b[2*i:])&0x7fff) << bits
		for bits += 15; bits >= 8; bits -= 8 {
			little = append(little, byte(have))
			have >>= 8
		}
	}
	little = append(little, byte(have))
	slices.Reverse(little)
	whole := new(big.Int).SetBytes(little)
	if n < 0 {
		whole.Neg(whole)
	}
	if whole.IsInt64() {
		return whole.Int64(), nil
	}
	return whole, nil
}

func (d *decoder) float() (any, error) {
	b, err := d.take(8)
	if err != nil {
		return nil, err
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
}

func (d *decoder) complex() (any, error) {
	r, err := d.float()
	if err != nil {
		return nil, err
	}
	i, err := d.float()
	if err != nil {
		return nil, err
	}
	return data.Object{Repr: fmt.Sprintf("(%s%+gj)", data.Repr(r), i)}, nil
}

func (d *decoder) list(kind byte, depth int) (any, error) {
	n, err := d.number()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > len(d.b) { // an item takes a byte or more
		return nil, errTruncated
	}
	items := make([]any, 0, min(n, 1024)) // a length that is claimed costs nothing
	tagged := false
	for i := range n {
		v, err := d.item(depth + 1)
		if err != nil {
			return nil, err
		}
		if v == (any)(ellipsis{}) {
			tagged, v = tagged || i == 0 && n == 3 && kind == typeTuple, data.Object{Repr: "Ellipsis"}
		}
		items = append(items, v)
	}
	switch {
	case kind == typeList:
		return items, nil
	case kind != typeTuple:
		return data.Set(items), nil
	case tagged && isTag(items[1]):
		return resolve(items[1], items[2])
	}
	return data.Tuple(items), nil
}

// isTag reports whether the second item of a tuple that begins with an ellipsis says that it stands
// for a value of another type. Otherwise it is a tuple of a plug-in.
func isTag(v any) bool {
	name, _ := v.(string)
	return slices.Contains([]string{"repr", "ordered", "datetime", "date"}, name)
}

// item is value without the end of a dictionary.
func (d *decoder) item(depth int) (any, error) {
	v, err := d.value(depth)
	if _, ended := v.(null); ended && err == nil {
		return nil, errors.New("end of a dictionary outside of one")
	}
	return v, err
}

func (d *decoder) dict(depth int) (any, error) {
	m := data.NewMap()
	for {
		k, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if _, ended := k.(null); ended {
			return m, nil
		}
		v, err := d.item(depth + 1)
		if err != nil {
			return nil, err
		}
		if k = outside(k); !data.Hashable(k) {
			k = data.Repr(k)
		}
		m.Set(k, outside(v))
	}
}

// outside returns a value that is not in a tuple: an ellipsis is a value of a plug-in there.
func outside(v any) any {
	if v == (any)(ellipsis{}) {
		return data.Object{Repr: "Ellipsis"}
	}
	return v
}

// resolve returns the value of a tagged tuple.
func resolve(name, v any) (any, error) {
	switch name {
	case "repr":
		text, ok := v.(string)
		if !ok {
			return nil, errors.New("repr is not a string")
		}
		return data.Object{Repr: text}, nil
	case "ordered":
		m, ok := v.(*data.Map)
		if !ok {
			return nil, errors.New(`value tagged "ordered" is not a dictionary`)
		}
		return m.SetOrdered(), nil
	case "datetime":
		text, _ := v.(string)
		for _, layout := range []string{"2006-01-02T15:04:05.999999", time.RFC3339Nano} {
			if t, err := time.Parse(layout, text); err == nil {
				return t, nil
			}
		}
		return nil, fmt.Errorf("%q is no date and time", text)
	case "date":
		text, _ := v.(string)
		if t, err := time.Parse("2006-01-02", text); err == nil {
			return data.Object{Sent: t, // Salt sends midnight
				Repr: fmt.Sprintf("datetime.date(%d, %d, %d)", t.Year(), t.Month(), t.Day())}, nil
		}
		return nil, fmt.Errorf("%q is no date", text)
	}
	return nil, fmt.Errorf("unknown tag %s", data.Repr(name))
}
