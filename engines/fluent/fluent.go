// Package fluent is Salt's engine fluent: it sends the events of the bus to fluentd or Fluent Bit
// (salt/engines/fluent.py).
//
//	engines:
//	  - fluent: {host: localhost, port: 24224, app: engine}
//
// Each event is a message of the forward protocol: its tag, the seconds since 1970, and the data of
// the event, in MessagePack.
package fluent

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/payload"
)

// New makes the engine. The options host (localhost) and port (24224) are those of fluentd, app is
// the part of the tag after "saltstack." (engine).
func New(h engines.Host, options *data.Map) (func(context.Context) error, error) {
	if err := engines.Only(options, "host", "port", "app"); err != nil {
		return nil, err
	}
	host, err := engines.Text(options, "host", "localhost")
	port, portErr := engines.Port(options, "port", 24224)
	app, appErr := engines.Text(options, "app", "engine")
	if err := errors.Join(err, portErr, appErr); err != nil {
		return nil, err
	}
	return engines.NewForwarder(h, "tcp", net.JoinHostPort(host, strconv.Itoa(port)),
		func(body *data.Map) ([]byte, error) {
			return payload.MarshalBin([]any{"saltstack." + app, time.Now().Unix(), body})
		}).Run, nil
}
