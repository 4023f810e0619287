package media

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// A receiver copies a value as its receiver sees it after it travelled in a message. Both limits
// end a value that contains itself.
type receiver struct {
	values int // how many more may be copied
	depth  int
}

// The limits of a receiver; an encoded value has its own.
const (
	maxReceived      = 10_000_000
	maxReceivedDepth = 1000
)

var errEndless = errors.New("too many values or levels of nesting")

// received returns v as a receiver of a message sees it: a set is a list, an object of another
// class is a dictionary, and a data.Raw is decoded.
func received(v any) (any, error) { return (&receiver{values: maxReceived}).value(v) }

func (r *receiver) value(v any) (any, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.values--; r.values < 0 || r.depth > maxReceivedDepth {
		return nil, errEndless
	}
	switch v := v.(type) {
	case data.Raw:
		return decodeRaw(v)
	case data.Object:
		return r.object(v)
	case data.Set:
		return r.list(v)
	case data.Tuple:
		return r.list(v)
	case []any:
		return r.list(v)
	case *data.Map:
		return r.dict(v)
	}
	return v, nil
}

func decodeRaw(raw data.Raw) (any, error) {
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	if err != nil {
		return nil, fmt.Errorf("decode a MessagePack value: %w", err)
	}
	return v, nil
}

func (r *receiver) object(o data.Object) (any, error) {
	if o.Sent == nil {
		return data.NewMap(), nil
	}
	return r.value(o.Sent)
}

func (r *receiver) list(list []any) (any, error) {
	out := make([]any, len(list))
	for i, e := range list {
		v, err := r.value(e)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func (r *receiver) dict(m *data.Map) (any, error) {
	out := data.NewMap()
	out.Grow(m.Len())
	for k, e := range m.All() {
		v, err := r.value(e)
		if err != nil {
			return nil, err
		}
		out.Set(k, v)
	}
	return out, nil
}
