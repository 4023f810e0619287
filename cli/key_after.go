package cli

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/pki/keyring"
)

// keyEvents sends events about changed keys to the master on this host. It is no error if no master
// runs.
type keyEvents struct {
	sockets eventbus.Sockets
	log     *logrus.Logger
	client  *eventbus.Client
	off     bool // the master does not listen
}

// busPatience is how long a running master may take to accept one event.
const busPatience = time.Second

// masterSockets returns the sockets of the bus of the master on this host.
func masterSockets(opts *data.Map) eventbus.Sockets {
	if opts.Text("ipc_mode") == "tcp" {
		return eventbus.TCPSockets(int(floatOf(opts.Value("tcp_master_pub_port"))),
			int(floatOf(opts.Value("tcp_master_pull_port"))))
	}
	return eventbus.MasterSockets(opts.Text("sock_dir"))
}

// fire fires salt/key. After the first event that fails it tries no other.
func (e *keyEvents) fire(m *data.Map) {
	if e.off {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), busPatience)
	defer cancel()
	if err := e.send(ctx, m); err != nil {
		e.log.Debugf("no running master accepts events: %v", err)
		e.off = true
	}
}

func (e *keyEvents) send(ctx context.Context, m *data.Map) error {
	if e.client == nil {
		var err error
		if e.client, err = eventbus.Dial(ctx, e.sockets,
			eventbus.ClientOptions{FireOnly: true}); err != nil {
			return err
		}
	}
	return e.client.Fire(ctx, eventbus.Tagify("key"), m)
}

func (e *keyEvents) close() {
	if e.client != nil {
		_ = e.client.Close() // everything was sent
	}
}

// changed fires the event of a changed key.
func (e *keyEvents) changed(act, id string) {
	e.fire(data.NewMap("result", true, "act", act, "id", id))
}

// clearUp drops the master's cached data of minions without a key, and asks the master for a new
// session key.
func (k *keyRun) clearUp(c keyChange, chosen []keyring.Shelf) error {
	caches, rotation := k.ring.ClearUp(c.act, chosen)
	if caches != nil {
		k.log.Warnf("Key: Delete cache: %v", caches)
	}
	return rotation
}
