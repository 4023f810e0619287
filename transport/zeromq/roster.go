package zeromq

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/transport"
)

// How much is told of what a peer subscribed to: the names of a minion are a hash and a word.
const (
	rosterTopics = 4
	rosterBytes  = 64 // of a topic; longer ones are left out
)

// A roster knows the peers of a publisher. The zero roster is empty.
type roster struct {
	changes atomic.Uint64

	mu    sync.Mutex
	peers map[*peer]*transport.Peer
}

func (r *roster) enter(pe *peer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.peers == nil {
		r.peers = map[*peer]*transport.Peer{}
	}
	r.peers[pe] = &transport.Peer{Addr: pe.remote(), Since: time.Now()}
	r.changes.Add(1)
}

func (r *roster) leave(pe *peer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.peers, pe)
	r.changes.Add(1)
}

// note remembers what a peer has subscribed to. The end of a subscription is not noted: it still tells who the peer is.
func (r *roster) note(pe *peer, topic []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, text := r.peers[pe], string(topic)
	if p == nil || len(p.Topics) >= rosterTopics || len(text) > rosterBytes || slices.Contains(p.Topics, text) {
		return
	}
	p.Topics = append(slices.Clip(p.Topics), text) // lists that were given out stay as they are
	r.changes.Add(1)
}

func (r *roster) list() []transport.Peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]transport.Peer, 0, len(r.peers))
	for _, p := range r.peers {
		list = append(list, *p)
	}
	return list
}
