package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"golang.org/x/sync/semaphore"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/logging"
)

// A crowd is a listener whose connections come from the given addresses.
type crowd struct {
	net.Listener
	from []string
}

func (c *crowd) Accept() (net.Conn, error) {
	if len(c.from) == 0 {
		return nil, io.EOF
	}
	here, there := net.Pipe()
	_ = there.Close()
	from := c.from[0]
	c.from = c.from[1:]
	return &peer{here, &net.TCPAddr{IP: net.ParseIP(from), Port: 1}}, nil
}

type peer struct {
	net.Conn
	from net.Addr
}

func (p *peer) RemoteAddr() net.Addr { return p.from }

// accepted returns how many connections a port takes.
func accepted(p *port) (all []net.Conn) {
	for {
		c, err := p.Accept()
		if err != nil {
			return all
		}
		all = append(all, c)
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	times := func(n int, format string) (list []string) {
		for i := range n {
			list = append(list, strings.ReplaceAll(format, "N", fmt.Sprintf("%x", i)))
		}
		return list
	}
	for _, c := range []struct {
		from []string
		want int
	}{
		{times(60, "192.0.2.1"), 50},
		{append(times(60, "192.0.2.1"), "192.0.2.2"), 51},
		{times(60, "2001:db8::N"), 50},
		{times(60, "2001:db8:0:N::1"), 60},
		{times(210, "127.0.0.1"), 200},
		{times(210, "2001:db8:0:N::1"), 200},
	} {
		log, logged := logtest.NewNullLogger()
		p := newPort(&crowd{from: c.from}, engines.Host{Log: log})
		all := accepted(p)
		if len(all) != c.want {
			t.Errorf("of %d connections from %s and so on %d are taken, want %d", len(c.from), c.from[0],
				len(all), c.want)
		}
		if denied := len(all) < len(c.from); denied != (len(logged.AllEntries()) > 0) {
			t.Errorf("of %d connections %d are taken, and the log has %v", len(c.from), len(all), logged.AllEntries())
		}
		for _, conn := range all {
			_ = conn.Close()
			_ = conn.Close() // frees its place once
		}
		p.Listener = &crowd{from: c.from}
		if again := accepted(p); len(again) != c.want {
			t.Errorf("after all were closed %d are taken, want %d", len(again), c.want)
		}
	}
}

// serving runs the engine on a free port, with a certificate, and returns its address.
func serving(t *testing.T, h engines.Host) (address string, stop func() error) {
	t.Helper()
	like := httptest.NewTLSServer(http.NotFoundHandler())
	pair := like.TLS.Certificates[0]
	like.Close()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w := &hook{host: h, crt: filepath.Join(dir, "crt"), key: filepath.Join(dir, "key"),
		busy: semaphore.NewWeighted(maxConns)}
	for at, block := range map[string]*pem.Block{w.crt: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		w.key: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(at, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.listen = func(context.Context, string) (net.Listener, error) { return l, nil }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.run(ctx) }()
	return l.Addr().String(), func() error { cancel(); return <-ended }
}

// entries are the lines of a log.
type entries chan string

func (entries) Levels() []logrus.Level { return logrus.AllLevels }

func (l entries) Fire(e *logrus.Entry) error {
	l <- e.Level.String() + ": " + e.Message
	return nil
}

// What net/http says goes to the log, and clients get no HTTP/2, in which a connection could have many
// bodies at once.
func TestFailuresOfConnectionsAreLogged(t *testing.T) {
	said, log := make(entries, 100), logging.Discard()
	log.SetLevel(logrus.DebugLevel)
	log.AddHook(said)
	address, stop := serving(t, engines.Host{Name: "hook", Log: log,
		Send: func(context.Context, string, *data.Map) error { panic("a fault") }})
	<-said // where it listens
	secure, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true,
		NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	if p := secure.ConnectionState().NegotiatedProtocol; p != "http/1.1" {
		t.Errorf("the protocol is %q", p)
	}
	fmt.Fprint(secure, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
	if got := <-said; !strings.HasPrefix(got, `warning: engine hook: "http: panic serving `) ||
		strings.Contains(got, "\n") {
		t.Errorf("a panic is logged as %s", got)
	}
	secure.Close()
	plain, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(plain, "nonsense\r\n\r\n")
	if got := <-said; !strings.HasPrefix(got, `debug: engine hook: "http: TLS handshake error `) {
		t.Errorf("a failed handshake is logged as %s", got)
	}
	plain.Close()
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("the engine ends with %v", err)
	}
}

// A request that still fires its event is awaited at the end.
func TestTheEndWaitsForRequests(t *testing.T) {
	begun, left := make(chan struct{}), make(chan struct{})
	address, stop := serving(t, engines.Host{Log: logging.Discard(),
		Send: func(ctx context.Context, _ string, _ *data.Map) error {
			close(begun)
			<-ctx.Done()
			time.Sleep(time.Millisecond) // an end that does not wait is sooner
			close(left)
			return ctx.Err()
		}})
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
	<-begun
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("the engine ends with %v", err)
	}
	select {
	case <-left:
	default:
		t.Error("the request is still under way")
	}
}
