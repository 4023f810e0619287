package serve

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/netapi"
)

// checkEvery is how often files may be looked at.
const checkEvery = time.Second

// maxPEM is the largest file of certificates in bytes.
const maxPEM = 4 << 20

// CheckTLS reports whether the files of a door's certificate can be used: the certificate, its key,
// the chain and the authorities of clients. The error is a *config.Finding about the door's section.
func CheckTLS(d *netapi.Door) error {
	if d.Plain {
		return nil
	}
	_, err := load(d)
	return err
}

// A pair is the certificate of a door. It is read again when one of its files has changed.
type pair struct {
	door *netapi.Door
	log  logrus.FieldLogger

	mu      sync.Mutex
	config  *tls.Config
	seen    string // how the files looked when they were read
	checked time.Time
}

func newPair(d *netapi.Door, log logrus.FieldLogger) (*pair, error) {
	p := &pair{door: d, log: log}
	return p, p.reload()
}

// server returns the configuration for a listener.
func (p *pair) server() *tls.Config {
	c := base(p.door)
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return p.current(time.Now()), nil }
	return c
}

// base returns a configuration without a certificate.
func base(d *netapi.Door) *tls.Config {
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		CipherSuites: []uint16{ // of TLS 1.2; those of 1.3 are all modern
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305,
		},
	}
	if d.ClientCA != "" {
		c.ClientAuth = tls.RequireAndVerifyClientCert
		c.SessionTicketsDisabled = true // each connection shows its certificate to the authorities of now
	}
	return c
}

// current returns the configuration of now.
func (p *pair) current(now time.Time) *tls.Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.checked) >= checkEvery {
		p.checked = now
		if look(p.door) != p.seen {
			p.renew()
		}
	}
	return p.config
}

// renew reads the files, and logs what became of it. The caller holds the lock.
func (p *pair) renew() {
	if err := p.read(); err != nil {
		p.log.Errorf("read the changed certificate, the old one stays in use: %v", err)
		return
	}
	p.log.Infof("the certificate %s has changed and is in use", p.door.Cert)
}

// reload reads the files now.
func (p *pair) reload() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.checked = time.Now()
	return p.read()
}

func (p *pair) read() error {
	p.seen = look(p.door) // before reading, so that a later change counts
	c, err := load(p.door)
	if err != nil {
		return err
	}
	p.config = c
	return nil
}

// look describes the files as they are now.
func look(d *netapi.Door) string {
	var b strings.Builder
	for _, name := range []string{d.Cert, d.Key, d.Chain, d.ClientCA} {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintf(&b, "%d %d", info.Size(), info.ModTime().UnixNano())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// load reads the files of a door.
func load(d *netapi.Door) (*tls.Config, error) {
	c := base(d)
	cert, err := readPEM("ssl_crt", d.Cert)
	if err != nil {
		return nil, err
	}
	if d.Chain != "" {
		chain, err := readPEM("ssl_chain", d.Chain)
		if err != nil {
			return nil, err
		}
		cert = append(append(cert, '\n'), chain...)
	}
	key, err := readPEM("ssl_key", cmp.Or(d.Key, d.Cert))
	if err != nil {
		return nil, err
	}
	both, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, wrong("ssl_crt", fmt.Sprintf("the certificate %s with the key %s: %v", d.Cert, d.Key, err))
	}
	c.Certificates = []tls.Certificate{both}
	if d.ClientCA == "" {
		return c, nil
	}
	authorities, err := readPEM("ssl_client_ca", d.ClientCA)
	if err != nil {
		return nil, err
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(authorities) {
		return nil, wrong("ssl_client_ca", "there is no certificate in "+d.ClientCA)
	}
	return c, nil
}

func readPEM(option, name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		found := wrong(option, err.Error())
		if errors.Is(err, fs.ErrPermission) {
			found.Suggestion = "the user of salt-api (option user) must be able to read it"
		}
		return nil, found
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPEM+1))
	switch {
	case err != nil:
		return nil, wrong(option, fmt.Sprintf("read %s: %v", name, err))
	case len(text) > maxPEM:
		return nil, wrong(option, name+" is larger than 4 MiB")
	}
	return text, nil
}

func wrong(option, text string) *config.Finding {
	return &config.Finding{Path: []any{option}, Text: text}
}
