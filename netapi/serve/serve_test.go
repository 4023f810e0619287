package serve

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/netapi"
)

// patience is how long a test waits for something that must come.
const patience = 20 * time.Second

// A site is a running server of a test.
type site struct {
	*Server
	url  string
	stop func() // ends it, and waits
	done chan struct{}
	log  *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// run serves a door on a free port of this host.
func run(t *testing.T, d *netapi.Door, h http.HandlerFunc, change func(*limits)) *site {
	t.Helper()
	d.Host = "127.0.0.1"
	l, err := Listen(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	most := limitsOf(d)
	if change != nil {
		change(&most)
	}
	logged := &lockedBuffer{}
	logger := logrus.New()
	logger.SetOutput(logged)
	logger.SetLevel(logrus.DebugLevel)
	s, err := newServer(l, Options{Name: "rest_cherrypy", Door: d, Handler: h, Log: logger}, most)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	running := &site{Server: s, url: "http://" + l.Addr().String(), done: make(chan struct{}), log: logged}
	if !d.Plain {
		running.url = "https://" + l.Addr().String()
	}
	go func() {
		defer close(running.done)
		if err := s.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	running.stop = func() { cancel(); <-running.done }
	t.Cleanup(running.stop)
	return running
}

func plain() *netapi.Door { return &netapi.Door{Plain: true, MaxStreams: 10, MaxStreamsPerUser: 10} }

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// get returns the body of a page, and the response.
func get(t *testing.T, c *http.Client, url string) (string, *http.Response) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), res
}

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func dial(t *testing.T, s *site) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", s.Addr().String(), patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}

// closed reads until the server closes a connection, and returns what came.
func closed(t *testing.T, c net.Conn) string {
	t.Helper()
	text, err := io.ReadAll(c)
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		t.Fatalf("the server does not close the connection; it sent %q", text)
	}
	return string(text)
}

func TestAPortInUseIsNamed(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = Listen(t.Context(), &netapi.Door{Host: "127.0.0.1", Port: taken.Addr().(*net.TCPAddr).Port})
	if err == nil || !strings.Contains(err.Error(), taken.Addr().String()) ||
		!strings.Contains(err.Error(), "does another salt-api run there?") {
		t.Errorf("got %v", err)
	}
}

// TestTheHostDecidesTheFamily checks that 0.0.0.0 opens no port of IPv6.
func TestTheHostDecidesTheFamily(t *testing.T) {
	l, err := Listen(t.Context(), &netapi.Door{Host: "0.0.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ip := l.Addr().(*net.TCPAddr).IP; ip.To4() == nil {
		t.Errorf("listening on %s", l.Addr())
	}
}

func TestASlowHeaderIsCut(t *testing.T) {
	s := run(t, plain(), hello, func(l *limits) { l.header = 50 * time.Millisecond })
	c := dial(t, s)
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a"); err != nil {
		t.Fatal(err)
	}
	if text := closed(t, c); strings.Contains(text, "hello") {
		t.Errorf("answered %q", text)
	}
}

func TestALongHeaderIsRefused(t *testing.T) {
	s := run(t, plain(), hello, nil)
	c := dial(t, s)
	go func() {
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("x", 100<<10)+"\r\n\r\n")
	}()
	status, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.Contains(status, " 431 ") {
		t.Errorf("answered %q, %v", status, err)
	}
}

// TestASlowBodyIsCut checks that a body that stops ends the reading, and with it the request.
func TestASlowBodyIsCut(t *testing.T) {
	failed := make(chan error, 1)
	s := run(t, plain(), func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		failed <- err
		http.Error(w, "late", http.StatusRequestTimeout)
	}, func(l *limits) { l.body = 50 * time.Millisecond })
	c := dial(t, s)
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc"); err != nil {
		t.Fatal(err)
	}
	err := <-failed
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.Is(err, errSlow) || !strings.Contains(err.Error(), "3 bytes") {
		t.Errorf("the handler reads %v", err)
	}
	if text := closed(t, c); !strings.HasPrefix(text, "HTTP/1.1 408 ") {
		t.Errorf("answered %q", text)
	}
}

