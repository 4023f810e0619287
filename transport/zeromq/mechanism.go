package zeromq

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-zeromq/zmq4"

	"github.com/brineproject/brine/transport"
)

// mechanism is NULL. It replaces the library's own to send the same properties as libzmq, in its
// order, and to reject input that makes the library panic.
type mechanism struct {
	kind     zmq4.SocketType
	identity []byte
}

var _ zmq4.Security = mechanism{}

func (mechanism) Type() zmq4.SecurityType { return zmq4.NullSecurity }

func (mechanism) Encrypt(w io.Writer, p []byte) (int, error) { return w.Write(p) }
func (mechanism) Decrypt(w io.Writer, p []byte) (int, error) { return w.Write(p) }

// Handshake exchanges the READY commands.
func (m mechanism) Handshake(conn *zmq4.Conn, _ bool) error {
	if err := conn.SendCmd(zmq4.CmdReady, m.properties()); err != nil {
		return err
	}
	cmd, err := conn.RecvCmd()
	if err != nil {
		return err
	}
	switch cmd.Name {
	case zmq4.CmdReady:
	case zmq4.CmdError:
		return fmt.Errorf("peer refuses: %.100q: %w", cmd.Body, transport.ErrProtocol)
	default:
		return fmt.Errorf("command %.20q in the handshake: %w", cmd.Name, transport.ErrProtocol)
	}
	if err := parseProperties(cmd.Body, conn.Peer.Meta); err != nil {
		return err
	}
	if peer := conn.Peer.Meta["Socket-Type"]; !slices.Contains(partners(m.kind), peer) {
		return fmt.Errorf("%s cannot talk to %.20q: %w", m.kind, peer, transport.ErrProtocol)
	}
	return nil
}

// properties returns the properties sent by libzmq: the identity only if the peer's socket type can
// use it.
func (m mechanism) properties() []byte {
	b := appendProperty(nil, "Socket-Type", []byte(m.kind))
	switch m.kind {
	case zmq4.Req, zmq4.Dealer, zmq4.Router:
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
func parseProperties(b []byte, into zmq4.Metadata) error {
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
func partners(kind zmq4.SocketType) []string {
	switch kind {
	case zmq4.Pub:
		return []string{"SUB", "XSUB"}
	case zmq4.Sub:
		return []string{"PUB", "XPUB"}
	case zmq4.Router:
		return []string{"REQ", "DEALER", "ROUTER"}
	case zmq4.Dealer:
		return []string{"REP", "DEALER", "ROUTER"}
	case zmq4.Pull:
		return []string{"PUSH"}
	}
	return nil
}
