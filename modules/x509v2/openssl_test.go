package x509v2

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
)

func must(t *testing.T, r *loader.Registry, fun string, kwargs ...any) any {
	t.Helper()
	v, err := r.Invoke(t.Context(), "x509."+fun, nil, data.NewMap(kwargs...))
	if err != nil {
		t.Fatalf("%s: %v", fun, err)
	}
	return v
}

// openssl runs the program, which must succeed, and returns its output.
func openssl(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		if os.Getenv("BRINE_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip("openssl is not there")
	}
	out, err := exec.CommandContext(t.Context(), "openssl", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("openssl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestOpenSSLReadsKeys(t *testing.T) {
	need.Time(t, "it runs openssl for each kind of key")
	r, dir := registry(t, nil), t.TempDir()
	at := func(f string) string { return filepath.Join(dir, f) }
	for _, algo := range []string{"rsa", "ec", "ed25519"} {
		for _, c := range []struct {
			encoding string
			secret   any
			compat   bool
		}{{"pem", nil, false}, {"pem", "geheim", false}, {"der", nil, false},
			{"der", "geheim", false}, {"pkcs12", nil, false}, {"pkcs12", "gehéim", false},
			{"pkcs12", "geheim", true}} {
			file := at(algo + "." + c.encoding)
			for range 2 {
				must(t, r, "create_private_key", "algo", algo, "path", file, "encoding", c.encoding,
					"passphrase", c.secret, "pkcs12_encryption_compat", c.compat)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			pass := "pass:" + data.Str(c.secret)
			if c.secret == nil {
				pass = "pass:"
			}
			if c.encoding == "pkcs12" {
				if out := openssl(t, "pkcs12", "-in", file, "-passin", pass,
					"-nodes"); !strings.Contains(out, "BEGIN PRIVATE KEY") {
					t.Errorf("no key in %s", out)
				}
			} else {
				openssl(t, "pkey", "-inform", c.encoding, "-in", file, "-passin", pass, "-noout", "-check")
			}
			public := must(t, r, "get_public_key", "key", file, "passphrase", c.secret)
			if c.secret != nil {
				if _, err := r.Invoke(t.Context(), "x509.get_private_key_size",
					[]any{file, "wrong"}, nil); err == nil {
					t.Errorf("a wrong passphrase opens %s", file)
				}
			}
			again := must(t, r, "encode_private_key",
				"private_key", must(t, r, "create_private_key", "algo", algo), "encoding", "der")
			if again == public {
				t.Error("two keys are one")
			}
		}
	}
}

// TestEncodeEncryptedKey reads an encrypted key with private_key_passphrase and writes it without a
// passphrase or with another one.
func TestEncodeEncryptedKey(t *testing.T) {
	r := registry(t, nil)
	secret := must(t, r, "create_private_key", "algo", "ec", "passphrase", "old")
	plain := must(t, r, "encode_private_key", "private_key", secret, "private_key_passphrase", "old")
	if s, _ := plain.(string); !strings.HasPrefix(s, "-----BEGIN PRIVATE KEY-----") {
		t.Errorf("got %v", plain)
	}
	if _, err := r.Invoke(t.Context(), "x509.encode_private_key", nil,
		data.NewMap("private_key", secret, "private_key_passphrase", "wrong")); err == nil {
		t.Error("a wrong passphrase opens the key")
	}
}

func TestOpenSSLReadsCertificates(t *testing.T) {
	r, dir := registry(t, nil), t.TempDir()
	at := func(f string) string { return filepath.Join(dir, f) }
	for _, algo := range []string{"rsa", "ec", "ed25519"} {
		must(t, r, "create_private_key", "algo", algo, "path", at(algo+".key"))
		must(t, r, "create_certificate", "path", at(algo+".crt"), "signing_private_key",
			at(algo+".key"), "CN", "ca "+algo, "basicConstraints", "critical, CA:TRUE",
			"keyUsage", "critical, cRLSign, keyCertSign", "subjectKeyIdentifier", "hash",
			"authorityKeyIdentifier", "keyid:always")
		for _, digest := range []string{"sha256", "sha384", "sha3_256"} {
			if algo == "ec" && digest == "sha3_256" {
				digest = "sha512" // OpenSSL 3.0 does not support the other with ECDSA
			}
			leaf := []any{"signing_private_key", at(algo + ".key"), "signing_cert",
				at(algo + ".crt"), "private_key", at("ec.key"), "CN", "*.example.com",
				"subjectAltName", "DNS:*.example.com, DNS:under_score.x, URI:http://u@host:8080/p",
				"authorityKeyIdentifier", "keyid:always", "digest", digest}
			if algo == "rsa" {
				leaf[5] = at("rsa.key")
			}
			for range 2 {
				must(t, r, "create_certificate", append([]any{"path", at("leaf.crt")}, leaf...)...)
			}
			openssl(t, "verify", "-x509_strict", "-CAfile", at(algo+".crt"), at("leaf.crt"))
			if must(t, r, "verify_signature", "certificate", at("leaf.crt"),
				"signing_pub_key", at(algo+".crt")) != true {
				t.Errorf("%s %s: the signature does not fit", algo, digest)
			}
			if out := openssl(t, "x509", "-in", at("leaf.crt"), "-noout",
				"-text"); !strings.Contains(out,
				"DNS:*.example.com, DNS:under_score.x, URI:http://u@host:8080/p") {
				t.Errorf("got %s", out)
			}
			for _, compat := range []bool{false, true} {
				must(t, r, "create_certificate",
					append([]any{"path", at("leaf.p12"), "encoding", "pkcs12", "pkcs12_passphrase",
						"geheim", "pkcs12_friendlyname", "Käse", "append_certs",
						[]any{at(algo + ".crt")}, "pkcs12_encryption_compat",
						compat}, leaf...)...)
				out := openssl(t, "pkcs12", "-in", at("leaf.p12"), "-passin", "pass:geheim",
					"-nodes", "-info")
				if strings.Count(out, "BEGIN CERTIFICATE") != 2 ||
					strings.Contains(out, "pbeWithSHA1And3-KeyTripleDES-CBC") != compat {
					t.Errorf("got %s", out)
				}
			}
			must(t, r, "create_certificate",
				append([]any{"path", at("leaf.p7"), "encoding", "pkcs7_pem",
					"append_certs", []any{at(algo + ".crt")}}, leaf...)...)
			if out := openssl(t, "pkcs7", "-in", at("leaf.p7"), "-print_certs"); strings.Count(out,
				"BEGIN CERTIFICATE") != 2 {
				t.Errorf("got %s", out)
			}
		}
		must(t, r, "create_csr", "private_key", at(algo+".key"), "path", at("a.csr"), "CN", "a",
			"subjectAltName", "DNS:käse.example")
		if out := openssl(t, "req", "-in", at("a.csr"), "-verify", "-noout",
			"-text"); !strings.Contains(out, "DNS:xn--kse-qla.example") {
			t.Errorf("got %s", out)
		}
		must(t, r, "create_crl", "signing_private_key", at(algo+".key"),
			"signing_cert", at(algo+".crt"), "path", at("a.crl"), "extensions",
			data.NewMap("cRLNumber", int64(7), "authorityKeyIdentifier", "keyid:always"), "revoked",
			[]any{data.NewMap("certificate", at("leaf.crt"), "extensions",
				data.NewMap("CRLReason", "keyCompromise"))})
		out := openssl(t, "crl", "-in", at("a.crl"), "-CAfile", at(algo+".crt"), "-noout", "-text")
		if !strings.Contains(out, "verify OK") || !strings.Contains(out, "Key Compromise") {
			t.Errorf("got %s", out)
		}
		if must(t, r, "verify_crl", "crl", at("a.crl"), "cert", at(algo+".crt")) != true {
			t.Error("the list is not its own")
		}
	}
}

// TestDiffersFromSalt tests the differences in the package comment.
func TestDiffersFromSalt(t *testing.T) {
	r, dir, out := registry(t, nil), filesDir(t), t.TempDir()
	ca := []any{"signing_private_key", dir + "/ca.key", "signing_cert", dir + "/ca.crt",
		"private_key", dir + "/www.key", "CN", "x"}
	shown := func(extra ...any) string {
		text := must(t, r, "create_certificate", append(append([]any{}, ca...), extra...)...)
		return data.Repr(must(t, r, "read_certificate", "certificate", text).(*data.Map).Value("extensions"))
	}
	for _, c := range []struct {
		word  string
		value any
		want  string
	}{
		{"issuerAltName", "issuer:copy,DNS:more", "'value': ['DNS:ca.example.com', 'DNS:more']"},
		{"certificatePolicies", data.NewMap("1.2.3", "https://one"),
			"{'1.2.3': [{'practice_statement': 'https://one'}]}"},
		{"certificatePolicies", data.NewMap("1.2.3", data.NewMap("text", "only")), "'explicit_text': 'only'"},
		{"nameConstraints", "permitted;DNS:a", "{'critical': False, 'excluded': [], 'permitted': ['DNS:a']}"},
	} {
		if got := shown(c.word, c.value); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s, want %s", c.word, data.Repr(c.value), got, c.want)
		}
	}
	for _, fun := range []string{"create_private_key"} {
		if _, err := r.Invoke(t.Context(), "x509."+fun, nil,
			data.NewMap("algo", "ed448")); err == nil ||
			err.Error() != "keys of the algorithm ed448 are not supported" {
			t.Errorf("got %v", err)
		}
	}
	must(t, r, "create_private_key", "path", out+"/a.key", "passphrase", "geheim")
	if size := must(t, r, "get_private_key_size", "private_key", out+"/a.key", "passphrase",
		"geheim"); size != int64(2048) {
		t.Errorf("%v bits", size)
	}
	if must(t, r, "verify_signature", "certificate", dir+"/pss.crt") != true {
		t.Error("RSASSA-PSS is not verified")
	}
	if got := string(must(t, r, "get_pem_entry", "text", dir+
		"/old.key").([]byte)); !strings.Contains(got, "\nDEK-Info: AES-128-CBC,") {
		t.Errorf("got %s", got)
	}
	_, err := r.Invoke(t.Context(), "x509.create_certificate", nil,
		data.NewMap(append(ca, "copypath", out, "prepend_cn", true, "subject", "CN=../x")...))
	if err == nil || !strings.HasPrefix(err.Error(), "copypath: ../x-") {
		t.Errorf("got %v", err)
	}
}

func TestWritePEM(t *testing.T) {
	r, dir := registry(t, nil), filesDir(t)
	file := filepath.Join(t.TempDir(), "all.pem")
	key, err := os.ReadFile(dir + "/ca.key")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, key, 0o640); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := must(t, r, "write_pem", "text", dir+"/ca.crt", "path", file, "overwrite", false,
			"pem_type", "CERTIFICATE"); got != "PEM written to "+file {
			t.Errorf("got %v", got)
		}
		now, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(now), string(key)) ||
			strings.Count(string(now), "BEGIN CERTIFICATE") != 1 {
			t.Errorf("got %s, %v", now, err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if got := must(t, r, "create_certificate", "path", file, "overwrite", false,
		"signing_private_key", dir+"/ca.key", "CN", "x"); got != "The file at "+file+
		" exists and overwrite was set to false" {
		t.Errorf("got %v", got)
	}
}

// TestForeignArgumentsNameNoFiles checks that arguments of another minion cannot name files of this
// one.
func TestForeignArgumentsNameNoFiles(t *testing.T) {
	dir := filesDir(t)
	r := registry(t, data.NewMap("www",
		data.NewMap("signing_private_key", dir+"/ca.key", "signing_cert", dir+"/ca.crt")))
	for range 2 {
		for _, wish := range []*data.Map{data.NewMap("public_key", dir+"/www.pub"),
			data.NewMap("csr", dir+"/www.csr"), data.NewMap("private_key", dir+"/www.key")} {
			v := must(t, r, "sign_remote_certificate", "signing_policy", "www", "kwargs", wish).(*data.Map)
			if v.Value("data") != nil || !data.Truth(v.Value("errors")) {
				t.Errorf("%s: %s", data.Repr(wish), data.Repr(v))
			}
		}
	}
	v := must(t, r, "get_signing_policy", "signing_policy", "www").(*data.Map)
	if v.Text("signing_private_key") != dir+"/ca.key" {
		t.Errorf("got %s", data.Repr(v))
	}
	r = registry(t, data.NewMap("www",
		data.NewMap("signing_private_key", "-----BEGIN PRIVATE KEY-----",
			"signing_private_key_passphrase", "geheim", "O", "x")))
	if got := data.Repr(must(t, r, "get_signing_policy", "signing_policy", "www")); got != "{'O': 'x'}" {
		t.Errorf("got %s", got)
	}
}

func TestNeedsItsFeature(t *testing.T) {
	_, err := newModule(&loader.Env{Opts: data.NewMap()})
	if err == nil || !strings.HasPrefix(err.Error(), "x509_v2 needs to be explicitly enabled") {
		t.Errorf("got %v", err)
	}
}
