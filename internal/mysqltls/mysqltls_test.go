package mysqltls

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestServersAreVerified connects to a server whose certificate is valid for example.com.
func TestServersAreVerified(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that clients end
	s.StartTLS()
	defer s.Close()
	dir := t.TempDir()
	own, other, none := filepath.Join(dir, "own"), filepath.Join(dir, "other"), filepath.Join(dir, "none")
	secret, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "key")
	for at, text := range map[string][]byte{
		own:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
		none: []byte("x")} {
		if err := os.WriteFile(at, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(other, otherAuthority(t), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o     Options
		taken bool
	}{
		"its own name":                          {Options{CA: own, Host: "example.com"}, true},
		"another name":                          {Options{CA: own, Host: "db.example.net"}, false},
		"another name, and any will do":         {Options{CA: own, Host: "db.example.net", AnyName: true}, true},
		"another authority":                     {Options{CA: other, Host: "example.com"}, false},
		"another authority, any name":           {Options{CA: other, Host: "example.com", AnyName: true}, false},
		"the system's authorities":              {Options{Cert: own, Key: key, Host: "example.com"}, false},
		"the system's authorities, any name":    {Options{Cert: own, Key: key, AnyName: true}, false},
		"the system's authorities, no files":    {Options{Host: "example.com", Always: true}, false},
		"a certificate of the client, own name": {Options{CA: own, Cert: own, Key: key, Host: "example.com"}, true},
	} {
		config, err := c.o.Config()
		if err != nil {
			t.Fatal(name, err)
		}
		conn, err := tls.Dial("tcp", s.Listener.Addr().String(), config)
		if err == nil {
			conn.Close()
		}
		if (err == nil) != c.taken {
			t.Errorf("%s: %v", name, err)
		}
		if _, told := errors.AsType[*tls.CertificateVerificationError](err); err != nil && !told {
			t.Errorf("%s: %v is no error of a certificate", name, err)
		}
	}
	for want, o := range map[string]Options{
		"x_ca: open ":                      {CA: filepath.Join(dir, "missing"), Prefix: "x_"},
		"x_ca: " + none + " holds no cert": {CA: none, Prefix: "x_"},
		"x_cert, x_key: open ":             {Cert: own, Prefix: "x_"},
	} {
		if _, err := o.Config(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
	if config, err := (Options{Host: "example.com"}).Config(); config != nil || err != nil {
		t.Errorf("without files: %v, %v", config, err)
	}
}

// otherAuthority returns a certificate that did not sign that of httptest.
func otherAuthority(t *testing.T) []byte {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, DNSNames: []string{"example.com"}}
	der, err := x509.CreateCertificate(rand.Reader, form, form, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
