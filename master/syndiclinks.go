package master

import (
	"slices"
	"sync"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/transport"
)

// syndicLinks knows which syndics of Brine are connected. They subscribe to the topic of syndics and to
// that of their id, so that a minion with the same id is not mistaken for them. Anybody can do so: the
// links only tell what an operator is shown.
type syndicLinks struct {
	mu    sync.Mutex
	count map[string]int  // connections that subscribe so, by the topic of the id
	named map[string]bool // ids that had such a connection
}

func newSyndicLinks() *syndicLinks {
	return &syndicLinks{count: map[string]int{}, named: map[string]bool{}}
}

// watch counts connections. It is a transport.PeerWatch.
func (l *syndicLinks) watch(was, is *transport.Peer) {
	before, after := syndicTopic(was), syndicTopic(is)
	if before == after {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count[before]--; l.count[before] <= 0 {
		delete(l.count, before)
	}
	if after != "" {
		l.count[after]++
	}
}

// syndicTopic returns the topic of the id of a connection that subscribes as a syndic does, or "".
func syndicTopic(p *transport.Peer) string {
	if p == nil || !slices.Contains(p.Topics, channel.TopicSyndic) {
		return ""
	}
	for _, t := range p.Topics {
		if len(t) == len(channel.Topic("")) {
			return t
		}
	}
	return ""
}

// connected reports whether a syndic is connected. known is false if it has never subscribed in a way
// that tells it from a minion.
func (l *syndicLinks) connected(id string) (is, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count[channel.Topic(id)] > 0 {
		l.named[id] = true
		return true, true
	}
	return false, l.named[id]
}
