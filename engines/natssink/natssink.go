// Package natssink is the engine nats, Brine's own: it sends the events of a master to NATS.
//
//	engines:
//	  - nats:
//	      servers: [tls://nats.example.com:4222]
//	      subject: salt.events.{tag}
//	      tags: ['salt/job/*/ret/*']
//	      credentials: /etc/salt/nats.creds
//	      jetstream: true
//
// A message is JSON with tag and data. The slashes of a tag separate the tokens of its subject.
//
// Without jetstream the server confirms that it has read the messages. With it, a stream confirms that
// it has stored them, and drops events that it has already: their header Nats-Msg-Id is that of the
// event.
package natssink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/engines/sink"
	"github.com/brineproject/brine/internal/loglimit"
)

const (
	dialTimeout = 10 * time.Second
	sendTimeout = 30 * time.Second
	maxSubject  = 1024
)

type broker struct {
	host        engines.Host
	o           *sink.Options
	credentials string // file of a user's JWT and seed
	nkey        string // file of an nkey's seed
	jetstream   bool
	told        loglimit.Limiter
}

func kind() sink.Kind {
	return sink.Kind{Topic: "subject", Default: "salt.events.{tag}", MaxTopic: maxSubject, Plain: "nats",
		Schemes: map[string]bool{"nats": false, "tls": true}, Port: "4222", PortTLS: "4222",
		Own: []string{"credentials", "nkey", "jetstream"}, Clean: clean, Check: check}
}

// New makes the engine, see sink.Parse for the options of all sinks. credentials is the file of a user's
// JWT and seed, nkey that of an nkey's seed, and jetstream waits until a stream has stored the events.
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
	b := &broker{host: h, o: o}
	var errs [4]error
	b.credentials, errs[0] = sink.Optional(options, "credentials")
	b.nkey, errs[1] = sink.Optional(options, "nkey")
	b.jetstream, errs[2] = sink.Flag(options, "jetstream")
	proofs := 0
	for _, proof := range []string{b.credentials, b.nkey, o.User} {
		if proof != "" {
			proofs++
		}
	}
	if proofs > 1 {
		errs[3] = errors.New("credentials, nkey and user: only one of them may be given")
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return sink.New(h, o, b.open), nil
}

// clean returns a value as tokens of a subject: slashes separate tokens, and what has a meaning in a
// subject becomes _.
func clean(value string) string {
	tokens := strings.Split(value, "/")
	for i, token := range tokens {
		tokens[i] = strings.Map(func(r rune) rune {
			if r <= ' ' || r == 0x7f || strings.ContainsRune(".*>", r) {
				return '_'
			}
			return r
		}, token)
		if token == "" {
			tokens[i] = "_"
		}
	}
	return strings.Join(tokens, ".")
}

// check returns an error for a subject that no server takes.
func check(subject string) error {
	if slices.Contains(strings.Split(subject, "."), "") {
		return fmt.Errorf("%q has two dots without a token between them, or one at its end", subject)
	}
	return nil
}

// open connects to one of the servers.
func (b *broker) open(ctx context.Context) (sink.Connection, error) {
	o, err := b.dialing(ctx)
	if err != nil {
		return nil, err
	}
	nc, err := o.Connect()
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	c := &connection{nc: nc}
	if b.jetstream {
		if c.js, err = jetstream.New(nc); err != nil {
			nc.Close()
			return nil, fmt.Errorf("use JetStream: %w", err)
		}
	}
	return c, nil
}

