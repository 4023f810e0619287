package mqttsink

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/engines/sink"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testsink"
)

type message struct {
	topic string
	n     float64
}

// listen subscribes to all topics, and returns the messages with their fields n. The client keeps its
// session, so it misses no message while a server is away that keeps sessions.
func listen(t *testing.T, m *mosquitto, set func(*mqtt.ClientOptions)) <-chan message {
	t.Helper()
	got := make(chan message, 100)
	o := mqtt.NewClientOptions().AddBroker("tcp://" + m.address).SetClientID("listener").SetCleanSession(false)
	if set != nil {
		set(o)
	}
	client := mqtt.NewClient(o)
	if token := client.Connect(); !token.WaitTimeout(time.Minute) || token.Error() != nil {
		t.Fatal(token.Error())
	}
	t.Cleanup(func() { client.Disconnect(0) })
	token := client.Subscribe("#", 1, func(_ mqtt.Client, m mqtt.Message) {
		var event struct {
			Tag  string
			Data map[string]any
		}
		if err := json.Unmarshal(m.Payload(), &event); err != nil || event.Tag == "" || m.Retained() {
			t.Errorf("%s: %v", m.Payload(), err)
		}
		n, _ := event.Data["n"].(float64)
		got <- message{m.Topic(), n}
	})
	if !token.WaitTimeout(time.Minute) || token.Error() != nil {
		t.Fatal(token.Error())
	}
	return got
}

