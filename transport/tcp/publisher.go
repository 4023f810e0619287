package tcp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/serve"
)

const (
	maxHello  = 16 << 10 // bytes; an id, and a token as long as the largest RSA key
	maxHellos = 16       // messages of one peer that say nothing of it

	// subscriberRoom is the memory, in bytes, in which a subscriber's messages are read: it says one, and there are many.
	subscriberRoom = 512
)

// A Publisher sends publications to the connections of the publish port; see [transport.Publisher]. Its peers are dealt
// to a few shards, each of which sends to its own.
type Publisher struct {
	*server
	shards   serve.Shards[*shard]
	watch    transport.PeerWatch
	identify func(hello []byte) (id string, err error)
}

// NewPublisher returns a publisher on a listener, which it owns from then on. A nil t is no TLS.
func NewPublisher(l net.Listener, o transport.Options, t *TLS) *Publisher {
	p := &Publisher{server: newServer(l, o, t)}
	p.Acceptor.Subscribe = true
	p.Limits.MaxUntrusted = maxHello // nothing else is expected of a subscriber
	p.shards.MakeShards(newShard)
	return p
}

// SetIdentify makes the publisher ask f who a peer is, with the MessagePack that the peer has sent. An empty id without
// an error says that the message is of another kind, and is ignored; an error ends the connection. f is called by
// several goroutines. SetIdentify must be called before Serve; without it nobody says who he is.
func (p *Publisher) SetIdentify(f func(hello []byte) (id string, err error)) { p.identify = f }

// Serve runs the server until ctx ends.
func (p *Publisher) Serve(ctx context.Context) error {
	return p.shards.Around(ctx, func(begin func()) error {
		return p.serve(ctx, func(context.Context) { begin() }, p.converse)
	})
}

// Publish queues m for all, or for the peers with m.IDs and those that have not said who they are.
func (p *Publisher) Publish(m transport.Message) {
	pub := publication{ids: m.IDs, frame: payload.AppendFrame(nil, m.Body)}
	for _, s := range p.shards.All() {
		s.Add(pub)
	}
}

// WatchPeers makes the publisher tell w of each connection. Where the publisher asks for proof, one that has not given any is
// nobody's and has no topics.
func (p *Publisher) WatchPeers(w transport.PeerWatch) { p.watch = w }

// converse listens to what one peer says of itself.
func (p *Publisher) converse(ctx context.Context, pe *peer) error {
	l := &listening{publisher: p, peer: pe, shard: p.shards.Next(), sub: &subscriber{out: pe.out}}
	pe.frames.SetRoom(subscriberRoom)
	l.shard.join(l.sub)
	defer l.shard.remove(l.sub)
	l.report = transport.NewPeerReport(p.watch, l.asPeer())
	defer l.report.End()
	pe.settled() // to say who it is a minion has to sign in first, which takes long when all come at once
	if p.identify != nil {
		pe.idle = l.checkIdle
	}
	for {
		frame, err := pe.next()
		if err == serve.ErrDraining || pe.draining.Load() {
			l.shard.Settle(ctx)
			return serve.ErrDraining
		}
		if err == nil {
			err = l.hear(ctx, frame.Body)
		}
		if err != nil {
			return err
		}
	}
}

// listening is the reader's side of one peer of a publisher.
type listening struct {
	*peer
	publisher *Publisher
	shard     *shard
	sub       *subscriber
	report    transport.PeerReport
	known     bool
	heard     int // messages before it was known
}

// hear takes one message of the peer.
func (l *listening) hear(ctx context.Context, body data.Raw) error {
	if l.publisher.identify == nil || l.known {
		return nil
	}
	if l.heard++; l.heard > maxHellos {
		return fmt.Errorf("peer does not say who it is: %w", transport.ErrProtocol)
	}
	id, err := l.publisher.identify(body)
	switch {
	case err != nil:
		return l.mistaken(ctx, err)
	case id != "":
		l.known = true
		l.shard.identify(l.sub, id)
		l.report.Change(func(p *transport.Peer) { p.ID, p.Topics = id, []string{""} })
	}
	return nil
}

// asPeer returns what is known of a peer that came.
func (l *listening) asPeer() transport.Peer {
	p := transport.Peer{Addr: l.Remote(), Since: time.Now()}
	if l.publisher.identify == nil {
		p.Topics = []string{""}
	}
	return p
}

// mistaken ends a connection whose proof is wrong. The pause is for a minion that comes again at once.
func (l *listening) mistaken(ctx context.Context, err error) error {
	t := time.NewTimer(time.Second + rand.N(time.Second))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return fmt.Errorf("subscriber: %w: %w", transport.ErrProtocol, err)
}

// checkIdle closes a peer that never says who it is.
func (l *listening) checkIdle(quiet time.Duration) error {
	limit := l.publisher.Limits.IdleTimeout
	if limit <= 0 || quiet < limit || l.known {
		return nil
	}
	return serve.ErrIdle
}
