package loader

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// Fire fires an event on the minion's own bus: that of the daemon around the plug-ins, or, as in salt-call, of the one that runs
// on this host.
func (e *Env) Fire(ctx context.Context, tag string, body *data.Map) error {
	if e.Host.Fire != nil {
		return e.Host.Fire(ctx, tag, body)
	}
	bus, err := e.dial(ctx, eventbus.ClientOptions{FireOnly: true})
	if err != nil {
		return err
	}
	defer bus.Close()
	return bus.Fire(ctx, tag, body)
}

// Fired is Fire for functions that only tell whether it was possible (salt/modules/event.py, fire).
func (e *Env) Fired(ctx context.Context, tag string, body *data.Map) bool {
	if err := e.Fire(ctx, tag, body); err != nil {
		e.Log.WithError(err).Debugf("fire event %s", tag)
		return false
	}
	return true
}

// Await calls act and returns the body of the first event on the minion's own bus, from then on, whose tag begins with tag. It
// ends with act's error or with ctx.
func (e *Env) Await(ctx context.Context, tag string, act func() error) (*data.Map, error) {
	if e.Host.Await != nil {
		return e.Host.Await(ctx, tag, act)
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
	sockets, err := eventbus.MinionSockets(e.Opts.Text("sock_dir"), e.Opts.Text("id"), e.Opts.Text("hash_type"))
	if err != nil {
		return nil, err
	}
	return eventbus.Dial(ctx, sockets, o)
}
