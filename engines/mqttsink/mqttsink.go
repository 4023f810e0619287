// Package mqttsink is the engine mqtt, Brine's own: it sends the events of a master to a broker of MQTT
// 3.1.1.
//
//	engines:
//	  - mqtt:
//	      servers: [mqtts://broker.example.com]
//	      topic: salt/events/{tag}
//	      tags: ['salt/job/*/ret/*']
//	      user: salt
//	      password_file: /etc/salt/mqtt.password
//
// A message is JSON with tag and data. With qos 1, the default, the broker confirms each message; with
// qos 0 events can be lost when a connection ends.
package mqttsink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/engines/sink"
)

const (
	dialTimeout  = 10 * time.Second
	writeTimeout = 10 * time.Second
	sendTimeout  = 30 * time.Second
	keepAlive    = 30 * time.Second
	maxTopic     = 65535
	version311   = 4 // of the protocol
)

type broker struct {
	o      *sink.Options
	client string // id of the client
	qos    byte
}

func kind() sink.Kind {
	return sink.Kind{Topic: "topic", Default: "salt/events/{tag}", MaxTopic: maxTopic, Plain: "mqtt",
		Schemes: map[string]bool{"mqtt": false, "tcp": false, "mqtts": true, "ssl": true, "tls": true},
		Port:    "1883", PortTLS: "8883", Own: []string{"client_id", "qos"}, Clean: clean,
		Check: func(string) error { return nil }}
}

// New makes the engine, see sink.Parse for the options of all sinks. client_id names the client, which
// two connections to a broker cannot share (brine-ID-NAME, of the master and the engine); qos is 0 or 1.
func New(h engines.Host, options *data.Map) (func(context.Context) error, error) {
	s, err := newSink(h, options)
	if err != nil {
		return nil, err
	}
	return s.Run, nil
}

func newSink(h engines.Host, options *data.Map) (*sink.Sink, error) {
	o, err := sink.Parse(h, options, kind())
	if err != nil {
		return nil, err
	}
	b := &broker{o: o, qos: 1}
	if b.client, err = engines.Text(options, "client_id", "brine-"+h.ID+"-"+h.Name); err != nil {
		return nil, err
	}
	switch qos := options.Value("qos"); qos {
	case nil, int64(1):
	case int64(0):
		b.qos = 0
	default:
		return nil, fmt.Errorf("qos: expected 0 or 1, not %s", data.Repr(qos))
	}
	return sink.New(h, o, b.open), nil
}

// clean returns a value as a part of a topic. What has a meaning in filters becomes _.
func clean(value string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '+' || r == '#' {
			return '_'
		}
		return r
	}, value)
}

// open connects to the first server that answers.
func (b *broker) open(ctx context.Context) (sink.Connection, error) {
	password, err := b.o.Password()
	if err != nil {
		return nil, err
	}
	var conf *tls.Config
	scheme := "mqtt"
	if b.o.TLS != nil {
		scheme = "mqtts"
		if conf, err = b.o.TLS.Config(); err != nil {
			return nil, err
		}
	}
	o := mqtt.NewClientOptions()
	for _, server := range b.o.Servers {
		o.AddBroker(scheme + "://" + server)
	}
	o.SetClientID(b.client).SetUsername(b.o.User).SetPassword(password).SetCleanSession(true)
	o.SetProtocolVersion(version311).SetAutoReconnect(false).SetConnectRetry(false)
	o.SetConnectTimeout(dialTimeout).SetWriteTimeout(writeTimeout).SetKeepAlive(keepAlive)
	o.SetCustomOpenConnectionFn(func(u *url.URL, _ mqtt.ClientOptions) (net.Conn, error) {
		return dial(ctx, u.Host, conf)
	})
	client := mqtt.NewClient(o)
	if err := await(ctx, client.Connect()); err != nil {
		client.Disconnect(0)
		return nil, fmt.Errorf("connect to MQTT: %w", err)
	}
	return &connection{client, b.qos}, nil
}

// dial makes a connection that ends with ctx.
func dial(ctx context.Context, address string, conf *tls.Config) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: dialTimeout}
	limited, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var conn net.Conn
	var err error
	if conf != nil {
		conn, err = (&tls.Dialer{NetDialer: dialer, Config: conf}).DialContext(limited, "tcp", address)
	} else {
		conn, err = dialer.DialContext(limited, "tcp", address)
	}
	if err != nil {
		return nil, err
	}
	return sink.Ending(ctx, conn), nil
}

// await waits until an operation has ended.
func await(ctx context.Context, token mqtt.Token) error {
	select {
	case <-token.Done():
		return token.Error()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A connection is a connection to one server.
type connection struct {
	client mqtt.Client
	qos    byte
}

func (c *connection) Close() { c.client.Disconnect(0) }

var errSlow = errors.New("the broker has not confirmed it in " + sendTimeout.String())

// Send publishes messages and waits until the broker has confirmed them.
func (c *connection) Send(ctx context.Context, batch []*sink.Message) []error {
	ctx, cancel := context.WithTimeoutCause(ctx, sendTimeout, errSlow)
	defer cancel()
	sent := make(chan []error, 1)
	go func() { sent <- c.send(ctx, batch) }() // Publish can block for writeTimeout
	select {
	case errs := <-sent:
		return errs
	case <-ctx.Done():
		errs := make([]error, len(batch))
		for i := range errs {
			errs[i] = context.Cause(ctx)
		}
		return errs
	}
}

func (c *connection) send(ctx context.Context, batch []*sink.Message) []error {
	tokens := make([]mqtt.Token, len(batch))
	errs := make([]error, len(batch))
	for i, m := range batch {
		tokens[i] = c.client.Publish(m.Topic, c.qos, false, m.Body)
	}
	for i, token := range tokens {
		errs[i] = await(ctx, token)
	}
	return errs
}
