package libvirt

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
)

func query(dir, id string, more *data.Map) pillar.Query {
	return pillar.Query{ID: id, Argument: "_", Opts: data.NewMap("pki_dir", dir), Pillar: more,
		Grains: data.NewMap("fqdn", "other.example")}
}

func parse(t *testing.T, text string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		t.Fatalf("no PEM: %q", text)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestKeys makes keys once, also for requests at the same time. The name is that of the minion, not
// the one that it gives itself.
func TestKeys(t *testing.T) {
	dir, s := t.TempDir(), New()
	more := data.NewMap("ext_pillar_virt.country", "DE", "ext_pillar_virt.expiration_days", int64(7))
	var all [3]*data.Map
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			var err error
			if all[i], err = s.Pillar(t.Context(), query(dir, "host1.example", more)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, m := range all[1:] {
		if m.Len() != 5 || !data.Equal(m, all[0]) {
			t.Fatalf("%d and %d files", all[0].Len(), m.Len())
		}
	}
	m := all[0]
	roots := x509.NewCertPool()
	roots.AddCert(parse(t, m.Text("libvirt.cacert.pem")))
	for name, usage := range map[string]x509.ExtKeyUsage{"server": x509.ExtKeyUsageServerAuth,
		"client": x509.ExtKeyUsageClientAuth} {
		c := parse(t, m.Text("libvirt."+name+"cert.pem"))
		if _, err := c.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil ||
			c.Subject.CommonName != "host1.example" || c.IsCA {
			t.Errorf("%s: %v, %v", name, c.Subject, err)
		}
		if _, err := tls.X509KeyPair([]byte(m.Text("libvirt."+name+"cert.pem")),
			[]byte(m.Text("libvirt."+name+"key.pem"))); err != nil {
			t.Error(err)
		}
	}
	if c := parse(t, m.Text("libvirt.clientcert.pem")); c.Subject.Country[0] != "DE" || time.Until(c.NotAfter) < 300*24*time.Hour {
		t.Errorf("client: %v until %v", c.Subject, c.NotAfter)
	}
	if c := parse(t, m.Text("libvirt.servercert.pem")); time.Until(c.NotAfter) > 7*24*time.Hour {
		t.Errorf("server: until %v", c.NotAfter)
	}
	for _, name := range []string{"cakey.pem", "host1.example/serverkey.pem", "host1.example/clientkey.pem"} {
		if info, err := os.Stat(filepath.Join(dir, "libvirt", name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	other, err := s.Pillar(t.Context(), query(dir, "host2", data.NewMap()))
	if err != nil || other.Text("libvirt.cacert.pem") != m.Text("libvirt.cacert.pem") ||
		other.Text("libvirt.serverkey.pem") == m.Text("libvirt.serverkey.pem") {
		t.Errorf("another minion: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "libvirt/.new-*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// An id stays in the directory. What cannot be made leaves nothing that looks whole.
func TestRefused(t *testing.T) {
	dir, s := t.TempDir(), New()
	for _, id := range []string{"", ".", "..", "../x", "a/b", ".new-1"} {
		if m, err := s.Pillar(t.Context(), query(dir, id, data.NewMap())); err == nil {
			t.Errorf("id %q gives %d files", id, m.Len())
		}
	}
	if _, err := s.Pillar(t.Context(), query("", "a", data.NewMap())); err == nil {
		t.Error("no directory")
	}
	bad := data.NewMap("ext_pillar_virt.expiration_days", "soon")
	if _, err := s.Pillar(t.Context(), query(dir, "a", bad)); err == nil {
		t.Error("no number of days")
	}
	if _, err := os.Stat(filepath.Join(dir, "libvirt/a")); err == nil {
		t.Error("there are files of a failed minion")
	}
	if _, err := s.Pillar(t.Context(), query(dir, "cakey.pem", data.NewMap())); err == nil {
		t.Error("a minion named as the key of the authority")
	}
}
