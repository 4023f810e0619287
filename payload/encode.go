package payload

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/brineproject/brine/data"
)

// Codes of the extensions that Salt (salt/payload.py) and MessagePack itself define.
const (
	extTime      = 78
	extConst     = 79
	extTimestamp = -1
)

// deepest is the maximum nesting depth of an encoder, the same as in Salt.
const deepest = 511

// Marshal returns v in wire form: text and bytes are both old raw.
func Marshal(v any) ([]byte, error) { return Append(nil, v) }

// MarshalBin returns v in bin form, as used for the event bus and files.
func MarshalBin(v any) ([]byte, error) { return AppendBin(nil, v) }

// Append appends v in wire form to dst. A data.Raw in v is copied unchanged, whatever its form. The
// error names a Go type that is not a dynamic value.
func Append(dst []byte, v any) ([]byte, error) { return appendValue(dst, v, false, deepest) }

// AppendBin appends v in bin form to dst. A data.Raw in v is copied unchanged.
func AppendBin(dst []byte, v any) ([]byte, error) { return appendValue(dst, v, true, deepest) }

func appendValue(dst []byte, v any, bin bool, depth int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, 0xc0), nil
	case bool:
		return appendBool(dst, v), nil
	case string:
		return appendText(dst, v, bin), nil
	case []byte:
		return appendBytes(dst, v, bin), nil
	case int64:
		return appendInt(dst, v), nil
	case int:
		return appendInt(dst, int64(v)), nil
	case float64:
		return appendFloat(dst, v), nil
	case data.Raw:
		return append(dst, v...), nil
	case []any:
		return appendList(dst, v, bin, depth-1)
	case data.Tuple:
		return appendList(dst, v, bin, depth-1)
	case *data.Map:
		return appendMap(dst, v, bin, depth-1)
	case data.Set:
		return appendList(dst, v, bin, depth-1)
	}
	return appendRare(dst, v, bin)
}

func appendRare(dst []byte, v any, bin bool) ([]byte, error) {
	switch v := v.(type) {
	case *big.Int:
		return appendBig(dst, v, bin), nil
	case time.Time:
		return appendTime(dst, v), nil
	case data.Const:
		body, err := MarshalBin([]any{v.Name, v.Value})
		return appendExt(dst, extConst, body), err
	case data.Timestamp:
		return appendTimestamp(dst, v), nil
	case data.Ext:
		return appendExt(dst, v.Code, v.Data), nil
	case data.Object:
		if v.Sent != nil {
			return appendRare(dst, v.Sent, bin)
		}
		return appendMapHead(dst, 0), nil
	}
	return dst, fmt.Errorf("encode: can not serialize %T", v)
}

func appendList(dst []byte, list []any, bin bool, depth int) ([]byte, error) {
	if depth < 0 {
		return dst, fmt.Errorf("encode: nested too deep: %w", ErrLimit)
	}
	dst = appendArrayHead(dst, len(list))
	var err error
	for _, e := range list {
		if dst, err = appendValue(dst, e, bin, depth); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func appendMap(dst []byte, m *data.Map, bin bool, depth int) ([]byte, error) {
	if depth < 0 {
		return dst, fmt.Errorf("encode: nested too deep: %w", ErrLimit)
	}
	dst = appendMapHead(dst, m.Len())
	var err error
	for k, v := range m.All() {
		if dst, err = appendValue(dst, k, bin, depth); err != nil {
			return dst, err
		}
		if dst, err = appendValue(dst, v, bin, depth); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 0xc3)
	}
	return append(dst, 0xc2)
}

// appendInt appends the smallest encoding.
func appendInt(dst []byte, n int64) []byte {
	switch {
	case n >= 0:
		return appendUint(dst, uint64(n))
	case n >= -32:
		return append(dst, byte(n))
	case n >= math.MinInt8:
		return append(dst, 0xd0, byte(n))
	case n >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(dst, 0xd1), uint16(n))
	case n >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(dst, 0xd2), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xd3), uint64(n))
}

