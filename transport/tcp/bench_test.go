package tcp_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/tcp"
	"github.com/brineproject/brine/transport/zeromq"
)

// The reference is transport/zeromq in the same run.

const (
	benchBody = 1 << 10
	benchSubs = 200
	window    = 100 // publications under way at once
)

// kinds are the transports that are compared.
type kind struct {
	name      string
	reply     func(context.Context, transport.Options) (transport.Replier, error)
	publish   func(context.Context, transport.Options) (transport.Publisher, error)
	request   func(transport.Dialer) transport.Requester
	subscribe func(transport.Dialer) transport.Subscriber
}

func kinds() []kind {
	const any = "tcp://127.0.0.1:0"
	return []kind{
		{
			name: "tcp",
			reply: func(ctx context.Context, o transport.Options) (transport.Replier, error) {
				return tcp.ListenReply(ctx, any, o, nil)
			},
			publish: func(ctx context.Context, o transport.Options) (transport.Publisher, error) {
				return tcp.ListenPub(ctx, any, o, nil)
			},
			request:   func(d transport.Dialer) transport.Requester { return tcp.NewRequester(d, nil) },
			subscribe: func(d transport.Dialer) transport.Subscriber { return tcp.NewSubscriber(d, nil) },
		}, {
			name: "zeromq",
			reply: func(ctx context.Context, o transport.Options) (transport.Replier, error) {
				return zeromq.ListenReply(ctx, any, o)
			},
			publish: func(ctx context.Context, o transport.Options) (transport.Publisher, error) {
				return zeromq.ListenPub(ctx, any, o)
			},
			request:   func(d transport.Dialer) transport.Requester { return zeromq.NewRequester(d) },
			subscribe: func(d transport.Dialer) transport.Subscriber { return zeromq.NewSubscriber(d) },
		},
	}
}

// BenchmarkFanOut publishes to 200 subscribers; one operation is one publication that all have got.
func BenchmarkFanOut(b *testing.B) {
	for _, k := range kinds() {
		b.Run(k.name, func(b *testing.B) { fanOut(b, k) })
	}
}

func fanOut(b *testing.B, k kind) {
	ctx, stop := context.WithCancel(b.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	p, err := k.publish(ctx, transport.Options{Linger: -1})
	if err != nil {
		b.Fatal(err)
	}
	all.Go(func() { _ = p.Serve(ctx) })
	var got atomic.Int64
	arrived := make(chan struct{}, 1)
	for range benchSubs {
		s := k.subscribe(transport.Dialer{Addr: "tcp://" + p.Addr().String()})
		all.Go(func() {
			_ = s.Run(ctx, func(_, body []byte) {
				if len(body) == benchBody && got.Add(1)%benchSubs == 0 {
					select {
					case arrived <- struct{}{}:
					default:
					}
				}
			})
		})
	}
	joined(p, &got, arrived)
	body := make([]byte, benchBody)
	b.SetBytes(benchBody * benchSubs)
	b.ResetTimer()
	start := got.Load()
	for sent := range b.N {
		for int64(sent)*benchSubs-(got.Load()-start) > window*benchSubs {
			<-arrived
		}
		p.Publish(transport.Message{Body: body})
	}
	for got.Load()-start < int64(b.N)*benchSubs {
		<-arrived
	}
	b.StopTimer()
	if p.Stats().Dropped > 0 {
		b.Errorf("%d messages were dropped", p.Stats().Dropped)
	}
}

// joined publishes until one publication has reached everybody, and all that were sent have
// arrived.
func joined(p transport.Publisher, got *atomic.Int64, arrived chan struct{}) {
	body := make([]byte, benchBody)
	for p.Peers() < benchSubs {
		time.Sleep(time.Millisecond)
	}
	for {
		before := got.Load()
		p.Publish(transport.Message{Body: body})
		for range 200 {
			time.Sleep(time.Millisecond)
			if got.Load()-before == benchSubs {
				select {
				case <-arrived:
				default:
				}
				return
			}
		}
	}
}

// BenchmarkRoundTrip asks one thing after another, and 64 at once, over one connection.
func BenchmarkRoundTrip(b *testing.B) {
	for _, k := range kinds() {
		b.Run(k.name+"/alone", func(b *testing.B) { roundTrip(b, k, 1) })
		b.Run(k.name+"/64 at once", func(b *testing.B) { roundTrip(b, k, 64) })
	}
}

func roundTrip(b *testing.B, k kind, clients int) {
	ctx, stop := context.WithCancel(b.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	s, err := k.reply(ctx, transport.Options{Linger: -1})
	if err != nil {
		b.Fatal(err)
	}
	all.Go(func() { _ = s.Serve(ctx, echo) })
	q := k.request(transport.Dialer{Addr: "tcp://" + s.Addr().String()})
	defer q.Close()
	body := wrap(make([]byte, benchBody))
	ask := func() {
		if reply, err := q.Do(ctx, body); err != nil || len(reply) != len(body) {
			b.Errorf("reply of %d bytes: %v", len(reply), err)
		}
	}
	ask()
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Int64
	var done sync.WaitGroup
	for range clients {
		done.Go(func() {
			for next.Add(1) <= int64(b.N) {
				ask()
			}
		})
	}
	done.Wait()
	b.StopTimer()
}
