package python

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
)

// fire fires an event and reports whether it was sent.
func (f *Files) fire(ctx context.Context, args arguments) (any, error) {
	tag, body := args.text(1), args.dictionary(2)
	switch {
	case args.text(0) != "master":
		return f.env.Fired(ctx, tag, body), nil
	case f.env.Host.FireMaster == nil:
		return nil, &unableError{"fire events on a master: it is connected to none"}
	}
	if err := f.env.Host.FireMaster(ctx, tag, body); err != nil {
		f.env.Log.WithError(err).Debugf("fire event %s on the master", tag)
		return false, nil
	}
	return true, nil
}

// subscribe begins to keep events for the worker, and reports whether something listens there.
func (f *Files) subscribe(ctx context.Context, args arguments) (any, error) {
	if _, err := f.bus(ctx, args); err != nil {
		f.env.Log.WithError(err).Debug("subscribe to events for Python")
		return false, nil
	}
	return true, nil
}

// await returns the next event whose tag has a prefix as (tag, data), nil when the time is over.
func (f *Files) await(ctx context.Context, args arguments) (any, error) {
	bus, err := f.bus(ctx, args)
	if err != nil {
		return nil, err
	}
	prefix := args.text(2)
	if args[3] != nil {
		seconds, err := loader.Float(args[3])
		if err != nil {
			return nil, err
		}
		limited, cancel := context.WithTimeout(ctx, duration(seconds))
		defer cancel()
		ctx = limited
	}
	for {
		event, err := bus.Next(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("wait for event %s: %w", prefix, err)
		case !strings.HasPrefix(event.Tag, prefix):
			continue
		}
		body, err := event.Map()
		if err != nil {
			return nil, err
		}
		return data.Tuple{event.Tag, body}, nil
	}
}

// bus returns the subscription of the worker to a bus: minion or master, and the directory of its
// sockets, None for that of the options.
func (f *Files) bus(ctx context.Context, args arguments) (*eventbus.Client, error) {
	dir, opts := args.text(1), f.env.Opts
	if dir == "" {
		dir = opts.Text("sock_dir")
	}
	sockets := eventbus.MasterSockets(dir)
	if args.text(0) != "master" {
		var err error
		if sockets, err = eventbus.MinionSockets(dir, opts.Text("id"), opts.Text("hash_type")); err != nil {
			return nil, err
		}
	}
	above, ok := ctx.Value(holdingKey{}).(*holding)
	if !ok {
		return nil, errors.New("subscribe to events outside of a call of Python")
	}
	return above.w.subscription(ctx, sockets)
}

// subscription returns the subscription to a bus that the worker keeps until it ends.
func (w *worker) subscription(ctx context.Context, sockets eventbus.Sockets) (*eventbus.Client, error) {
	w.mu.Lock()
	bus, ok := w.buses[sockets]
	w.mu.Unlock()
	if ok {
		return bus, nil
	}
	bus, err := eventbus.Dial(ctx, sockets, eventbus.ClientOptions{})
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.released {
		return nil, errors.Join(ErrEnded, bus.Close())
	}
	if w.buses == nil {
		w.buses = map[eventbus.Sockets]*eventbus.Client{}
	}
	w.buses[sockets] = bus
	return bus, nil
}

// duration returns a number of seconds as a duration, at most a year.
func duration(seconds float64) time.Duration {
	const year = 365 * 24 * time.Hour
	if seconds < year.Seconds() {
		return time.Duration(max(0, seconds) * float64(time.Second))
	}
	return year
}