// deadlines is a response that notes the deadlines of reading.
type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// TestAFastBodyMayTakeLong checks that a body gets more time for the bytes that have come, and that
// its deadline is lifted at the end.
func TestAFastBodyMayTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noted := &deadlines{}
		server := &Server{Options: Options{Bodies: NewBodies(0)}, limits: limits{body: time.Minute, rate: 1000}}
		e := &exchange{server: server, control: http.NewResponseController(noted), request: &http.Request{}}
		b := &body{ReadCloser: io.NopCloser(strings.NewReader(strings.Repeat("x", 5000))), exchange: e}
		begin := time.Now()
		part := make([]byte, 2500)
		for range 3 {
			_, _ = b.Read(part)
			time.Sleep(time.Second)
		}
		want := []time.Time{begin.Add(60 * time.Second), begin.Add(62 * time.Second), begin.Add(65 * time.Second), {}}
		if !slices.EqualFunc(noted.set, want, time.Time.Equal) || !b.over {
			t.Errorf("deadlines %v, want %v", noted.set, want)
		}
	})
}

// TestAStreamLasts checks that none of the time limits cuts an event stream, also where its request
// has a body that nobody reads.
func TestAStreamLasts(t *testing.T) {
	send := make(chan string)
	for name, request := range map[string]string{
		"GET":         "GET /events HTTP/1.1\r\nHost: a\r\n\r\n",
		"with a body": "POST /events HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
	} {
		t.Run(name, func(t *testing.T) {
			s := run(t, plain(), func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream;charset=utf-8")
				_ = http.NewResponseController(w).Flush()
				for {
					select {
					case text := <-send:
						fmt.Fprintf(w, "data: %s\n\n", text)
						_ = http.NewResponseController(w).Flush()
					case <-r.Context().Done():
						return
					}
				}
			}, func(l *limits) {
				l.body, l.write, l.idle = 100*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond
			})
			c := dial(t, s)
			if _, err := io.WriteString(c, request); err != nil {
				t.Fatal(err)
			}
			in := bufio.NewReader(c)
			for i := range 3 {
				time.Sleep(150 * time.Millisecond) // longer than each limit
				send <- fmt.Sprint(i)
				for want := fmt.Sprintf("data: %d\n", i); ; {
					got, err := in.ReadString('\n')
					if err != nil {
						t.Fatalf("the stream is cut: %v", err)
					}
					if got == want {
						break
					}
				}
			}
			if all, streams := s.Connections(); all != 1 || streams != 1 {
				t.Errorf("%d connections, %d streams", all, streams)
			}
		})
	}
}

// TestAReaderWhoReadsNothingIsCut fills the buffers of the kernel.
func TestAReaderWhoReadsNothingIsCut(t *testing.T) {
	failed := make(chan error, 1)
	s := run(t, plain(), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		part := bytes.Repeat([]byte("x"), 1<<20)
		for {
			if _, err := w.Write(part); err != nil {
				failed <- err
				return
			}
		}
	}, func(l *limits) { l.write = 50 * time.Millisecond })
	c := dial(t, s)
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("writing ends with %v", err)
		}
	case <-time.After(patience):
		t.Error("writing does not end")
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	s := run(t, plain(), hello, func(l *limits) { l.connections = 2 })
	first, second := dial(t, s), dial(t, s)
	until(t, "two connections", func() bool { all, _ := s.Connections(); return all == 2 })
	if text := closed(t, dial(t, s)); text != "" {
		t.Errorf("the third got %q", text)
	}
	until(t, "a line in the log", func() bool {
		return strings.Contains(s.log.String(), "connection from 127.0.0.1 closed: there are 2 already, which is the limit")
	})
	_ = first.Close()
	until(t, "one connection", func() bool { all, _ := s.Connections(); return all == 1 })
	if text, _ := get(t, &http.Client{}, s.url); text != "hello" {
		t.Errorf("the next got %q", text)
	}
	_ = second
}

