package zeromq

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/transport"
)

// A link keeps one connection of a client up: it dials, runs a session, and after its end dials again.
type link struct {
	profile
	dialer transport.Dialer
	log    logrus.FieldLogger
	told   bool // that there is no connection
}

func newLink(kind zmq4.SocketType, d transport.Dialer) *link {
	limits := d.Limits.ClientLimits()
	if d.Log == nil {
		quiet := logrus.New()
		quiet.SetOutput(io.Discard)
		d.Log = quiet
	}
	return &link{
		profile: profile{
			kind: kind, identity: d.Identity, readAhead: 4 << 10, limits: limits,
			budget: transport.NewBudget(limits.Assembly), counters: &transport.Counters{},
		},
		dialer: d,
		log:    d.Log,
	}
}

// run holds sessions until ctx ends. A session ends with its connection.
func (l *link) run(ctx context.Context, session func(context.Context, *peer) error) {
	pauses := l.dialer.Backoff()
	for ctx.Err() == nil {
		begun := time.Now()
		l.tell(l.once(ctx, session))
		if time.Since(begun) > pauses.Longest() {
			pauses.Reset()
		}
		if !pauses.Wait(ctx) {
			return
		}
	}
}

func (l *link) once(ctx context.Context, session func(context.Context, *peer) error) error {
	conn, err := l.dialer.Connect(ctx)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	p, err := l.open(conn)
	if err != nil {
		return err
	}
	defer p.close()
	p.guard.trusted.Store(true)
	return session(ctx, p)
}

// up tells that there is a connection.
func (l *link) up() {
	l.told = false
	if l.dialer.OnState != nil {
		l.dialer.OnState(true, nil)
	}
}

// tell says why there is no connection, once in a row.
func (l *link) tell(err error) {
	if errors.Is(err, context.Canceled) {
		err = transport.ErrClosed
	}
	l.log.WithError(err).Debugf("no connection to %s", l.dialer.Addr)
	if l.told {
		return
	}
	l.told = true
	if l.dialer.OnState != nil {
		l.dialer.OnState(false, err)
	}
}
