package mysql

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/returners"
)

// authority makes a certificate that is its own authority, for a name, and writes it with its key
// to files.
func authority(t *testing.T, name string) (pair tls.Certificate, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, form, form, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, cert, key
}

// TestWrongCertificateGetsNoPassword connects to a TLS server with a certificate of another
// name or another authority.
func TestWrongCertificateGetsNoPassword(t *testing.T) {
	pair, cert, key := authority(t, "db1.example.net")
	_, other, _ := authority(t, "db1.example.net")
	for name, c := range map[string]struct {
		host     string
		settings *data.Map
		taken    bool
	}{
		"its own name": {"db1.example.net", data.NewMap("ssl_ca", cert), true},
		"another name": {"db2.example.net", data.NewMap("ssl_ca", cert), false},
		"another name, and any will do": {"db2.example.net",
			data.NewMap("ssl_ca", cert, "ssl_any_name", true), true},
		"another authority": {"db1.example.net", data.NewMap("ssl_ca", other), false},
		"another authority, any name": {"db1.example.net",
			data.NewMap("ssl_ca", other, "ssl_any_name", true), false},
		"no authority of the system": {"db1.example.net",
			data.NewMap("ssl_cert", cert, "ssl_key", key), false},
		"no authority of the system, any name": {"db1.example.net",
			data.NewMap("ssl_cert", cert, "ssl_key", key, "ssl_any_name", true), false},
	} {
		c.settings.Set("host", c.host)
		config, err := security(returners.MapSource(data.NewMap("mysql", c.settings)).Read(nil,
			known(), Name))
		if err != nil {
			t.Fatal(name, err)
		}
		here, there := net.Pipe()
		server := tls.Server(there, &tls.Config{Certificates: []tls.Certificate{pair}})
		go func() { _ = server.HandshakeContext(t.Context()); there.Close() }()
		err = tls.Client(here, config).HandshakeContext(t.Context())
		here.Close()
		if (err == nil) != c.taken {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestThePasswordMayBeEmpty(t *testing.T) {
	for _, pass := range []any{"", nil} {
		if got := returners.MapSource(data.NewMap("mysql.pass", pass)).Read(nil, known(),
			Name).Text("pass"); got != "" {
			t.Errorf("the password %q is set, and %q is used", pass, got)
		}
	}
}
