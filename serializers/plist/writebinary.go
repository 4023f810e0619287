package plist

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"time"
	"unicode/utf16"

	"github.com/brineproject/brine/data"
)

const magic = "bplist00"

// epoch is the start of the binary form's time.
func epoch() time.Time { return time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC) }

// object is a value in the list of objects; a container refers to its elements by their numbers.
type object struct {
	value any
	refs  []int // of a dictionary, the keys first
}

type binaryWriter struct {
	o       Options
	objects []*object
	known   map[any]int // numbers of scalars, which are written once
}

// scalarKey distinguishes values of different types, such as 1 and 1.0; bytes and big numbers are
// stored as text.
type scalarKey struct {
	kind  byte
	value any
}

func writeBinary(v any, o Options) ([]byte, error) {
	w := &binaryWriter{o: o, known: map[any]int{}}
	if _, err := w.flatten(v, 0); err != nil {
		return nil, err
	}
	refSize := sizeOf(len(w.objects))
	out := []byte(magic)
	offsets := make([]int, len(w.objects))
	for i, obj := range w.objects {
		offsets[i] = len(out)
		var err error
		if out, err = obj.append(out, refSize); err != nil {
			return nil, err
		}
	}
	table := len(out)
	offsetSize := sizeOf(table)
	for _, at := range offsets {
		out = appendNumber(out, uint64(at), offsetSize)
	}
	out = append(out, 0, 0, 0, 0, 0, 0, byte(offsetSize), byte(refSize))
	for _, n := range []int{len(w.objects), 0, table} {
		out = binary.BigEndian.AppendUint64(out, uint64(n))
	}
	return out, nil
}

func sizeOf(count int) int {
	switch {
	case count < 1<<8:
		return 1
	case count < 1<<16:
		return 2
	case uint64(count) < 1<<32:
		return 4
	}
	return 8
}

func appendNumber(out []byte, n uint64, size int) []byte {
	switch size {
	case 1:
		return append(out, byte(n))
	case 2:
		return binary.BigEndian.AppendUint16(out, uint16(n))
	case 4:
		return binary.BigEndian.AppendUint32(out, uint32(n))
	}
	return binary.BigEndian.AppendUint64(out, n)
}

// keyOf returns the key of a value among the objects; ok is false for a value that is always a
// separate object. Python identifies None, truth values and the empty tuple by their identity.
func keyOf(v any) (key any, ok bool) {
	switch v := v.(type) {
	case nil, bool, string:
		return v, true
	case int64:
		return scalarKey{'i', v}, true
	case int:
		return scalarKey{'i', int64(v)}, true
	case *big.Int:
		if v.IsInt64() {
			return scalarKey{'i', v.Int64()}, true
		}
		return scalarKey{'i', v.String()}, true
	case float64:
		return scalarKey{'f', v}, !math.IsNaN(v) // 0.0 and -0.0 are equal, in Python too
	case []byte:
		return scalarKey{'b', string(v)}, true
	case time.Time:
		return scalarKey{'d', v.UTC().UnixMicro()}, true
	case *data.Map:
		return v, true
	case data.Tuple:
		return scalarKey{'t', nil}, len(v) == 0
	}
	return nil, false
}

// flatten assigns numbers to a value and its contents.
func (w *binaryWriter) flatten(v any, depth int) (int, error) {
	if depth > maxDepth {
		return 0, errDepth
	}
	key, known := keyOf(v)
	if n, ok := w.known[key]; known && ok {
		return n, nil
	}
	n, obj := len(w.objects), &object{value: v}
	w.objects = append(w.objects, obj)
	if known {
		w.known[key] = n
	}
	var parts []any
	switch v := v.(type) {
	case *data.Map:
		all, err := entries(v, w.o)
		if err != nil {
			return 0, err
		}
		for _, e := range all {
			if e.wrong {
				return 0, errKeys
			}
			parts = append(parts, e.key)
		}
		for _, e := range all {
			parts = append(parts, e.value)
		}
	case []any:
		parts = v
	case data.Tuple:
		parts = v
	}
	for _, part := range parts {
		ref, err := w.flatten(part, depth+1)
		if err != nil {
			return 0, err
		}
		obj.refs = append(obj.refs, ref)
	}
	return n, nil
}

func appendSize(out []byte, token byte, size int) []byte {
	switch {
	case size < 15:
		return append(out, token|byte(size))
	case size < 1<<8:
		return append(out, token|0xF, 0x10, byte(size))
	case size < 1<<16:
		return appendNumber(append(out, token|0xF, 0x11), uint64(size), 2)
	case uint64(size) < 1<<32:
		return appendNumber(append(out, token|0xF, 0x12), uint64(size), 4)
	}
	return appendNumber(append(out, token|0xF, 0x13), uint64(size), 8)
}

func (obj *object) append(out []byte, refSize int) ([]byte, error) {
	count := len(obj.refs)
	switch v := obj.value.(type) {
	case nil:
		return append(out, 0x00), nil
	case bool:
		if v {
			return append(out, 0x09), nil
		}
		return append(out, 0x08), nil
	case int64, int, *big.Int:
		n, err := whole(v)
		if err != nil {
			return nil, err
		}
		return appendWhole(out, n), nil
	case float64:
		bits := math.Float64bits(v)
		if math.IsNaN(v) {
			bits = 0x7ff8 << 48 // Python's NaN
		}
		return binary.BigEndian.AppendUint64(append(out, 0x23), bits), nil
	case time.Time:
		return binary.BigEndian.AppendUint64(append(out, 0x33), math.Float64bits(secondsOf(v))), nil
	case []byte:
		return append(appendSize(out, 0x40, len(v)), v...), nil
	case string:
		return appendText(out, v), nil
	case []any:
		out = appendSize(out, 0xA0, count)
	case data.Tuple:
		out = appendSize(out, 0xA0, count)
	case *data.Map:
		out = appendSize(out, 0xD0, count/2)
	default:
		return nil, errors.New(data.Str(v)) // str() of TypeError(value)
	}
	for _, ref := range obj.refs {
		out = appendNumber(out, uint64(ref), refSize)
	}
	return out, nil
}

func appendWhole(out []byte, n *big.Int) []byte {
	if !n.IsInt64() {
		return binary.BigEndian.AppendUint64(append(out, 0x14, 0, 0, 0, 0, 0, 0, 0, 0), n.Uint64())
	}
	switch i := n.Int64(); {
	case i < 0 || i >= 1<<32:
		return appendNumber(append(out, 0x13), uint64(i), 8)
	case i < 1<<8:
		return append(out, 0x10, byte(i))
	case i < 1<<16:
		return appendNumber(append(out, 0x11), uint64(i), 2)
	default:
		return appendNumber(append(out, 0x12), uint64(i), 4)
	}
}

// secondsOf returns the seconds since the epoch of a date and time without a zone, rounded once.
func secondsOf(t time.Time) float64 {
	t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(),
		t.Nanosecond(), time.UTC)
	f, _ := big.NewRat(t.UnixMicro()-epoch().UnixMicro(), 1e6).Float64()
	return f
}

func appendText(out []byte, s string) []byte {
	for i := range len(s) {
		if s[i] >= 0x80 {
			units := utf16.Encode([]rune(s))
			out = appendSize(out, 0x60, len(units))
			for _, u := range units {
				out = binary.BigEndian.AppendUint16(out, u)
			}
			return out
		}
	}
	return append(appendSize(out, 0x50, len(s)), s...)
}
