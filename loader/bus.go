package loader

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// Fire fires an event on the minion's own bus: that of the daemon in this process or, as in
// salt-call, of the minion running on this host.
func (e *Env) Fire(ctx context.Context, tag string, body *data.Map) error {
	if e.Host.Bus != nil {
		return e.Host.Bus.Fire(ctx, tag, body)
	}
	bus, err := e.dial(ctx, eventbus.ClientOptions{FireOnly: true})
	if err != nil {
		return err
	}
	defer bus.Close()
	return bus.Fire(ctx, tag, body)
}

// Fired is like Fire but only reports success; errors are logged at level debug
// (salt/modules/event.py, fire).
func (e *Env) Fired(ctx context.Context, tag string, body *data.Map) bool {
	if err := e.Fire(ctx, tag, body); err != nil {
		e.Log.WithError(err).Debugf("fire event %s", tag)
		return false
	}
	return true
}

// Await calls act and returns the body of the first event after that on the minion's own bus whose
// tag begins with tag. It returns early with act's error or when ctx ends.
func (e *Env) Await(ctx context.Context, tag string, act func() error) (*data.Map, error) {
	if e.Host.Bus != nil {
		return e.Host.Bus.Await(ctx, tag, act)
	}
	bus, err := e.dial(ctx, eventbus.ClientOptions{Subscribe: eventbus.SubscribeOptions{Prefixes: []string{tag}}})
	if err != nil {
		return nil, err
	}
	defer bus.Close()
	if err := act(); err != nil {
		return nil, err
	}
	for {
		event, err := bus.Next(ctx)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(event.Tag, tag) {
			return event.Map()
		}
	}
}

// dial connects to the bus of the minion on this host.
func (e *Env) dial(ctx context.Context, o eventbus.ClientOptions) (*eventbus.Client, error) {
	sockets, err := eventbus.MinionSockets(e.Opts.Text("sock_dir"), e.Opts.Text("id"),
		e.Opts.Text("hash_type"))
	if err != nil {
		return nil, err
	}
	if size, ok := e.Option("max_event_size").(int64); ok {
		o.MaxEventSize = int(size)
	}
	return eventbus.Dial(ctx, sockets, o)
}
