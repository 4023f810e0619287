package tls

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/modules/pillar"
	oldx509 "github.com/brineproject/brine/modules/x509"
	"github.com/brineproject/brine/render"
)

// A host has the module over a directory for authorities.
type host struct {
	*testing.T
	r   *loader.Registry
	dir string
}

func newHost(t *testing.T) *host {
	t.Helper()
	dir := t.TempDir()
	env := &loader.Env{Opts: data.NewMap("id", "web1", "ca.cert_base_path", dir, "cachedir", filepath.Join(dir, "cache")),
		Pillar: func() *data.Map {
			return data.NewMap("tls.extensions", data.NewMap("mail", data.NewMap("csr",
				data.NewMap("extendedKeyUsage", "emailProtection"), "cert", &data.Map{})))
		}}
	r, err := loader.NewRegistry(env, []loader.Plugin{cmd.Plugin(render.Brought{}), config.Plugin(), pillar.Plugin(render.Brought{}),
		oldx509.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return &host{t, r, dir}
}

func (h *host) call(fun string, args []any, words ...any) any {
	h.Helper()
	v, err := h.r.Invoke(h.Context(), "tls."+fun, args, data.NewMap(words...))
	if err != nil {
		h.Fatalf("tls.%s %s %s: %v", fun, data.Repr(args), data.Repr(data.NewMap(words...)), err)
	}
	return v
}

// said calls a function and compares the text that it returns; DIR stands for the directory.
func (h *host) said(want, fun string, args []any, words ...any) {
	h.Helper()
	if got := h.call(fun, args, words...); got != strings.ReplaceAll(want, "DIR", h.dir) {
		h.Errorf("tls.%s gives\n %s, want\n %s", fun, data.Repr(got), want)
	}
}

func (h *host) read(path string) string {
	h.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, path))
	if err != nil {
		h.Fatal(err)
	}
	return string(text)
}

func (h *host) certificate(path string) *x509.Certificate {
	h.Helper()
	block, _ := pem.Decode([]byte(h.read(path)))
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		h.Fatal(err)
	}
	return c
}

func (h *host) mode(path string, want os.FileMode) {
	h.Helper()
	if info, err := os.Stat(filepath.Join(h.dir, path)); err != nil || info.Mode().Perm() != want {
		h.Errorf("%s: %v, %v, want mode %o", path, info, err, want)
	}
}

func small(words ...any) []any { return append([]any{"bits", int64(1024)}, words...) }

// TestCalls makes calls in sequence, with the answers of Salt 3006.18; DIR is the directory of
// authorities.
func TestCalls(t *testing.T) {
	h := newHost(t)
	calls.Sequence(t, "testdata/sequence.json", h.r.Invoke, "DIR", h.dir)
}

func pairs(serial []byte) string { return fmt.Sprintf("%X", serial) }

