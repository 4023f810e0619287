package x509

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
)

// registry returns the module with the functions of other modules that it calls. policies are part
// of the configuration.
func registry(t *testing.T, policies *data.Map) *loader.Registry {
	t.Helper()
	one := func(name string, f loader.Func) loader.Plugin {
		return loader.Plugin{Name: name,
			New: func(*loader.Env) (*loader.Module, error) { return &loader.Module{Funcs: []loader.Func{f}}, nil }}
	}
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()}, []loader.Plugin{
		Plugin(), one("pillar", lookup("get", nil)), one("config", lookup("get", policies)),
		one("match", glob()),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCalls(t *testing.T) {
	srv, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	calls.Check(t, "testdata/calls.json", registry(t, nil).Invoke, "@SRV@", srv)
}

// pki creates keys, a root certificate and other files in a directory with the module's functions.
func pki(t *testing.T, r *loader.Registry) string {
	t.Helper()
	dir := t.TempDir()
	for _, key := range []string{"ca.key", "www.key"} {
		must(t, r, "create_private_key", "path", filepath.Join(dir, key))
	}
	must(t, r, "create_certificate", "path", filepath.Join(dir, "ca.crt"),
		"signing_private_key", filepath.Join(dir, "ca.key"),
		"CN", "Käse CA", "O", "Example", "basicConstraints", "critical CA:true, pathlen:1",
		"keyUsage", "critical cRLSign, keyCertSign", "subjectKeyIdentifier", "hash",
		"authorityKeyIdentifier", "keyid,issuer:always", "days_valid", int64(20000))
	return dir
}

func must(t *testing.T, r *loader.Registry, fun string, kwargs ...any) any {
	t.Helper()
	v, err := r.Invoke(t.Context(), "x509."+fun, nil, data.NewMap(kwargs...))
	if err != nil {
		t.Fatalf("%s: %v", fun, err)
	}
	return v
}

func openssl(t *testing.T, args ...string) string {
	t.Helper()
	need.Program(t, "openssl")
	out, err := exec.CommandContext(t.Context(), "openssl", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("openssl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// wish returns the extensions of the certificate that Salt created in testdata/www.crt.
func wish() []any {
	return []any{
		"basicConstraints", "critical CA:false", "keyUsage", "critical digitalSignature, keyEncipherment",
		"extendedKeyUsage", "serverAuth, clientAuth, 1.2.3.4", "subjectKeyIdentifier", "hash",
		"authorityKeyIdentifier", "keyid,issuer:always", "subjectAltName",
		"DNS:www.example.com, IP:10.0.0.1, email:x@y.z, URI:http://a/b, IP Address:fe80::1, RID:1.2.3.4",
		"crlDistributionPoints", "URI:http://a/ca.crl,URI:http://b/ca.crl", "authorityInfoAccess",
		"OCSP;URI:http://ocsp/, caIssuers;URI:http://ca/", "certificatePolicies",
		"1.2.3.4, 1.3.5.8", "policyConstraints", "requireExplicitPolicy:3,inhibitPolicyMapping:0",
		"inhibitAnyPolicy", "2", "nameConstraints",
		"permitted;DNS:.example.com, excluded;IP:10.0.0.0/255.0.0.0",
		"nsComment", "a comment", "nsCertType", "client, email, objsign",
	}
}

// TestExtensionsAreSalts encodes all extensions of a certificate of Salt and compares the bytes.
func TestExtensionsAreSalts(t *testing.T) {
	r := registry(t, nil)
	m := &module{r.Env()}
	ca, err := m.certificate("testdata/ca.crt")
	if err != nil {
		t.Fatal(err)
	}
	salts, err := m.certificate("testdata/www.crt")
	if err != nil {
		t.Fatal(err)
	}
	key, err := salts.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	d := &draft{m: m, args: data.NewMap(wish()...), requested: data.NewMap(), issuer: ca, key: key}
	if err := d.extend(); err != nil {
		t.Fatal(err)
	}
	if got, want := len(d.cert.TBS.Extensions), len(salts.TBS.Extensions); got != want {
		t.Fatalf("%d extensions, Salt makes %d", got, want)
	}
	for i, want := range salts.TBS.Extensions {
		got := d.cert.TBS.Extensions[i]
		if !got.Id.Equal(want.Id) || got.Critical != want.Critical ||
			string(got.Value) != string(want.Value) {
			t.Errorf("extension %v: %x, Salt makes %v: %x", got.Id, got.Value, want.Id, want.Value)
		}
	}
}

// TestSubjectIsSalts encodes the subject of Salt's root certificate and compares the bytes.
func TestSubjectIsSalts(t *testing.T) {
	m := &module{registry(t, nil).Env()}
	ca, err := m.certificate("testdata/ca.crt")
	if err != nil {
		t.Fatal(err)
	}
	n, refused := name(nil).add(data.NewMap("ST", "Utah", "CN", "ca.example.com", "C", "US", "L",
		"Salt Lake City", "O", "A/B, C", "Email", "a@b.c", "SN", "Sur", "GN", "Given",
		"serialNumber", "12", "OU", ""))
	raw, err := certificate.Name(n).Marshal()
	if err != nil || string(raw.FullBytes) != string(ca.TBS.Subject.FullBytes) {
		t.Errorf("got %x, %v, Salt makes %x", raw.FullBytes, err, ca.TBS.Subject.FullBytes)
	}
	if len(refused) != 1 || refused[0] != "OU" {
		t.Errorf("refused %v", refused)
	}
}

func TestOpenSSLVerifies(t *testing.T) {
	r := registry(t, nil)
	dir := pki(t, r)
	at := func(f string) string { return filepath.Join(dir, f) }
	must(t, r, "create_csr", "path", at("www.csr"), "private_key", at("www.key"), "CN",
		"www.example.com", "C", "US", "keyUsage", "critical digitalSignature", "subjectAltName",
		"DNS:www.example.com", "subjectKeyIdentifier", "hash")
	must(t, r, "create_certificate", "path", at("www.crt"), "csr", at("www.csr"),
		"signing_private_key", at("ca.key"), "signing_cert", at("ca.crt"),
		"authorityKeyIdentifier", "keyid,issuer:always", "extendedKeyUsage", "serverAuth")
	must(t, r, "create_crl", "path", at("ca.crl"), "signing_private_key", at("ca.key"),
		"signing_cert", at("ca.crt"))
	openssl(t, "verify", "-x509_strict", "-CAfile", at("ca.crt"), at("www.crt"))
	openssl(t, "verify", "-x509_strict", "-crl_check", "-CAfile", at("ca.crt"),
		"-CRLfile", at("ca.crl"), at("www.crt"))
	openssl(t, "req", "-verify", "-noout", "-in", at("www.csr"))
	openssl(t, "rsa", "-check", "-noout", "-in", at("ca.key"))
	text := openssl(t, "x509", "-noout", "-text", "-nameopt", "utf8,sep_comma_plus", "-in", at("www.crt"))
	for _, want := range []string{"CN=Käse CA", "DNS:www.example.com", "Digital Signature",
		"TLS Web Server Authentication", "Subject: C=US,CN=www.example.com"} {
		if !strings.Contains(text, want) {
			t.Errorf("openssl shows no %q:\n%s", want, text)
		}
	}
	for _, c := range []string{"ca.crt", "www.crt"} {
		hash := strings.TrimSpace(openssl(t, "x509", "-noout", "-subject_hash_old", "-in", at(c)))
		shown := must(t, r, "read_certificate", "certificate", at(c)).(*data.Map)
		if got := strings.ToLower(strings.ReplaceAll(shown.Text("Subject Hash"), ":",
			"")); strings.TrimLeft(hash, "0") != strings.TrimLeft(got, "0") {
			t.Errorf("%s: hash %s, openssl says %s", c, got, hash)
		}
	}
	must(t, r, "create_crl", "path", at("ca.crl"), "signing_private_key", at("ca.key"),
		"signing_cert", at("ca.crt"), "digest", "sha512", "revoked",
		[]any{data.NewMap("certificate", at("www.crt"), "reason", "keyCompromise",
			"revocation_date", "2015-03-01 00:00:00")})
	text = openssl(t, "crl", "-noout", "-text", "-in", at("ca.crl"))
	for _, want := range []string{"Version 2 (0x1)", "sha512WithRSAEncryption", "Key Compromise",
		"Mar  1 00:00:00 2015 GMT"} {
		if !strings.Contains(text, want) {
			t.Errorf("openssl shows no %q:\n%s", want, text)
		}
	}
	if must(t, r, "verify_crl", "crl", at("ca.crl"), "cert", at("ca.crt")) != true {
		t.Error("the list is not its maker's")
	}
}

func TestReadRequestAndList(t *testing.T) {
	r := registry(t, nil)
	for range 2 {
		csr := must(t, r, "read_csr", "csr", "testdata/www.csr").(*data.Map)
		want := data.NewMap("basicConstraints", "CA:FALSE", "keyUsage",
			"critical Data Encipherment, Key Agreement", "extendedKeyUsage",
			"TLS Web Server Authentication, OCSP Signing", "subjectKeyIdentifier",
			"B0:86:DE:BB:67:87:E4:B8:31:A7:9D:4C:2C:CB:C9:F9:4C:76:E3:A2",
			"subjectAltName", "DNS:a.b")
		if got := csr.Value("X509v3 Extensions"); !data.Equal(got, want) ||
			csr.Text("Public Key Hash") != "b086debb6787e4b831a79d4c2ccbc9f94c76e3a2" ||
			csr.Text("Subject Hash") != "39:8B:15:25" || csr.Value("Version") != int64(3) {
			t.Errorf("got %s", data.Repr(csr))
		}
		crl := must(t, r, "read_crl", "crl", "testdata/ca.crl").(*data.Map)
		revoked := crl.Value("Revoked Certificates").([]any)
		if len(revoked) != 3 || crl.Text("Version") != "1 (0x0)" ||
			crl.Text("Signature Algorithm") != "sha256WithRSAEncryption" ||
			crl.Value("Issuer").(*data.Map).Text("CN") != "ca.example.com" {
			t.Fatalf("got %s", data.Repr(crl))
		}
		want = data.NewMap("D6D2DCD84D5CC0F4", data.NewMap("Revocation Date", "2015-02-25 00:00:00",
			"CRL entry extensions", data.NewMap("X509v3 CRL Reason Code", "Cessation Of Operation")))
		if !data.Equal(revoked[1], want) {
			t.Errorf("got %s, want %s", data.Repr(revoked[1]), data.Repr(want))
		}
	}
}

func TestKeys(t *testing.T) {
	r := registry(t, nil)
	dir := t.TempDir()
	file := filepath.Join(dir, "a.key")
	for _, cipher := range []string{"des_ede3_cbc", "aes_128_cbc", "aes_256_cbc"} {
		if v := must(t, r, "create_private_key", "path", file, "passphrase", "secret",
			"cipher", cipher, "bits", int64(1024)); v != "PEM written to "+file {
			t.Errorf("got %v", v)
		}
		if size := must(t, r, "get_private_key_size", "private_key", file, "passphrase",
			"secret"); size != int64(1024) {
			t.Errorf("%s: %v bits", cipher, size)
		}
		openssl(t, "rsa", "-in", file, "-passin", "pass:secret", "-noout")
		for _, wrong := range []any{nil, "wrong"} {
			_, err := r.Invoke(t.Context(), "x509.get_private_key_size", []any{file, wrong}, nil)
			if e, ok := err.(*loader.Error); !ok || e.Class != "M2Crypto.RSA.RSAError" {
				t.Errorf("passphrase %v: %v", wrong, err)
			}
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for _, curve := range []string{"EC", "ED25519"} {
		args := []string{"genpkey", "-algorithm", curve, "-out", file}
		if curve == "EC" {
			args = append(args, "-pkeyopt", "ec_paramgen_curve:P-256")
		}
		openssl(t, args...)
		cert := filepath.Join(dir, "a.crt")
		must(t, r, "create_certificate", "path", cert, "signing_private_key", file, "CN", "a",
			"basicConstraints", "critical CA:true", "subjectKeyIdentifier", "hash")
		openssl(t, "verify", "-CAfile", cert, cert)
		if must(t, r, "verify_signature", "certificate", cert) != true ||
			must(t, r, "verify_private_key", "private_key", file, "public_key", cert) != true {
			t.Errorf("%s: not its own", curve)
		}
	}
	openssl(t, "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-aes256",
		"-pass", "pass:secret", "-out", file)
	if size := must(t, r, "get_private_key_size", "private_key", file, "passphrase",
		"secret"); size != int64(2048) {
		t.Errorf("PKCS#8: %v bits", size)
	}
}

func TestRefusals(t *testing.T) {
	r := registry(t, nil)
	dir := pki(t, r)
	at := func(f string) string { return filepath.Join(dir, f) }
	key := []any{"text", true, "signing_private_key", at("www.key")}
	for _, c := range []struct {
		fun    string
		kwargs []any
		class  string
		want   string
	}{
		{"create_certificate", []any{"CN", "x"}, "SaltInvocationError",
			"Either path or text must be specified."},
		{"create_private_key", []any{"path", "x", "text", true}, "SaltInvocationError",
			"Either path or text must be specified, not both."},
		{"create_certificate", []any{"text", true, "CN", "x"}, "KeyError", "'signing_private_key'"},
		{"create_csr", []any{"text", true, "CN", "x"}, "SaltInvocationError", "private_key is required"},
		{"read_certificate", []any{"certificate", "nope"}, "SaltInvocationError",
			"PEM does not contain a single entry of type CERTIFICATE:\nnope"},
		{"create_certificate", append(key, "keyUsage", "bogus"), "X509Error",
			"Cannot create X509_Extension with name 'keyUsage' and value 'bogus'"},
		{"create_certificate", append(key, "not_before", "bogus"), "SaltInvocationError",
			"not_before: bogus is not in required format %Y-%m-%d %H:%M:%S"},
		{"create_certificate", append(key, "subjectKeyIdentifier", "xx"), "SaltInvocationError",
			"value must be precomputed hash"},
		{"create_certificate", append(key, "signing_cert", at("ca.crt")), "SaltInvocationError",
			"signing_private_key: " + at("www.key") + " does no match signing_cert: " + at("ca.crt")},
		{"create_certificate", append(key, "ca_server", "ca"), "SaltInvocationError",
			"signing_policy must be specifiedif requesting remote certificate from ca_server ca."},
		{"create_certificate", append(key, "copypath", dir, "prepend_cn", true, "CN", "../x"),
			"SaltInvocationError", "copypath: ../x-"},
	} {
		for range 2 {
			_, err := r.Invoke(t.Context(), "x509."+c.fun, nil, data.NewMap(c.kwargs...))
			if e, ok := err.(*loader.Error); !ok || !strings.HasSuffix(e.Class, c.class) ||
				!strings.HasPrefix(e.Text, c.want) {
				t.Errorf("%s %v: %v, want %s %s", c.fun, c.kwargs, err, c.class, c.want)
			}
		}
	}
}

func TestWritePEM(t *testing.T) {
	r := registry(t, nil)
	dir := pki(t, r)
	at := func(f string) string { return filepath.Join(dir, f) }
	key, _ := os.ReadFile(at("www.key"))
	if err := os.WriteFile(at("all.pem"), key, 0o640); err != nil {
		t.Fatal(err)
	}
	var first string
	for i := range 2 {
		must(t, r, "write_pem", "text", at("ca.crt"), "path", at("all.pem"), "overwrite", false,
			"pem_type", "CERTIFICATE")
		now, _ := os.ReadFile(at("all.pem"))
		if !strings.HasPrefix(string(now), string(key)) ||
			!strings.Contains(string(now), "BEGIN CERTIFICATE") || i > 0 && string(now) != first {
			t.Errorf("got\n%s", now)
		}
		first = string(now)
	}
	if info, _ := os.Stat(at("all.pem")); info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	flat := strings.ReplaceAll(first[len(key):], "\n", "")
	for _, text := range []string{flat, strings.ReplaceAll(first, "\n", `\n`),
		strings.ReplaceAll(first, "\n", " \n  ")} {
		if got := must(t, r, "get_pem_entry", "text", text, "pem_type",
			"CERTIFICATE"); string(got.([]byte)) != first[len(key):] {
			t.Errorf("of %q: %s", text, got)
		}
	}
}

func TestSigningPolicies(t *testing.T) {
	policy := data.NewMap()
	r := registry(t, data.NewMap("www", []any{policy}))
	dir := pki(t, r)
	at := func(f string) string { return filepath.Join(dir, f) }
	policy.Update(data.NewMap("minions", "www*", "signing_private_key", at("ca.key"),
		"signing_cert", at("ca.crt"), "O", "Policy", "keyUsage", "critical digitalSignature",
		"authorityKeyIdentifier", "keyid,issuer:always", "days_valid", int64(7), "copypath", dir,
		"prepend_cn", true))
	shown := must(t, r, "get_signing_policy", "signing_policy_name", "www").(*data.Map)
	if shown.Has("signing_private_key") ||
		!strings.Contains(string(shown.Value("signing_cert").([]byte)), "BEGIN CERTIFICATE") {
		t.Errorf("got %s", data.Repr(shown))
	}
	public := string(must(t, r, "get_public_key", "key", at("www.key")).([]byte))
	ask := func(id string, args ...any) string {
		kwargs := data.NewMap("argdic", data.NewMap(args...))
		if id != "" {
			kwargs.Set("__pub_id", id)
		}
		return data.Str(must(t, r, "sign_remote_certificate", kwargs.Keys()[0],
			kwargs.Value("argdic"), "__pub_id", kwargs.Value("__pub_id")))
	}
	for _, c := range []struct {
		id   string
		args []any
		want string
	}{
		{"www1", []any{"x", "no"}, "signing_policy must be specified"},
		{"www1", []any{"signing_policy", "no"}, "Signing policy no does not exist."},
		{"db1", []any{"signing_policy", "www"}, "db1 not permitted to use signing policy www"},
		{"www1", []any{"signing_policy", "www", "public_key", "/etc/passwd"},
			"PEM text not valid:\n/etc/passwd"},
	} {
		if got := ask(c.id, c.args...); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.id, c.args, got, c.want)
		}
	}
	for range 2 {
		text := ask("www1", "signing_policy", "www",
			"public_key", strings.ReplaceAll(public, "\n", ""), "CN", "www1", "O", "Mine",
			"copypath", "/nowhere", "signing_private_key", at("www.key"))
		cert, err := (&module{r.Env()}).certificate(text)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := showCertificate(cert, false)
		if err != nil || shown.Value("Subject").(*data.Map).Text("O") != "Policy" ||
			string(shown.Value("Public Key").([]byte)) != public {
			t.Errorf("got %s, %v", data.Repr(shown), err)
		}
		copied, err := os.ReadFile(at("www1-" + shown.Text("Serial Number") + ".crt"))
		if err != nil || string(copied) != text {
			t.Errorf("the copy is %q, %v", copied, err)
		}
	}
}

func TestSuperseded(t *testing.T) {
	_, err := newModule(&loader.Env{Opts: data.NewMap("features", data.NewMap("x509_v2", true))})
	if err == nil || err.Error() != "Superseded, using x509_v2" {
		t.Errorf("got %v", err)
	}
}

// FuzzRead reads damaged certificates, requests and lists.
func FuzzRead(f *testing.F) {
	for _, file := range []string{"ca.crt", "www.crt", "www.csr", "ca.crl"} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(pemBytes(text))
	}
	f.Fuzz(func(t *testing.T, der []byte) {
		if c, err := parseCertificate(der); err == nil {
			showCertificate(c, false)
			c.KeyID()
		}
		if r, err := parseRequest(der); err == nil {
			showRequest(r)
		}
		if l, err := parseList(der); err == nil {
			showList(l)
		}
	})
}

// FuzzExtension parses values of extensions; every accepted value must be printable.
func FuzzExtension(f *testing.F) {
	list := wish()
	for i := 1; i < len(list); i += 2 {
		f.Add(list[i].(string))
	}
	issuer, err := (&module{&loader.Env{}}).certificate("testdata/ca.crt")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, e := range extensions() {
			if x, err := e.newExtension(issuer, value); err == nil {
				showExtension(x)
			}
		}
		pemEntry(value, "")
	})
}
