package cli

import (
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/tcp"
	"github.com/brineproject/brine/transport/zeromq"
)

// A Wire opens the client sides of the configured transport. The zero Wire uses ZeroMQ.
type Wire struct {
	tcp bool
	tls *tcp.TLS
}

// MinionWire returns the wire of a minion, from the options transport and ssl.
func MinionWire(cfg *config.Minion) (Wire, error) {
	return newWire(cfg.Transport, cfg.Map(), tcp.ClientTLS)
}

// HostWire returns the wire of a program on a master's host, from the master's options.
func HostWire(opts *data.Map) (Wire, error) {
	return newWire(opts.Text("transport"), opts, tcp.HostTLS)
}

func newWire(
	transport string, opts *data.Map, tls func(ssl *data.Map) (*tcp.TLS, error),
) (Wire, error) {
	if transport != "tcp" {
		return Wire{}, nil
	}
	ssl, _ := opts.Value("ssl").(*data.Map)
	t, err := tls(ssl)
	return Wire{tcp: true, tls: t}, err
}

// IdleTLS reports that ssl is set but the transport does not use it, with the text of Salt's log
// (salt/transport/zeromq.py).
func IdleTLS(transport string, opts *data.Map) error {
	if transport == "tcp" || opts.Value("ssl") == nil {
		return nil
	}
	return &config.Finding{Text: "TLS not supported with zeromq transport",
		Suggestion: "set transport: tcp, or remove ssl", Doubt: true}
}

// Request returns a requester.
func (w Wire) Request(d transport.Dialer) transport.Requester {
	if w.tcp {
		return tcp.NewRequester(d, w.tls)
	}
	return zeromq.NewRequester(d)
}

// Subscribe returns a subscriber to topics. If the transport has no topics it receives everything.
func (w Wire) Subscribe(d transport.Dialer, topics ...string) transport.Subscriber {
	if w.tcp {
		return tcp.NewSubscriber(d, w.tls)
	}
	return zeromq.NewSubscriber(d, topics...)
}
