package zeromq

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/brineproject/brine/transport"
)

const (
	signatureLen = 10
	greetingLen  = 64
)

// Write collects what the mechanism writes during the handshake. It is sent when the mechanism next
// waits for the peer. After the handshake, messages go through the outbox.
func (g *guard) Write(p []byte) (int, error) {
	if g.phase == open {
		return 0, fmt.Errorf("write past the outbox: %w", transport.ErrProtocol)
	}
	g.out = append(g.out, p...)
	return len(p), nil
}

func (g *guard) send(n int) error {
	n = min(n, len(g.out))
	if n == 0 {
		return nil
	}
	if _, err := g.Conn.Write(g.out[:n]); err != nil {
		return fmt.Errorf("send handshake: %w", err)
	}
	g.out = g.out[n:]
	return nil
}

// greet exchanges greetings like libzmq: a server sends only its signature before it has received
// the peer's.
func (g *guard) greet() error {
	likeLibzmq(g.out, g.identity)
	first := greetingLen
	if g.server {
		first = signatureLen
	}
	if err := g.send(first); err != nil {
		return err
	}
	b, err := g.need(signatureLen)
	if err != nil {
		return err
	}
	if b[0] != 0xff || b[9]&1 == 0 {
		return fmt.Errorf("peer does not speak ZMTP: %w", transport.ErrProtocol)
	}
	if err := g.send(greetingLen); err != nil {
		return err
	}
	if b, err = g.need(greetingLen); err != nil {
		return err
	}
	if err := g.checkGreeting(b); err != nil {
		return err
	}
	g.pass, g.phase = greetingLen, ready
	return nil
}

// likeLibzmq completes our greeting as libzmq does: with the length of the identity, at its place in
// ZMTP 1.0, and the minor version, since we speak 3.1.
func likeLibzmq(b []byte, identity int) {
	if len(b) >= greetingLen {
		binary.BigEndian.PutUint64(b[1:9], uint64(identity)+1)
		b[11] = 1
	}
}

func (g *guard) checkGreeting(b []byte) error {
	mechanism := bytes.TrimRight(b[12:32], "\x00")
	switch {
	case b[10] < 3:
		return fmt.Errorf("peer speaks ZMTP %d: %w", b[10], transport.ErrProtocol)
	case string(mechanism) != "NULL":
		return fmt.Errorf("peer wants mechanism %q: %w", mechanism, transport.ErrProtocol)
	}
	if g.minor = b[11]; b[10] > 3 {
		g.minor = 1
	}
	return nil
}

// handshakeFrame passes the single handshake command once it is complete.
func (g *guard) handshakeFrame() error {
	if err := g.send(len(g.out)); err != nil {
		return err
	}
	h, err := g.header()
	if err != nil {
		return err
	}
	if h.flags&flagCommand == 0 || h.size > maxCommand {
		return fmt.Errorf("handshake with a frame of flags %#02x and %d bytes: %w", h.flags, h.size,
			transport.ErrProtocol)
	}
	if _, err := g.need(h.len + int(h.size)); err != nil {
		return err
	}
	g.pass = h.len + int(h.size)
	return nil
}