// TestAuthority creates an authority, a request and a certificate, with the texts of Salt 3006.18
// (tls.create_ca, tls.create_csr, tls.create_ca_signed_cert, tls.create_pkcs12), and again: nothing
// changes.
func TestAuthority(t *testing.T) {
	h := newHost(t)
	h.said("Certificate for CA named \"ca\" does not exist, please create it first.", "create_csr", []any{"ca"})
	if got := h.call("create_ca_signed_cert", []any{"ca", "www"}); !data.Equal(got,
		data.NewMap("retcode", int64(1), "comment", "There is no CA named \"ca\"")) {
		t.Errorf("without an authority: %s", data.Repr(got))
	}
	created := "Created Private Key: \"DIR/ca/ca_ca_cert.key\" Created CA \"ca\": \"DIR/ca/ca_ca_cert.crt\""
	if got := h.call("ca_exists", []any{"ca"}); got != false {
		t.Errorf("tls.ca_exists: %v", got)
	}
	h.said(created, "create_ca", []any{"ca"}, small("CN", "My CA", "emailAddress", "me@example.com")...)
	text := h.read("ca/ca_ca_cert.crt")
	h.said("Certificate for CA named \"ca\" already exists", "create_ca", []any{"ca"})
	if got := h.call("ca_exists", []any{"ca"}); got != true || h.read("ca/ca_ca_cert.crt") != text {
		t.Errorf("tls.ca_exists: %v", got)
	}
	h.mode("ca/ca_ca_cert.key", 0o600)
	h.mode("ca/ca_ca_cert.crt", 0o644)
	ca := h.certificate("ca/ca_ca_cert.crt")
	if !ca.IsCA || !ca.MaxPathLenZero || ca.KeyUsage != x509.KeyUsageCertSign|x509.KeyUsageCRLSign ||
		len(ca.SubjectKeyId) == 0 || string(ca.AuthorityKeyId) != string(ca.SubjectKeyId) ||
		ca.Subject.CommonName != "My CA" || !strings.Contains(string(ca.RawSubject), "me@example.com") {
		t.Errorf("authority: %v %v %v %v", ca.Subject, ca.KeyUsage, ca.SubjectKeyId, ca.MaxPathLenZero)
	}
	csr := "Created Private Key: \"DIR/ca/certs/www.key\" Created CSR for \"www\": \"DIR/ca/certs/www.csr\""
	names := []any{"DNS:www.example.com", "IP:192.0.2.1"}
	h.said(csr, "create_csr", []any{"ca"}, small("CN", "www", "subjectAltName", names)...)
	h.said("Certificate Request \"DIR/ca/certs//www.csr\" already exists", "create_csr", []any{"ca"}, "CN", "www")
	h.mode("ca/certs/www.key", 0o600)
	if got := h.call("create_ca_signed_cert", []any{"ca", "none"}); !data.Equal(got,
		data.NewMap("retcode", int64(1), "comment", "There is no CSR that matches the CN \"none\"")) {
		t.Errorf("without a request: %s", data.Repr(got))
	}
	h.said("Created Certificate for \"www\": \"DIR/ca/certs/www.crt\"", "create_ca_signed_cert", []any{"ca", "www"},
		"days", int64(5))
	h.said("Certificate \"www\" already exists", "create_ca_signed_cert", []any{"ca", "www"})
	c := h.certificate("ca/certs/www.crt")
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	if _, err := c.Verify(x509.VerifyOptions{Roots: pool, DNSName: "www.example.com"}); err != nil ||
		c.IPAddresses[0].String() != "192.0.2.1" || c.IsCA || time.Until(c.NotAfter) > 5*24*time.Hour ||
		c.KeyUsage != x509.KeyUsageDigitalSignature|x509.KeyUsageKeyEncipherment {
		t.Errorf("certificate: %v, %v until %v", err, c.KeyUsage, c.NotAfter)
	}
	index := strings.Split(h.read("ca/index.txt"), "\n")
	if want := "V\t" + c.NotAfter.UTC().Format("060102150405Z") + "\t\t" + pairs(c.SerialNumber.Bytes()) +
		"\tunknown\t/C=US/ST=Utah/L=Salt Lake City/O=SaltStack/CN=www"; len(index) != 3 || index[1] != want {
		t.Errorf("index.txt: %q, want %q", index, want)
	}
	if got := h.read("cache/ca.serial"); got != ca.SerialNumber.String()+c.SerialNumber.String() {
		t.Errorf("serial numbers: %s", got)
	}
	h.said("There is no certificate that matches the CN \"none\"", "create_pkcs12", []any{"ca", "none"})
	h.said("There is no CA named \"none\"", "create_pkcs12", []any{"none", "www"})
	for range 2 {
		h.said("Created PKCS#12 Certificate for \"www\": \"DIR/ca/certs/www.p12\"", "create_pkcs12", []any{"ca", "www"},
			"passphrase", "secret", "replace", true)
	}
	h.said("Certificate \"www\" already exists", "create_pkcs12", []any{"ca", "www"})
	h.mode("ca/certs/www.p12", 0o600)
	secret := "secret"
	if s, err := certificate.ParseStore([]byte(h.read("ca/certs/www.p12")), &secret); err != nil || len(s.Chain) != 1 ||
		s.Key == nil || string(s.Cert.Raw) != string(c.Raw) {
		t.Errorf("PKCS#12: %+v, %v", s, err)
	}
}

