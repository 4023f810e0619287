package eventbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/brineproject/brine/data"
)

// NodeSockets returns the sockets of the bus of the daemon that runs with some options on this host. node is master, or minion for that
// of the id in the options; dir is in place of the option sock_dir unless it is "".
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

// A Watcher reads the events of a bus whose daemon may come and go. One goroutine at a time may use it. Close it.
type Watcher struct {
	sockets Sockets
	opts    ClientOptions
	bus     *Client
}

// NewWatcher returns a watcher that has not joined the bus yet.
func NewWatcher(s Sockets, o ClientOptions) *Watcher { return &Watcher{sockets: s, opts: o} }

// joinAgain is how long a watcher waits before it looks for a bus again.
const joinAgain = 250 * time.Millisecond

// Join connects to the bus, and waits for one that is not there. What is fired after it has returned is not missed while the daemon runs.
func (w *Watcher) Join(ctx context.Context) error {
	for w.bus == nil {
		bus, err := Dial(ctx, w.sockets, w.opts)
		if err == nil {
			w.bus = bus
			return nil
		}
		t := time.NewTimer(joinAgain)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
	}
	return nil
}

// Next returns the next event. It joins a bus that was lost again; what was fired meanwhile is missed. The error is that of ctx.
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

// Close ends the connection.
func (w *Watcher) Close() error {
	if w.bus == nil {
		return nil
	}
	err := w.bus.Close()
	w.bus = nil
	return err
}
