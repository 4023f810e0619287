package kafkasink

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/engines/sink"
	"github.com/brineproject/brine/internal/test/testsink"
)

// serve starts brokers in this process, on loopback.
func serve(t *testing.T, options ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(1, "salt-events")}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// servers returns the option servers.
func servers(c *kfake.Cluster) []any {
	var list []any
	for _, address := range c.ListenAddrs() {
		list = append(list, address)
	}
	return list
}

// reader returns a client that reads topics from their beginning.
func reader(t *testing.T, c *kfake.Cluster, topics string, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...),
		kgo.ConsumeTopics(topics)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// expect compares the topic, key and field n of the next records.
func expect(t *testing.T, client *kgo.Client, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(want) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%q do not arrive: %v", want, err)
		}
		for _, r := range fetches.Records() {
			var event struct {
				Tag  string
				Data map[string]any
			}
			if err := json.Unmarshal(r.Value, &event); err != nil || event.Tag == "" {
				t.Errorf("%s: %v", r.Value, err)
			}
			got := fmt.Sprintf("%s %s %v", r.Topic, r.Key, event.Data["n"])
			if len(want) == 0 || got != want[0] {
				t.Fatalf("got %s, want %q", got, want)
			}
			want = want[1:]
		}
	}
}

func TestEventsArrive(t *testing.T) {
	c := serve(t, kfake.SeedTopics(1, "salt-m-x_y"))
	events, other := reader(t, c, "salt-events"), reader(t, c, "salt-m-x_y")
	m := testsink.Run(t, newSink, data.NewMap("servers", servers(c), "tags", []any{"salt/job/*"}))
	m.Fire(t, 1, "salt/job/1/ret/web1", "other", "salt/job/2")
	if err := m.Bus.Fire("salt/job/3", data.NewMap("n", int64(2))); err != nil { // an event of no minion
		t.Fatal(err)
	}
	expect(t, events, "salt-events web1.example.com 1", "salt-events web1.example.com 1", "salt-events salt/job/3 2")
	second := testsink.Run(t, newSink, data.NewMap("servers", servers(c), "topic", "salt-{master}-{tag}"))
	second.Fire(t, 3, "x/y")
	expect(t, other, "salt-m-x_y web1.example.com 3")
	testsink.Eventually(t, "the events are counted", func() bool { return m.Counts() == sink.Counts{Sent: 3} })
}

// A record that Kafka does not take is dropped. One that it cannot take now is sent again.
func TestErrorsOfKafka(t *testing.T) {
	c := serve(t)
	codes := []int16{kerr.TopicAuthorizationFailed.Code, kerr.MessageTooLarge.Code, 0}
	c.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		code := codes[0]
		codes = codes[1:]
		if code == 0 {
			return nil, nil, false
		}
		c.KeepControl()
		request := r.(*kmsg.ProduceRequest)
		answer := request.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range request.Topics {
			to := kmsg.NewProduceResponseTopic()
			to.Topic, to.TopicID = topic.Topic, topic.TopicID
			for _, partition := range topic.Partitions {
				p := kmsg.NewProduceResponseTopicPartition()
				p.Partition, p.ErrorCode = partition.Partition, code
				to.Partitions = append(to.Partitions, p)
			}
			answer.Topics = append(answer.Topics, to)
		}
		return answer, nil, true
	})
	events := reader(t, c, "salt-events")
	m := testsink.Run(t, newSink, data.NewMap("servers", servers(c)))
	m.Fire(t, 1, "a")
	testsink.Eventually(t, "the record is refused", func() bool { return m.Counts().Refused == 1 })
	m.Fire(t, 2, "b")
	expect(t, events, "salt-events web1.example.com 2")
	for _, want := range []string{"events wait for 127.0.0.1:", "TOPIC_AUTHORIZATION_FAILED", `event "a" is not sent`} {
		if !strings.Contains(m.Log(), want) {
			t.Errorf("the log does not have %q", want)
		}
	}
}

