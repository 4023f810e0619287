package master

import (
	"encoding/binary"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Sizes and offsets in the messages of sock_diag(7): struct inet_diag_req_v2 and inet_diag_msg of
// linux/inet_diag.h.
const (
	diagRequest = 56
	diagID      = 8  // offset of the socket's addresses in the request
	diagState   = 1  // offsets in the answer, from here on
	diagMsgID   = 4  // the socket's addresses
	diagUID     = 64 // user id of the socket's owner
	diagMsg     = 72
)

// uidOf returns the user on this host who owns the socket at the other end of a connection to one
// of the master's ports. ok is false if that end is on another host or the system does not answer.
// The cost does not depend on the number of connections.
func uidOf(from net.Addr, port int) (uid int, ok bool) {
	tcp, _ := from.(*net.TCPAddr)
	if tcp == nil {
		return 0, false
	}
	peer := tcp.AddrPort()
	addr := peer.Addr().Unmap()
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC,
		unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	// Both ends of a connection within a host have one address, unless the client asked for another
	// of them.
	id := socketID(netip.AddrPortFrom(addr, peer.Port()), netip.AddrPortFrom(addr, uint16(port)))
	if err := unix.Sendto(fd, diagQuestion(addr, id), 0,
		&unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, false
	}
	answer := make([]byte, 4096)
	// the answer is ready once Sendto returns
	n, _, err := unix.Recvfrom(fd, answer, unix.MSG_DONTWAIT)
	if err != nil {
		return 0, false
	}
	return diagAnswer(answer[:n], id)
}

// socketID encodes struct inet_diag_sockid up to the addresses, which both messages contain.
func socketID(local, remote netip.AddrPort) []byte {
	id := binary.BigEndian.AppendUint16(nil, local.Port())
	id = binary.BigEndian.AppendUint16(id, remote.Port())
	for _, a := range []netip.Addr{local.Addr(), remote.Addr()} {
		field := make([]byte, 16)
		copy(field, a.AsSlice())
		id = append(id, field...)
	}
	return id
}

func diagQuestion(addr netip.Addr, id []byte) []byte {
	m := make([]byte, unix.SizeofNlMsghdr+diagRequest)
	order := binary.NativeEndian
	order.PutUint32(m, uint32(len(m)))
	order.PutUint16(m[4:], unix.SOCK_DIAG_BY_FAMILY)
	order.PutUint16(m[6:], unix.NLM_F_REQUEST)
	body := m[unix.SizeofNlMsghdr:]
	body[0], body[1] = unix.AF_INET, unix.IPPROTO_TCP
	if addr.Is6() {
		body[0] = unix.AF_INET6
	}
	order.PutUint32(body[4:], 1<<unix.BPF_TCP_ESTABLISHED)
	copy(body[diagID:], id)
	order.PutUint64(body[diagID+len(id)+4:], ^uint64(0)) // any cookie
	return m
}

// diagAnswer returns the user id in an answer about an established connection. If there is no such
// connection the kernel answers with a listening socket.
func diagAnswer(m, id []byte) (uid int, ok bool) {
	order := binary.NativeEndian
	if len(m) < unix.SizeofNlMsghdr+diagMsg || order.Uint16(m[4:]) != unix.SOCK_DIAG_BY_FAMILY {
		return 0, false
	}
	body := m[unix.SizeofNlMsghdr:]
	if body[diagState] != unix.BPF_TCP_ESTABLISHED ||
		string(body[diagMsgID:diagMsgID+len(id)]) != string(id) {
		return 0, false
	}
	return int(order.Uint32(body[diagUID:])), true
}
