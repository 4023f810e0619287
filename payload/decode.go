package payload

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// A mode determines how strings are decoded.
type mode uint8

const (
	wire mode = iota // strings that are valid UTF-8 become text, others bytes
	text             // str becomes text and bin bytes; invalid UTF-8 in a str is errNotText
	raw              // all strings become bytes
)

var errNotText = errors.New("a str is not UTF-8")

// Unmarshal decodes data from the network. In keys and values, strings that are valid UTF-8 become
// text and others stay bytes (salt.payload.loads without an encoding). The result does not share
// memory with b.
func Unmarshal(b []byte, l Limits) (any, error) { return unmarshal(b, l, wire) }

// UnmarshalText decodes data from a file or the event bus: str becomes text and bin becomes bytes.
// If any str is not UTF-8, all strings become bytes (salt.payload.loads with encoding utf-8).
func UnmarshalText(b []byte, l Limits) (any, error) {
	v, err := unmarshal(b, l, text)
	if errors.Is(err, errNotText) {
		return unmarshal(b, l, raw)
	}
	return v, err
}

// UnmarshalRaw decodes every string to bytes, as a minion needs it for parts of files.
func UnmarshalRaw(b []byte, l Limits) (any, error) { return unmarshal(b, l, raw) }

func unmarshal(b []byte, l Limits, m mode) (any, error) {
	l = l.filled()
	if err := l.checkSize(len(b)); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	d := decoder{b: b, mode: m, budget: l.budget()}
	v, err := d.value()
	if err == nil && d.pos != len(b) {
		err = ErrTrailing
	}
	if err != nil {
		return nil, fmt.Errorf("decode at byte %d: %w", d.pos, err)
	}
	return v, nil
}

type decoder struct {
	budget
	b     []byte
	pos   int
	mode  mode
	names [32]any // recent keys, since the maps of a list often have the same keys
}

// head reads the next head, checks that its whole body is present, and sets pos to the body.
func (d *decoder) head() (h head, err error) {
	h, ok := readHead(d.b[d.pos:])
	if !ok {
		return h, ErrTruncated
	}
	if h.kind == kindInvalid {
		return h, fmt.Errorf("byte %#x: %w", d.b[d.pos], ErrInvalid)
	}
	if h.body() > uint64(len(d.b)-d.pos-h.size) {
		return h, ErrTruncated
	}
	d.pos += h.size
	return h, nil
}

func (d *decoder) value() (any, error) {
	h, err := d.head()
	if err != nil {
		return nil, err
	}
	switch h.kind {
	case kindNil:
		return nil, nil
	case kindFalse, kindTrue:
		return h.kind == kindTrue, nil
	case kindInt:
		return int64(h.n), nil
	case kindUint:
		return new(big.Int).SetUint64(h.n), nil
	case kindFloat:
		return math.Float64frombits(h.n), nil
	case kindStr, kindBin:
		return d.str(h.kind, d.take(h.n))
	case kindExt:
		return d.ext(h.code, d.take(h.n))
	case kindArray:
		return d.list(&h)
	}
	return d.dict(&h)
}

func (d *decoder) take(n uint64) []byte {
	start := d.pos
	d.pos += int(n)
	return d.b[start:d.pos:d.pos]
}

func (d *decoder) str(k kind, s []byte) (any, error) {
	switch {
	case d.mode == raw || d.mode == text && k == kindBin:
		return bytes.Clone(s), nil
	case utf8.Valid(s):
		return string(s), nil
	case d.mode == text:
		return nil, errNotText
	}
	return bytes.Clone(s), nil
}

func (d *decoder) enterAll(h *head) error {
	if err := d.enter(); err != nil {
		return err
	}
	return d.budget.take(h.elements(), len(d.b)-d.pos)
}

func (d *decoder) list(h *head) (any, error) {
	if err := d.enterAll(h); err != nil {
		return nil, err
	}
	list := make([]any, h.n)
	for i := range list {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	d.depth++
	return list, nil
}

func (d *decoder) dict(h *head) (any, error) {
	if err := d.enterAll(h); err != nil {
		return nil, err
	}
	m := &data.Map{}
	m.Grow(int(h.n))
	for range h.n {
		k, err := d.key()
		if err != nil {
			return nil, err
		}
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		m.Set(k, v)
	}
	d.depth++
	return m, nil
}

func (d *decoder) key() (any, error) {
	if c := d.b[d.pos:]; len(c) > 1 && c[0] > 0xa0 && c[0] <= 0xbf && d.mode != raw {
		return d.name(int(c[0] & 0x1f))
	}
	k, err := d.value()
	if err == nil && !data.Hashable(k) {
		return nil, fmt.Errorf("a list or map as key: %w", ErrInvalid)
	}
	return k, err
}

// name reads a text of n bytes, 1 to 31, and returns the shared copy of a recent equal one.
func (d *decoder) name(n int) (any, error) {
	if d.pos++; n > len(d.b)-d.pos {
		return nil, ErrTruncated
	}
	s := d.take(uint64(n))
	slot := &d.names[(n*5+int(s[0])*3+int(s[n-1]))%len(d.names)]
	if last, ok := (*slot).(string); ok && last == string(s) {
		return *slot, nil
	}
	k, err := d.str(kindStr, s)
	*slot = k
	return k, err
}

func (d *decoder) ext(code int8, body []byte) (any, error) {
	switch code {
	case extTime:
		return readTime(body)
	case extConst:
		return d.constant(body)
	case extTimestamp:
		return readTimestamp(body)
	}
	return d.str(kindBin, body)
}

// constant reads [name, value], which is always in bin form.
func (d *decoder) constant(body []byte) (any, error) {
	in := decoder{b: body, mode: text, budget: d.budget}
	v, err := in.value()
	d.nodes = in.nodes
	if err == nil && in.pos != len(body) {
		err = ErrTrailing
	}
	if errors.Is(err, errNotText) {
		err = ErrInvalid // Salt has no fall-back here
	}
	if err != nil {
		return nil, fmt.Errorf("constant: %w", err)
	}
	if pair, ok := v.([]any); ok && len(pair) == 2 {
		if name, ok := pair[0].(string); ok {
			return data.Const{Name: name, Value: pair[1]}, nil
		}
	}
	return nil, fmt.Errorf("constant: %w", ErrInvalid)
}