// Events wait for a topic that does not exist yet, and for servers that are away.
func TestEventsWaitForKafka(t *testing.T) {
	c := serve(t)
	m := testsink.Run(t, newSink, data.NewMap("servers", servers(c), "topic", "later"))
	m.Fire(t, 1, "a")
	testsink.Eventually(t, "the log names the reason", func() bool {
		return strings.Contains(m.Log(), "UNKNOWN_TOPIC_OR_PARTITION")
	})
	request := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "later", 1, 1
	request.Topics = append(request.Topics, topic)
	client := reader(t, c, "later")
	if _, err := request.RequestWith(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	expect(t, client, "later web1.example.com 1")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close() //nolint:errcheck // nothing is lost by it
	away := testsink.Run(t, newSink, data.NewMap("servers", []any{address}))
	away.Fire(t, 1, "a")
	testsink.Eventually(t, "the log names the server", func() bool {
		return strings.Contains(away.Log(), "events wait for "+address+": connect to Kafka: ")
	})
}

// The engine proves who it is, and is refused without. No log has the password.
func TestLogin(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	right, wrong := file("right", "hidden7\n"), file("wrong", "hidden8\n")
	for name, method := range map[string]string{"plain": "PLAIN", "scram-sha-256": "SCRAM-SHA-256",
		"scram-sha-512": "SCRAM-SHA-512"} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, kfake.EnableSASL(), kfake.Superuser(method, "u", "hidden7"))
			events := reader(t, c, "salt-events", kgo.SASL(mechanism(name, "u", "hidden7")))
			stranger := testsink.Run(t, newSink, data.NewMap("servers", servers(c), "sasl", name, "user", "u",
				"password_file", wrong))
			stranger.Fire(t, 1, "stranger")
			m := testsink.Run(t, newSink, data.NewMap("servers", servers(c), "sasl", name, "user", "u",
				"password_file", right))
			m.Fire(t, 2, "a")
			expect(t, events, "salt-events web1.example.com 2")
			testsink.Eventually(t, "the stranger is refused", func() bool {
				return strings.Contains(stranger.Log(), "connect to Kafka: ")
			})
			if log := stranger.Log() + m.Log(); strings.Contains(log, "hidden") {
				t.Errorf("the log has a password: %s", log)
			}
		})
	}
}

// The engine verifies the servers, and has a certificate for them.
func TestTLS(t *testing.T) {
	pair, cert, key := certificate(t)
	pool := x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	c := serve(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert}))
	conf := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}
	events := reader(t, c, "salt-events", kgo.DialTLSConfig(conf))
	stranger := testsink.Run(t, newSink, data.NewMap("servers", servers(c), "tls", true))
	stranger.Fire(t, 1, "stranger")
	m := testsink.Run(t, newSink, data.NewMap("servers", servers(c), "tls_ca", cert, "tls_cert", cert, "tls_key", key))
	m.Fire(t, 2, "a")
	expect(t, events, "salt-events web1.example.com 2")
	testsink.Eventually(t, "an unknown server is refused", func() bool {
		return strings.Contains(stranger.Log(), "certificate signed by unknown authority")
	})
}

// certificate returns a certificate that signs itself, and writes it and its key.
func certificate(t *testing.T) (pair tls.Certificate, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, derErr := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	secret, secretErr := x509.MarshalPKCS8PrivateKey(private)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certErr := os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
	keyErr := os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600)
	pair, pairErr := tls.LoadX509KeyPair(cert, key)
	if err := errors.Join(err, derErr, secretErr, certErr, keyErr, pairErr); err != nil {
		t.Fatal(err)
	}
	return pair, cert, key
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		options *data.Map
		err     string
	}{
		{data.NewMap("sasl", "gssapi"), "sasl: expected plain, scram-sha-256 or scram-sha-512"},
		{data.NewMap("sasl", "plain"), "sasl: it needs user"},
		{data.NewMap("topic", "a/{tag}"), "holds other characters"},
		{data.NewMap("topic", "_x"), "begins with a letter"},
		{data.NewMap("servers", []any{"https://a"}), "expected an address such as kafka://"},
	} {
		if !tt.options.Has("servers") {
			tt.options.Set("servers", []any{"a"})
		}
		if _, err := New(engines.Host{}, tt.options); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", data.Repr(tt.options), err, tt.err)
		}
	}
}

// FuzzClean makes topics of any value: they have only the characters that Kafka takes.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"a/b", "", "ä", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if topic := clean(value); check(topic) != nil || len(topic) > len(value) {
			t.Errorf("%q: %q", value, topic)
		}
	})
}
