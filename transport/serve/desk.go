package serve

import (
	"context"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/transport"
)

// A Desk answers the requests of a replier with a crew, a few at a time per client.
type Desk struct {
	opts     transport.Options
	limits   *transport.Limits
	counters *transport.Counters
	log      logrus.FieldLogger
	handler  transport.Handler
	crew     *transport.Crew[*Request]
	known    transport.Sources
}

// NewDesk returns the desk of a server.
func NewDesk(s *Server) *Desk {
	d := &Desk{opts: s.Opts, limits: &s.Limits, counters: s.Counters, log: s.Log}
	d.crew = transport.NewCrew(s.Opts.Workers, d.answer)
	return d
}

// Open sets the handler. It must be called before any request arrives.
func (d *Desk) Open(h transport.Handler) { d.handler = h }

// Within returns the context for clients of a server; it ends with ctx.
func (d *Desk) Within(ctx context.Context) context.Context {
	return transport.WithAside(ctx,
		d.crew)
}

// Close waits briefly for running handlers. The context of the clients must have ended.
func (d *Desk) Close() {
	if !d.crew.Dismiss(time.Second) {
		d.log.Warn("request handlers did not end in time")
	}
}

// Known returns the addresses of authenticated clients.
func (d *Desk) Known() *transport.Sources { return &d.known }

// answer runs the handler, and closes the connection if it does not reply.
func (d *Desk) answer(r *Request) {
	defer r.client.leave()
	defer r.expire()
	defer func() {
		if v := recover(); v != nil {
			d.counters.Panics.Add(1)
			d.log.Errorf("panic in the handler of a request of %s: %v\n%s", r.Remote(), v,
				debug.Stack())
		}
	}()
	d.handler(r.client.ctx, r)
}

// A Caller is the connection of a client.
type Caller interface {
	Remote() net.Addr
	Cut()
	// Trusted reports whether the peer is authenticated.
	Trusted() *atomic.Bool
}

// A Client is one connection of a replier; Begin initializes it. One goroutine reads from it; any
// may reply.
type Client struct {
	desk     *Desk
	caller   Caller
	ctx      context.Context
	cancel   context.CancelFunc
	session  atomic.Value // of type held
	slots    chan struct{}
	inFlight sync.WaitGroup
}

type held struct{ v any }

// Begin initializes the client of a connection, until End. ctx must come from Within. Clients from
// the address of an authenticated client are trusted at once.
func (c *Client) Begin(ctx context.Context, d *Desk, caller Caller) {
	c.desk, c.caller = d, caller
	c.ctx, c.cancel = context.WithCancel(ctx)
	places := d.limits.MaxInFlight
	if places < 0 {
		places = 1 << 30 // places in the channel take no memory
	}
	c.slots = make(chan struct{}, places)
	source := transport.SourceOf(caller.Remote())
	caller.Trusted().Store(!source.IsValid() || d.known.Trusted(source))
}

// End cancels the context of the client's requests.
func (c *Client) End() { c.cancel() }

// CheckIdle returns ErrIdle for an untrusted peer without requests that was silent for too long.
func (c *Client) CheckIdle(quiet time.Duration) error {
	limit := c.desk.limits.IdleTimeout
	if limit <= 0 || quiet < limit || c.caller.Trusted().Load() || len(c.slots) > 0 {
		return nil
	}
	return ErrIdle
}

// Settle waits for running requests, so that their replies are still sent.
func (c *Client) Settle() {
	settled := make(chan struct{})
	go func() {
		c.inFlight.Wait()
		close(settled)
	}()
	select {
	case <-settled:
	case <-c.ctx.Done():
	}
}

// Take passes a request to a worker, and waits for a free one; nothing more is read from the client
// meanwhile. busy, if not nil, is called at each interval every during the wait.
func (c *Client) Take(r *Request, every time.Duration, busy func()) error {
	c.desk.counters.Received.Add(1)
	if err := put(c.ctx, c.slots, struct{}{}, every, busy); err != nil {
		return err
	}
	c.inFlight.Add(1)
	if c.desk.crew.Submit(r) {
		return nil
	}
	err := put(c.ctx, c.desk.crew.Queue(), r, every, busy)
	if err != nil {
		c.leave()
	}
	return err
}

// put sends v to ch.
func put[T any](ctx context.Context, ch chan<- T, v T, every time.Duration, busy func()) error {
	select {
	case ch <- v:
		return nil
	default:
	}
	var tick <-chan time.Time
	if busy != nil {
		t := time.NewTicker(every)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case ch <- v:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-tick:
			busy()
		}
	}
}

func (c *Client) leave() {
	<-c.slots
	c.inFlight.Done()
}

// An Envelope sends the reply to one request.
type Envelope interface {
	Send(body []byte) error
}

// A Request is one message of a client. A transport embeds it beside what its reply needs.
type Request struct {
	client   *Client
	envelope Envelope
	body     []byte
	replied  atomic.Bool
}

var _ transport.Request = (*Request)(nil)

// Set initializes a zero request.
func (r *Request) Set(c *Client, e Envelope, body []byte) {
	r.client, r.envelope,
		r.body = c, e, body
}

// Body returns what was sent.
func (r *Request) Body() []byte { return r.body }

// Remote returns the address of the client.
func (r *Request) Remote() net.Addr { return r.client.caller.Remote() }

// Reply answers on the connection that the request came by.
func (r *Request) Reply(body []byte) error {
	if r.replied.Swap(true) {
		return transport.ErrReplied
	}
	return r.envelope.Send(body)
}

// expire closes the connection of a request without a reply.
func (r *Request) expire() {
	if r.replied.Swap(true) {
		return
	}
	r.client.desk.counters.Unanswered.Add(1)
	r.client.caller.Cut()
}

// Session returns the value set by SetSession for the connection.
func (r *Request) Session() any {
	h, _ := r.client.session.Load().(held)
	return h.v
}

// SetSession stores a value with the connection.
func (r *Request) SetSession(v any) { r.client.session.Store(held{v}) }

// Trust marks the client as authenticated.
func (r *Request) Trust() {
	if !r.client.caller.Trusted().Swap(true) {
		source := transport.SourceOf(r.Remote())
		r.client.desk.known.Trust(source)
		r.client.desk.opts.Crowd.Prove(source)
	}
}
