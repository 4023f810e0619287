package payload

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// errDecode means that a value must be decoded, since some keys may be equal.
var errDecode = errors.New("keys may be equal")

// Rewrite returns the encoding that Salt gets when it decodes r and encodes it again, usually with
// a single allocation. The result never shares memory with r.
//
// With bin, r is read like in Unmarshal and written in bin form: valid UTF-8 becomes str, other
// strings bin. This is how a return from the wire gets to the event bus and into files. Without
// bin, r is read like in UnmarshalText and written in wire form. In both cases numbers and lengths
// get their smallest encoding, floats have 64 bits, and the last value of a repeated key is kept. r
// must be one value within WireLimits.
func Rewrite(r data.Raw, bin bool) (data.Raw, error) {
	return AppendRewrite(make([]byte, 0, len(r)+len(r)/32+16), r, bin)
}

// AppendRewrite appends the result of Rewrite to dst.
func AppendRewrite(dst []byte, r data.Raw, bin bool) ([]byte, error) {
	l := WireLimits()
	if err := l.checkSize(len(r)); err != nil {
		return dst, fmt.Errorf("rewrite: %w", err)
	}
	w := rewriter{src: r, dst: dst, bin: bin, budget: l.budget()}
	err := w.value()
	switch {
	case errors.Is(err, errDecode):
		return rewriteSlowly(dst, r, bin)
	case err == nil && w.pos != len(r):
		err = ErrTrailing
	}
	if err != nil {
		return dst, fmt.Errorf("rewrite at byte %d: %w", w.pos, err)
	}
	return w.dst, nil
}

// AppendRewrite appends the map with keys and values in bin form, like the function AppendRewrite
// with bin.
func (f Fields) AppendRewrite(dst []byte) ([]byte, error) {
	dst = appendMapHead(dst, len(f))
	for i := range f {
		var err error
		if dst, err = AppendRewrite(appendText(dst, f[i].Key, true), f[i].Value, true); err != nil {
			return dst, fmt.Errorf("field %s: %w", f[i].Key, err)
		}
	}
	return dst, nil
}

func rewriteSlowly(dst []byte, r data.Raw, bin bool) ([]byte, error) {
	if bin {
		v, err := Unmarshal(r, Limits{})
		if err != nil {
			return dst, err
		}
		return AppendBin(dst, v)
	}
	v, err := UnmarshalText(r, Limits{})
	if err != nil {
		return dst, err
	}
	return Append(dst, v)
}

type rewriter struct {
	budget
	src, dst []byte
	pos      int
	bin      bool
	seed     maphash.Seed
	seeded   bool

	dry      bool // dry run: dst is discarded from time to time
	written  int  // number of discarded bytes
	overtook bool // the output was longer than the input read so far
}

func (w *rewriter) value() error {
	err := w.write()
	w.checkOvertake()
	return err
}

func (w *rewriter) write() error {
	start := w.pos
	h, ok := readHead(w.src[start:])
	if !ok || h.body() > uint64(len(w.src)-start-h.size) {
		return ErrTruncated
	}
	w.pos = start + h.size + int(h.body())
	body := w.src[start+h.size : w.pos]
	switch h.kind {
	case kindNil, kindFalse, kindTrue:
		w.dst = append(w.dst, w.src[start])
	case kindInt:
		w.dst = appendInt(w.dst, int64(h.n))
	case kindUint:
		w.dst = appendUint(w.dst, h.n)
	case kindFloat:
		w.dst = appendFloat(w.dst, math.Float64frombits(h.n))
	case kindStr, kindBin:
		w.str(body)
	case kindExt:
		return w.ext(h.code, body)
	case kindArray:
		return w.list(&h)
	case kindMap:
		return w.dict(&h)
	default:
		return fmt.Errorf("byte %#x: %w", w.src[start], ErrInvalid)
	}
	return nil
}

func (w *rewriter) str(s []byte) {
	if w.bin && !utf8.Valid(s) {
		w.dst = appendBinHead(w.dst, len(s))
	} else {
		w.dst = appendTextHead(w.dst, len(s), w.bin)
	}
	if w.dry && len(s) >= longText {
		w.written += len(s)
		return
	}
	w.dst = append(w.dst, s...)
}

// ext decodes and re-encodes known extensions, since their encoding may differ from Salt's.
func (w *rewriter) ext(code int8, body []byte) error {
	if code != extTime && code != extConst && code != extTimestamp {
		w.str(body)
		return nil
	}
	d := decoder{budget: w.budget}
	v, err := d.ext(code, body)
	w.nodes = d.nodes
	if err == nil {
		w.dst, err = appendValue(w.dst, v, w.bin, deepest)
	}
	return err
}

func (w *rewriter) enterAll(h *head) error {
	if err := w.enter(); err != nil {
		return err
	}
	return w.take(h.elements(), len(w.src)-w.pos)
}

func (w *rewriter) list(h *head) error {
	if err := w.enterAll(h); err != nil {
		return err
	}
	w.dst = appendArrayHead(w.dst, int(h.n))
	w.checkOvertake()
	for range h.n {
		if err := w.value(); err != nil {
			return err
		}
		w.discardOutput()
	}
	w.depth++
	return nil
}

func (w *rewriter) dict(h *head) error {
	if err := w.enterAll(h); err != nil {
		return err
	}
	w.dst = appendMapHead(w.dst, int(h.n))
	w.checkOvertake()
	var room [16]uint64
	keys := room[:0]
	if h.n > uint64(len(room)) {
		keys = make([]uint64, 0, h.n)
	}
	for range h.n {
		key, err := w.key(h.n)
		if err == nil {
			w.discardOutput()
			err = w.value()
		}
		if err != nil {
			return err
		}
		w.discardOutput()
		keys = append(keys, key)
	}
	if repeated(keys) {
		return errDecode
	}
	w.depth++
	return nil
}

// key writes a key of a map of n and returns its hash. Equal keys have equal encodings, except for
// numbers: true, 1 and 1.0 are one key. A map with several keys, among them a float or a bool, is
// therefore decoded.
func (w *rewriter) key(n uint64) (hash uint64, err error) {
	h, _ := readHead(w.src[w.pos:])
	switch h.kind {
	case kindArray, kindMap:
		return 0, fmt.Errorf("a list or map as key: %w", ErrInvalid)
	case kindFalse, kindTrue, kindFloat, kindExt:
		if n > 1 {
			return 0, errDecode
		}
	}
	if w.dry && h.body() >= longText { // its bytes would be missing
		return 0, errDecode
	}
	start := len(w.dst)
	if err := w.value(); err != nil {
		return 0, err
	}
	return w.hash(h.kind, w.dst[start:]), nil
}

// hash distinguishes str and bin when writing wire form, where both have the same encoding but are
// different keys.
func (w *rewriter) hash(k kind, key []byte) uint64 {
	if !w.seeded {
		w.seed, w.seeded = maphash.MakeSeed(), true
	}
	sum := maphash.Bytes(w.seed, key)
	if !w.bin && k == kindBin {
		sum = ^sum
	}
	return sum
}

// repeated reports whether two hashes are equal. It may reorder them.
func repeated(keys []uint64) bool {
	if len(keys) <= 16 {
		for i := range keys {
			if slices.Contains(keys[:i], keys[i]) {
				return true
			}
		}
		return false
	}
	slices.Sort(keys)
	for i := range keys[1:] {
		if keys[i] == keys[i+1] {
			return true
		}
	}
	return false
}
