// Package compress makes long payloads shorter, for files and streams of Brine's own. The format is the
// block of S2, an extension of Snappy's: results of states become six to ten times shorter in ten
// microseconds.
package compress

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"

	"github.com/brineproject/brine/payload"
)

// least is the size in bytes of the shortest payload that is worth the work.
const least = 512

// scratch has buffers of at most kept bytes for Encode.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

const kept = 1 << 20

// Encode returns a shorter form of b and true. It returns b itself and false if b has less than 512 bytes,
// more than [payload.WireLimits] allow, or would become less than an eighth shorter.
func Encode(b []byte) (short []byte, ok bool) {
	if len(b) < least || len(b) > payload.WireLimits().Size {
		return b, false
	}
	room := scratch.Get().(*[]byte) //nolint:forcetypeassert // it has no others
	if most := s2.MaxEncodedLen(len(b)); len(*room) < most {
		*room = make([]byte, most)
	}
	short = s2.Encode(*room, b)
	if ok = len(short) <= len(b)-len(b)/8; ok {
		short = bytes.Clone(short)
	} else {
		short = b
	}
	if len(*room) <= kept {
		scratch.Put(room)
	}
	return short, ok
}

// Decode returns the payload of size bytes that Encode has made shorter. It takes no more memory than
// that. Errors wrap payload.ErrInvalid; a size above [payload.WireLimits] is one.
func Decode(short []byte, size int) ([]byte, error) {
	n, err := s2.DecodedLen(short)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: compressed payload of %d bytes: %w", payload.ErrInvalid, len(short), err)
	case n != size:
		return nil, fmt.Errorf("%w: compressed payload has %d bytes, expected are %d", payload.ErrInvalid, n, size)
	case n > payload.WireLimits().Size:
		return nil, fmt.Errorf("%w: compressed payload has %d bytes, allowed are %d", payload.ErrInvalid, n,
			payload.WireLimits().Size)
	}
	b, err := s2.Decode(nil, short)
	if err != nil {
		return nil, fmt.Errorf("%w: compressed payload of %d bytes: %w", payload.ErrInvalid, len(short), err)
	}
	return b, nil
}
