package tcp_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/tcp"
)

// An authority makes certificates in a directory of the test.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// A leaf says what a certificate holds.
type leaf struct {
	name    string // of its files
	hosts   []string
	expired bool
	self    bool // signed by itself
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.key = newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.write(t, "ca.pem", "CERTIFICATE", der)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) write(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(filepath.Join(a.dir, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// issue writes a certificate and its key, and returns the option ssl that names them.
func (a *authority) issue(t *testing.T, l leaf) *data.Map {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: l.name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if l.expired {
		template.NotAfter = time.Now().Add(-time.Hour)
	}
	for _, h := range l.hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	key := newKey(t)
	parent, signer := a.cert, a.key
	if l.self {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, l.name+".pem", "CERTIFICATE", der)
	a.write(t, l.name+".key", "PRIVATE KEY", private)
	return data.NewMap("certfile", a.path(l.name+".pem"), "keyfile", a.path(l.name+".key"))
}

func (a *authority) server(t *testing.T, hosts ...string) *tcp.TLS {
	t.Helper()
	return must(tcp.ServerTLS(a.issue(t, leaf{name: "server", hosts: hosts})))(t)
}

func (a *authority) client(t *testing.T) *tcp.TLS {
	t.Helper()
	return must(tcp.ClientTLS(data.NewMap("ca_certs", a.path("ca.pem"))))(t)
}

func must(tls *tcp.TLS, err error) func(*testing.T) *tcp.TLS {
	return func(t *testing.T) *tcp.TLS {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return tls
	}
}

// TestServersThatAreNotBelieved checks which servers a client speaks to.
func TestServersThatAreNotBelieved(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	trust := data.NewMap("ca_certs", ca.path("ca.pem"))
	address := []string{"127.0.0.1"}
	self := ca.issue(t, leaf{name: "self", hosts: address, self: true})
	for _, tt := range []struct {
		name           string
		server, client *data.Map
		wrong          string // in the error; empty means that it is believed
	}{
		{"certificate of the authority", ca.issue(t, leaf{name: "good", hosts: address}), trust, ""},
		{"of another authority", other.issue(t, leaf{name: "other", hosts: address}), trust,
			"unknown authority"},
		{"signed by itself", self, trust, "unknown authority"},
		{"signed by itself and named", self, data.NewMap("ca_certs", ca.path("self.pem")), ""},
		{"expired", ca.issue(t, leaf{name: "expired", hosts: address, expired: true}), trust, "expired"},
		{"wrong name", ca.issue(t, leaf{name: "wrong", hosts: []string{"elsewhere.example"}}),
			trust, "127.0.0.1"},
		{"expired and not looked at", ca.issue(t, leaf{name: "expired2", expired: true}),
			data.NewMap("cert_reqs", "CERT_NONE"), ""},
		{"authorities of the system", ca.issue(t, leaf{name: "public", hosts: address}),
			data.NewMap(), "unknown authority"},
		{"authority in verify_locations", ca.issue(t, leaf{name: "located", hosts: address}),
			data.NewMap("verify_locations", []any{data.NewMap("cafile", ca.path("ca.pem"))}), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := greet(t, must(tcp.ServerTLS(tt.server))(t), must(tcp.ClientTLS(tt.client))(t), "127.0.0.1")
			if tt.wrong == "" && err != nil || tt.wrong != "" &&
				(err == nil || !strings.Contains(err.Error(), tt.wrong)) {
				t.Errorf("connection: %v, want %q in it", err, tt.wrong)
			}
		})
	}
}

// TestNameOrAddress checks that a server that is known by name may show a certificate for its
// address, as those made for Salt do.
func TestNameOrAddress(t *testing.T) {
	ca := newAuthority(t)
	client := ca.client(t)
	for _, hosts := range [][]string{{"localhost"}, {"127.0.0.1"}} {
		if err := greet(t, ca.server(t, hosts...), client, "localhost"); err != nil {
			t.Errorf("certificate for %s: %v", hosts, err)
		}
	}
}

// TestCertificatesOfClients checks which clients a server speaks to.
func TestCertificatesOfClients(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	with := func(m *data.Map, pairs ...any) *data.Map {
		m = m.Clone()
		m.Update(data.NewMap(pairs...))
		return m
	}
	trust := ca.path("ca.pem")
	server := ca.issue(t, leaf{name: "server", hosts: []string{"127.0.0.1"}})
	good := with(ca.issue(t, leaf{name: "minion"}), "ca_certs", trust)
	bad := with(other.issue(t, leaf{name: "stranger"}), "ca_certs", trust)
	none := data.NewMap("ca_certs", trust)
	for _, tt := range []struct {
		reqs   string
		client *data.Map
		ok     bool
	}{
		{"CERT_NONE", none, true},
		{"CERT_OPTIONAL", none, true},
		{"CERT_OPTIONAL", good, true},
		{"CERT_OPTIONAL", bad, false},
		{"CERT_REQUIRED", none, false},
		{"CERT_REQUIRED", good, true},
		{"CERT_REQUIRED", bad, false},
	} {
		s := must(tcp.ServerTLS(with(server, "cert_reqs", tt.reqs, "ca_certs", trust)))(t)
		if err := greet(t, s, must(tcp.ClientTLS(tt.client))(t), "127.0.0.1"); (err == nil) != tt.ok {
			t.Errorf("%s, client %v: %v, want it to work: %t", tt.reqs, tt.client, err, tt.ok)
		}
	}
}

// TestProgramsOnTheHost checks that they take the master's own certificate, whatever it holds.
func TestProgramsOnTheHost(t *testing.T) {
	ca := newAuthority(t)
	own := ca.issue(t, leaf{name: "own", hosts: []string{"salt.example"}, self: true})
	if err := greet(t, must(tcp.ServerTLS(own))(t), must(tcp.HostTLS(own))(t), "127.0.0.1"); err != nil {
		t.Errorf("the own certificate: %v", err)
	}
	stranger := ca.issue(t, leaf{name: "stranger", hosts: []string{"salt.example"}, self: true})
	if err := greet(t, must(tcp.ServerTLS(stranger))(t), must(tcp.HostTLS(own))(t), "127.0.0.1"); err == nil {
		t.Error("the certificate of a stranger was taken")
	}
}

// TestRenewedCertificate checks that a server shows what lies on disk now.
func TestRenewedCertificate(t *testing.T) {
	ca := newAuthority(t)
	client := ca.client(t)
	expired := ca.issue(t, leaf{name: "server", hosts: []string{"127.0.0.1"}, expired: true})
	server := must(tcp.ServerTLS(expired))(t)
	if err := greet(t, server, client, "127.0.0.1"); err == nil {
		t.Fatal("an expired certificate was taken")
	}
	ca.issue(t, leaf{name: "server", hosts: []string{"127.0.0.1"}})
	later := time.Now().Add(time.Second)
	for _, name := range []string{"server.pem", "server.key"} {
		if err := os.Chtimes(ca.path(name), later, later); err != nil {
			t.Fatal(err)
		}
	}
	if err := greet(t, server, client, "127.0.0.1"); err != nil {
		t.Errorf("the renewed certificate: %v", err)
	}
}

func TestFaultsOfSSL(t *testing.T) {
	ca := newAuthority(t)
	pair := ca.issue(t, leaf{name: "a"})
	for _, tt := range []struct {
		name  string
		ssl   *data.Map
		wrong string
	}{
		{"no certificate", data.NewMap(), "certfile is not set"},
		{"no file", data.NewMap("certfile", ca.path("none.pem")), "none.pem"},
		{"key without certificate", data.NewMap("keyfile", ca.path("a.key")), "keyfile without certfile"},
		{"key of another", data.NewMap("certfile", ca.path("ca.pem"), "keyfile", ca.path("a.key")),
			"private key"},
		{"cert_reqs", data.NewMap("certfile", pair.Text("certfile"), "cert_reqs", "REQUIRED"),
			"CERT_REQUIRED"},
		{"nobody to trust", data.NewMap("certfile", pair.Text("certfile"),
			"keyfile", pair.Text("keyfile"), "cert_reqs", "CERT_REQUIRED"), "ca_certs"},
		{"authority is no file", data.NewMap("certfile", pair.Text("certfile"),
			"ca_certs", ca.path("none")), "ca_certs"},
		{"authority is a key", data.NewMap("certfile", pair.Text("certfile"),
			"ca_certs", ca.path("a.key")), "no certificate"},
		{"old version", data.NewMap("certfile", pair.Text("certfile"), "ssl_version",
			"PROTOCOL_TLSv1"), "not supported"},
		{"ciphers", data.NewMap("certfile", pair.Text("certfile"), "ciphers", "HIGH"), "HIGH"},
		{"flags", data.NewMap("certfile", pair.Text("certfile"),
			"verify_flags", []any{"VERIFY_CRL_CHECK_LEAF"}), "VERIFY_CRL_CHECK_LEAF"},
		{"unknown", data.NewMap("certificate", "x"), "unknown setting"},
	} {
		if _, err := tcp.ServerTLS(tt.ssl); err == nil || !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v, want %q in it", tt.name, err, tt.wrong)
		}
	}
	if tls, err := tcp.ServerTLS(nil); tls != nil || err != nil {
		t.Errorf("ServerTLS(nil) = %v, %v", tls, err)
	}
}

// TestBareClient checks that a client without TLS gets nowhere with a server that has it, and the
// other way round.
func TestBareClient(t *testing.T) {
	ca := newAuthority(t)
	if err := greet(t, ca.server(t, "127.0.0.1"), nil, "127.0.0.1"); err == nil {
		t.Error("a client without TLS was answered")
	}
	if err := greet(t, nil, ca.client(t), "127.0.0.1"); err == nil {
		t.Error("a client with TLS took a server without")
	}
}

// greet connects a requester to a replier, and returns why that did not work.
func greet(t *testing.T, server, client *tcp.TLS, host string) error {
	t.Helper()
	s, err := tcp.ListenReply(t.Context(), "tcp://127.0.0.1:0",
		transport.Options{Limits: transport.Limits{HandshakeTimeout: 2 * time.Second}}, server)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- s.Serve(ctx, func(_ context.Context, r transport.Request) { _ = r.Reply(r.Body()) })
	}()
	_, port, err := net.SplitHostPort(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	q := tcp.NewRequester(transport.Dialer{Addr: "tcp://" + net.JoinHostPort(host, port),
		OnState: func(up bool, err error) {
			if !up {
				select {
				case failed <- err:
				default:
				}
			}
		}}, client)
	replied := make(chan error, 1)
	asking, enough := context.WithTimeout(t.Context(), 30*time.Second)
	defer enough()
	go func() {
		_, err := q.Do(asking, wrap([]byte("hello")))
		replied <- err
	}()
	select {
	case err = <-replied:
	case err = <-failed:
	}
	enough()
	if err := errors.Join(q.Close()); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	return err
}
