package tcp

import (
	"context"
	"errors"
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
	maxHellos = 16       // messages without identification per peer

	// subscriberRoom is the read buffer per subscriber, in bytes: each sends one message, and there
	// are many.
	subscriberRoom = 512
)

// A Publisher publishes on the publish port; see [transport.Publisher]. Its peers are distributed
// over a few shards, each of which sends to its own.
type Publisher struct {
	*server
	shards   serve.Shards[*shard]
	watch    transport.PeerWatch
	identify func(hello []byte) (id string, err error)
}

// NewPublisher returns a publisher on a listener, which it takes over. A nil t means no TLS.
func NewPublisher(l net.Listener, o transport.Options, t *TLS) *Publisher {
	p := &Publisher{server: newServer(l, o, t)}
	p.Acceptor.Subscribe = true
	p.Limits.MaxUntrusted = maxHello // subscribers send nothing else
	p.shards.MakeShards(newShard)
	return p
}

// SetIdentify sets the function that identifies a peer from a MessagePack message it has sent. An
// empty id without an error means a message of another kind, which is ignored; an error closes the
// connection. f must be safe for concurrent use. SetIdentify must be called before Serve; without
// it all peers stay anonymous.
func (p *Publisher) SetIdentify(f func(hello []byte) (id string, err error)) { p.identify = f }

// Serve runs the server until ctx ends.
func (p *Publisher) Serve(ctx context.Context) error {
	return p.shards.Around(ctx, func(begin func()) error {
		return p.serve(ctx, func(context.Context) { begin() }, p.converse)
	})
}

// Publish queues m for all peers, or for the peers with m.IDs and the unidentified ones.
func (p *Publisher) Publish(m transport.Message) {
	pub := publication{ids: m.IDs, frame: payload.AppendFrame(nil, m.Body)}
	for _, s := range p.shards.All() {
		s.Add(pub)
	}
}

// WatchPeers makes the publisher report each connection to w. If the publisher requires
// identification, an unidentified peer has no id and no topics.
func (p *Publisher) WatchPeers(w transport.PeerWatch) { p.watch = w }

// converse reads the identification of one peer.
func (p *Publisher) converse(ctx context.Context, pe *peer) error {
	l := &listening{publisher: p, peer: pe, shard: p.shards.Next(), sub: &subscriber{out: pe.out}}
	pe.frames.SetRoom(subscriberRoom)
	l.shard.join(l.sub)
	defer l.shard.remove(l.sub)
	l.report = transport.NewPeerReport(p.watch, l.asPeer())
	defer l.report.End()
	// a minion must sign in before it can identify itself, which takes long when many do
	pe.settled()
	if p.identify != nil {
		pe.idle = l.checkIdle
	}
	for {
		frame, err := pe.next()
		if errors.Is(err, serve.ErrDraining) || pe.draining.Load() {
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

// listening is the reading side of a publisher's peer.
type listening struct {
	*peer
	publisher *Publisher
	shard     *shard
	sub       *subscriber
	report    transport.PeerReport
	known     bool
	heard     int // messages before identification
}

// hear handles one message of the peer.
func (l *listening) hear(ctx context.Context, body data.Raw) error {
	if l.publisher.identify == nil || l.known {
		return nil
	}
	if l.heard++; l.heard > maxHellos {
		return fmt.Errorf("peer does not identify itself: %w", transport.ErrProtocol)
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

// asPeer describes a new peer.
func (l *listening) asPeer() transport.Peer {
	p := transport.Peer{Addr: l.Remote(), Since: time.Now()}
	if l.publisher.identify == nil {
		p.Topics = []string{""}
	}
	return p
}

// mistaken closes a connection with invalid proof. It pauses first, since the minion reconnects at
// once.
func (l *listening) mistaken(ctx context.Context, err error) error {
	t := time.NewTimer(time.Second + rand.N(time.Second))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return fmt.Errorf("subscriber: %w: %w", transport.ErrProtocol, err)
}

// checkIdle closes a peer that does not identify itself.
func (l *listening) checkIdle(quiet time.Duration) error {
	limit := l.publisher.Limits.IdleTimeout
	if limit <= 0 || quiet < limit || l.known {
		return nil
	}
	return serve.ErrIdle
}
