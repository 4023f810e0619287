package transport

import (
	"net"
	"time"
)

// A Peer is one connection to a publisher.
type Peer struct {
	Addr net.Addr
	// ID is who the peer has proved to be; "" where the transport has no such proof.
	ID string
	// Topics are what it subscribed to first, a few of them; a transport without topics says "". None says that it
	// would not get a publication yet.
	Topics []string
	Since  time.Time // when the connection was made
}

// A PeerLister is a [Publisher] that tells about its connections.
type PeerLister interface {
	// PeerList returns the connections of now, in no order.
	PeerList() []Peer
	// PeerChanges counts what may make an earlier PeerList wrong.
	PeerChanges() uint64
}
