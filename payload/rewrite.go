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

// errDecode says that a value needs the slow way: it has keys that may be equal.
var errDecode = errors.New("keys may be equal")

// Rewrite returns the encoding that Salt gets when it decodes r and encodes it again, but for what concerns the
// values it costs one allocation. It never returns memory of r.
//
// With bin, r is read as Unmarshal reads it and written in bin form: what is UTF-8 becomes str, the rest bin. This
// is how a return from the wire gets on the event bus and into files. Without, r is read as UnmarshalText reads
// it and written in wire form. Either way numbers and lengths get their smallest form, floats 64 bits, and of
// repeated keys the last value is kept. r must be one value within WireLimits.
func Rewrite(r data.Raw, bin bool) (data.Raw, error) {
	return AppendRewrite(make([]byte, 0, len(r)+len(r)/32+16), r, bin)
}

// AppendRewrite is Rewrite at the end of dst.
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

// AppendRewrite appends the map with keys and values in bin form, as AppendRewrite with bin does for one value.
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

	dry      bool // a trial: dst is discarded from time to time
	written  int  // bytes that were discarded
	overtook bool // what was written is longer than what was read
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

// ext decodes the extensions that have a meaning, as they may be written otherwise than Salt writes them.
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

// key writes a key of a map of n and returns its hash. Equal keys are written alike, but for numbers: true, 1 and
// 1.0 are one key, so a map of several with a float or a bool among them is left to the slow way.
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
	if w.dry && h.body() >= longText { // its bytes would not be there
		return 0, errDecode
	}
	start := len(w.dst)
	if err := w.value(); err != nil {
		return 0, err
	}
	return w.hash(h.kind, w.dst[start:]), nil
}

// hash tells str from bin in what goes to wire form, where both are written alike but are two keys.
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

// repeated reports whether two of the hashes are equal. It may reorder them.
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