// expect compares the next messages, in their order.
func expect(t *testing.T, got <-chan message, want ...message) {
	t.Helper()
	for _, m := range want {
		select {
		case g := <-got:
			if g != m {
				t.Errorf("got %+v, want %+v", g, m)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%+v does not arrive", m)
		}
	}
}

func TestEventsArrive(t *testing.T) {
	m := startMosquitto(t, "allow_anonymous true")
	got := listen(t, m, nil)
	for _, qos := range []int64{0, 1} {
		out := testsink.Run(t, newSink, data.NewMap("servers", []any{m.address}, "qos", qos, "client_id",
			"c"+data.Str(qos), "topic", "s/{master}/{id}/{tag}", "tags", []any{"salt/job/*", "x*"}))
		out.Fire(t, qos, "salt/job/1/ret/web1", "other", "x+#", "x//")
		expect(t, got, message{"s/m/web1.example.com/salt/job/1/ret/web1", float64(qos)},
			message{"s/m/web1.example.com/x__", float64(qos)}, message{"s/m/web1.example.com/x//", float64(qos)})
		testsink.Eventually(t, "the events are counted", func() bool { return out.Counts() == sink.Counts{Sent: 3} })
	}
}

// Events wait while the server is away.
func TestEventsWaitForTheServer(t *testing.T) {
	m := startMosquitto(t, "allow_anonymous true")
	out := testsink.Run(t, newSink, data.NewMap("servers", []any{m.address}))
	out.Fire(t, 1, "a")
	testsink.Eventually(t, "an event is sent", func() bool { return out.Counts().Sent == 1 })
	m.stop()
	out.Fire(t, 2, "a")
	out.Fire(t, 3, "a")
	testsink.Eventually(t, "the log says that events wait", func() bool {
		return strings.Contains(out.Log(), "engine out: events wait for "+m.address)
	})
	if c := out.Counts(); c != (sink.Counts{Sent: 1}) {
		t.Errorf("without a server: %+v", c)
	}
	m.start(t)
	testsink.Eventually(t, "the events are sent", func() bool { return out.Counts() == sink.Counts{Sent: 3} })
}

// TestUnconfirmedEvents lets a server take messages and end before it confirms them.
func TestUnconfirmedEvents(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing is lost by it
	out := testsink.Run(t, newSink, data.NewMap("servers", []any{l.Addr().String()}))
	out.Fire(t, 1, "a")
	var published [2][]byte
	for i := range published {
		if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(conn)
		packet(t, r, 0x10)                                           // CONNECT
		if _, err := conn.Write([]byte{0x20, 2, 0, 0}); err != nil { // CONNACK
			t.Fatal(err)
		}
		published[i] = packet(t, r, 0x32) // PUBLISH with quality of service 1
		if i == 1 {
			// PUBACK with the identifier, which follows the topic salt/events/a
			at := 2 + len("salt/events/a")
			if _, err := conn.Write([]byte{0x40, 2, published[i][at], published[i][at+1]}); err != nil {
				t.Fatal(err)
			}
			testsink.Eventually(t, "the event is confirmed", func() bool { return out.Counts().Sent == 1 })
		} else if c := out.Counts(); c.Sent != 0 {
			t.Errorf("without a confirmation: %+v", c)
		}
		conn.Close() //nolint:errcheck // nothing is lost by it
	}
	if a, b := string(published[0]), string(published[1]); a[len(a)-50:] != b[len(b)-50:] {
		t.Errorf("sent %q, and again %q", a, b)
	}
}

// packet reads a packet whose length has one or two bytes, and checks its first byte.
func packet(t *testing.T, r *bufio.Reader, kind byte) []byte {
	t.Helper()
	read := func() byte {
		b, err := r.ReadByte()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if got := read(); got != kind {
		t.Fatalf("got a packet %#x, want %#x", got, kind)
	}
	size := int(read())
	if size >= 0x80 {
		size = size&0x7f | int(read())<<7
	}
	body := make([]byte, size)
	for i := range body {
		body[i] = read()
	}
	return body
}

// The engine proves who it is, and is refused without. No log has the password.
func TestLogin(t *testing.T) {
	need.Program(t, "mosquitto", "mosquitto_passwd")
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	users := file("users", "u:hidden7\n")
	if out, err := exec.Command("mosquitto_passwd", "-U", users).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	m := startMosquitto(t, "allow_anonymous false", "password_file "+users)
	got := listen(t, m, func(o *mqtt.ClientOptions) { o.SetUsername("u").SetPassword("hidden7") })
	for _, tt := range []struct {
		options *data.Map
		known   bool
	}{
		{options: data.NewMap()},
		{options: data.NewMap("user", "u", "password_file", file("wrong", "hidden8"))},
		{options: data.NewMap("user", "u", "password_file", file("right", "hidden7\n")), known: true},
	} {
		tt.options.Set("servers", []any{"mqtt://" + m.address})
		out := testsink.Run(t, newSink, tt.options)
		out.Fire(t, 1, "a")
		if tt.known {
			expect(t, got, message{"salt/events/a", 1})
		} else {
			testsink.Eventually(t, "it is refused", func() bool { return strings.Contains(out.Log(), "connect to MQTT:") })
		}
		if strings.Contains(out.Log(), "hidden") {
			t.Errorf("the log has a password: %s", out.Log())
		}
	}
}

// The engine verifies the server, and has a certificate for it.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	ca, cert, key := certificate(t, dir)
	m := startMosquitto(t, "allow_anonymous true", "cafile "+ca, "certfile "+cert, "keyfile "+key,
		"require_certificate true")
	conf, err := (&sink.TLS{CA: ca, Cert: cert, Key: key}).Config()
	if err != nil {
		t.Fatal(err)
	}
	got := listen(t, m, func(o *mqtt.ClientOptions) {
		o.Servers[0].Scheme = "ssl"
		o.SetTLSConfig(conf)
	})
	stranger := testsink.Run(t, newSink, data.NewMap("servers", []any{"mqtts://" + m.address}, "tls_cert", cert,
		"tls_key", key, "client_id", "stranger"))
	stranger.Fire(t, 1, "stranger")
	out := testsink.Run(t, newSink, data.NewMap("servers", []any{m.address}, "tls_ca", ca, "tls_cert", cert,
		"tls_key", key))
	out.Fire(t, 2, "a")
	expect(t, got, message{"salt/events/a", 2})
	testsink.Eventually(t, "an unknown server is refused", func() bool {
		return strings.Contains(stranger.Log(), "certificate signed by unknown authority")
	})
}

// certificate writes a certificate that signs itself, for server and client, and its key.
func certificate(t *testing.T, dir string) (ca, cert, key string) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, pair.Public(), pair)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, cert, key
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		options *data.Map
		err     string
	}{
		{data.NewMap("qos", int64(2)), "qos: expected 0 or 1"}, {data.NewMap("qos", true), "qos: expected 0 or 1"},
		{data.NewMap("client_id", int64(2)), "client_id: expected a text"},
		{data.NewMap("subject", "x"), "option subject is unknown"},
		{data.NewMap("topic", "$SYS/{tag}"), "begins with a letter"},
	} {
		tt.options.Set("servers", []any{"a"})
		if _, err := New(engines.Host{}, tt.options); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", data.Repr(tt.options), err, tt.err)
		}
	}
}

// FuzzClean makes topics of any value: they have no characters of filters, and the same levels.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"a/b", "", "+/#", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		topic := clean(value)
		if strings.ContainsAny(topic, "+#\x00\n") || strings.Count(topic, "/") != strings.Count(value, "/") {
			t.Errorf("%q: %q", value, topic)
		}
	})
}
