package zeromq

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/serve"
)

// A Publisher is a PUB socket; see [transport.Publisher]. Its peers are distributed over a few
// shards, each of which sends to its own.
type Publisher struct {
	*server
	shards serve.Shards[*shard]
	watch  transport.PeerWatch
}

var _ transport.PeerWatcher = (*Publisher)(nil)

// Limits on reported topics of a peer. The topics of a minion are a hash and a word.
const (
	toldTopics     = 4
	toldTopicBytes = 64 // longer ones are not reported
)

// NewPublisher returns a publisher on a listener, which it takes over.
func NewPublisher(l net.Listener, o transport.Options) *Publisher {
	p := &Publisher{server: newServer(pubSocket, 512, l, o)}
	// subscribers send nothing else
	p.limits.MaxUntrusted = max(1+p.limits.MaxSubscriptionBytes, maxCommand)
	p.shards.MakeShards(func() *shard { return newShard(&p.limits) })
	return p
}

// Serve runs the server until ctx ends.
func (p *Publisher) Serve(ctx context.Context) error {
	return p.shards.Around(ctx, func(begin func()) error {
		return p.serve(ctx, func(hard context.Context) context.Context {
			begin()
			return hard
		}, p.meet)
	})
}

// Publish queues m for its subscribers.
func (p *Publisher) Publish(m transport.Message) {
	pub := publication{topics: m.Topics, body: m.Body}
	if m.Topics == nil {
		pub.encoded = encode(m.Body)
	}
	for _, s := range p.shards.All() {
		s.Add(pub)
	}
}

// WatchPeers makes the publisher report each connection and its first subscriptions to w.
func (p *Publisher) WatchPeers(w transport.PeerWatch) { p.watch = w }

// A subscription is one connection of a publisher.
type subscription struct {
	contact
	subscriber
	publisher *Publisher
	shard     *shard
	report    transport.PeerReport
}

func (p *Publisher) meet() dialogue {
	return &subscription{publisher: p, shard: p.shards.Next()}
}

func (s *subscription) begin(context.Context) {
	s.subscriber.out = &s.contact.out
	s.report = transport.NewPeerReport(s.publisher.watch,
		transport.Peer{Addr: s.Remote(), Since: time.Now()})
}

// hear handles a subscription message of a ZMTP 3.0 peer.
func (s *subscription) hear(frames [][]byte) error {
	if len(frames) == 1 && len(frames[0]) > 0 && frames[0][0] <= 1 {
		return s.subscribe(frames[0][0] == 1, frames[0][1:])
	}
	return nil
}

func (s *subscription) subscribe(on bool, topic []byte) error {
	err := s.shard.subscribe(&s.subscriber, on, topic)
	if err == nil && on {
		tellTopic(&s.report, topic)
	}
	return err
}

func (s *subscription) settle() { s.shard.Settle(s.publisher.ctx) }

func (s *subscription) end() {
	s.report.End()
	s.shard.remove(&s.subscriber)
}

// tellTopic reports a subscription of a peer. Unsubscriptions are not reported, since the topic
// still identifies the peer.
func tellTopic(r *transport.PeerReport, topic []byte) {
	r.Change(func(p *transport.Peer) {
		text := string(topic)
		if len(p.Topics) < toldTopics && len(text) <= toldTopicBytes &&
			!slices.Contains(p.Topics, text) {
			p.Topics = append(slices.Clip(p.Topics), text)
		}
	})
}

// checkIdle closes a peer that does not subscribe to anything.
func (s *subscription) checkIdle(quiet time.Duration) error {
	limit := s.publisher.limits.IdleTimeout
	if limit <= 0 || quiet < limit || s.shard.count(&s.subscriber) > 0 {
		return nil
	}
	return serve.ErrIdle
}
