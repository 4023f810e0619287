// Package mysqltls makes the TLS settings of connections to MySQL and MariaDB from files with
// certificates.
package mysqltls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// Options name the files. A server whose certificate has no name of its own, as those that MySQL
// generates, needs AnyName.
type Options struct {
	CA        string // trusted authorities; "" means those of the system
	Cert, Key string // of the client
	Host      string // the name that the server's certificate must have
	AnyName   bool   // accept any name
	Always    bool   // use TLS also without files
	Prefix    string // of the names ca, cert and key in errors
}

// Config returns settings that verify the server's certificate. They are nil without files, unless
// Always is set: a client may use TLS without verification then. The error names the option of a file
// that cannot be used.
func (o Options) Config() (*tls.Config, error) {
	if o.CA == "" && o.Cert == "" && o.Key == "" && !o.Always {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.Host}
	if o.Cert != "" || o.Key != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("%scert, %[1]skey: %w", o.Prefix, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("%sca: %w", o.Prefix, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%sca: %s holds no certificate", o.Prefix, o.CA)
		}
	}
	if o.AnyName {
		c.InsecureSkipVerify = true
		c.VerifyConnection = func(state tls.ConnectionState) error { return verify(state, c.RootCAs) }
	}
	return c, nil
}

// verify verifies the server's certificate, but not its name. If roots is nil the system's roots
// are used.
func verify(state tls.ConnectionState, roots *x509.CertPool) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the server has no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	if err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	return nil
}
