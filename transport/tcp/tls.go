//go:build !small || ssl

package tcp

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
)

// A TLS holds the TLS settings of one side, from Salt's option ssl. Changed certificate files are
// used from the next handshake on; authorities are read once.
type TLS struct {
	config *tls.Config
	verify *verifier // for clients; nil accepts any certificate
}

// ServerTLS parses the option ssl of a master, a map as in Salt. It returns nil for nil, which
// means no TLS. certfile is required. By default clients send no certificate; cert_reqs makes one
// signed by ca_certs or verify_locations optional or required.
func ServerTLS(ssl *data.Map) (*TLS, error) {
	if ssl == nil {
		return nil, nil
	}
	s, err := read(ssl)
	switch {
	case err != nil:
		return nil, err
	case s.files == nil:
		return nil, errors.New("ssl: certfile is not set: a server needs a certificate")
	case s.verify != tls.NoClientCert && s.roots == nil:
		return nil, fmt.Errorf("ssl: cert_reqs: %s needs ca_certs or verify_locations", s.reqs)
	}
	if _, err := s.files.load(); err != nil {
		return nil, err
	}
	c := s.config()
	c.ClientAuth, c.ClientCAs = s.verify, s.roots
	c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.files.load() }
	return &TLS{config: c}, nil
}

// ClientTLS parses the option ssl of a minion, a map as in Salt. It returns nil for nil, which
// means no TLS. The server's certificate must be signed by ca_certs or verify_locations, or else by
// the system's authorities. It must contain the configured name or address of the server, as in
// Salt. With cert_reqs CERT_NONE any certificate is accepted.
func ClientTLS(ssl *data.Map) (*TLS, error) {
	if ssl == nil {
		return nil, nil
	}
	s, err := read(ssl)
	if err != nil {
		return nil, err
	}
	t := s.client()
	if s.reqs != "CERT_NONE" {
		t.verify = &verifier{roots: s.roots}
	}
	return t, s.checkFiles()
}

// HostTLS parses the option ssl of a master for a program on its host. It accepts exactly the
// certificate in that option, whatever its name, and others like ClientTLS.
func HostTLS(ssl *data.Map) (*TLS, error) {
	if ssl == nil {
		return nil, nil
	}
	s, err := read(ssl)
	if err != nil {
		return nil, err
	}
	t := s.client()
	t.verify = &verifier{roots: s.roots, own: s.files}
	return t, nil
}

// client returns a TLS without verification.
func (s *settings) client() *TLS {
	c := s.config()
	c.InsecureSkipVerify = true // the verifier checks the certificate
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if s.files == nil {
			return &tls.Certificate{}, nil
		}
		return s.files.load()
	}
	return &TLS{config: c}
}

func (s *settings) checkFiles() error {
	if s.files == nil {
		return nil
	}
	_, err := s.files.load()
	return err
}

func (t *TLS) server(ctx context.Context, conn net.Conn) (net.Conn, error) {
	c := tls.Server(conn, t.config)
	return c, c.HandshakeContext(ctx)
}

// client performs the handshake with the named server.
func (t *TLS) client(ctx context.Context, conn net.Conn, name string) (net.Conn, error) {
	config := t.config.Clone()
	config.ServerName = name
	if t.verify != nil {
		config.VerifyConnection = func(s tls.ConnectionState) error { return t.verify.check(s.PeerCertificates, name, conn.RemoteAddr()) }
	}
	c := tls.Client(conn, config)
	return c, c.HandshakeContext(ctx)
}

// A verifier checks the certificates of servers.
type verifier struct {
	roots *x509.CertPool // nil means the system's
	own   *keyPair       // certificate that is always accepted; may be nil
}

func (v *verifier) check(chain []*x509.Certificate, name string, addr net.Addr) error {
	if len(chain) == 0 {
		return errors.New("the server shows no certificate")
	}
	leaf := chain[0]
	if v.own != nil && v.own.is(leaf) {
		return nil
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: v.roots,
		Intermediates: between}); err != nil {
		return err
	}
	err := leaf.VerifyHostname(name)
	if host, _, e := net.SplitHostPort(addr.String()); err != nil && e == nil &&
		leaf.VerifyHostname(host) == nil {
		return nil
	}
	return err
}

// A keyPair is a certificate with its chain and its key, in files that may change.
type keyPair struct {
	cert, key string

	mu     sync.Mutex
	loaded *tls.Certificate
	stamp  [2]time.Time // of the files
}

// load returns the certificate. If changed files are invalid, it returns the previous one.
func (k *keyPair) load() (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	stamp, err := k.stamps()
	if err == nil && k.loaded != nil && stamp == k.stamp {
		return k.loaded, nil
	}
	if err == nil {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(k.cert, k.key); err == nil {
			k.loaded, k.stamp = &pair, stamp
		}
	}
	if k.loaded != nil {
		return k.loaded, nil
	}
	return nil, fmt.Errorf("ssl: certfile %s, keyfile %s: %w", k.cert, k.key, err)
}

func (k *keyPair) stamps() (stamps [2]time.Time, err error) {
	for i, file := range []string{k.cert, k.key} {
		info, err := os.Stat(file)
		if err != nil {
			return stamps, err
		}
		stamps[i] = info.ModTime()
	}
	return stamps, nil
}

// is reports whether c is the first certificate in the file. The key is not needed.
func (k *keyPair) is(c *x509.Certificate) bool {
	text, err := os.ReadFile(k.cert)
	if err != nil {
		return false
	}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return false
		}
		if block.Type == "CERTIFICATE" {
			return bytes.Equal(block.Bytes, c.Raw)
		}
	}
}