// TestAddressesAreLimited uses connections of other hosts, which loopback cannot have.
func TestAddressesAreLimited(t *testing.T) {
	p := newPort(nil, limits{connections: 100, perAddress: 2}, logrus.New())
	admit := func(address string) (*conn, error) {
		a, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		c := &conn{Conn: &net.TCPConn{}, port: p, from: netapi.Network(netapi.AddressOf(a.String()))}
		return c, p.admit(c)
	}
	for _, tt := range []struct {
		address string
		want    bool
	}{
		{"192.0.2.1:1", true}, {"192.0.2.1:2", true}, {"192.0.2.1:3", false}, {"192.0.2.2:1", true},
		{"[::ffff:192.0.2.1]:4", false},
		{"[2001:db8::1]:1", true}, {"[2001:db8::2]:1", true}, {"[2001:db8::3]:1", false}, {"[2001:db8:0:1::1]:1", true},
		{"127.0.0.1:1", true}, {"127.0.0.1:2", true}, {"127.0.0.1:3", true}, {"[::1]:1", true}, {"[::1]:2", true}, {"[::1]:3", true},
	} {
		if _, err := admit(tt.address); (err == nil) != tt.want {
			t.Errorf("%s: %v", tt.address, err)
		}
	}
	c, err := admit("192.0.2.2:2")
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	_ = c.Close() // counts once
	if _, err := admit("192.0.2.2:3"); err != nil {
		t.Error(err)
	}
	if _, err := admit("192.0.2.2:4"); err == nil {
		t.Error("a connection that was closed twice makes room for two")
	}
}

// TestStopEndsStreamsAndFinishesRequests checks the order of the end: no new connections, streams
// at once, then the requests.
func TestStopEndsStreamsAndFinishesRequests(t *testing.T) {
	ended, begun, finish := make(chan error, 2), make(chan struct{}, 3), make(chan struct{})
	s := run(t, plain(), func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			begun <- struct{}{}
			<-r.Context().Done()
			ended <- context.Cause(r.Context())
		case "/ws":
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			begun <- struct{}{}
			<-r.Context().Done()
			ended <- context.Cause(r.Context())
		default:
			begun <- struct{}{}
			<-finish
			hello(w, r)
		}
	}, nil)
	conns := map[string]net.Conn{}
	for _, path := range []string{"/events", "/ws", "/long"} {
		conns[path] = dial(t, s)
		fmt.Fprintf(conns[path], "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path)
		<-begun
	}
	silent := dial(t, s) // sends nothing
	until(t, "four connections", func() bool { all, _ := s.Connections(); return all == 4 })
	go s.stop()
	for range 2 {
		if err := <-ended; !errors.Is(err, ErrStopping) {
			t.Errorf("a stream ends because of %v", err)
		}
	}
	if text := closed(t, silent); text != "" {
		t.Errorf("the silent one got %q", text)
	}
	until(t, "the port is closed", func() bool {
		c, err := net.Dial("tcp", s.Addr().String())
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	close(finish)
	if text := closed(t, conns["/long"]); !strings.HasSuffix(text, "hello") || !strings.Contains(text, "Connection: close") {
		t.Errorf("the request under way got %q", text)
	}
	<-s.done
}

// TestStopDoesNotWaitForEver checks that a handler that goes on is left behind.
func TestStopDoesNotWaitForEver(t *testing.T) {
	begun, over := make(chan struct{}), make(chan error, 1)
	s := run(t, plain(), func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		over <- context.Cause(r.Context())
	}, func(l *limits) { l.finish = 20 * time.Millisecond })
	c := dial(t, s)
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-begun
	s.stop()
	if err := <-over; !errors.Is(err, ErrStopping) {
		t.Errorf("the request ends because of %v", err)
	}
}

func TestAPanicIsAnswered(t *testing.T) {
	s := run(t, plain(), func(http.ResponseWriter, *http.Request) { panic("oh") }, nil)
	text, res := get(t, &http.Client{}, s.url+"/x?token=abc")
	if res.StatusCode != 500 || text != "An unexpected error occurred\n" {
		t.Errorf("got %d %q", res.StatusCode, text)
	}
	if logged := s.log.String(); !strings.Contains(logged, "panic: oh") || strings.Contains(logged, "abc") {
		t.Errorf("logged %s", logged)
	}
}

// An authority issues certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	der := a.issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}, true)
	a.cert = der.Leaf
	return a
}