// The type of a certificate can be part of its file name, and come from the pillar.
func TestTypes(t *testing.T) {
	h := newHost(t)
	h.call("create_ca", []any{"ca"}, small()...)
	for kind, usage := range map[string]x509.ExtKeyUsage{"server": x509.ExtKeyUsageServerAuth,
		"client": x509.ExtKeyUsageClientAuth, "mail": x509.ExtKeyUsageEmailProtection} {
		h.call("create_csr", []any{"ca"}, small("CN", "me", "cert_type", kind, "type_ext", true)...)
		h.said("Created Certificate for \"me\": \"DIR/ca/certs/me_"+kind+".crt\"", "create_ca_signed_cert",
			[]any{"ca", "me"}, "cert_type", kind, "type_ext", true)
		if c := h.certificate("ca/certs/me_" + kind + ".crt"); len(c.ExtKeyUsage) != 1 || c.ExtKeyUsage[0] != usage {
			t.Errorf("%s: %v", kind, c.ExtKeyUsage)
		}
	}
	if got := h.call("create_ca_signed_cert", []any{"ca", "me"}, "type_ext", true); !data.Equal(got, &data.Map{}) {
		t.Errorf("without a type: %s", data.Repr(got))
	}
	calls.Check(t, "testdata/calls.json", h.r.Invoke)
	if got, err := h.r.Invoke(t.Context(), "tls.get_extensions", []any{"none"}, nil); err == nil {
		t.Errorf("an unknown type: %s", data.Repr(got))
	}
}

// TestSelfSigned creates a self-signed certificate (tls.create_self_signed_cert), and reads it
// (tls.cert_info, tls.get_expiration_date).
func TestSelfSigned(t *testing.T) {
	h := newHost(t)
	h.said("Created Private Key: \"DIR/tls/certs/a.example.key\" Created Certificate: \"DIR/tls/certs/a.example.crt\"",
		"create_self_signed_cert", nil, small("CN", "a.example", "OU", "Web", "ST", nil)...)
	h.said("Certificate \"a.example\" already exists", "create_self_signed_cert", nil, "CN", "a.example")
	c := h.certificate("tls/certs/a.example.crt")
	if err := c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature); err != nil ||
		c.Subject.String() != "CN=a.example,OU=Web,O=SaltStack,L=Salt Lake City,C=US" {
		t.Errorf("%v, %v", c.Subject, err)
	}
	h.mode("tls/certs/a.example.key", 0o600)
	path := h.dir + "/tls/certs/a.example.crt"
	info, _ := h.call("cert_info", []any{path}).(*data.Map)
	name := data.NewMap("C", "US", "L", "Salt Lake City", "O", "SaltStack", "OU", "Web", "CN", "a.example")
	if !data.Equal(info.Value("subject"), name) || !data.Equal(info.Value("issuer"), name) ||
		info.Value("not_after") != c.NotAfter.Unix() || info.Text("signature_algorithm") != "sha256WithRSAEncryption" {
		t.Errorf("tls.cert_info: %s", data.Repr(info))
	}
	h.said(c.NotAfter.UTC().Format("02/01/2006"), "get_expiration_date", []any{path}, "date_format", "%d/%m/%Y")
	for _, fun := range []string{"get_expiration_date", "cert_info"} {
		if got, err := h.r.Invoke(t.Context(), "tls."+fun, []any{path + ".none"}, nil); err == nil {
			t.Errorf("%s of no file: %v", fun, got)
		}
	}
}

