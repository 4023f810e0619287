// Package typed encodes and decodes structs as MessagePack, using github.com/ugorji/go/codec within
// the limits of package payload. It is for Brine's own records. It is separate from payload because
// that library links net/http, which a minion must not contain.
package typed

import (
	"fmt"
	"sync"

	"github.com/ugorji/go/codec"

	"github.com/brineproject/brine/payload"
)

// Marshal returns the message v, a struct or a pointer to one, in wire form: a map of its exported
// fields in order. The tag `codec:"name,omitempty"` names a field. A codec.Raw is written
// unchanged.
func Marshal(v any) ([]byte, error) {
	var b []byte
	e := encoders.Get().(*codec.Encoder)
	e.ResetBytes(&b)
	err := e.Encode(v)
	e.ResetBytes(new([]byte)) // it must not hold b
	encoders.Put(e)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return b, nil
}

// Unmarshal decodes a message into the struct that v points to. b must be one value within l.
// Unknown fields are ignored. Fields of type codec.Raw share the memory of b.
func Unmarshal(b []byte, l payload.Limits, v any) error {
	if err := payload.Check(b, l); err != nil {
		return fmt.Errorf("decode %T: %w", v, err)
	}
	d := decoders.Get().(*codec.Decoder)
	d.ResetBytes(b)
	err := d.Decode(v)
	d.ResetBytes(nil) // it must not hold b
	decoders.Put(d)
	if err != nil {
		return fmt.Errorf("decode %T: %w: %w", v, payload.ErrInvalid, err)
	}
	return nil
}

// Encoders and decoders are kept for the next message: making one takes longer than a small message.
var (
	encoders = sync.Pool{New: func() any { return codec.NewEncoderBytes(new([]byte), handle()) }}
	decoders = sync.Pool{New: func() any { return codec.NewDecoderBytes(nil, handle()) }}
)

// handle holds the codec settings of the wire form: old raw for text and bytes, and smallest
// integers. It is created once, since it caches type information, and never modified.
var handle = sync.OnceValue(newHandle)

func newHandle() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{}
	h.WriteExt = false
	h.PositiveIntUnsigned = true
	h.Raw = true
	h.MaxDepth = int16(payload.WireLimits().Depth)
	return h
}
