package engines

import (
	"context"
	"net"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/internal/loglimit"
)

// A Forwarder sends the events of the bus to another program over a connection. Events that arrive
// while the connection is away wait in the queue of the bus, up to its limit; those beyond are
// lost, which is logged. An event that could not be written is sent again over the next connection.
type Forwarder struct {
	host             Host
	network, address string
	encode           func(body *data.Map) ([]byte, error)
	events           *eventbus.Subscription
	rest             []byte // an event that is not sent yet
	told             loglimit.Limiter
}

// NewForwarder returns a Forwarder to an address, for events from now on. encode returns the bytes
// of the data of an event.
func NewForwarder(h Host, network, address string, encode func(body *data.Map) ([]byte, error)) *Forwarder {
	return &Forwarder{host: h, network: network, address: address, encode: encode,
		events: h.Bus.Subscribe(eventbus.SubscribeOptions{Name: "engine " + h.Name})}
}

// Timeouts of a Forwarder. Attempts to connect are apart by retry.
const (
	dialTimeout  = 10 * time.Second
	writeTimeout = 30 * time.Second
	retry        = time.Second
)

// Run sends events until ctx ends. It logs once a minute that it has no connection.
func (f *Forwarder) Run(ctx context.Context) error {
	for {
		err := f.connected(ctx)
		if ctx.Err() != nil {
			f.events.Close()
			return ctx.Err()
		}
		if err != nil && f.told.First("") {
			f.host.Log.WithError(err).Errorf("engine %s: events wait for %s", f.host.Name, f.address)
		}
		if err := clock.Sleep(ctx, retry); err != nil {
			f.events.Close()
			return err
		}
	}
}

// connected sends events over one connection.
func (f *Forwarder) connected(ctx context.Context) error {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, f.network, f.address)
	if err != nil {
		return err
	}
	defer conn.Close()                                      //nolint:errcheck // nothing is lost by it
	stop := context.AfterFunc(ctx, func() { conn.Close() }) //nolint:errcheck // as above
	defer stop()
	for {
		if f.rest == nil {
			if f.rest, err = f.next(ctx); err != nil {
				return err
			}
			continue
		}
		if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return err
		}
		if _, err := conn.Write(f.rest); err != nil {
			if f.network == "udp" { // the datagram is lost, as it may be anyway
				f.rest = nil
			}
			return err
		}
		f.rest = nil
	}
}

// next returns the bytes of the next event, nil for one that cannot be encoded.
func (f *Forwarder) next(ctx context.Context) ([]byte, error) {
	event, err := f.events.Next(ctx)
	if err != nil {
		return nil, err
	}
	body, err := event.Map()
	if err == nil {
		var text []byte
		if text, err = f.encode(body); err == nil {
			return text, nil
		}
	}
	f.host.Log.WithError(err).Warnf("engine %s: event %q could not be encoded", f.host.Name, event.Tag)
	return nil, nil
}