// TestRevoke revokes a certificate once (tls.revoke_cert, tls.create_empty_crl, tls.validate), also
// one that is in the database as Salt writes it.
func TestRevoke(t *testing.T) {
	h := newHost(t)
	h.said("There is no CA named \"ca\"", "create_empty_crl", []any{"ca"})
	h.said("There is no CA named \"ca\"", "revoke_cert", []any{"ca", "www"})
	h.call("create_ca", []any{"ca"}, small()...)
	for _, cn := range []string{"www", "old"} {
		h.call("create_csr", []any{"ca"}, small("CN", cn)...)
		h.call("create_ca_signed_cert", []any{"ca", cn})
	}
	h.said("Created an empty CRL: \"DIR/ca/crl.pem\"", "create_empty_crl", []any{"ca"})
	h.said("CRL \"DIR/ca/crl.pem\" already exists", "create_empty_crl", []any{"ca"})
	h.said("There is no client certificate named \"none\"", "revoke_cert", []any{"ca", "none"})
	valid := func(cn string, crl any, want string) {
		t.Helper()
		got, _ := h.call("validate", []any{h.dir + "/ca/certs/" + cn + ".crt", "ca", crl}).(*data.Map)
		if got.Value("valid") != (want == "") || got.Text("error") != want {
			t.Errorf("tls.validate %s: %s", cn, data.Repr(got))
		}
	}
	list := h.dir + "/ca/crl.pem"
	valid("www", list, "")
	valid("www", nil, "unable to get certificate CRL")
	index := strings.Replace(h.read("ca/index.txt"), "/CN=old", "/b'CN'=b'old'", 1)
	if err := os.WriteFile(h.dir+"/ca/index.txt", []byte(index), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, cn := range []string{"www", "old"} {
		serial := strings.ToUpper(h.certificate("ca/certs/" + cn + ".crt").SerialNumber.Text(16))
		h.said("Revoked Certificate: \"DIR/ca/certs/"+cn+".crt\", serial number: "+serial, "revoke_cert", []any{"ca", cn})
		h.said("\"DIR/ca/certs/"+cn+".crt\" was already revoked, serial number: "+serial, "revoke_cert", []any{"ca", cn})
		valid(cn, list, "certificate revoked")
	}
	block, _ := pem.Decode([]byte(h.read("ca/crl.pem")))
	crl, err := x509.ParseRevocationList(block.Bytes)
	if err != nil || len(crl.RevokedCertificateEntries) != 2 ||
		crl.CheckSignatureFrom(h.certificate("ca/ca_ca_cert.crt")) != nil {
		t.Errorf("list: %+v, %v", crl, err)
	}
	if got := h.call("revoke_cert", []any{"ca", "www"}, "crl_file", h.dir); !data.Equal(got,
		data.NewMap("retcode", int64(1), "comment", "crl_file \""+h.dir+"\" is an existing directory")) {
		t.Errorf("a directory: %s", data.Repr(got))
	}
	h.call("create_ca", []any{"other"}, small("CN", "other")...)
	got, _ := h.call("validate", []any{h.dir + "/ca/certs/www.crt", "other", list}).(*data.Map)
	if got.Text("error") != "unable to get local issuer certificate" {
		t.Errorf("another authority: %s", data.Repr(got))
	}
}

// issue signs a certificate with a serial number, and records it as the module does.
func (h *host) issue(name string, serial *big.Int, until time.Time) {
	h.Helper()
	block, _ := pem.Decode([]byte(h.read("ca/ca_ca_cert.key")))
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		h.Fatal(err)
	}
	ca := h.certificate("ca/ca_ca_cert.crt")
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: serial, NotAfter: until,
		NotBefore: time.Now(), Subject: pkix.Name{CommonName: name}}, ca, ca.PublicKey, key)
	if err != nil {
		h.Fatal(err)
	}
	c, err := certificate.Parse(der)
	if err != nil {
		h.Fatal(err)
	}
	if err := os.MkdirAll(h.dir+"/ca/certs", 0o755); err != nil {
		h.Fatal(err)
	}
	h.write("ca/certs/"+name+".crt", string(c.PEM()))
	if err := (&module{env: &loader.Env{Opts: &data.Map{}}}).record(h.dir+"/ca", "ca", c); err != nil {
		h.Fatal(err)
	}
}

func (h *host) write(path, text string) {
	h.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, path), []byte(text), 0o644); err != nil {
		h.Fatal(err)
	}
}

// openssl runs openssl ca over the authority.
func (h *host) openssl(args ...string) {
	h.Helper()
	h.write("openssl.cnf", "[ca]\ndefault_ca = d\n[d]\ndefault_md = sha256\ndefault_crl_days = 9\ndatabase = "+
		h.dir+"/ca/index.txt\ncertificate = "+h.dir+"/ca/ca_ca_cert.crt\nprivate_key = "+h.dir+"/ca/ca_ca_cert.key\n")
	out, err := exec.Command("openssl", append([]string{"ca", "-config", h.dir + "/openssl.cnf"}, args...)...).CombinedOutput()
	if err != nil {
		h.Errorf("openssl ca %s: %v\n%s\nindex.txt:\n%s", args, err, out, h.read("ca/index.txt"))
	}
}

