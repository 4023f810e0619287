package payload

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/brineproject/brine/data"
)

type kind uint8

const (
	kindInvalid kind = iota
	kindNil
	kindFalse
	kindTrue
	kindInt  // head.n is an int64
	kindUint // head.n is above the largest int64
	kindFloat
	kindStr
	kindBin
	kindExt
	kindArray
	kindMap
)

// A head is the start of a MessagePack value: all of it for a scalar, else its kind and length.
type head struct {
	kind kind
	code int8   // of an extension
	size int    // bytes of the head
	n    uint64 // the number (floats as bits of a float64), or the length: bytes, elements, pairs
}

// body returns the number of bytes of the body after the head.
func (h *head) body() uint64 {
	if h.kind == kindStr || h.kind == kindBin || h.kind == kindExt {
		return h.n
	}
	return 0
}

// elements returns the number of values that follow.
func (h *head) elements() uint64 {
	switch h.kind {
	case kindArray:
		return h.n
	case kindMap:
		return 2 * h.n
	}
	return 0
}

// readHead parses the head at the start of b. ok is false if b is too short.
func readHead(b []byte) (h head, ok bool) {
	if len(b) == 0 {
		return h, false
	}
	switch c := b[0]; {
	case c <= 0x7f:
		return head{kind: kindInt, size: 1, n: uint64(c)}, true
	case c <= 0x8f:
		return head{kind: kindMap, size: 1, n: uint64(c & 0x0f)}, true
	case c <= 0x9f:
		return head{kind: kindArray, size: 1, n: uint64(c & 0x0f)}, true
	case c <= 0xbf:
		return head{kind: kindStr, size: 1, n: uint64(c & 0x1f)}, true
	case c >= 0xe0:
		return head{kind: kindInt, size: 1, n: uint64(int64(int8(c)))}, true
	}
	return readLongHead(b)
}

// readLongHead parses heads from 0xc0 to 0xdf.
func readLongHead(b []byte) (h head, ok bool) {
	form := longForm(b[0])
	h = head{kind: form.kind, size: 1 + int(form.width)}
	if form.kind == kindExt {
		h.size++
	}
	if len(b) < h.size {
		return head{}, false
	}
	h.n = bigEndian(b[1 : 1+form.width])
	switch {
	case form.kind == kindExt:
		h.code = int8(b[h.size-1])
		if form.width == 0 {
			h.n = uint64(form.fixed)
		}
	case form.kind == kindFloat && form.width == 4:
		h.n = math.Float64bits(float64(math.Float32frombits(uint32(h.n))))
	case form.signed:
		shift := 64 - 8*uint(form.width)
		h.n = uint64(int64(h.n<<shift) >> shift)
	case form.kind == kindInt && h.n > math.MaxInt64:
		h.kind = kindUint
	}
	return h, true
}

type form struct {
	kind   kind
	width  uint8 // bytes of number or length
	fixed  uint8 // length of a fixext
	signed bool
}

func longForm(c byte) form {
	switch c {
	case 0xc0:
		return form{kind: kindNil}
	case 0xc2:
		return form{kind: kindFalse}
	case 0xc3:
		return form{kind: kindTrue}
	case 0xc4, 0xc5, 0xc6:
		return form{kind: kindBin, width: 1 << (c - 0xc4)}
	case 0xc7, 0xc8, 0xc9:
		return form{kind: kindExt, width: 1 << (c - 0xc7)}
	case 0xca, 0xcb:
		return form{kind: kindFloat, width: 4 << (c - 0xca)}
	case 0xcc, 0xcd, 0xce, 0xcf:
		return form{kind: kindInt, width: 1 << (c - 0xcc)}
	case 0xd0, 0xd1, 0xd2, 0xd3:
		return form{kind: kindInt, width: 1 << (c - 0xd0), signed: true}
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return form{kind: kindExt, fixed: 1 << (c - 0xd4)}
	case 0xd9, 0xda, 0xdb:
		return form{kind: kindStr, width: 1 << (c - 0xd9)}
	case 0xdc, 0xdd:
		return form{kind: kindArray, width: 2 << (c - 0xdc)}
	case 0xde, 0xdf:
		return form{kind: kindMap, width: 2 << (c - 0xde)}
	}
	return form{}
}

func bigEndian(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	case 8:
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// HasEntries reports whether an encoded value is a map, and whether the map has entries. It does
// not decode the value.
func HasEntries(raw data.Raw) (entries, isMap bool) {
	if len(raw) == 0 {
		return false, false
	}
	switch b := raw[0]; {
	case b == 0x80:
		return false, true
	case b > 0x80 && b <= 0x8f:
		return true, true
	case b == 0xde || b == 0xdf:
		size := raw[1:min(len(raw), 1+2<<(b-0xde))]
		return slices.ContainsFunc(size, func(c byte) bool { return c != 0 }), true
	}
	return false, false
}
