package plist

import (
	"encoding/binary"
	"math"
	"math/big"
	"time"
	"unicode/utf16"

	"github.com/brineproject/brine/data"
)

// binaryReader reads objects by their numbers. An object that is referenced several times is one
// value, as in Python.
type binaryReader struct {
	text    []byte
	offsets []uint64
	refSize int
	objects []*readObject
	refs    uint64 // in the arrays and dictionaries so far
}

// readObject is an object that was read, or is being read.
type readObject struct {
	value any
	done  bool
	parts int // values in it, counted once per reference
	depth int // levels below it
}

func readBinary(text []byte) (any, error) {
	if len(text) < 32 {
		return nil, errInvalid
	}
	trailer := text[len(text)-32:]
	r := &binaryReader{text: text, refSize: int(trailer[7])}
	count, top, table := binary.BigEndian.Uint64(trailer[8:]),
		binary.BigEndian.Uint64(trailer[16:]), binary.BigEndian.Uint64(trailer[24:])
	var err error
	if r.offsets, err = r.numbers(table, count, int(trailer[6])); err != nil {
		return nil, err
	}
	r.objects = make([]*readObject, len(r.offsets))
	obj, err := r.object(top, 0)
	if err != nil {
		return nil, err
	}
	return obj.value, nil
}

// bytes returns n bytes at an offset.
func (r *binaryReader) bytes(at, n uint64) ([]byte, error) {
	if at > uint64(len(r.text)) || n > uint64(len(r.text))-at {
		return nil, errInvalid
	}
	return r.text[at : at+n], nil
}

// numbers returns count numbers of size bytes each.
func (r *binaryReader) numbers(at, count uint64, size int) ([]uint64, error) {
	if size == 0 || count > uint64(len(r.text)) {
		return nil, errInvalid
	}
	raw, err := r.bytes(at, count*uint64(size))
	if err != nil {
		return nil, err
	}
	all := make([]uint64, count)
	for i := range all {
		for j, b := range raw[i*size : (i+1)*size] {
			if all[i]>>56 != 0 && j > 0 {
				return nil, errInvalid // beyond every file
			}
			all[i] = all[i]<<8 | uint64(b)
		}
	}
	return all, nil
}

// size returns the size of an object whose token is at an offset, and the offset of the object
// itself.
func (r *binaryReader) size(at uint64, low byte) (n, begin uint64, err error) {
	if low != 0xF {
		return uint64(low), at + 1, nil
	}
	m, err := r.bytes(at+1, 1)
	if err != nil {
		return 0, 0, err
	}
	width := uint64(1) << (m[0] & 3)
	all, err := r.numbers(at+2, 1, int(width))
	if err != nil {
		return 0, 0, err
	}
	return all[0], at + 2 + width, nil
}

func (r *binaryReader) object(ref uint64, depth int) (*readObject, error) {
	if ref >= uint64(len(r.objects)) {
		return nil, errInvalid
	}
	if depth > maxDepth {
		return nil, errDepth
	}
	if known := r.objects[ref]; known != nil {
		switch {
		case !known.done:
			return nil, errInvalid // it contains itself
		case depth+known.depth > maxDepth:
			return nil, errDepth
		}
		return known, nil
	}
	obj := &readObject{parts: 1}
	r.objects[ref] = obj
	at := r.offsets[ref]
	token, err := r.bytes(at, 1)
	if err != nil {
		return nil, err
	}
	switch token[0] & 0xF0 {
	case 0xA0:
		err = r.array(obj, at, token[0]&0xF, depth)
	case 0xD0:
		err = r.dict(obj, at, token[0]&0xF, depth)
	default:
		obj.value, err = r.scalar(at, token[0])
	}
	obj.done = true
	return obj, err
}

// part reads an object that another one contains.
func (r *binaryReader) part(of *readObject, ref uint64, depth int) (any, error) {
	obj, err := r.object(ref, depth+1)
	if err != nil {
		return nil, err
	}
	if of.parts += obj.parts; of.parts > maxParts {
		return nil, errParts
	}
	of.depth = max(of.depth, obj.depth+1)
	return obj.value, nil
}

// references returns the object numbers in an array or a dictionary. Several of them may share a
// place in the file, so they are counted before memory is allocated for them.
func (r *binaryReader) references(at, count uint64) ([]uint64, error) {
	if count > maxParts || r.refs+count > maxParts {
		return nil, errParts
	}
	r.refs += count
	return r.numbers(at, count, r.refSize)
}

