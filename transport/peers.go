package transport

import (
	"net"
	"time"
)

// A Peer is an immutable snapshot of what is known about a publisher's connection. New information
// makes a new Peer.
type Peer struct {
	Addr net.Addr
	// ID is the authenticated identity of the peer, or "" if the transport cannot authenticate it.
	ID string
	// Topics are the first few topics that it subscribed to; a transport without topics uses "". An
	// empty list means that it would not receive publications yet.
	Topics []string
	Since  time.Time // when the connection was made
}

// A PeerWatch is called when a connection arrives (was is nil), when information about it changes,
// and when it ends (is is nil). was is always the pointer passed as is in the previous call. Calls
// for one connection are sequential; calls for several may be concurrent. Each must return quickly.
type PeerWatch func(was, is *Peer)

// A PeerWatcher is a [Publisher] that reports its connections.
type PeerWatcher interface {
	// WatchPeers makes the publisher report each connection to w. It must be called before Serve.
	WatchPeers(w PeerWatch)
}

// A PeerReport reports one connection to a PeerWatch. The zero PeerReport does nothing. It is not
// safe for concurrent use.
type PeerReport struct {
	watch PeerWatch
	last  *Peer
}

// NewPeerReport reports a new connection to w, which may be nil.
func NewPeerReport(w PeerWatch, p Peer) PeerReport {
	r := PeerReport{watch: w}
	r.tell(&p)
	return r
}

// Change reports a change of the connection. change receives a copy, whose Topics it must not
// modify.
func (r *PeerReport) Change(change func(p *Peer)) {
	if r.last == nil {
		return
	}
	p := *r.last
	change(&p)
	r.tell(&p)
}

// End reports the end of the connection.
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
