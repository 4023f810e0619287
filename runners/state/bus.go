package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
)

// dial connects to the bus that is asked for, and waits for one that is not there.
func (m *module) dial(ctx context.Context, a eventArgs) (*eventbus.Client, error) {
	sockets, err := m.sockets(a)
	if err != nil {
		return nil, err
	}
	for {
		bus, err := eventbus.Dial(ctx, sockets, eventbus.ClientOptions{})
		if err == nil {
			return bus, nil
		}
		m.env.Log.Debugf("no bus to watch yet: %v", err)
		if !wait(ctx) {
			return nil, context.Cause(ctx)
		}
	}
}

func (m *module) sockets(a eventArgs) (eventbus.Sockets, error) {
	dir, ok := a.SockDir.(string)
	if !ok || dir == "" {
		dir = m.env.Opts.Text("sock_dir")
	}
	switch a.Node {
	case "minion":
		return eventbus.MinionSockets(dir, m.env.Opts.Text("id"), m.env.Opts.Text("hash_type"))
	case "master":
	default:
		return eventbus.Sockets{}, fmt.Errorf("node is %q; it can be master or minion", a.Node)
	}
	if m.env.Opts.Text("ipc_mode") != "tcp" {
		return eventbus.MasterSockets(dir), nil
	}
	pub, err1 := loader.Int(m.env.Option("tcp_master_pub_port"))
	pull, err2 := loader.Int(m.env.Option("tcp_master_pull_port"))
	return eventbus.TCPSockets(int(pub), int(pull)), errors.Join(err1, err2)
}

// again is how long a watcher waits before it looks for a bus again.
const again = 250 * time.Millisecond

// wait waits a while; it returns false when ctx ends first.
func wait(ctx context.Context) bool {
	t := time.NewTimer(again)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
