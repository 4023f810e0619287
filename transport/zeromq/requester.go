package zeromq

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/go-zeromq/zmq4"

	"github.com/brineproject/brine/transport"
)

// A Requester is a DEALER that awaits a reply to each request; see [transport.Requester]. All requests share one
// connection, and the replies may come in any order.
type Requester struct {
	link *link
	stop context.CancelFunc
	done chan struct{}
	soon chan struct{} // has an element when the next attempt to connect is to come at once

	mu    sync.Mutex
	up    chan struct{} // closed while there is a connection
	peer  *peer         // nil while there is none
	calls map[uint64]chan<- answer
	next  uint64
}

type answer struct {
	body []byte
	err  error
}

// NewRequester returns a requester that connects in the background at once, and again whenever the connection is lost.
// Close it when it is not needed any more.
func NewRequester(d transport.Dialer) *Requester {
	ctx, stop := context.WithCancel(context.Background())
	q := &Requester{
		link: newLink(zmq4.Dealer, d), stop: stop, done: make(chan struct{}), soon: make(chan struct{}, 1),
		up: make(chan struct{}), calls: map[uint64]chan<- answer{}, next: rand.Uint64(),
	}
	q.link.Hurry = q.soon
	go func() {
		defer close(q.done)
		q.link.run(ctx, q.session)
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
		p, err := q.await(ctx)
		if err != nil {
			return nil, err
		}
		id, reply := q.enter(p)
		if reply == nil {
			continue // the connection was lost in between
		}
		if err := q.send(ctx, p, id, body); err != nil {
			q.leave(id)
			return nil, err
		}
		return q.receive(ctx, id, reply)
	}
}

// await waits for a connection.
func (q *Requester) await(ctx context.Context) (*peer, error) {
	for {
		q.mu.Lock()
		p, up := q.peer, q.up
		q.mu.Unlock()
		if p != nil {
			return p, nil
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

// enter gives a request its number; the channel is nil if p is not the connection any more.
func (q *Requester) enter(p *peer) (uint64, <-chan answer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.peer != p {
		return 0, nil
	}
	q.next++
	ch := make(chan answer, 1)
	q.calls[q.next] = ch
	return q.next, ch
}

func (q *Requester) leave(id uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.calls, id)
}

// send waits, while the server does not read and the queue is full, for as long as ctx lasts.
func (q *Requester) send(ctx context.Context, p *peer, id uint64, body []byte) error {
	head := make([]byte, 0, 2*shortHeader+8+longHeader+min(len(body), shareFrom))
	head = append(head, flagMore, 8)
	head = binary.BigEndian.AppendUint64(head, id)
	head = append(head, flagMore, 0)
	head = appendHeader(head, 0, len(body))
	if len(body) < shareFrom {
		head, body = append(head, body...), nil
	}
	for {
		_, err := p.out.SendParts(head, body)
		if errors.Is(err, transport.ErrGone) {
			return transport.ErrDisconnected
		}
		if !errors.Is(err, transport.ErrQueueFull) {
			return err
		}
		if err := p.out.Drained(ctx); err != nil {
			return err
		}
	}
}

func (q *Requester) receive(ctx context.Context, id uint64, reply <-chan answer) ([]byte, error) {
	select {
	case a := <-reply:
		return a.body, a.err
	case <-ctx.Done():
		q.leave(id)
		return nil, ctx.Err()
	}
}

// session hands the replies of one connection to those who wait for them.
func (q *Requester) session(ctx context.Context, p *peer) error {
	q.connect(p)
	q.link.Up()
	for {
		frames, err := p.receive()
		if err == nil {
			err = q.deliver(frames)
		}
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			q.lose(p, transport.ErrClosed)
			return transport.ErrClosed
		}
		q.lose(p, fmt.Errorf("%w: %w", transport.ErrDisconnected, err))
		return err
	}
}

func (q *Requester) connect(p *peer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.peer = p
	close(q.up)
}

// lose ends all requests under way.
func (q *Requester) lose(p *peer, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p != nil {
		q.peer, q.up = nil, make(chan struct{})
	}
	for id, ch := range q.calls {
		ch <- answer{err: err}
		delete(q.calls, id)
	}
}

// deliver hands a reply to the request of its number. One that nobody waits for any more is dropped.
func (q *Requester) deliver(frames [][]byte) error {
	if len(frames) != 3 || len(frames[0]) != 8 || len(frames[1]) != 0 {
		return fmt.Errorf("reply of %d frames is not in the form of the request: %w", len(frames), transport.ErrProtocol)
	}
	id := binary.BigEndian.Uint64(frames[0])
	q.mu.Lock()
	defer q.mu.Unlock()
	if ch := q.calls[id]; ch != nil {
		ch <- answer{body: frames[2]}
		delete(q.calls, id)
	}
	return nil
}
