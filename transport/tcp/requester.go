package tcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

// A Requester awaits a reply to each request; see [transport.Requester]. All requests share one connection, and the
// replies may come in any order. It connects at once, and after a loss when there is a request: a server closes those that
// ask nothing.
type Requester struct {
	link *link
	stop context.CancelFunc
	done chan struct{}
	soon chan struct{} // has an element when the next attempt to connect is to come at once

	mu      sync.Mutex
	up      chan struct{} // closed while there is a connection
	wanted  chan struct{} // has an element when somebody waits for a connection
	session *session      // nil while there is none
	calls   map[uint32]chan<- answer
	last    uint32
}

type answer struct {
	body []byte
	err  error
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
	q := &Requester{
		link: newLink(d, t), stop: stop, done: make(chan struct{}), soon: make(chan struct{}, 1),
		up: make(chan struct{}), wanted: make(chan struct{}, 1), calls: map[uint32]chan<- answer{},
	}
	q.link.Wanted = q.use
	q.link.Hurry = q.soon
	go func() {
		defer close(q.done)
		q.link.run(ctx, q.converse)
		q.lose(nil, transport.ErrClosed)
	}()
	return q
}

// Close ends the requests under way with ErrClosed, and the connection.
func (q *Requester) Close() error {
	q.stop()
	<-q.done
	return nil
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

// Hurry ends the pause before the next attempt to connect. While there is a connection it does so for the next one.
func (q *Requester) Hurry() {
	select {
	case q.soon <- struct{}{}:
	default:
	}
}

// Do sends one request and returns its reply.
func (q *Requester) Do(ctx context.Context, body []byte) ([]byte, error) {
	for {
		s, err := q.await(ctx)
		if err != nil {
			return nil, err
		}
		id, reply := q.enter(s)
		if reply == nil {
			continue // the connection was lost in between
		}
		if err := q.send(ctx, s, id, body); err != nil {
			q.leave(id)
			return nil, err
		}
		return q.receive(ctx, id, reply)
	}
}

// await waits for a connection.
func (q *Requester) await(ctx context.Context) (*session, error) {
	for {
		q.mu.Lock()
		s, up := q.session, q.up
		if s == nil {
			q.want()
		}
		q.mu.Unlock()
		if s != nil {
			return s, nil
		}
		select {
		case <-up:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for connection to %s: %w", q.link.Dialer.Addr, ctx.Err())
		case <-q.done:
			return nil, transport.ErrClosed
		}
	}
}

// want asks for a connection.
func (q *Requester) want() {
	select {
	case q.wanted <- struct{}{}:
	default:
	}
}

// enter gives a request its id; the channel is nil if s is not the connection any more.
func (q *Requester) enter(s *session) (uint32, <-chan answer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s {
		return 0, nil
	}
	q.last = q.last%maxID + 1
	for q.calls[q.last] != nil {
		q.last = q.last%maxID + 1
	}
	ch := make(chan answer, 1)
	q.calls[q.last] = ch
	return q.last, ch
}

func (q *Requester) leave(id uint32) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.calls, id)
}

// send waits, while the server does not read and the queue is full, for as long as ctx lasts.
func (q *Requester) send(ctx context.Context, s *session, id uint32, body []byte) error {
	head, tail, err := encode(midHead(id), body)
	if err != nil {
		return err
	}
	for {
		_, err := s.out.SendParts(head, tail)
		if errors.Is(err, transport.ErrGone) {
			return transport.ErrDisconnected
		}
		if !errors.Is(err, transport.ErrQueueFull) {
			return err
		}
		if err := s.out.Drained(ctx); err != nil {
			return err
		}
	}
}

func (q *Requester) receive(ctx context.Context, id uint32, reply <-chan answer) ([]byte, error) {
	select {
	case a := <-reply:
		return a.body, a.err
	case <-ctx.Done():
		q.leave(id)
		return nil, ctx.Err()
	}
}

// converse hands the replies of one connection to those who wait for them.
func (q *Requester) converse(ctx context.Context, s *session) error {
	q.connect(s)
	q.link.Up()
	for {
		frame, err := s.guard.next()
		if err == nil {
			err = q.deliver(frame)
		}
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			q.lose(s, transport.ErrClosed)
			return transport.ErrClosed
		}
		q.lose(s, fmt.Errorf("%w: %w", transport.ErrDisconnected, err))
		return err
	}
}

func (q *Requester) connect(s *session) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select { // what was wanted is there
	case <-q.wanted:
	default:
	}
	q.session = s
	close(q.up)
}

// lose ends all requests under way.
func (q *Requester) lose(s *session, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s != nil {
		q.session, q.up = nil, make(chan struct{})
	}
	for id, ch := range q.calls {
		ch <- answer{err: err}
		delete(q.calls, id)
	}
}

// deliver hands a reply to the request of its id. One that nobody waits for any more is dropped.
func (q *Requester) deliver(f payload.Frame) error {
	id, err := idOf(f.Head)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if ch := q.calls[id]; ch != nil {
		ch <- answer{body: f.Body}
		delete(q.calls, id)
	}
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
