package docker_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testdocker"
)

// TestCertificates checks that the certificate of an engine is verified, unless DOCKER_TLS_VERIFY is empty.
func TestCertificates(t *testing.T) {
	s := httptest.NewUnstartedServer(testdocker.New())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	write(t, filepath.Join(dir, "cert.pem"), block("CERTIFICATE", cert))
	write(t, filepath.Join(dir, "key.pem"), block("PRIVATE KEY", private))
	write(t, filepath.Join(dir, "ca.pem"), block("CERTIFICATE", cert)) // it did not sign that of the engine
	t.Setenv("DOCKER_CERT_PATH", dir)
	m := testdocker.NewMinionOf(t, s.URL, functions(), nil)
	fails(t, m, "certificate signed by unknown authority", "docker.ps", nil)
	t.Setenv("DOCKER_TLS_VERIFY", "1")
	fails(t, m, "certificate signed by unknown authority", "docker.ps", nil)
	write(t, filepath.Join(dir, "ca.pem"), block("CERTIFICATE", s.Certificate().Raw))
	ok(t, m, "docker.ps", nil)
	t.Setenv("DOCKER_TLS_VERIFY", "")
	write(t, filepath.Join(dir, "ca.pem"), block("CERTIFICATE", cert))
	if got := ok(t, m, "docker.ps", nil); data.Repr(got) != "{}" {
		t.Errorf("docker.ps returns %s", data.Repr(got))
	}
}
