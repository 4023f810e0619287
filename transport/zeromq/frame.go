package zeromq

import (
	"encoding/binary"
	"fmt"

	"github.com/brineproject/brine/transport"
)

// Flags of a frame (ZMTP 3.1, section Framing).
const (
	flagMore    = 0x01
	flagLong    = 0x02
	flagCommand = 0x04
	flagsKnown  = flagMore | flagLong | flagCommand
)

const (
	shortHeader = 2
	longHeader  = 9
)

// appendHeader appends the header of a frame of n bytes.
func appendHeader(dst []byte, flags byte, n int) []byte {
	if n <= 255 {
		return append(dst, flags, byte(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, flags|flagLong), uint64(n))
}

func appendFrame(dst []byte, flags byte, body []byte) []byte {
	return append(appendHeader(dst, flags, len(body)), body...)
}

// encode returns frames as one message.
func encode(frames ...[]byte) []byte {
	n := 0
	for _, f := range frames {
		n += longHeader + len(f)
	}
	return appendMessage(make([]byte, 0, n), frames...)
}

func appendMessage(dst []byte, frames ...[]byte) []byte {
	for i, f := range frames {
		flags := byte(0)
		if i < len(frames)-1 {
			flags = flagMore
		}
		dst = appendFrame(dst, flags, f)
	}
	return dst
}

// command returns a command frame.
func command(name string, body []byte) []byte {
	n := 1 + len(name) + len(body)
	b := appendHeader(make([]byte, 0, longHeader+n), flagCommand, n)
	b = append(b, byte(len(name)))
	b = append(b, name...)
	return append(b, body...)
}

// splitCommand takes the name off the body of a command frame.
func splitCommand(b []byte) (name string, body []byte, err error) {
	if len(b) == 0 || int(b[0]) > len(b)-1 {
		return "", nil, fmt.Errorf("command without a name: %w", transport.ErrProtocol)
	}
	n := 1 + int(b[0])
	return string(b[1:n]), b[n:], nil
}

// A header is that of a frame.
type header struct {
	flags byte
	size  uint64
	len   int // of the header itself
}

// parseHeader reads a header from the start of b; ok is false if b ends before it does.
func parseHeader(b []byte) (h header, ok bool, err error) {
	if len(b) == 0 {
		return h, false, nil
	}
	h.flags = b[0]
	if h.flags&^flagsKnown != 0 || h.flags&flagCommand != 0 && h.flags&flagMore != 0 {
		return h, false, fmt.Errorf("frame flags %#02x: %w", h.flags, transport.ErrProtocol)
	}
	if h.flags&flagLong == 0 {
		if len(b) < shortHeader {
			return h, false, nil
		}
		h.size, h.len = uint64(b[1]), shortHeader
		return h, true, nil
	}
	if len(b) < longHeader {
		return h, false, nil
	}
	h.size, h.len = binary.BigEndian.Uint64(b[1:]), longHeader
	return h, true, nil
}
