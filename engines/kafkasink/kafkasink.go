// Package kafkasink is the engine kafka, Brine's own: it sends the events of a master to Kafka.
//
//	engines:
//	  - kafka:
//	      servers: [kafka1.example.com:9093, kafka2.example.com:9093]
//	      topic: salt-events
//	      tags: ['salt/job/*/ret/*']
//	      tls: true
//	      sasl: scram-sha-512
//	      user: salt
//	      password_file: /etc/salt/kafka.password
//
// The value of a record is JSON with tag and data, and its key is the id of the minion, or the tag of an
// event without one. The topic must exist. All replicas in sync confirm each record.
package kafkasink

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/engines/sink"
)

const (
	dialTimeout = 10 * time.Second
	openTimeout = 20 * time.Second
	sendTimeout = 30 * time.Second
	maxTopic    = 249
	leastBatch  = 1_000_012 // bytes of a batch of records, Kafka's default of max.message.bytes
	overhead    = 64 << 10  // bytes of a batch beside its records' values
)

type broker struct {
	host engines.Host
	o    *sink.Options
	sasl string // mechanism; "" means none
}

func kind() sink.Kind {
	return sink.Kind{Topic: "topic", Default: "salt-events", MaxTopic: maxTopic, Plain: "kafka",
		Schemes: map[string]bool{"kafka": false}, Port: "9092", PortTLS: "9092", Own: []string{"sasl"},
		Clean: clean, Check: check}
}

// New makes the engine, see sink.Parse for the options of all sinks. sasl is plain, scram-sha-256 or
// scram-sha-512, the default with a user.
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
	if b.sasl, err = sink.Optional(options, "sasl"); err != nil {
		return nil, err
	}
	switch b.sasl {
	case "":
		if o.User != "" {
			b.sasl = "scram-sha-512"
		}
	case "plain", "scram-sha-256", "scram-sha-512":
		if o.User == "" {
			return nil, errors.New("sasl: it needs user and password_file")
		}
	default:
		return nil, fmt.Errorf("sasl: expected plain, scram-sha-256 or scram-sha-512, not %s", data.Repr(b.sasl))
	}
	return sink.New(h, o, b.open), nil
}

// clean returns a value as a part of a topic: other characters than those of topics become _.
func clean(value string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(allowed, r) {
			return r
		}
		return '_'
	}, value)
}

// allowed are the characters of a topic.
const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

func check(topic string) error {
	if i := strings.IndexFunc(topic, func(r rune) bool { return !strings.ContainsRune(allowed, r) }); i >= 0 {
		return fmt.Errorf("%q holds other characters than letters, digits, . _ and -", topic)
	}
	return nil
}

// open connects to one of the servers.
func (b *broker) open(ctx context.Context) (sink.Connection, error) {
	options, err := b.options()
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("use Kafka: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := client.Ping(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("connect to Kafka: %w", err)
	}
	return &connection{client}, nil
}

// options returns the options of the client. A record that Kafka has not confirmed in sendTimeout fails.
func (b *broker) options() ([]kgo.Opt, error) {
	batch := max(leastBatch, b.o.MaxMessage+overhead)
	all := []kgo.Opt{
		kgo.SeedBrokers(b.o.Servers...), kgo.ClientID("brine-" + b.host.ID), kgo.DialTimeout(dialTimeout),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordDeliveryTimeout(sendTimeout),
		kgo.AllowIdempotentProduceCancellation(), kgo.ProducerLinger(0), kgo.DisableClientMetrics(),
		kgo.ProducerBatchMaxBytes(int32(batch)), kgo.BrokerMaxWriteBytes(int32(max(100<<20, 2*batch))),
	}
	if b.o.TLS != nil {
		conf, err := b.o.TLS.Config()
		if err != nil {
			return nil, err
		}
		all = append(all, kgo.DialTLSConfig(conf))
	}
	if b.sasl == "" {
		return all, nil
	}
	password, err := b.o.Password()
	if err != nil {
		return nil, err
	}
	return append(all, kgo.SASL(mechanism(b.sasl, b.o.User, password))), nil
}

func mechanism(name, user, password string) sasl.Mechanism {
	switch name {
	case "plain":
		return plain.Auth{User: user, Pass: password}.AsMechanism()
	case "scram-sha-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	}
	return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
}

// A connection is a client of the servers.
type connection struct{ client *kgo.Client }

func (c *connection) Close() { c.client.Close() }

// Send sends records and waits until Kafka has confirmed them.
func (c *connection) Send(ctx context.Context, batch []*sink.Message) []error {
	records := make([]*kgo.Record, len(batch))
	at := map[*kgo.Record]int{}
	for i, m := range batch {
		records[i] = &kgo.Record{Topic: m.Topic, Key: []byte(m.Key), Value: m.Body}
		at[records[i]] = i
	}
	errs := make([]error, len(batch))
	for _, result := range c.client.ProduceSync(ctx, records...) { // in any order
		err := result.Err
		if errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.InvalidTopicException) {
			err = fmt.Errorf("%w: %w", sink.ErrRefused, err)
		}
		errs[at[result.Record]] = err
	}
	return errs
}
