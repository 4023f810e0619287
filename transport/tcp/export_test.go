package tcp

import (
	"context"
	"net"

	"github.com/brineproject/brine/transport"
)

// ReadPublications reads what a publisher sends on conn, as a subscriber does, until the end.
func ReadPublications(ctx context.Context, conn net.Conn, fn func(body []byte)) error {
	l := newLink(transport.Dialer{}, nil)
	s := &session{guard: newGuard(conn, &l.limits, l.budget), out: transport.NewOutbox(conn, &l.limits, l.counters)}
	s.guard.trusted.Store(true)
	return NewSubscriber(transport.Dialer{}, nil).listen(ctx, l, s, func(_, body []byte) { fn(body) })
}
