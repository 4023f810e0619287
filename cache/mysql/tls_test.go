package mysql

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

// TestCertificatesAreVerified connects to a server whose certificate is valid for example.com.
func TestCertificatesAreVerified(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that clients end
	s.StartTLS()
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		opts  *data.Map
		taken bool
	}{
		{data.NewMap("mysql.host", "example.com", "mysql.ssl_ca", ca), true},
		{data.NewMap("mysql.host", "db.example.net", "mysql.ssl_ca", ca), false},
		{data.NewMap("mysql.host", "db.example.net", "mysql.ssl_ca", ca, "mysql.ssl_any_name", true), true},
		{data.NewMap("mysql.host", "example.com", "mysql.ssl", data.NewMap("ca", ca)), true},
		{data.NewMap("mysql.host", "db.example.net", "mysql.ssl", data.NewMap("ca", ca)), false},
		{data.NewMap("mysql.host", "db.example.net", "mysql.ssl", data.NewMap("ca", ca, "check_hostname", false)),
			true},
		{data.NewMap("mysql.host", "example.com", "mysql.ssl", data.NewMap("capath", "/x")), false},
	} {
		cfg, _, err := read(c.opts)
		if err != nil {
			t.Fatal(data.Repr(c.opts), err)
		}
		conn, err := tls.Dial("tcp", s.Listener.Addr().String(), cfg.TLS)
		if err == nil {
			conn.Close()
		}
		if (err == nil) != c.taken || cfg.TLSConfig != "" {
			t.Errorf("%s: %v, TLS %q", data.Repr(c.opts), err, cfg.TLSConfig)
		}
	}
	if cfg, _, err := read(data.NewMap()); err != nil || cfg.TLS != nil || cfg.TLSConfig != "preferred" {
		t.Errorf("without options: %+v, %v", cfg, err)
	}
	for want, opts := range map[string]*data.Map{
		"mysql.ssl_ca: open ":             data.NewMap("mysql.ssl_ca", "/missing"),
		"mysql.ssl: cert, mysql.ssl: key": data.NewMap("mysql.ssl", data.NewMap("cert", "/missing")),
		"mysql.ssl: expected":             data.NewMap("mysql.ssl", "x"),
	} {
		if _, err := Open(opts); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", data.Repr(opts), err, want)
		}
	}
}
