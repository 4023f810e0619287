package zeromq

import (
	"context"
	"net"

	"github.com/brineproject/brine/transport"
)

// A link keeps a client connection up.
type link struct {
	profile
	transport.Keeper
}

func newLink(kind socketType, d transport.Dialer) *link {
	limits := d.Limits.ClientLimits()
	return &link{
		profile: profile{
			kind: kind, identity: d.Identity, buffers: &buffers{size: 4 << 10}, limits: limits,
			budget: transport.NewBudget(limits.Assembly), counters: &transport.Counters{},
		},
		Keeper: transport.Keeper{Dialer: d},
	}
}

// run runs sessions until ctx ends. A session ends with its connection.
func (l *link) run(ctx context.Context, session func(context.Context, *peer) error) {
	l.Run(ctx, func(ctx context.Context, conn net.Conn) error {
		p, err := l.open(conn)
		if err != nil {
			return err
		}
		defer p.Close()
		p.guard.trusted.Store(true)
		return session(ctx, p)
	})
}