// The database is one of openssl ca: serial numbers with a leading zero, and years from 2050 on. Lines
// without that zero, as Salt writes them, are found.
func TestDatabase(t *testing.T) {
	h := newHost(t)
	h.call("create_ca", []any{"ca"}, small()...)
	h.issue("zero", big.NewInt(0xABCDE), time.Date(2055, 1, 2, 3, 4, 5, 0, time.UTC))
	h.issue("salt", big.NewInt(0x123), time.Date(2049, 1, 2, 3, 4, 5, 0, time.UTC))
	index := h.read("ca/index.txt")
	for _, want := range []string{"V\t20550102030405Z\t\t0ABCDE\tunknown\t/CN=zero\n",
		"V\t490102030405Z\t\t0123\tunknown\t/CN=salt\n"} {
		if !strings.Contains(index, want) {
			t.Errorf("index.txt: %q lacks %q", index, want)
		}
	}
	_, err := exec.LookPath("openssl")
	if err == nil {
		h.openssl("-updatedb")
		h.openssl("-gencrl", "-out", h.dir+"/openssl.pem")
	}
	h.write("ca/index.txt", strings.Replace(h.read("ca/index.txt"), "\t0123\t", "\t123\t", 1))
	h.said("Revoked Certificate: \"DIR/ca/certs/salt.crt\", serial number: 123", "revoke_cert", []any{"ca", "salt"})
	h.said("Revoked Certificate: \"DIR/ca/certs/zero.crt\", serial number: ABCDE", "revoke_cert", []any{"ca", "zero"})
	if err != nil {
		t.Skip("without openssl")
	}
	h.openssl("-updatedb")
	h.openssl("-gencrl", "-out", h.dir+"/openssl.pem")
	if n := h.revoked("openssl.pem"); n != 2 {
		t.Errorf("openssl's list has %d certificates", n)
	}
}

// revoked returns how many certificates a list has.
func (h *host) revoked(path string) int {
	h.Helper()
	block, _ := pem.Decode([]byte(h.read(path)))
	list, err := certificate.ParseList(block.Bytes) // that of openssl has version 1
	if err != nil {
		h.Fatal(err)
	}
	return len(list.TBS.Revoked)
}

// Times of the database are read in both forms.
func TestTimes(t *testing.T) {
	for text, year := range map[string]int{"500102030405Z": 1950, "490102030405Z": 2049, "20500102030405Z": 2050,
		"19490102030405Z": 1949, "700102030405Z": 1970, "260102030405Z,keyCompromise": 2026} {
		at, err := timeOf(text)
		want := time.Date(year, 1, 2, 3, 4, 5, 0, time.UTC)
		if plain, _, _ := strings.Cut(text, ","); err != nil || !at.Equal(want) || timeText(want) != plain {
			t.Errorf("%s is %v, %v", text, at, err)
		}
	}
}

// A certificate is marked only if the list can be signed. A marked one that the list lacks, or whose list
// is gone, comes into it. Reasons of openssl ca stay.
func TestRevokeAgain(t *testing.T) {
	h := newHost(t)
	h.call("create_ca", []any{"ca"}, small()...)
	h.issue("www", big.NewInt(0xABCDE), time.Now().AddDate(1, 0, 0))
	h.issue("old", big.NewInt(0x12), time.Now().AddDate(1, 0, 0))
	before := h.read("ca/index.txt")
	if got, err := h.r.Invoke(t.Context(), "tls.revoke_cert", []any{"ca", "www"}, data.NewMap("digest", "none")); err == nil {
		t.Errorf("an unknown hash: %s", data.Repr(got))
	}
	if got := h.read("ca/index.txt"); got != before {
		t.Errorf("without a list, index.txt is now\n%s", got)
	}
	h.call("create_empty_crl", []any{"ca"})
	reason := strings.Replace(before, "\t\t12\t", "\t260102030405Z,keyCompromise\t12\t", 1)
	lines := strings.SplitAfter(reason, "\n")
	for i, line := range lines {
		if strings.Contains(line, "keyCompromise") {
			lines[i] = "R" + line[1:]
		}
	}
	h.write("ca/index.txt", strings.Join(lines, ""))
	path := "\"DIR/ca/certs/old.crt\""
	for _, spoil := range []func(){func() {}, func() { h.write("ca/crl.pem", "broken") }, func() {
		if err := os.Remove(h.dir + "/ca/crl.pem"); err != nil {
			t.Fatal(err)
		}
	}} {
		spoil()
		h.said("Revoked Certificate: "+path+", serial number: 12", "revoke_cert", []any{"ca", "old"})
		text := h.read("ca/crl.pem")
		h.said(path+" was already revoked, serial number: 12", "revoke_cert", []any{"ca", "old"})
		if h.read("ca/crl.pem") != text || h.revoked("ca/crl.pem") != 1 {
			t.Errorf("the list is now\n%s", h.read("ca/crl.pem"))
		}
	}
	h.said("Revoked Certificate: \"DIR/ca/certs/www.crt\", serial number: ABCDE", "revoke_cert", []any{"ca", "www"})
	if n := h.revoked("ca/crl.pem"); n != 2 || !strings.Contains(h.read("ca/index.txt"), "Z,keyCompromise\t12\t") {
		t.Errorf("%d certificates in the list; index.txt:\n%s", n, h.read("ca/index.txt"))
	}
}

