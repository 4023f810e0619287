package zeromq

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/brineproject/brine/transport"
)

// A socketType is the type of a socket as READY names it (ZMTP 3.1, section Socket semantics).
type socketType string

const (
	pubSocket    socketType = "PUB"
	subSocket    socketType = "SUB"
	routerSocket socketType = "ROUTER"
	dealerSocket socketType = "DEALER"
	pullSocket   socketType = "PULL"
	reqSocket    socketType = "REQ"
)

// Names of commands (ZMTP 3.1).
const (
	cmdReady     = "READY"
	cmdError     = "ERROR"
	cmdPing      = "PING"
	cmdPong      = "PONG"
	cmdSubscribe = "SUBSCRIBE"
	cmdCancel    = "CANCEL"
)

// exchangeGreetings sends our greeting, whose other fields likeLibzmq fills in, and reads the peer's,
// whose version and mechanism checkGreeting has checked.
func exchangeGreetings(rw io.ReadWriter) error {
	b := make([]byte, greetingLen)
	b[0], b[9], b[10] = 0xff, 0x7f, 3
	copy(b[12:], "NULL")
	if _, err := rw.Write(b); err != nil {
		return err
	}
	if _, err := io.ReadFull(rw, b); err != nil {
		return fmt.Errorf("read greeting: %w", err)
	}
	if b[0] != 0xff || b[9] != 0x7f || b[32] > 1 {
		return fmt.Errorf("invalid greeting: %w", transport.ErrProtocol)
	}
	return nil
}

// readCommand reads the command that ends the handshake.
func readCommand(r io.Reader) (name string, body []byte, err error) {
	head := make([]byte, shortHeader, longHeader)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", nil, fmt.Errorf("read command: %w", err)
	}
	size := uint64(head[1])
	if head[0]&flagLong != 0 {
		head = head[:longHeader]
		if _, err := io.ReadFull(r, head[shortHeader:]); err != nil {
			return "", nil, fmt.Errorf("read command: %w", err)
		}
		size = binary.BigEndian.Uint64(head[1:])
	}
	if head[0]&^flagLong != flagCommand || size > maxCommand {
		return "", nil, fmt.Errorf("frame of %d bytes in the handshake: %w", size, transport.ErrProtocol)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return "", nil, fmt.Errorf("read command: %w", err)
	}
	return splitCommand(b)
}
