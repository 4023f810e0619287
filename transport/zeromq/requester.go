package zeromq

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/brineproject/brine/transport"
)

// A Requester is a DEALER socket that waits for a reply to each request; see [transport.Requester].
// All requests share one connection, and replies may arrive in any order.
type Requester struct {
	link  *link
	calls *transport.Calls[uint64, *peer]
	last  uint64 // last request number
	stop  context.CancelFunc
	done  chan struct{}
	soon  transport.Haste
}

// NewRequester returns a requester that connects in the background at once, and again after each
// loss. The caller must close it.
func NewRequester(d transport.Dialer) *Requester {
	ctx, stop := context.WithCancel(context.Background())
	q := &Requester{link: newLink(dealerSocket, d), stop: stop, done: make(chan struct{}),
		soon: transport.NewHaste(), last: rand.Uint64()}
	q.calls = transport.NewCalls[uint64, *peer](d.Addr, q.done, q.number, nil)
	q.link.Hurry = q.soon
	go func() {
		defer close(q.done)
		q.link.run(ctx, q.session)
	}()
	return q
}

// number returns the next number. Numbers repeat only after longer than any request takes.
func (q *Requester) number(func(uint64) bool) uint64 {
	q.last++
	return q.last
}

// Close closes the connection and makes pending requests fail with ErrClosed.
func (q *Requester) Close() error {
	q.stop()
	<-q.done
	return nil
}

// Hurry ends the pause before the next connection attempt. If a connection exists, it applies if
// that is lost within a few seconds.
func (q *Requester) Hurry() { q.soon.Say() }

// Do sends one request and returns its reply.
func (q *Requester) Do(ctx context.Context, body []byte) ([]byte, error) {
	return q.calls.Do(ctx, func(ctx context.Context, p *peer, id uint64) error {
		head, tail := frame(id, body)
		return p.out.SendRequest(ctx, head, tail)
	})
}

// frame returns a request in two pieces; tail may be body itself.
func frame(id uint64, body []byte) (b, tail []byte) {
	b = make([]byte, 0, 2*shortHeader+8+longHeader+min(len(body), shareFrom))
	b = append(b, flagMore, 8)
	b = binary.BigEndian.AppendUint64(b, id)
	b = append(b, flagMore, 0)
	b = appendHeader(b, 0, len(body))
	if len(body) < shareFrom {
		return append(b, body...), nil
	}
	return b, body
}

// session passes the replies of one connection to the waiting requests.
func (q *Requester) session(ctx context.Context, p *peer) error {
	q.calls.Connect(p)
	q.link.Up()
	for {
		frames, err := p.receive()
		if err == nil {
			err = q.deliver(frames)
		}
		if err != nil {
			return q.calls.Lose(ctx, err)
		}
	}
}

// deliver passes a reply to the request with its number.
func (q *Requester) deliver(frames [][]byte) error {
	if len(frames) != 3 || len(frames[0]) != 8 || len(frames[1]) != 0 {
		return fmt.Errorf("reply of %d frames is not in the form of the request: %w", len(frames),
			transport.ErrProtocol)
	}
	q.calls.Answer(binary.BigEndian.Uint64(frames[0]), frames[2])
	return nil
}
