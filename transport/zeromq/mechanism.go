package zeromq

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/brineproject/brine/transport"
)

// mechanism is NULL, with the same properties as libzmq, in its order.
type mechanism struct {
	kind     socketType
	identity []byte
}

// handshake exchanges greetings and then the READY commands.
func (m mechanism) handshake(rw io.ReadWriter) error {
	if err := exchangeGreetings(rw); err != nil {
		return err
	}
	if _, err := rw.Write(command(cmdReady, m.properties())); err != nil {
		return err
	}
	name, body, err := readCommand(rw)
	if err != nil {
		return err
	}
	switch name {
	case cmdReady:
	case cmdError:
		return fmt.Errorf("peer refuses: %.100q: %w", body, transport.ErrProtocol)
	default:
		return fmt.Errorf("command %.20q in the handshake: %w", name, transport.ErrProtocol)
	}
	properties := map[string]string{}
	if err := parseProperties(body, properties); err != nil {
		return err
	}
	if peer := properties["Socket-Type"]; !slices.Contains(partners(m.kind), peer) {
		return fmt.Errorf("%s cannot talk to %.20q: %w", m.kind, peer, transport.ErrProtocol)
	}
	return nil
}

// properties returns the properties sent by libzmq: the identity only if the peer's socket type can
// use it.
func (m mechanism) properties() []byte {
	b := appendProperty(nil, "Socket-Type", []byte(m.kind))
	switch m.kind {
	case reqSocket, dealerSocket, routerSocket:
		b = appendProperty(b, "Identity", m.identity)
	}
	return b
}

func appendProperty(b []byte, name string, value []byte) []byte {
	b = append(append(b, byte(len(name))), name...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(value)))
	return append(b, value...)
}

// parseProperties parses the properties of a READY command. Names are case-insensitive.
func parseProperties(b []byte, into map[string]string) error {
	for len(b) > 0 {
		n := int(b[0])
		if len(b) < 1+n+4 {
			return fmt.Errorf("cut property: %w", transport.ErrProtocol)
		}
		name, size := string(b[1:1+n]), binary.BigEndian.Uint32(b[1+n:])
		b = b[1+n+4:]
		if uint64(size) > uint64(len(b)) {
			return fmt.Errorf("cut property: %w", transport.ErrProtocol)
		}
		for _, known := range []string{"Socket-Type", "Identity"} {
			if strings.EqualFold(name, known) {
				into[known] = string(b[:size])
			}
		}
		b = b[size:]
	}
	return nil
}

// partners returns the socket types compatible with kind.
func partners(kind socketType) []string {
	switch kind {
	case pubSocket:
		return []string{"SUB", "XSUB"}
	case subSocket:
		return []string{"PUB", "XPUB"}
	case routerSocket:
		return []string{"REQ", "DEALER", "ROUTER"}
	case dealerSocket:
		return []string{"REP", "DEALER", "ROUTER"}
	case pullSocket:
		return []string{"PUSH"}
	}
	return nil
}
