package sink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
)

// TLS names the files of connections with TLS.
type TLS struct {
	CA        string // CAs that sign the servers' certificates; "" means those of the system
	Cert, Key string // certificate for servers that demand one
}

// Config reads the files.
func (t *TLS) Config() (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("load tls_cert and tls_key: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	if t.CA != "" {
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("load tls_ca: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("load tls_ca: %s has no certificate", t.CA)
		}
	}
	return conf, nil
}

// parseServers parses the addresses of servers. All have TLS, or none.
func (o *Options) parseServers(options *data.Map, k Kind) error {
	list, err := engines.Texts(options, "servers")
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("the option servers is missing")
	}
	secured := map[bool]bool{}
	for _, text := range list {
		u, err := parseServer(text, k)
		if err != nil {
			return fmt.Errorf("servers: %w", err)
		}
		secured[k.Schemes[u.Scheme]] = true
		o.Servers = append(o.Servers, u.Host)
	}
	switch {
	case secured[true] && secured[false]:
		return errors.New("servers: some addresses mean TLS and others do not")
	case secured[true] && options.Value("tls") == false:
		return errors.New("tls: it is false, but the addresses of servers mean TLS")
	case secured[true] && o.TLS == nil:
		o.TLS = &TLS{}
	}
	for i, server := range o.Servers {
		if host, port, _ := net.SplitHostPort(server); port == "" {
			if port = k.Port; o.TLS != nil {
				port = k.PortTLS
			}
			o.Servers[i] = net.JoinHostPort(host, port)
		}
	}
	return nil
}

// parseServer parses an address. Its Host has the form host:port, where port may be empty. Errors show
// no password.
func parseServer(text string, k Kind) (*url.URL, error) {
	if strings.Contains(text, "@") {
		return nil, errors.New("an address has a user in it; write the options user and password_file")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" { // also host:port, whose host looks like a scheme
		u, err = url.Parse(k.Plain + "://" + text)
	}
	if err == nil {
		_, known := k.Schemes[u.Scheme]
		if known && u.Hostname() != "" && (u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.Fragment == "" {
			u.Host = net.JoinHostPort(u.Hostname(), u.Port())
			return u, nil
		}
	}
	return nil, fmt.Errorf("expected an address such as %s://broker.example.com, not %s", k.Plain,
		data.Repr(text))
}

// Ending returns conn as a connection that closes when ctx ends, too.
func Ending(ctx context.Context, conn net.Conn) net.Conn {
	stop := context.AfterFunc(ctx, func() { conn.Close() }) //nolint:errcheck // nothing is lost by it
	return &ending{conn, stop}
}

type ending struct {
	net.Conn
	stop func() bool
}

func (e *ending) Close() error {
	e.stop()
	return e.Conn.Close()
}
