package netapi

import (
	"context"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// A Bus fires events on the master's bus. It connects when it is first needed, and again after the
// master has restarted. It is safe for concurrent use.
type Bus struct {
	sockets eventbus.Sockets
	options eventbus.ClientOptions

	mu     sync.Mutex
	client *eventbus.Client
	probe  *probe
}

// NewBus returns a Bus, which is not connected yet.
func NewBus(s eventbus.Sockets, o eventbus.ClientOptions) *Bus {
	o.FireOnly = true
	b := &Bus{sockets: s, options: o}
	b.probe = newProbe(b.dial)
	return b
}

// Fire fires an event. It fails if no master runs.
func (b *Bus) Fire(ctx context.Context, tag string, body *data.Map) error {
	c, fresh, err := b.connect(ctx, nil)
	if err != nil {
		return err
	}
	err = c.Fire(ctx, tag, body)
	if err == nil || fresh || ctx.Err() != nil {
		return err
	}
	if c, _, err = b.connect(ctx, c); err != nil {
		return err
	}
	return c.Fire(ctx, tag, body)
}

// connect returns the connection. broken is one that does not work any more.
func (b *Bus) connect(ctx context.Context, broken *eventbus.Client) (c *eventbus.Client, fresh bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client != nil && b.client != broken {
		return b.client, false, nil
	}
	if b.client != nil {
		_ = b.client.Close()
		b.client = nil
	}
	b.client, err = eventbus.Dial(ctx, b.sockets, b.options)
	if err != nil {
		b.client = nil
	}
	return b.client, true, err
}

// Ready returns an error if no master runs. An answer counts for a second, and one call at a time asks.
func (b *Bus) Ready(ctx context.Context) error { return b.probe.ask(ctx) }

// dial connects to the master once.
func (b *Bus) dial(ctx context.Context) error {
	o := b.options
	o.FireOnly, o.Subscribe = false, eventbus.SubscribeOptions{Prefixes: []string{"no event"}}
	c, err := eventbus.Dial(ctx, b.sockets, o)
	if err != nil {
		return err
	}
	return c.Close()
}

// Close closes the connection.
func (b *Bus) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client == nil {
		return nil
	}
	return b.client.Close()
}
