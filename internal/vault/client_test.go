package vault

import (
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

func get(t *testing.T, a address, path string) (*Answer, error) {
	t.Helper()
	c, err := newClient(a)
	if err != nil {
		return nil, err
	}
	t.Cleanup(c.Close)
	return c.Do(t.Context(), "GET", path, "s.hunter2", nil)
}

// TestVerify checks whom a client trusts.
func TestVerify(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data": {}}`)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of refused handshakes
	s.StartTLS()
	t.Cleanup(s.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "ca.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		verify any
		want   string // the error; "" means none
	}{
		{nil, "certificate"}, {true, "certificate"}, {false, ""}, {file, ""}, {dir, ""},
		{filepath.Join(dir, "none"), "no such file"}, {t.TempDir(), "holds no certificate"},
	} {
		_, err := get(t, address{url: s.URL, verify: tt.verify}, "x")
		if tt.want == "" && err != nil ||
			tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("verify %v: %v", tt.verify, err)
		}
	}
}

// A redirect to another host does not get the token, and an endless answer is an error.
func TestHostileServers(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host gets %s with %q", r.URL, r.Header.Get("X-Vault-Token"))
	}))
	t.Cleanup(other.Close)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/away":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/v1/near":
			http.Redirect(w, r, "/v1/there", http.StatusTemporaryRedirect)
		case "/v1/long":
			for range maxBody>>20 + 1 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		default:
			_, _ = io.WriteString(w, `{"data": {"token": "`+r.Header.Get("X-Vault-Token")+`"}}`)
		}
	}))
	t.Cleanup(s.Close)
	a := address{url: s.URL}
	if got, err := get(t, a, "away"); err != nil || got.Status != http.StatusTemporaryRedirect {
		t.Errorf("away: %v, %v", got, err)
	} else if got.OK() || got.Err() == nil || !strings.Contains(got.Err().Error(), "option url") {
		t.Errorf("a redirect to another host counts as done: %v", got.Err())
	}
	got, err := get(t, a, "near")
	if err != nil || data.Repr(got.Body) != "{'data': {'token': 's.hunter2'}}" {
		t.Errorf("near: %v, %v", got, err)
	}
	if _, err := get(t, a, "long"); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("long: %v", err)
	}
	if _, err := get(t, address{url: "http://127.0.0.1:1"}, "x"); err == nil ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a host that is away: %v", err)
	}
}

// Paths are escaped part by part.
func TestEscape(t *testing.T) {
	for path, want := range map[string]string{
		"/secret/a b": "secret/a%20b", "a/ö?list=true": "a/%C3%B6?list=true", "a/#b/%": "a/%23b/%25",
		"a/": "a/",
	} {
		if got := escape(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
