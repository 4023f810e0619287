package tcp

import (
	"context"
	"fmt"
	"net"

	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

// A Requester awaits a reply to each request; see [transport.Requester]. All requests share one connection, and the
// replies may come in any order. It connects at once, and after a loss when there is a request: a server closes those that
// ask nothing.
type Requester struct {
	link   *link
	calls  *transport.Calls[uint32, *session]
	last   uint32 // id of a request
	stop   context.CancelFunc
	done   chan struct{}
	soon   transport.Haste
	wanted chan struct{} // has an element when somebody waits for a connection
}

// A session is one connection of a requester.
type session struct {
	guard *guard
	out   *transport.Outbox
}

// NewRequester returns a requester that connects in the background. Close it when it is not needed any more. A nil t is
// no TLS.
func NewRequester(d transport.Dialer, t *TLS) *Requester {
	ctx, stop := context.WithCancel(context.Background())
	q := &Requester{link: newLink(d, t), stop: stop, done: make(chan struct{}), soon: transport.NewHaste(), wanted: make(chan struct{}, 1)}
	q.calls = transport.NewCalls[uint32, *session](d.Addr, q.done, q.number, q.want)
	q.link.Wanted, q.link.Hurry = q.use, q.soon
	go func() {
		defer close(q.done)
		q.link.run(ctx, q.converse)
	}()
	return q
}

// number returns the next id, after the largest the first that is free.
func (q *Requester) number(taken func(uint32) bool) uint32 {
	q.last = q.last%maxID + 1
	for taken(q.last) {
		q.last = q.last%maxID + 1
	}
	return q.last
}

// Close ends the requests under way with ErrClosed, and the connection.
func (q *Requester) Close() error {
	q.stop()
	<-q.done
	return nil
}

// want asks for a connection.
func (q *Requester) want() {
	select {
	case q.wanted <- struct{}{}:
	default:
	}
}

// use waits until a request wants a connection.
func (q *Requester) use(ctx context.Context) bool {
	select {
	case <-q.wanted:
		return true
	case <-ctx.Done():
		return false
	}
}

// Hurry ends the pause before the next attempt to connect. While there is a connection it does so if that is lost within a
// few seconds.
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

// converse hands the replies of one connection to those who wait for them.
func (q *Requester) converse(ctx context.Context, s *session) error {
	q.calls.Connect(s)
	select { // what was wanted is there
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

// deliver hands a reply to the request of its id.
func (q *Requester) deliver(f payload.Frame) error {
	id, err := idOf(f.Head)
	if err != nil {
		return err
	}
	q.calls.Answer(id, f.Body)
	return nil
}

// A link keeps one connection of a client up.
type link struct {
	transport.Keeper
	limits   transport.Limits
	budget   *transport.Budget
	counters *transport.Counters
	tls      *TLS
}

func newLink(d transport.Dialer, t *TLS) *link {
	limits := d.Limits.ClientLimits()
	d.KeepAlive = lively(d.KeepAlive)
	return &link{
		Keeper: transport.Keeper{Dialer: d}, limits: limits, tls: t,
		budget: transport.NewBudget(limits.Assembly), counters: &transport.Counters{},
	}
}

// run holds sessions until ctx ends. A session ends with its connection.
func (l *link) run(ctx context.Context, converse func(context.Context, *session) error) {
	l.Run(ctx, func(ctx context.Context, conn net.Conn) error {
		conn, err := l.secure(ctx, conn)
		if err != nil {
			return err
		}
		s := &session{guard: newGuard(conn, &l.limits, l.budget), out: transport.NewOutbox(conn, &l.limits, l.counters)}
		s.guard.trusted.Store(true)
		defer s.guard.release()
		defer s.out.Close()
		return converse(ctx, s)
	})
}

// secure does TLS's handshake where the client speaks TLS.
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
