package zeromq

import (
	"context"
	"net"
	"sync"

	"github.com/go-zeromq/zmq4"

	"github.com/brineproject/brine/transport"
)

// A Puller is a PULL that receives what PUSH peers send, such as that of publish_pull.ipc.
type Puller struct {
	*server
	mu sync.Mutex
}

// NewPuller returns a puller on a listener, which it owns from then on.
func NewPuller(l net.Listener, o transport.Options) *Puller {
	return &Puller{server: newServer(zmq4.Pull, 4<<10, l, o)}
}

// Serve hands each message to fn, one after another, until ctx ends, and then returns nil. Peers whose messages wait
// for fn are not read meanwhile.
func (s *Puller) Serve(ctx context.Context, fn func(frames [][]byte)) error {
	return s.serve(ctx, func(hard context.Context) context.Context { return hard }, func() dialogue { return &pushing{puller: s, fn: fn} })
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
