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

// A Desk is where the requests of a replier are answered: by a crew, a few at a time of each client.
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

// Open sets who answers; before that no request may come.
func (d *Desk) Open(h transport.Handler) { d.handler = h }

// Within returns the context of the clients of a server that ends with ctx.
func (d *Desk) Within(ctx context.Context) context.Context { return transport.WithAside(ctx, d.crew) }

// Close waits a moment for handlers that still run. By then the context of the clients has ended.
func (d *Desk) Close() {
	if !d.crew.Dismiss(time.Second) {
		d.log.Warn("handlers of requests do not end; going on without them")
	}
}

// Known returns the sources from which clients have proved who they are.
func (d *Desk) Known() *transport.Sources { return &d.known }

// answer runs the handler, and closes the connection if it does not reply.
func (d *Desk) answer(r *Request) {
	defer r.client.leave()
	defer r.expire()
	defer func() {
		if v := recover(); v != nil {
			d.counters.Panics.Add(1)
			d.log.Errorf("request of %s made its handler panic: %v\n%s", r.Remote(), v, debug.Stack())
		}
	}()
	d.handler(r.client.ctx, r)
}

// A Caller is the connection of a client.
type Caller interface {
	Remote() net.Addr
	Cut()
	// Trusted holds whether the peer has proved who it is.
	Trusted() *atomic.Bool
}

// A Client is one connection of a replier; Begin makes it ready. One goroutine reads from it, any may
// reply.
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

// Begin makes a client of a connection, until End; ctx comes from Within. Clients from a source that has
// proved who it is are trusted at once.
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

// End ends the context of the client's requests.
func (c *Client) End() { c.cancel() }

// CheckIdle returns ErrIdle for a peer that is not known, asks nothing and was quiet for too long.
func (c *Client) CheckIdle(quiet time.Duration) error {
	limit := c.desk.limits.IdleTimeout
	if limit <= 0 || quiet < limit || c.caller.Trusted().Load() || len(c.slots) > 0 {
		return nil
	}
	return ErrIdle
}

// Settle waits for the requests in work, so that their replies still go out.
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

// Take gives a request to a worker, and waits for one if need be: more is read from this client only
// then. Meanwhile busy, unless it is nil, is called each time that every has passed.
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

// Set fills in a request that is zero.
func (r *Request) Set(c *Client, e Envelope, body []byte) { r.client, r.envelope, r.body = c, e, body }

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

// expire closes the connection of a request that got no reply.
func (r *Request) expire() {
	if r.replied.Swap(true) {
		return
	}
	r.client.desk.counters.Unanswered.Add(1)
	r.client.caller.Cut()
}

// Session returns what SetSession kept with the connection.
func (r *Request) Session() any {
	h, _ := r.client.session.Load().(held)
	return h.v
}

// SetSession keeps a value with the connection.
func (r *Request) SetSession(v any) { r.client.session.Store(held{v}) }

// Trust says that the client has proved who it is.
func (r *Request) Trust() {
	if !r.client.caller.Trusted().Swap(true) {
		source := transport.SourceOf(r.Remote())
		r.client.desk.known.Trust(source)
		r.client.desk.opts.Crowd.Prove(source)
	}
}