// dialing returns the options of a connection that ends with ctx. It does not connect again by itself,
// as the sink does.
func (b *broker) dialing(ctx context.Context) (nats.Options, error) {
	o := nats.GetDefaultOptions()
	scheme := "nats://"
	if b.o.TLS != nil {
		conf, err := b.o.TLS.Config()
		if err != nil {
			return o, err
		}
		scheme, o.Secure, o.TLSConfig = "tls://", true, conf
	}
	for _, server := range b.o.Servers {
		o.Servers = append(o.Servers, scheme+server)
	}
	o.Name = "brine-" + b.host.ID
	o.AllowReconnect = false
	o.Timeout, o.CustomDialer = dialTimeout, dialer{ctx}
	o.AsyncErrorCB = func(_ *nats.Conn, _ *nats.Subscription, err error) {
		b.told.Warnf(b.host.Log, "", "engine %s: NATS reports an error: %v", b.host.Name, err)
	}
	return o, b.login(&o)
}

// login adds the proof of who the master is.
func (b *broker) login(o *nats.Options) error {
	password, err := b.o.Password()
	if err != nil {
		return err
	}
	o.User, o.Password = b.o.User, password
	if b.credentials != "" {
		if err := nats.UserCredentials(b.credentials)(o); err != nil {
			return fmt.Errorf("read credentials: %w", err)
		}
	}
	if b.nkey != "" {
		set, err := nats.NkeyOptionFromSeed(b.nkey)
		if err != nil {
			return fmt.Errorf("read nkey: %w", err)
		}
		return set(o)
	}
	return nil
}

// A dialer makes connections that end with ctx.
type dialer struct{ ctx context.Context } //nolint:containedctx // nats.go has an interface without one

func (d dialer) Dial(network, address string) (net.Conn, error) {
	dial := net.Dialer{Timeout: dialTimeout}
	conn, err := dial.DialContext(d.ctx, network, address)
	if err != nil {
		return nil, err
	}
	return sink.Ending(d.ctx, conn), nil
}

// A connection is a connection to one server.
type connection struct {
	nc *nats.Conn
	js jetstream.JetStream // nil without JetStream
}

func (c *connection) Close() { c.nc.Close() }

// Send publishes messages and waits until the server, or the stream, has them.
func (c *connection) Send(ctx context.Context, batch []*sink.Message) []error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if c.js != nil {
		return c.store(ctx, batch)
	}
	errs := make([]error, len(batch))
	for i, m := range batch {
		errs[i] = c.publish(m)
	}
	if err := c.nc.FlushWithContext(ctx); err != nil {
		for i := range errs {
			if errs[i] == nil {
				errs[i] = err
			}
		}
	}
	return errs
}

func (c *connection) publish(m *sink.Message) error {
	err := c.nc.Publish(m.Topic, m.Body)
	if errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrBadSubject) {
		return fmt.Errorf("%w: %w", sink.ErrRefused, err)
	}
	return err
}

// tooLarge is the error code of a stream whose limit a message exceeds (nats-server's errors.json,
// JSStreamMessageExceedsMaximumErr).
const tooLarge = 10054

// store publishes messages and waits for the confirmations of their stream.
func (c *connection) store(ctx context.Context, batch []*sink.Message) []error {
	errs := make([]error, len(batch))
	acks := make([]jetstream.PubAckFuture, len(batch))
	for i, m := range batch {
		acks[i], errs[i] = c.js.PublishMsgAsync(&nats.Msg{Subject: m.Topic, Data: m.Body},
			jetstream.WithMsgID(m.ID))
	}
	for i, ack := range acks {
		if errs[i] == nil {
			errs[i] = await(ctx, ack)
		}
		var api *jetstream.APIError
		if errors.Is(errs[i], nats.ErrMaxPayload) || errors.Is(errs[i], nats.ErrBadSubject) ||
			errors.As(errs[i], &api) && api.ErrorCode == tooLarge {
			errs[i] = fmt.Errorf("%w: %w", sink.ErrRefused, errs[i])
		}
	}
	return errs
}

// await waits for a confirmation.
func await(ctx context.Context, ack jetstream.PubAckFuture) error {
	select {
	case <-ack.Ok():
		return nil
	case err := <-ack.Err():
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for the stream: %w", ctx.Err())
	}
}
