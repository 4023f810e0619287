package tcp

import (
	"context"
	"net"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/transport"
)

// A Puller receives what is sent to a socket such as publish_pull.ipc.
type Puller struct {
	*server
	mu sync.Mutex
}

// NewPuller returns a puller on a listener, which it takes over.
func NewPuller(l net.Listener, o transport.Options) *Puller {
	return &Puller{server: newServer(l, o, nil)}
}

// Serve calls fn with each body, one at a time, until ctx ends, and then returns nil. Peers are not
// read while their messages wait for fn.
func (s *Puller) Serve(ctx context.Context, fn func(body data.Raw)) error {
	return s.serve(ctx, func(context.Context) {}, func(_ context.Context, p *peer) error {
		p.trusted.Store(!transport.SourceOf(p.Remote()).IsValid())
		p.settled()
		for {
			frame, err := p.next()
			if err != nil {
				return err
			}
			s.Counters.Received.Add(1)
			s.hand(frame.Body, fn)
		}
	})
}

func (s *Puller) hand(body data.Raw, fn func(data.Raw)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(body)
}
