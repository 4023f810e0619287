package tcp

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

const (
	frameStart = "\x82\xa4head" // {"head":
	bodyStart  = "\xa4body"     // , "body":
	midStart   = "\x81\xa3mid"  // {"mid":

	// shareFrom is the size from which bytes are sent without copying them behind their head.
	shareFrom = 16 << 10
)

// encode returns a frame in two pieces; tail may be body's own memory. The body is written in bin
// form, like Salt's frame_msg.
func encode(head, body data.Raw) (b, tail []byte, err error) {
	b = make([]byte, 0, len(frameStart)+len(head)+len(bodyStart)+5+min(len(body), shareFrom))
	b = append(append(append(b, frameStart...), head...), bodyStart...)
	if blob, ok := payload.Bytes(body); ok && len(blob) >= shareFrom && !utf8.Valid(blob) {
		return binHead(b, len(blob)), blob, nil
	}
	if b, err = payload.AppendRewrite(b, body, true); err != nil {
		return nil, nil, fmt.Errorf("encode body for transport tcp: %w", err)
	}
	return b, nil, nil
}

// binHead appends the head of a byte string of at least 256 bytes.
func binHead(b []byte, n int) []byte {
	if n < 1<<16 {
		return binary.BigEndian.AppendUint16(append(b, 0xc5), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(b, 0xc6), uint32(n))
}

// maxID is the highest message id; after it Salt starts again (salt/transport/tcp.py,
// MessageClient).
const maxID = 1<<31 - 2

// midHead returns {"mid": id}.
func midHead(id uint32) data.Raw {
	b := append(make([]byte, 0, len(midStart)+5), midStart...)
	switch {
	case id < 1<<7:
		return append(b, byte(id))
	case id < 1<<8:
		return append(b, 0xcc, byte(id))
	case id < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, 0xcd), uint16(id))
	}
	return binary.BigEndian.AppendUint32(append(b, 0xce), id)
}

// idOf returns the message id in the head of a reply.
func idOf(head data.Raw) (uint32, error) {
	fields, err := payload.ParseFields(head, payload.PreAuthLimits())
	if err != nil {
		return 0, fmt.Errorf("head of a reply: %w: %w", transport.ErrProtocol, err)
	}
	id, ok := fields.Int("mid")
	if !ok || id < 1 || id > maxID {
		return 0, fmt.Errorf("reply without the id of a request: %w", transport.ErrProtocol)
	}
	return uint32(id), nil
}
