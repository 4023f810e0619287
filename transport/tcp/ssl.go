//go:build !small || ssl

package tcp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// settings are Salt's option ssl, read and checked (salt/transport/base.py, ssl_context).
type settings struct {
	files    *keyPair // nil where certfile is not set
	verify   tls.ClientAuthType
	reqs     string // cert_reqs as set, or ""
	roots    *x509.CertPool
	min, max uint16
	ciphers  []uint16
}

// names are the settings of ssl.
var names = []string{"certfile", "keyfile", "ca_certs", "cert_reqs", "ssl_version", "ciphers",
	"verify_locations", "verify_flags"}

func read(ssl *data.Map) (*settings, error) {
	s := &settings{}
	for _, k := range ssl.Keys() {
		if name, _ := k.(string); !slices.Contains(names, name) {
			return nil, fmt.Errorf("ssl: unknown setting %.40q; there are %s", data.Str(k),
				strings.Join(names, ", "))
		}
	}
	if cert := ssl.Text("certfile"); cert != "" {
		s.files = &keyPair{cert: cert, key: ssl.Text("keyfile")}
		if s.files.key == "" {
			s.files.key = cert
		}
	} else if ssl.Text("keyfile") != "" {
		return nil, errors.New("ssl: keyfile without certfile")
	}
	err := errors.Join(s.readReqs(ssl), s.readVersion(ssl), s.readCiphers(ssl), readFlags(ssl),
		s.readRoots(ssl))
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *settings) readReqs(ssl *data.Map) error {
	switch s.reqs = ssl.Text("cert_reqs"); s.reqs {
	case "", "CERT_NONE":
		s.verify = tls.NoClientCert
	case "CERT_OPTIONAL":
		s.verify = tls.VerifyClientCertIfGiven
	case "CERT_REQUIRED":
		s.verify = tls.RequireAndVerifyClientCert
	default:
		return fmt.Errorf("ssl: cert_reqs: %.40q is none of CERT_NONE, CERT_OPTIONAL, CERT_REQUIRED", s.reqs)
	}
	return nil
}

func (s *settings) readVersion(ssl *data.Map) error {
	s.min = tls.VersionTLS12
	switch v := ssl.Text("ssl_version"); v {
	case "", "PROTOCOL_TLS", "PROTOCOL_TLS_CLIENT", "PROTOCOL_TLS_SERVER", "PROTOCOL_SSLv23":
	case "PROTOCOL_TLSv1_2":
		s.max = tls.VersionTLS12
	case "PROTOCOL_TLSv1_3":
		s.min = tls.VersionTLS13
	default:
		return fmt.Errorf("ssl: ssl_version: %.40q is not supported: PROTOCOL_TLS, PROTOCOL_TLSv1_2 and PROTOCOL_TLSv1_3 are", v)
	}
	return nil
}

// openSSL are the names that OpenSSL has for the cipher suites of TLS 1.2.
func openSSL() map[string]uint16 {
	return map[string]uint16{
		"ECDHE-ECDSA-AES128-GCM-SHA256": tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		"ECDHE-ECDSA-AES256-GCM-SHA384": tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		"ECDHE-ECDSA-CHACHA20-POLY1305": tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
		"ECDHE-ECDSA-AES128-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,
		"ECDHE-ECDSA-AES256-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
		"ECDHE-RSA-AES128-GCM-SHA256":   tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		"ECDHE-RSA-AES256-GCM-SHA384":   tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		"ECDHE-RSA-CHACHA20-POLY1305":   tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		"ECDHE-RSA-AES128-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
		"ECDHE-RSA-AES256-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
	}
}

// readCiphers takes suites by OpenSSL's names. A word such as HIGH is an error: what it stands for
// changes with OpenSSL.
func (s *settings) readCiphers(ssl *data.Map) error {
	suites := openSSL()
	for name := range strings.FieldsFuncSeq(ssl.Text("ciphers"),
		func(r rune) bool { return strings.ContainsRune(":, ", r) }) {
		id, ok := suites[name]
		if !ok {
			return fmt.Errorf("ssl: ciphers: %.40q is not supported: name suites of TLS 1.2, such as ECDHE-RSA-AES256-GCM-SHA384", name)
		}
		s.ciphers = append(s.ciphers, id)
	}
	return nil
}

// readFlags refuses what would check more than is checked here.
func readFlags(ssl *data.Map) error {
	flags, _ := ssl.Value("verify_flags").([]any)
	for _, f := range flags {
		switch name := strings.ToUpper(data.Str(f)); name {
		case "VERIFY_DEFAULT", "VERIFY_X509_STRICT", "VERIFY_X509_TRUSTED_FIRST",
			"VERIFY_X509_PARTIAL_CHAIN":
		default:
			return fmt.Errorf("ssl: verify_flags: %.60q is not supported", name)
		}
	}
	return nil
}

// readRoots reads whom to trust. None means the authorities of the system, for a client.
func (s *settings) readRoots(ssl *data.Map) error {
	if file := ssl.Text("ca_certs"); file != "" {
		if err := s.trustFile("ca_certs", file); err != nil {
			return err
		}
	}
	locations, _ := ssl.Value("verify_locations").([]any)
	for _, l := range locations {
		m, ok := l.(*data.Map)
		if !ok {
			m = data.NewMap("cafile", l)
		}
		for kind, v := range m.All() {
			if err := s.trust(strings.ToLower(data.Str(kind)), data.Str(v)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *settings) trust(kind, value string) error {
	switch kind {
	case "cafile":
		return s.trustFile("verify_locations", value)
	case "cadata":
		return s.trustPEM("verify_locations: cadata", []byte(value))
	case "capath":
		entries, err := os.ReadDir(value)
		if err != nil {
			return fmt.Errorf("ssl: verify_locations: %w", err)
		}
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(value, e.Name()))
			if err == nil {
				s.pool().AppendCertsFromPEM(text)
			}
		}
		return nil
	}
	return fmt.Errorf("ssl: verify_locations: %.40q is none of cafile, capath, cadata", kind)
}

func (s *settings) trustFile(setting, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("ssl: %s: %w", setting, err)
	}
	return s.trustPEM(setting+": "+file, text)
}

func (s *settings) trustPEM(what string, text []byte) error {
	if !s.pool().AppendCertsFromPEM(text) {
		return fmt.Errorf("ssl: %s: holds no certificate", what)
	}
	return nil
}

func (s *settings) pool() *x509.CertPool {
	if s.roots == nil {
		s.roots = x509.NewCertPool()
	}
	return s.roots
}

func (s *settings) config() *tls.Config {
	return &tls.Config{MinVersion: s.min, MaxVersion: s.max, CipherSuites: s.ciphers}
}