func appendUint(dst []byte, n uint64) []byte {
	switch {
	case n <= 0x7f:
		return append(dst, byte(n))
	case n <= math.MaxUint8:
		return append(dst, 0xcc, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, 0xcd), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, 0xce), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xcf), n)
}

func appendBig(dst []byte, n *big.Int, bin bool) []byte {
	switch {
	case n.IsInt64():
		return appendInt(dst, n.Int64())
	case n.IsUint64():
		return appendUint(dst, n.Uint64())
	}
	return appendText(dst, n.String(), bin)
}

func appendFloat(dst []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(f))
}

func appendText(dst []byte, s string, bin bool) []byte {
	return append(appendTextHead(dst, len(s), bin), s...)
}

// AppendBytesHead appends the head of a string of n bytes in wire form.
func AppendBytesHead(dst []byte, n int) []byte { return appendTextHead(dst, n, false) }

// appendTextHead appends the head of a text, or of bytes in wire form. str8 is used in bin form
// only.
func appendTextHead(dst []byte, n int, bin bool) []byte {
	switch {
	case n <= 31:
		return append(dst, 0xa0|byte(n))
	case bin && n <= math.MaxUint8:
		return append(dst, 0xd9, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, 0xda), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, 0xdb), uint32(n))
}

func appendBytes(dst, b []byte, bin bool) []byte {
	if !bin {
		return append(appendTextHead(dst, len(b), false), b...)
	}
	return append(appendBinHead(dst, len(b)), b...)
}

func appendBinHead(dst []byte, n int) []byte {
	switch {
	case n <= math.MaxUint8:
		return append(dst, 0xc4, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, 0xc5), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, 0xc6), uint32(n))
}

func appendArrayHead(dst []byte, n int) []byte {
	switch {
	case n <= 15:
		return append(dst, 0x90|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, 0xdc), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, 0xdd), uint32(n))
}

func appendMapHead(dst []byte, n int) []byte {
	switch {
	case n <= 15:
		return append(dst, 0x80|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, 0xde), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, 0xdf), uint32(n))
}

func appendExt(dst []byte, code int8, body []byte) []byte {
	switch n := len(body); {
	case n == 1 || n == 2 || n == 4 || n == 8 || n == 16:
		form := byte(0xd4)
		for ; n > 1; n /= 2 {
			form++
		}
		dst = append(dst, form, byte(code))
	case n <= math.MaxUint8:
		dst = append(dst, 0xc7, byte(n), byte(code))
	case n <= math.MaxUint16:
		dst = append(binary.BigEndian.AppendUint16(append(dst, 0xc8), uint16(n)), byte(code))
	default:
		dst = append(binary.BigEndian.AppendUint32(append(dst, 0xc9), uint32(n)), byte(code))
	}
	return append(dst, body...)
}

// appendTime encodes the local clock time of t without its zone. As with strftime, a year before
// 1000 has fewer digits and cannot be read back.
func appendTime(dst []byte, t time.Time) []byte {
	text := strconv.Itoa(t.Year()) + t.Format("0102T15:04:05.000000")
	return appendExt(dst, extTime, []byte(text))
}

func appendTimestamp(dst []byte, t data.Timestamp) []byte {
	switch {
	case t.Seconds>>34 != 0:
		b := binary.BigEndian.AppendUint32(nil, t.Nanoseconds)
		return appendExt(dst, extTimestamp, binary.BigEndian.AppendUint64(b, uint64(t.Seconds)))
	case t.Nanoseconds == 0 && t.Seconds>>32 == 0:
		return appendExt(dst, extTimestamp, binary.BigEndian.AppendUint32(nil, uint32(t.Seconds)))
	}
	n := uint64(t.Nanoseconds)<<34 | uint64(t.Seconds)
	return appendExt(dst, extTimestamp, binary.BigEndian.AppendUint64(nil, n))
}
