package tcp

import (
	"context"
	"fmt"
	"net"

	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

// A Requester sends requests and waits for the replies; see [transport.Requester]. All requests
// share one connection, and replies may arrive in any order. It connects at once, but after a loss
// only when there is a request, since servers close idle connections.
type Requester struct {
	link   *link
	calls  *transport.Calls[uint32, *session]
	last   uint32 // last request id
	stop   context.CancelFunc
	done   chan struct{}
	soon   transport.Haste
	wanted chan struct{} // buffered; signaled when a request waits for a connection
}

// A session is one connection of a requester.
type session struct {
	guard *guard
	out   *transport.Outbox
}

// NewRequester returns a requester that connects in the background. The caller must close it. A nil
// t means no TLS.
func NewRequester(d transport.Dialer, t *TLS) *Requester {
	ctx, stop := context.WithCancel(context.Background())
	q := &Requester{link: newLink(d, t), stop: stop, done: make(chan struct{}),
		soon: transport.NewHaste(), wanted: make(chan struct{}, 1)}
	q.calls = transport.NewCalls[uint32, *session](d.Addr, q.done, q.number, q.want)
	q.link.Wanted, q.link.Hurry = q.use, q.soon
	go func() {
		defer close(q.done)
		q.link.run(ctx, q.converse)
	}()
	return q
}

// number returns the next free id, and wraps around after the highest.
func (q *Requester) number(taken func(uint32) bool) uint32 {
	q.last = q.last%maxID + 1
	for taken(q.last) {
		q.last = q.last%maxID + 1
	}
	return q.last
}

// Close closes the connection and makes pending requests fail with ErrClosed.
func (q *Requester) Close() error {
	q.stop()
	<-q.done
	return nil
}

// want requests a connection.
func (q *Requester) want() {
	select {
	case q.wanted <- struct{}{}:
	default:
	}
}

// use waits until a request needs a connection.
func (q *Requester) use(ctx context.Context) bool {
	select {
	case <-q.wanted:
		return true
	case <-ctx.Done():
		return false
	}
}

// Hurry ends the pause before the next connection attempt. If a connection exists, it applies if
// that is lost within a few seconds.
func (q *Requester) Hurry() { q.soon.Say() }

// Do sends one request and returns its reply.
func (q *Requester) Do(ctx context.Context, body []byte) ([]byte, error) {
	return q.calls.Do(ctx, func(ctx context.Context, s *session, id uint32) error {
		head, tail, err := encode(midHead(id), body)
		if err != nil {
			return err
		}
		return s.out.SendRequest(ctx, head, tail)
	})
}

// converse passes the replies of one connection to the waiting requests.
func (q *Requester) converse(ctx context.Context, s *session) error {
	q.calls.Connect(s)
	select { // the connection satisfies pending wants
	case <-q.wanted:
	default:
	}
	q.link.Up()
	for {
		frame, err := s.guard.next()
		if err == nil {
			err = q.deliver(frame)
		}
		if err != nil {
			return q.calls.Lose(ctx, err)
		}
	}
}

// deliver passes a reply to the request with its id.
func (q *Requester) deliver(f payload.Frame) error {
	id, err := idOf(f.Head)
	if err != nil {
		return err
	}
	q.calls.Answer(id, f.Body)
	return nil
}

// A link keeps a client connection up.
type link struct {
	transport.Keeper
	limits   transport.Limits
	budget   *transport.Budget
	counters *transport.Counters
	tls      *TLS
}

func newLink(d transport.Dialer, t *TLS) *link {
	limits := d.Limits.ClientLimits()
	return &link{
		Keeper: transport.Keeper{Dialer: d}, limits: limits, tls: t,
		budget: transport.NewBudget(limits.Assembly), counters: &transport.Counters{},
	}
}

// run runs sessions until ctx ends. A session ends with its connection.
func (l *link) run(ctx context.Context, converse func(context.Context, *session) error) {
	l.Run(ctx, func(ctx context.Context, conn net.Conn) error {
		conn, err := l.secure(ctx, conn)
		if err != nil {
			return err
		}
		s := &session{guard: newGuard(conn, &l.limits, l.budget),
			out: transport.NewOutbox(conn, &l.limits, l.counters)}
		s.guard.trusted.Store(true)
		defer s.guard.release()
		defer s.out.Close()
		return converse(ctx, s)
	})
}

// secure performs the TLS handshake if the client uses TLS.
func (l *link) secure(ctx context.Context, conn net.Conn) (net.Conn, error) {
	if l.tls == nil {
		return conn, nil
	}
	if l.limits.HandshakeTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.limits.HandshakeTimeout)
		defer cancel()
	}
	e, err := transport.ParseEndpoint(l.Dialer.Addr)
	if err != nil {
		return nil, err
	}
	secured, err := l.tls.client(ctx, conn, e.Host)
	if err != nil {
		return nil, fmt.Errorf("handshake with %s: %w", l.Dialer.Addr, err)
	}
	return secured, nil
}