func (a *authority) issue(t *testing.T, c *x509.Certificate, own bool) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if own {
		parent, signer, a.key = c, key, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func (a *authority) server(t *testing.T, name string) tls.Certificate {
	return a.issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, false)
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// write puts a certificate and its key into the files of a door.
func write(t *testing.T, d *netapi.Door, c tls.Certificate) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{d.Cert: {Type: "CERTIFICATE", Bytes: c.Certificate[0]},
		d.Key: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func secure(t *testing.T, a *authority) *netapi.Door {
	t.Helper()
	dir := t.TempDir()
	d := &netapi.Door{Cert: filepath.Join(dir, "crt"), Key: filepath.Join(dir, "key"), MaxStreams: 10, MaxStreamsPerUser: 10}
	write(t, d, a.server(t, "first"))
	return d
}

func browser(t *testing.T, c *tls.Config) *http.Client {
	tr := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

func TestTLSIsModern(t *testing.T) {
	a := newAuthority(t)
	s := run(t, secure(t, a), hello, nil)
	text, res := get(t, browser(t, &tls.Config{RootCAs: a.pool()}), s.url)
	if text != "hello" || res.ProtoMajor != 2 || res.TLS.Version != tls.VersionTLS13 ||
		res.Header.Get("Strict-Transport-Security") != "max-age=31536000" {
		t.Errorf("got %q by %s, TLS %x, %v", text, res.Proto, res.TLS.Version, res.Header)
	}
	for name, c := range map[string]*tls.Config{
		"TLS 1.1": {MaxVersion: tls.VersionTLS11},
		"CBC":     {MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}},
	} {
		c.RootCAs, c.MinVersion = a.pool(), tls.VersionTLS10
		if conn, err := tls.Dial("tcp", s.Addr().String(), c); err == nil {
			_ = conn.Close()
			t.Errorf("%s is taken", name)
		}
	}
}

func TestHTTPOnATLSPort(t *testing.T) {
	s := run(t, secure(t, newAuthority(t)), hello, nil)
	text, res := get(t, &http.Client{}, "http://"+s.Addr().String())
	if res.StatusCode != 400 || !strings.Contains(text, "HTTP request to an HTTPS server") {
		t.Errorf("got %d %q", res.StatusCode, text)
	}
}

// name returns the name in the certificate that the server shows.
func name(t *testing.T, s *site, c *tls.Config) string {
	t.Helper()
	conn, err := tls.Dial("tcp", s.Addr().String(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

func TestAChangedCertificateIsUsed(t *testing.T) {
	a := newAuthority(t)
	d := secure(t, a)
	s := run(t, d, hello, nil)
	c := &tls.Config{RootCAs: a.pool()}
	if got := name(t, s, c); got != "first" {
		t.Fatalf("shown is %s", got)
	}
	write(t, d, a.server(t, "second"))
	until(t, "the second certificate", func() bool { return name(t, s, c) == "second" })

	if err := os.WriteFile(d.Key, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err == nil || !strings.HasPrefix(err.Error(), "rest_cherrypy: ssl_crt: the certificate "+d.Cert) {
		t.Errorf("Reload: %v", err)
	}
	if got := name(t, s, c); got != "second" {
		t.Errorf("an unreadable pair replaces the old one by %s", got)
	}
	write(t, d, a.server(t, "third"))
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := name(t, s, c); got != "third" {
		t.Errorf("after Reload it is %s", got)
	}
}

// TestFilesAreLookedAtOnceASecond checks a pair by itself.
func TestFilesAreLookedAtOnceASecond(t *testing.T) {
	a := newAuthority(t)
	d := secure(t, a)
	logged := &lockedBuffer{}
	log := logrus.New()
	log.SetOutput(logged)
	p, err := newPair(d, log)
	if err != nil {
		t.Fatal(err)
	}
	read := p.checked
	old := p.current(read)
	write(t, d, a.server(t, "a longer name than before"))
	if p.current(read.Add(checkEvery-1)) != old {
		t.Error("looked within a second")
	}
	next := p.current(read.Add(checkEvery))
	if next == old {
		t.Error("not looked after a second")
	}
	if err := os.Remove(d.Key); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if p.current(read.Add(time.Duration(i+2)*checkEvery)) != next {
			t.Error("the pair is lost with its file")
		}
	}
	if n := strings.Count(logged.String(), "the old one stays in use"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, logged)
	}
}

func TestClientCertificates(t *testing.T) {
	a, clients := newAuthority(t), newAuthority(t)
	d := secure(t, a)
	d.ClientCA = filepath.Join(t.TempDir(), "ca")
	authorities := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: clients.cert.Raw})
	if err := os.WriteFile(d.ClientCA, authorities, 0o600); err != nil {
		t.Fatal(err)
	}
	s := run(t, d, hello, nil)
	if text, _ := get(t, browser(t, &tls.Config{RootCAs: a.pool(), Certificates: []tls.Certificate{clients.server(t, "ann")}}),
		s.url); text != "hello" {
		t.Errorf("with a certificate: %q", text)
	}
	stranger := a.server(t, "stranger")
	show := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &stranger, nil }
	for what, c := range map[string]*tls.Config{"none": {}, "a stranger's": {GetClientCertificate: show}} {
		c.RootCAs = a.pool()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := browser(t, c).Do(r); err == nil {
			_ = res.Body.Close()
			t.Errorf("%s is enough", what)
		}
	}
}

func TestChainIsSent(t *testing.T) {
	root := newAuthority(t)
	middle := &authority{}
	between := root.issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "between"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}, false)
	middle.cert, middle.key = between.Leaf, between.PrivateKey.(*ecdsa.PrivateKey)
	d := secure(t, middle)
	d.Chain = filepath.Join(t.TempDir(), "chain")
	if err := os.WriteFile(d.Chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: middle.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	s := run(t, d, hello, nil)
	if text, _ := get(t, browser(t, &tls.Config{RootCAs: root.pool()}), s.url); text != "hello" {
		t.Errorf("got %q", text)
	}
}

// TestAnHTTP2StreamLasts checks that quiet times do not end a stream of HTTP/2.
func TestAnHTTP2StreamLasts(t *testing.T) {
	a := newAuthority(t)
	send := make(chan struct{})
	s := run(t, secure(t, a), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 2 {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			<-send
		}
		<-r.Context().Done()
	}, func(l *limits) { l.write, l.body = 100*time.Millisecond, 100*time.Millisecond })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := browser(t, &tls.Config{RootCAs: a.pool()}).Do(r)
	if err != nil || res.ProtoMajor != 2 {
		t.Fatalf("%v, %v", res, err)
	}
	defer res.Body.Close()
	for i := range 2 {
		if _, err := io.ReadFull(res.Body, make([]byte, 1)); err != nil {
			t.Fatalf("part %d: %v", i, err)
		}
		time.Sleep(150 * time.Millisecond) // longer than the limit of writing
		send <- struct{}{}
	}
}
