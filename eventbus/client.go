package eventbus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// ClientOptions configure Dial.
type ClientOptions struct {
	Subscribe    SubscribeOptions // events returned by Next, and the read-ahead limit
	FireOnly     bool             // do not subscribe
	MaxEventSize int              // option `max_event_size` in bytes; 0 means 1048576
	ZoneStamp    bool             // write `_stamp` as Salt 3008 does
}

// A Client is a connection to the bus of a Brine or Salt daemon on this host. It is safe for
// concurrent use.
type Client struct {
	sockets Sockets
	encoder encoder

	conn   net.Conn            // to the pub socket; nil with FireOnly
	events *queue              // it grows as needed: most clients read few events
	places *semaphore.Weighted // remaining read-ahead, in events
	room   *semaphore.Weighted // the same in bytes
	done   chan struct{}       // closed when reading has ended
	err    error               // reason; valid once done is closed
	stop   context.CancelFunc

	mu   sync.Mutex
	pull net.Conn // nil until the first Fire
}

// Dial connects to the pub socket. Events fired after Dial has returned are not missed. The caller
// must close the client.
func Dial(ctx context.Context, s Sockets, o ClientOptions) (*Client, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	c := &Client{sockets: s, encoder: newEncoder(o.MaxEventSize, o.ZoneStamp, nil),
		events: newQueue(o.Subscribe.MaxEvents, o.Subscribe.MaxBytes), done: make(chan struct{}), stop: func() {}}
	c.places, c.room = semaphore.NewWeighted(int64(c.events.maxEvents)), semaphore.NewWeighted(int64(c.events.maxBytes))
	if o.FireOnly {
		c.err = ErrClosed
		c.events.close()
		close(c.done)
		return c, nil
	}
	conn, err := dial(ctx, s.Network, s.Pub)
	if err != nil {
		return nil, err
	}
	c.conn = conn
	var reading context.Context
	reading, c.stop = context.WithCancel(context.Background())
	go c.read(reading, o.Subscribe.wants())
	return c, nil
}

func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("connect to event socket: %w", err)
	}
	return conn, nil
}

// read reads events from the socket. When the read-ahead limit is reached it waits, and further
// events stay in the daemon's queue.
func (c *Client) read(ctx context.Context, wants func(string) bool) {
	defer c.events.close()
	defer close(c.done)
	c.err = readEvents(c.conn, c.encoder.frameLimit(), wants, func(e Event) bool {
		if c.places.Acquire(ctx, 1) != nil || c.room.Acquire(ctx, c.weight(e)) != nil {
			return false
		}
		c.events.put(e) // there is room
		return true
	})
}

// frameLimit returns the limit of a frame on a socket, in bytes.
func (c *encoder) frameLimit() int { return max(maxFrame, 4*c.max+MaxTag) }

// readEvents calls take with each event of a connection that wants selects, until take returns false.
// The error wraps ErrClosed. Invalid events are left out.
func readEvents(conn net.Conn, limit int, wants func(tag string) bool, take func(Event) bool) error {
	frames := payload.NewFrameReader(conn, limit)
	for {
		body, err := frames.Next()
		if err != nil {
			return readError(err)
		}
		e, err := splitEvent(body)
		if err != nil || wants != nil && !wants(e.Tag) {
			continue
		}
		if e, err = ParseEvent(body); err != nil {
			continue
		}
		e.frame = body
		if !take(e) {
			return ErrClosed
		}
	}
}

func readError(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) {
		return ErrClosed
	}
	return fmt.Errorf("%w: read event: %w", ErrClosed, err)
}

func (c *Client) weight(e Event) int64 { return int64(min(e.size(), c.events.maxBytes)) }

// Next waits for the next event. Events already read are returned first. The error is that of ctx,
// or wraps ErrClosed if the daemon has gone or the client is closed.
func (c *Client) Next(ctx context.Context) (Event, error) {
	e, err := c.events.next(ctx)
	if errors.Is(err, ErrClosed) {
		return Event{}, c.err
	}
	if err != nil {
		return Event{}, err
	}
	c.places.Release(1)
	c.room.Release(c.weight(e))
	return e, nil
}

// Fire sends an event and returns once it is written to the daemon's socket. The first call
// connects, and later calls reuse the connection. If a write on a reused connection fails, Fire
// reconnects once, since the daemon may have restarted.
func (c *Client) Fire(ctx context.Context, tag string, m *data.Map) error {
	e, err := c.encoder.encode(tag, m)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.pull != nil
	if err = c.push(ctx, e.frame); err != nil && kept && ctx.Err() == nil {
		err = c.push(ctx, e.frame)
	}
	if err != nil {
		return fmt.Errorf("fire event %q: %w", tag, err)
	}
	return nil
}

// push writes a frame. On error it closes the connection, since a part of the frame may have been
// sent.
func (c *Client) push(ctx context.Context, frame []byte) error {
	if c.pull == nil {
		conn, err := dial(ctx, c.sockets.Network, c.sockets.Pull)
		if err != nil {
			return err
		}
		c.pull = conn
	}
	conn := c.pull
	stop := context.AfterFunc(ctx, func() { conn.SetWriteDeadline(time.Unix(1, 0)) })
	_, err := conn.Write(frame)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		c.pull = nil
	}
	return err
}

// Close closes the connections.
func (c *Client) Close() error {
	c.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pull != nil {
		c.pull.Close()
		c.pull = nil
	}
	if c.conn != nil {
		c.conn.Close()
	}
	<-c.done
	return nil
}
