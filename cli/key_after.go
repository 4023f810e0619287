package cli

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/pki/keyring"
)

// keyEvents tells the master on this host what was done to keys. That none runs is no fault.
type keyEvents struct {
	sockets eventbus.Sockets
	log     *logrus.Logger
	client  *eventbus.Client
	off     bool // the master does not listen
}

// busPatience is how long one event may take to be taken by a master that runs.
const busPatience = time.Second

// masterSockets returns the sockets of the bus of the master on this host.
func masterSockets(opts *data.Map) eventbus.Sockets {
	if opts.Text("ipc_mode") == "tcp" {
		return eventbus.TCPSockets(int(floatOf(opts.Value("tcp_master_pub_port"))), int(floatOf(opts.Value("tcp_master_pull_port"))))
	}
	return eventbus.MasterSockets(opts.Text("sock_dir"))
}

// fire fires salt/key. The first event that is not taken is the last that is tried.
func (e *keyEvents) fire(m *data.Map) {
	if e.off {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), busPatience)
	defer cancel()
	if err := e.send(ctx, m); err != nil {
		e.log.Debugf("no master takes events: %v", err)
		e.off = true
	}
}

func (e *keyEvents) send(ctx context.Context, m *data.Map) error {
	if e.client == nil {
		var err error
		if e.client, err = eventbus.Dial(ctx, e.sockets, eventbus.ClientOptions{FireOnly: true}); err != nil {
			return err
		}
	}
	return e.client.Fire(ctx, eventbus.Tagify("key"), m)
}

func (e *keyEvents) close() {
	if e.client != nil {
		_ = e.client.Close() // all is sent
	}
}

// changed tells of a key that was changed.
func (e *keyEvents) changed(act, id string) {
	e.fire(data.NewMap("result", true, "act", act, "id", id))
}

// clearUp drops what the master keeps of minions without a key, and asks it for a new session key.
func (k *keyRun) clearUp(c keyChange, chosen []keyring.Shelf) error {
	caches, rotation := k.ring.ClearUp(c.act, chosen)
	if caches != nil {
		k.log.Warnf("Key: Delete cache: %v", caches)
	}
	return rotation
}
