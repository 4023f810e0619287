package transport

import (
	"net"
	"time"
)

// A Peer is what is known of one connection to a publisher at one moment. What comes to be known later makes another
// Peer.
type Peer struct {
	Addr net.Addr
	// ID is who the peer has proved to be; "" where the transport has no such proof.
	ID string
	// Topics are what it subscribed to first, a few of them; a transport without topics says "". None says that it
	// would not get a publication yet.
	Topics []string
	Since  time.Time // when the connection was made
}

// A PeerWatch is told of a connection: that it came, where was is nil, what it is known as from now on, and that it
// went, where is is nil. What was is of the second and later calls is the pointer of the call before. The calls for one
// connection come one after another, those for several may come at once, and each must return soon.
type PeerWatch func(was, is *Peer)

// A PeerWatcher is a [Publisher] that tells about its connections.
type PeerWatcher interface {
	// WatchPeers makes the publisher tell w of each connection. It must be called before Serve.
	WatchPeers(w PeerWatch)
}

// A PeerReport tells a PeerWatch about one connection. The zero PeerReport tells nobody. One goroutine at a time may
// use it.
type PeerReport struct {
	watch PeerWatch
	last  *Peer
}

// NewPeerReport tells w, which may be nil, of a connection that came.
func NewPeerReport(w PeerWatch, p Peer) PeerReport {
	r := PeerReport{watch: w}
	r.tell(&p)
	return r
}

// Change tells what change makes of the connection. It gets a copy, whose Topics it must not write to.
func (r *PeerReport) Change(change func(p *Peer)) {
	if r.last == nil {
		return
	}
	p := *r.last
	change(&p)
	r.tell(&p)
}

// End tells that the connection went.
func (r *PeerReport) End() {
	if r.last != nil {
		r.tell(nil)
	}
}

func (r *PeerReport) tell(is *Peer) {
	if r.watch == nil {
		return
	}
	r.watch(r.last, is)
	r.last = is
}
