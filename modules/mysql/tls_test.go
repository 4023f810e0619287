package mysql

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/brineproject/brine/data"
)

// TestCertificatesAreVerified connects to a server whose certificate is valid for example.com, with
// settings and option files. The files are below the root of the module.
func TestCertificatesAreVerified(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that clients end
	s.StartTLS()
	defer s.Close()
	root := t.TempDir()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(root, "ca"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	const refused, taken = "refused", "taken"
	for _, c := range []struct {
		host, file string
		settings   *data.Map
		want       string
	}{
		{"example.com", "", data.NewMap(), "preferred"},
		{"example.com", "", data.NewMap("ssl_ca", "/ca"), taken},
		{"db.example.net", "", data.NewMap("ssl_ca", "/ca"), refused},
		{"db.example.net", "", data.NewMap("ssl_ca", "/ca", "ssl_any_name", "True"), taken},
		{"db.example.net", "ssl-ca=/ca", data.NewMap(), taken},
		{"db.example.net", "ssl_ca = '/ca'\nssl-mode=VERIFY_CA", data.NewMap(), taken},
		{"db.example.net", "ssl-ca=/ca\nssl-mode=verify_identity", data.NewMap(), refused},
		{"example.com", "ssl-ca=/ca\nssl-mode=verify_identity", data.NewMap(), taken},
		{"db.example.net", "ssl-ca=/ca\nssl-verify-server-cert", data.NewMap(), refused},
		{"db.example.net", "ssl-ca=/ca\nssl-verify-server-cert=off", data.NewMap(), taken},
		{"db.example.net", "ssl-ca=/ca", data.NewMap("ssl_ca", "/ca"), refused},
		{"example.com", "ssl-mode=VERIFY_CA", data.NewMap(), refused},
		{"example.com", "ssl-verify-server-cert", data.NewMap(), refused},
		{"example.com", "ssl-mode=REQUIRED", data.NewMap(), "skip-verify"},
		{"example.com", "ssl-mode=PREFERRED", data.NewMap(), "preferred"},
		{"example.com", "ssl-mode=DISABLED", data.NewMap(), ""},
	} {
		settings := merged(parseOptions("[client]\n"+c.file, ""), c.settings)
		settings.Set("host", c.host)
		cfg, err := driverConfig(settings, root)
		if err != nil {
			t.Fatal(c, err)
		}
		got := cfg.TLSConfig
		if cfg.TLS != nil {
			conn, err := tls.Dial("tcp", s.Listener.Addr().String(), cfg.TLS)
			got = taken
			if err != nil {
				got = refused
				if n := number(unreachable(err, cfg)); n != 2026 {
					t.Errorf("%v: the error %v has the number %d", c, err, n)
				}
			} else {
				conn.Close()
			}
		}
		if got != c.want {
			t.Errorf("%s, %q, %s: %s, want %s", c.host, c.file, data.Repr(c.settings), got, c.want)
		}
	}
	if _, err := driverConfig(data.NewMap("host", "example.com", "ssl_ca", "/missing"), root); err == nil ||
		!strings.HasPrefix(err.Error(), "ssl_ca: open "+root) {
		t.Errorf("a missing file: %v", err)
	}
	if n := number(unreachable(mysql.ErrNoTLS, &mysql.Config{Net: "tcp"})); n != 2026 {
		t.Errorf("a server without TLS has the number %d", n)
	}
}

func number(err error) uint16 {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}
