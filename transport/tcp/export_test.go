package tcp

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/brineproject/brine/transport"
)

// ReadPublications reads what a publisher sends on conn, as a subscriber does, until the end.
func ReadPublications(ctx context.Context, conn net.Conn, fn func(body []byte)) error {
	l := newLink(transport.Dialer{}, nil)
	s := &session{guard: newGuard(conn, &l.limits, l.budget),
		out: transport.NewOutbox(conn, &l.limits, l.counters)}
	s.guard.trusted.Store(true)
	return NewSubscriber(transport.Dialer{}, nil).listen(ctx, l, s, func(_, body []byte) { fn(body) })
}

// HasRoom reports whether there is room for so much of a stranger at an address.
func (s *server) HasRoom(from netip.Addr, n int) bool {
	taken, ok := s.Strangers.Take(from, n, time.Nanosecond)
	s.Strangers.Give(from, taken)
	return ok
}
