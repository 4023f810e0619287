package zeromq

import (
	"context"
	"net"
	"sync"

	"github.com/brineproject/brine/transport"
)

// A Puller is a PULL socket that receives messages of PUSH peers, such as on publish_pull.ipc.
type Puller struct {
	*server
	mu sync.Mutex
}

// NewPuller returns a puller on a listener, which it takes over.
func NewPuller(l net.Listener, o transport.Options) *Puller {
	return &Puller{server: newServer(pullSocket, 4<<10, l, o)}
}

// Serve calls fn with each message, one at a time, until ctx ends, and then returns nil. Peers are
// not read while their messages wait for fn.
func (s *Puller) Serve(ctx context.Context, fn func(frames [][]byte)) error {
	return s.serve(ctx, func(hard context.Context) context.Context { return hard },
		func() dialogue { return &pushing{puller: s, fn: fn} })
}

// pushing is one connection of a puller.
type pushing struct {
	contact
	puller *Puller
	fn     func([][]byte)
}

func (p *pushing) begin(context.Context) {
	p.guard.trusted.Store(!transport.SourceOf(p.Remote()).IsValid())
}

func (p *pushing) hear(frames [][]byte) error {
	p.puller.counters.Received.Add(1)
	p.puller.hand(frames, p.fn)
	return nil
}

func (p *pushing) settle() {}

func (p *pushing) end() {}

func (s *Puller) hand(frames [][]byte, fn func([][]byte)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(frames)
}