// Symbolic links and the owners of files stay. Private keys are for their owner alone.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	m := &module{env: &loader.Env{}}
	for name, mode := range map[string]os.FileMode{"a.key": secret, "a.crt": 0o664} {
		target, link := filepath.Join(dir, "real-"+name), filepath.Join(dir, name)
		if err := os.WriteFile(target, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(target, 0o664); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 {
			if err := os.Chown(target, 12, 34); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		old, _ := os.Stat(target)
		kind := os.FileMode(public)
		if mode == secret {
			kind = secret
		}
		for range 2 {
			if err := m.write(link, []byte("new"), kind); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(target)
			info, _ := os.Stat(target)
			was, now := old.Sys().(*syscall.Stat_t), info.Sys().(*syscall.Stat_t)
			if err != nil || string(text) != "new" || info.Mode() != mode || was.Uid != now.Uid || was.Gid != now.Gid {
				t.Errorf("%s: %q, %v, owner %d, %v", name, text, info.Mode(), now.Uid, err)
			}
		}
		if to, err := os.Readlink(link); err != nil || to != target {
			t.Errorf("the link %s: %s, %v", name, to, err)
		}
	}
}

// The faults of certificates and lists, at times when they are not valid.
func TestFaults(t *testing.T) {
	h := newHost(t)
	h.call("create_ca", []any{"ca"}, small()...)
	h.call("create_empty_crl", []any{"ca"})
	h.call("create_self_signed_cert", nil, small()...)
	parse := func(path string) *certificate.Certificate {
		block, _ := pem.Decode([]byte(h.read(path)))
		c, err := certificate.Parse(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ca, other := parse("ca/ca_ca_cert.crt"), parse("tls/certs/localhost.crt")
	block, _ := pem.Decode([]byte(h.read("ca/crl.pem")))
	list, err := certificate.ParseList(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	day := 24 * time.Hour
	for _, c := range []struct {
		cert *certificate.Certificate
		at   time.Duration
		want string
	}{{ca, 0, ""}, {other, 0, "certificate signature failure"}, {ca, -day, "CRL is not yet valid"},
		{ca, 101 * day, "CRL has expired"}} {
		if got, _ := faultOf(c.cert, ca, list, time.Now().Add(c.at)); got != c.want {
			t.Errorf("%v later: %q, want %q", c.at, got, c.want)
		}
	}
	list.TBS.NextUpdate = time.Now().Add(1000 * day)
	if got := listFault(ca, list, time.Now()); got != "" {
		t.Errorf("the list: %q", got) // the signature is that of the encoded list
	}
	if got, _ := faultOf(ca, ca, list, time.Now().Add(500*day)); got != "certificate has expired" {
		t.Errorf("after its end: %q", got)
	}
	list.Signature.Bytes[0] ^= 1
	if got := listFault(ca, list, time.Now()); got != "CRL signature failure" {
		t.Errorf("a wrong signature: %q", got)
	}
}

// The paths of files: tls.get_ca, tls.get_ca_signed_cert and tls.get_ca_signed_key. tls.set_ca_path and
// tls.cert_base_path name the directory, for one job.
func TestPaths(t *testing.T) {
	h := newHost(t)
	h.call("create_ca", []any{"ca"}, small()...)
	h.call("create_csr", []any{"ca"}, small()...)
	h.call("create_ca_signed_cert", []any{"ca", "localhost"})
	for fun, path := range map[string]string{"get_ca": "ca/ca_ca_cert.crt", "get_ca_signed_cert": "ca/certs/localhost.crt",
		"get_ca_signed_key": "ca/certs/localhost.key"} {
		h.said("DIR/"+path, fun, []any{"ca"})
		h.said(h.read(path), fun, []any{"ca"}, "as_text", true)
		if got, err := h.r.Invoke(t.Context(), "tls."+fun, []any{"none"}, nil); err == nil {
			t.Errorf("%s of none: %v", fun, got)
		}
	}
	h.said("DIR", "cert_base_path", nil)
	h.said("/x", "cert_base_path", []any{"/x"})
	ctx := loader.WithContext(t.Context(), &loader.Context{})
	for fun, args := range map[string][]any{"set_ca_path": {"/etc/certs"}} {
		if got, err := h.r.Invoke(ctx, "tls."+fun, args, nil); err != nil || got != "/etc/certs" {
			t.Errorf("%s: %v, %v", fun, got, err)
		}
	}
	if got, err := h.r.Invoke(ctx, "tls.cert_base_path", nil, nil); err != nil || got != "/etc/certs" {
		t.Errorf("in the same job: %v, %v", got, err)
	}
	h.said("DIR", "cert_base_path", nil)
}

// An authority keeps its key, and what it cannot read. The conditions decide first.
func TestKeys(t *testing.T) {
	h := newHost(t)
	for _, no := range [][]any{{"onlyif", "false"}, {"onlyif", false}, {"unless", "true"}, {"unless", true}} {
		if got := h.call("create_ca", []any{"ca"}, no...); got != nil {
			t.Errorf("%v: %v", no, got)
		}
	}
	h.call("create_ca", []any{"ca"}, small("onlyif", "true", "unless", "false")...)
	key := h.read("ca/ca_ca_cert.key")
	h.call("create_ca", []any{"ca"}, small("replace", true)...)
	if h.read("ca/ca_ca_cert.key") != key {
		t.Error("another key")
	}
	if err := os.WriteFile(h.dir+"/ca/ca_ca_cert.key", []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.call("create_ca", []any{"ca"}, small("replace", true)...)
	kept, err := filepath.Glob(h.dir + "/ca/ca_ca_cert.key.unloadable.*")
	if err != nil || len(kept) != 1 || h.read("ca/ca_ca_cert.key") == key {
		t.Errorf("kept %v, %v", kept, err)
	}
	if got := h.call("maybe_fix_ssl_version", []any{"ca"}); got != nil {
		t.Errorf("tls.maybe_fix_ssl_version: %v", got)
	}
	if got, err := h.r.Invoke(t.Context(), "tls.create_ca", []any{"b"}, data.NewMap("fixmode", true)); err == nil {
		t.Errorf("nothing to fix: %v", got)
	}
}

// Names stay in the directory, and a key has a sensible size.
func TestRefused(t *testing.T) {
	h := newHost(t)
	h.call("create_ca", []any{"ca"}, small()...)
	for _, bad := range []string{"../x", "a/b", "a\nb", "..", "", "a\tb"} {
		for fun, args := range map[string][]any{"create_ca": {bad}, "create_self_signed_cert": {bad},
			"create_ca_signed_cert": {"ca", bad}, "create_pkcs12": {"ca", bad}, "get_ca": {bad},
			"get_ca_signed_key": {"ca", bad}, "revoke_cert": {bad, "www"}, "create_empty_crl": {bad}} {
			if got, err := h.r.Invoke(t.Context(), "tls."+fun, args, nil); err == nil && (bad != "" || fun != "get_ca_signed_key") {
				t.Errorf("%s %q gives %s", fun, args, data.Repr(got))
			}
		}
	}
	for _, bits := range []int64{0, 512, 100000} {
		if got, err := h.r.Invoke(t.Context(), "tls.create_ca", []any{"b"}, data.NewMap("bits", bits)); err == nil {
			t.Errorf("%d bits give %v", bits, got)
		}
	}
}
