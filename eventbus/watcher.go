package eventbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/brineproject/brine/data"
)

// NodeSockets returns the sockets of a daemon on this host with the given options. node is master,
// or minion for the minion with the id in the options. dir replaces the option sock_dir unless it
// is "".
func NodeSockets(node string, opts *data.Map, dir string) (Sockets, error) {
	if dir == "" {
		dir = opts.Text("sock_dir")
	}
	switch node {
	case "minion":
		return MinionSockets(dir, opts.Text("id"), opts.Text("hash_type"))
	case "master":
	default:
		return Sockets{}, fmt.Errorf("node is %q; it can be master or minion", node)
	}
	if opts.Text("ipc_mode") != "tcp" {
		return MasterSockets(dir), nil
	}
	pub, ok1 := opts.Value("tcp_master_pub_port").(int64)
	pull, ok2 := opts.Value("tcp_master_pull_port").(int64)
	if !ok1 || !ok2 {
		return Sockets{}, errors.New("tcp_master_pub_port and tcp_master_pull_port must be numbers")
	}
	return TCPSockets(int(pub), int(pull)), nil
}

// A Watcher reads events of a bus and reconnects when its daemon restarts. It is not safe for
// concurrent use. The caller must close it.
type Watcher struct {
	sockets Sockets
	opts    ClientOptions
	bus     *Client
}

// NewWatcher returns a watcher that is not connected yet.
func NewWatcher(s Sockets, o ClientOptions) *Watcher { return &Watcher{sockets: s, opts: o} }

// joinInterval is the interval between connection attempts.
const joinInterval = 250 * time.Millisecond

// Join connects to the bus and waits until that succeeds. Events fired after Join has returned are
// not missed while the daemon runs.
func (w *Watcher) Join(ctx context.Context) error {
	for w.bus == nil {
		bus, err := Dial(ctx, w.sockets, w.opts)
		if err == nil {
			w.bus = bus
			return nil
		}
		t := time.NewTimer(joinInterval)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
	}
	return nil
}

// Next returns the next event. It reconnects after a lost connection; events fired in between are
// missed. The error is that of ctx.
func (w *Watcher) Next(ctx context.Context) (Event, error) {
	for {
		if err := w.Join(ctx); err != nil {
			return Event{}, err
		}
		e, err := w.bus.Next(ctx)
		if err == nil || ctx.Err() != nil {
			return e, err
		}
		w.leave()
	}
}

func (w *Watcher) leave() {
	w.bus.Close() //nolint:errcheck // it is lost already
	w.bus = nil
}

// Close closes the connection.
func (w *Watcher) Close() error {
	if w.bus == nil {
		return nil
	}
	err := w.bus.Close()
	w.bus = nil
	return err
}
