//go:build unix && !small

package x509_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/state/change"
	filestate "github.com/brineproject/brine/states/file"
	state "github.com/brineproject/brine/states/x509"
)

// system returns the states x509 and file with the real modules, and a directory.
func system(t *testing.T) (*loader.Registry, string) {
	t.Helper()
	opts := data.NewMap("id", "web1", "file_client", "local", "local", true, "user", "root",
		"cachedir", t.TempDir(), "hash_type", "sha256", "fileserver_backend", []any{"roots"},
		"file_roots", data.NewMap("base", []any{t.TempDir()}), "file_buffer_size", int64(262144),
		"test", false)
	funcs, err := loader.NewRegistry(&loader.Env{Opts: opts}, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	env := *funcs.Env()
	env.Registries = map[string]*loader.Registry{}
	states, err := loader.NewRegistry(&env, []loader.Plugin{state.Plugin(), filestate.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	env.Registries["states"] = states
	return states, t.TempDir()
}

func apply(t *testing.T, ctx context.Context, states *loader.Registry, fun string, args ...any) *data.Map {
	t.Helper()
	v, err := states.Invoke(ctx, "x509."+fun, nil, data.NewMap(args...))
	if err != nil {
		t.Fatalf("%s: %v", fun, err)
	}
	return v.(*data.Map)
}

// ensure runs a state in test mode, twice for real and in test mode again. It returns the results
// of test mode and of the first real run.
func ensure(t *testing.T, states *loader.Registry, fun string, args ...any) (would, done *data.Map) {
	t.Helper()
	testMode := change.WithCall(t.Context(), &change.Call{Test: true})
	name := args[1].(string)
	before, _ := os.ReadFile(name)
	would = apply(t, testMode, states, fun, args...)
	if after, _ := os.ReadFile(name); string(after) != string(before) ||
		would.Value("result") != nil || !data.Truth(would.Value("changes")) {
		t.Errorf("%s in test mode: %s", fun, data.Repr(would))
	}
	done = apply(t, t.Context(), states, fun, args...)
	if done.Value("result") != true || !data.Truth(done.Value("changes")) {
		t.Errorf("%s: %s", fun, data.Repr(done))
	}
	for _, ctx := range []context.Context{t.Context(), testMode} {
		if again := apply(t, ctx, states, fun, args...); again.Value("result") != true ||
			data.Truth(again.Value("changes")) {
			t.Errorf("%s again: %s", fun, data.Repr(again))
		}
	}
	return would, done
}

func text(t *testing.T, ret *data.Map, path ...string) string {
	t.Helper()
	var v any = ret
	for _, key := range path {
		m, _ := v.(*data.Map)
		v = m.Value(key)
	}
	return data.Str(v)
}

func expect(t *testing.T, ret *data.Map, want string, path ...string) {
	t.Helper()
	if got := text(t, ret, path...); got != want {
		t.Errorf("%v is %q, want %q", path, got, want)
	}
}

func TestAll(t *testing.T) {
	states, dir := system(t)
	at := func(f string) string { return filepath.Join(dir, f) }
	var secret string
	for _, file := range []string{"ca.key", "www.key"} {
		would, done := ensure(t, states, "private_key_managed", "name", at(file))
		expect(t, would, "The file "+at(file)+
			" is set to be changed\nNote: No changes made, actual changes may\nbe different due to other states.", "comment")
		expect(t, done, "{'new': 'New private key generated'}", "changes")
		expect(t, done, "File "+at(file)+" updated", "comment")
		if info, err := os.Stat(at(file)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		key, _ := os.ReadFile(at(file))
		secret = string(key[40:100])
	}
	ca := []any{"name", at("ca.crt"), "signing_private_key", at("ca.key"), "CN", "ca.example.com",
		"basicConstraints", "critical CA:true", "keyUsage", "critical cRLSign, keyCertSign",
		"subjectKeyIdentifier", "hash", "authorityKeyIdentifier", "keyid,issuer:always", "mode", "0644"}
	would, done := ensure(t, states, "certificate_managed", ca...)
	expect(t, would, "Certificate "+at("ca.crt")+" will be created", "comment")
	expect(t, would, "{'File': {'newfile': '"+at("ca.crt")+"'}, 'Status': {'Old': '"+at("ca.crt")+
		" does not exist', 'New': 'Certificate will be valid and up to date'}}", "changes")
	expect(t, done, "Certificate "+at("ca.crt")+" is valid and up to date", "comment")
	expect(t, done, "{'diff': 'New file', 'mode': '0644'}", "changes", "File")
	expect(t, done, "{'Old': '"+at("ca.crt")+
		" does not exist', 'New': 'Certificate is valid and up to date'}", "changes", "Status")
	expect(t, done, "{'CN': 'ca.example.com'}", "changes", "Certificate", "New", "Issuer")

	www := []any{"name", at("www.crt"), "signing_private_key", at("ca.key"),
		"signing_cert", at("ca.crt"), "public_key", at("www.key"),
		"CN", "www.example.com", "authorityKeyIdentifier", "keyid,issuer:always", "append_certs",
		[]any{at("ca.crt")}}
	ensure(t, states, "certificate_managed", www...)
	if chain, _ := os.ReadFile(at("www.crt")); strings.Count(string(chain), "BEGIN CERTIFICATE") != 2 {
		t.Errorf("no chain:\n%s", chain)
	}
	for _, c := range []struct {
		word string
		more []any
	}{
		{"Certificate properties are different: Subject", []any{"O", "Example"}},
		{"Certificate properties are different: X509v3 Extensions",
			[]any{"O", "Example", "subjectAltName", "DNS:www.example.com"}},
		{"Certificate needs renewal: 364 days remaining but it needs to be at least 400", []any{
			"O", "Example", "subjectAltName", "DNS:www.example.com", "days_remaining", int64(400),
			"days_valid", int64(500),
		}},
	} {
		_, done := ensure(t, states, "certificate_managed", append(append([]any{}, www...), c.more...)...)
		expect(t, done, c.word, "changes", "Status", "Old")
		if strings.Contains(data.Repr(done), secret) || strings.Contains(data.Repr(done), "PRIVATE") {
			t.Errorf("a key is in %s", data.Repr(done))
		}
	}

	csr := []any{"name", at("www.csr"), "private_key", at("www.key"), "CN", "www.example.com",
		"keyUsage", "critical keyAgreement"}
	_, done = ensure(t, states, "csr_managed", csr...)
	expect(t, done, at("www.csr")+" is not a valid csr.", "changes", "Old")
	expect(t, done, "{'keyUsage': 'critical Key Agreement'}", "changes", "New", "X509v3 Extensions")

	crl := []any{"name", at("ca.crl"), "signing_private_key", at("ca.key"),
		"signing_cert", at("ca.crt"), "revoked", []any{
			data.NewMap("one", []any{data.NewMap("certificate", at("www.crt")),
				data.NewMap("reason", "keyCompromise")}),
			data.NewMap("two", []any{data.NewMap("serial_number", "D6:D2:DC"),
				data.NewMap("not_after", "2016-01-01 00:00:00")}),
			data.NewMap("three", []any{data.NewMap("serial_number", "05:01:03")}),
		}}
	_, done = ensure(t, states, "crl_managed", crl...)
	expect(t, done, at("ca.crl")+" does not exist.", "changes", "Old")
	if shown := text(t, done, "changes", "New", "Revoked Certificates"); !strings.Contains(shown,
		"Key Compromise") || strings.Contains(shown, "D6D2DC") {
		t.Errorf("revoked %s", shown)
	}
	if again := apply(t, t.Context(), states, "crl_managed",
		append(crl, "days_remaining", int64(200))...); !data.Truth(again.Value("changes")) {
		t.Errorf("a list at its end stays: %s", data.Repr(again))
	}

	pem, _ := os.ReadFile(at("ca.crt"))
	ensure(t, states, "pem_managed", "name", at("copy.pem"),
		"text", strings.ReplaceAll(string(pem), "\n", ""))
	if copied, _ := os.ReadFile(at("copy.pem")); string(copied) != string(pem) {
		t.Errorf("the copy is\n%s", copied)
	}
	key, _ := os.ReadFile(at("www.key"))
	_, done = ensure(t, states, "pem_managed", "name", at("copy.pem"), "text", string(key))
	if strings.Contains(data.Repr(done), secret) {
		t.Errorf("a key is in %s", data.Repr(done))
	}
	expect(t, done, "<show_changes=False>", "changes", "diff")
}

func TestPrivateKeyWithPassphrase(t *testing.T) {
	states, dir := system(t)
	key := filepath.Join(dir, "a.key")
	ensure(t, states, "private_key_managed", "name", key, "passphrase", "secret", "bits", int64(1024))
	ensure(t, states, "private_key_managed", "name", key, "passphrase", "secret", "bits", int64(2048))
	for range 2 {
		_, err := states.Invoke(t.Context(), "x509.private_key_managed", nil,
			data.NewMap("name", key, "passphrase", "wrong"))
		if err == nil || err.Error() != "The provided passphrase cannot decrypt the private key." {
			t.Errorf("got %v", err)
		}
	}
	ensure(t, states, "private_key_managed", "name", key, "passphrase", "wrong", "overwrite", true)
	for range 2 {
		if ret := apply(t, t.Context(), states, "private_key_managed", "name", key, "passphrase",
			"wrong", "new", true); !data.Truth(ret.Value("changes")) {
			t.Errorf("no new key: %s", data.Repr(ret))
		}
	}
}

func TestInvalidCalls(t *testing.T) {
	states, dir := system(t)
	name := filepath.Join(dir, "a.crt")
	for _, c := range []struct {
		args []any
		want string
	}{
		{[]any{"name", name}, "public_key, signing_private_key, or csr must be specified."},
		{[]any{"name", name, "ca_server", "ca", "public_key", "x"},
			"signing_policy must be specified if ca_server is."},
	} {
		for range 2 {
			if _, err := states.Invoke(t.Context(), "x509.certificate_managed", nil,
				data.NewMap(c.args...)); err == nil || err.Error() != c.want {
				t.Errorf("%v: %v, want %s", c.args, err, c.want)
			}
		}
	}
}
