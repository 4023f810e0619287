package transporttest

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/brineproject/brine/transport"
)

// A Roster keeps what a publisher tells of its connections, and fails the test where that breaks
// the contract of [transport.PeerWatch].
type Roster struct {
	t     *testing.T
	mu    sync.Mutex
	peers map[*transport.Peer]transport.Peer
}

// NewRoster returns the roster of a publisher that does not serve yet.
func NewRoster(t *testing.T, p transport.PeerWatcher) *Roster {
	r := &Roster{t: t, peers: map[*transport.Peer]transport.Peer{}}
	p.WatchPeers(r.watch)
	return r
}

// List returns the connections of now, in no order.
func (r *Roster) List() []transport.Peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.peers))
}

func (r *Roster) watch(was, is *transport.Peer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, known := r.peers[was]
	if was != nil && (!known || !slices.Equal(old.Topics, was.Topics)) {
		r.t.Errorf("told of %+v, which was not the last of a connection", *was)
	}
	delete(r.peers, was)
	if is != nil {
		r.peers[is] = *is
	}
}