func (r *binaryReader) array(obj *readObject, at uint64, low byte, depth int) error {
	n, begin, err := r.size(at, low)
	if err != nil {
		return err
	}
	refs, err := r.references(begin, n)
	if err != nil {
		return err
	}
	list := make([]any, len(refs))
	for i, ref := range refs {
		if list[i], err = r.part(obj, ref, depth); err != nil {
			return err
		}
	}
	obj.value = list
	return nil
}

func (r *binaryReader) dict(obj *readObject, at uint64, low byte, depth int) error {
	n, begin, err := r.size(at, low)
	if err != nil || n > uint64(len(r.text)) {
		return errInvalid
	}
	refs, err := r.references(begin, 2*n)
	if err != nil {
		return err
	}
	m := &data.Map{}
	for i := range int(n) {
		value, err := r.part(obj, refs[int(n)+i], depth)
		if err != nil {
			return err
		}
		key, err := r.part(obj, refs[i], depth)
		if err != nil {
			return err
		}
		switch key.(type) {
		case []any, *data.Map:
			return errInvalid
		}
		m.Set(key, value)
	}
	obj.value = m
	return nil
}

func (r *binaryReader) scalar(at uint64, token byte) (any, error) {
	switch token {
	case 0x00:
		return nil, nil
	case 0x08:
		return false, nil
	case 0x09:
		return true, nil
	case 0x0f:
		return []byte{}, nil
	case 0x22:
		b, err := r.bytes(at+1, 4)
		if err != nil {
			return nil, err
		}
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b))), nil
	case 0x23, 0x33:
		b, err := r.bytes(at+1, 8)
		if err != nil {
			return nil, err
		}
		f := math.Float64frombits(binary.BigEndian.Uint64(b))
		if token == 0x33 {
			return dateOf(f)
		}
		return f, nil
	}
	switch token & 0xF0 {
	case 0x10:
		return r.whole(at+1, token&0xF), nil
	case 0x40, 0x50, 0x60:
		return r.bytesOrText(at, token)
	}
	return nil, errInvalid
}

// whole returns a number; bytes missing at the end of the file are ignored, as in Python.
func (r *binaryReader) whole(at uint64, low byte) any {
	from := min(at, uint64(len(r.text)))
	b := r.text[from:min(from+1<<low, uint64(len(r.text)))]
	n := new(big.Int).SetBytes(b)
	if low >= 3 && len(b) > 0 && b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(len(b))*8))
	}
	return number(n)
}

// bytesOrText returns bytes or text.
func (r *binaryReader) bytesOrText(at uint64, token byte) (any, error) {
	n, begin, err := r.size(at, token&0xF)
	if err != nil || n > uint64(len(r.text)) {
		return nil, errInvalid
	}
	if token&0xF0 == 0x60 {
		n *= 2
	}
	b, err := r.bytes(begin, n)
	if err != nil {
		return nil, err
	}
	switch token & 0xF0 {
	case 0x40:
		return append([]byte{}, b...), nil
	case 0x50:
		for _, c := range b {
			if c >= 0x80 {
				return nil, errInvalid
			}
		}
		return string(b), nil
	}
	return wide(b)
}

// wide decodes big-endian UTF-16 without a byte order mark.
func wide(b []byte) (any, error) {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.BigEndian.Uint16(b[2*i:])
	}
	runes := make([]rune, 0, len(units))
	for i := 0; i < len(units); i++ {
		c := rune(units[i])
		if utf16.IsSurrogate(c) {
			if i+1 == len(units) {
				return nil, errInvalid
			}
			i++
			if c = utf16.DecodeRune(c, rune(units[i])); c == 0xFFFD {
				return nil, errInvalid
			}
		}
		runes = append(runes, c)
	}
	return string(runes), nil
}

// dateOf returns the date that many seconds after the epoch, to the nearest microsecond.
func dateOf(f float64) (any, error) {
	seconds, part := math.Modf(f)
	if math.IsNaN(f) || math.Abs(f) > 1e12 {
		return nil, errInvalid
	}
	t := time.Unix(epoch().Unix()+int64(seconds),
		0).UTC().Add(time.Duration(math.RoundToEven(part*1e6)) * time.Microsecond)
	if t.Year() < 1 || t.Year() > 9999 {
		return nil, errInvalid
	}
	return t, nil
}
