// Package x509 is Salt's state x509: keys, certificates, requests and revocation lists in files
// (salt/states/x509.py). The module x509 creates them, the state file writes them.
//
// Differences from Salt: a new private key is only readable by its owner unless mode is given. If
// the old or new content includes a private key, no diff is shown. Test mode creates no key. Days
// are counted in UTC.
package x509

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state x509.
func Plugin() loader.Plugin { return loader.Plugin{Name: "x509", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	features, _ := env.Option("features").(*data.Map)
	if data.Truth(features.Value("x509_v2")) {
		return nil, errors.New("Superseded, using x509_v2") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("certificate_managed", m.certificateManaged).
			Secret("signing_private_key_passphrase", "public_key_passphrase",
				"signing_private_key"),
		loader.F("crl_managed", m.crlManaged).Secret("signing_private_key_passphrase",
			"signing_private_key"),
		loader.F("csr_managed", m.csrManaged).Secret("private_key_passphrase",
			"public_key_passphrase", "private_key"),
		loader.F("pem_managed", m.pemManaged).Secret("text"),
		loader.F("private_key_managed", m.privateKeyManaged).Secret("passphrase"),
	}}, nil
}

// exists reports whether a file exists. It returns an error if that cannot be determined.
func (m *module) exists(name string) (bool, error) {
	info, err := os.Stat(filepath.Join(m.env.Root, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().IsRegular(), err
}

// call calls a function of the module x509.
func (m *module) call(ctx context.Context, fun string, kwargs *data.Map) (any, error) {
	return m.env.Call(ctx, "x509."+fun, nil, kwargs)
}

// dict is call for a function that returns a dictionary.
func (m *module) dict(ctx context.Context, fun string, kwargs *data.Map) (*data.Map, error) {
	v, err := m.call(ctx, fun, kwargs)
	if err != nil {
		return nil, err
	}
	if d, ok := v.(*data.Map); ok {
		return d, nil
	}
	return nil, loader.Invocation("Unable to create new certificate: x509 module error: %s",
		text(v))
}

// text converts bytes or a string to a string.
func text(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return data.Str(v)
}

// split returns the arguments for the state file, and the others.
func split(name string, kwargs *data.Map) (file, others *data.Map) {
	words := []string{"user", "group", "mode", "makedirs", "dir_mode", "backup", "create",
		"follow_symlinks", "check_cmd"}
	file, others = data.NewMap("name", name), data.NewMap()
	for k, v := range kwargs.All() {
		if slices.Contains(words, data.Str(k)) {
			file.Set(k, v)
		} else {
			others.Set(k, v)
		}
	}
	return file, others
}

// place writes a content to a file with the state file. A nil content keeps the current one.
func (m *module) place(ctx context.Context, file *data.Map, content any) (*data.Map, error) {
	if content != nil {
		file.Set("contents", content)
		old, err := os.ReadFile(filepath.Join(m.env.Root, data.Str(file.Value("name"))))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, loader.Execution("%w", err)
		}
		if strings.Contains(string(old)+data.Str(content), "PRIVATE KEY-----") {
			file.Set("show_changes", false)
		}
	}
	v, err := m.env.Registry("states").Invoke(ctx, "file.managed", nil, file)
	if err != nil {
		return nil, err
	}
	ret, ok := v.(*data.Map)
	if !ok {
		return nil, loader.Execution("file.managed returned %s", data.Repr(v))
	}
	return ret, nil
}

func changed(ret *data.Map) bool { return data.Truth(ret.Value("changes")) }

type privateKeyArgs struct {
	Name       string
	Bits       any       `default:"2048"`
	Passphrase any       `default:"None"`
	Cipher     any       `default:"'aes_128_cbc'"`
	New        bool      `default:"False"`
	Overwrite  bool      `default:"False"`
	Verbose    any       `default:"True"`
	Kwargs     *data.Map `kwargs:"kwargs"`
}

// privateKeyManaged manages a private key in a file.
//
// bits, passphrase, cipher
//
//	Properties of the key. An existing key with these properties is kept.
//
// new
//
//	Create a new key in each run. Use it with prereq.
//
// overwrite
//
//	Replace a key that the passphrase does not decrypt.
//
// All arguments of file.managed for owners, mode and directories are accepted.
//
//	/etc/pki/www.key:
//	  x509.private_key_managed:
//	    - bits: 4096
//	    - mode: 600
func (m *module) privateKeyManaged(ctx context.Context, a privateKeyArgs) (any, error) {
	there, err := m.exists(a.Name)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	same, err := m.sameKey(ctx, a, there)
	if err != nil {
		return nil, err
	}
	file, _ := split(a.Name, a.Kwargs)
	if !there && file.Value("mode") == nil {
		file.Set("mode", "0600")
	}
	content, err := m.keyText(ctx, a, same)
	if err != nil {
		return nil, err
	}
	ret, err := m.place(ctx, file, content)
	if err == nil && changed(ret) && !same {
		ret.Set("changes", data.NewMap("new", "New private key generated"))
	}
	return ret, err
}

// sameKey reports whether the existing key can be kept.
func (m *module) sameKey(ctx context.Context, a privateKeyArgs, there bool) (bool, error) {
	if !there {
		return false, nil
	}
	size, err := m.call(ctx, "get_private_key_size",
		data.NewMap("private_key", a.Name, "passphrase", a.Passphrase))
	var e *loader.Error
	switch {
	case err == nil:
		return data.Str(size) == data.Str(a.Bits) && !a.New, nil
	case loader.KindOf(err) == loader.KindInvocation: // not a key
		return false, nil
	case errors.As(err, &e) && e.Class == "M2Crypto.RSA.RSAError":
		if a.Overwrite {
			return false, nil
		}
		return false, loader.Execution("The provided passphrase cannot decrypt the private key.")
	}
	return false, err
}

// keyText returns the content of the file: the existing key or a new one. Test mode uses a
// placeholder instead.
func (m *module) keyText(ctx context.Context, a privateKeyArgs, same bool) (string, error) {
	var v any
	var err error
	switch {
	case same:
		v, err = m.call(ctx, "get_pem_entry",
			data.NewMap("text", a.Name, "pem_type", "(?:RSA |EC |ENCRYPTED )?PRIVATE KEY"))
	case change.Test(ctx):
		return "PRIVATE KEY-----", nil
	default:
		v, err = m.call(ctx, "create_private_key",
			data.NewMap("text", true, "bits", a.Bits, "passphrase", a.Passphrase,
				"cipher", a.Cipher, "verbose", a.Verbose))
	}
	return text(v), err
}

type csrArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// csrManaged manages a certificate request in a file. Further arguments are those of
// x509.create_csr and, for owners, mode and directories, of file.managed.
//
//	/etc/pki/www.csr:
//	  x509.csr_managed:
//	    - private_key: /etc/pki/www.key
//	    - CN: www.example.com
//	    - keyUsage: critical digitalSignature
func (m *module) csrManaged(ctx context.Context, a csrArgs) (any, error) {
	there, err := m.exists(a.Name)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	var old any = a.Name + " is not a valid csr."
	if there {
		if now, err := m.dict(ctx, "read_csr", data.NewMap("csr", a.Name)); err == nil {
			old = now
		}
	}
	file, others := split(a.Name, a.Kwargs)
	others.Set("text", true)
	v, err := m.call(ctx, "create_csr", others)
	if err != nil {
		return nil, err
	}
	ret, err := m.place(ctx, file, text(v))
	if err != nil || !changed(ret) {
		return ret, err
	}
	made, err := m.dict(ctx, "read_csr", data.NewMap("csr", text(v)))
	if err == nil && !data.Equal(old, made) {
		ret.Set("changes", data.NewMap("Old", old, "New", made))
	}
	return ret, err
}

type pemArgs struct {
	Name   string
	Text   any
	Backup any       `default:"False"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// pemManaged writes a normalized PEM text to a file.
//
//	/etc/pki/ca.crt:
//	  x509.pem_managed:
//	    - text: {{ salt['mine.get']('ca', 'x509.get_pem_entries')['ca']['/etc/pki/ca.crt']|replace('\n', '') }}
func (m *module) pemManaged(ctx context.Context, a pemArgs) (any, error) {
	file, _ := split(a.Name, a.Kwargs)
	v, err := m.call(ctx, "get_pem_entry", data.NewMap("text", a.Text))
	if err != nil {
		return nil, err
	}
	return m.place(ctx, file, text(v))
}

type certificateArgs struct {
	Name          string
	DaysRemaining any       `default:"90"`
	AppendCerts   any       `default:"None"`
	Kwargs        *data.Map `kwargs:"kwargs"`
}

// certificateManaged manages a certificate in a file. A new certificate is created if it is
// missing, if it differs from the desired one, or if it is about to expire. Further arguments are
// those of x509.create_certificate and, for owners, mode and directories, of file.managed.
//
// days_remaining : 90
//
//	Create a new certificate if it expires in fewer than this many days. 0 lets it expire.
//
// append_certs
//
//	Files of certificates to append.
//
//	/etc/pki/www.crt:
//	  x509.certificate_managed:
//	    - ca_server: ca
//	    - signing_policy: www
//	    - public_key: /etc/pki/www.key
//	    - CN: www.example.com
//	    - days_remaining: 30
func (m *module) certificateManaged(ctx context.Context, a certificateArgs) (any, error) {
	kwargs := a.Kwargs.Clone()
	if kwargs.Has("path") {
		a.Name = data.Str(kwargs.Value("path"))
		kwargs.Delete("path")
	}
	if kwargs.Has("ca_server") && !kwargs.Has("signing_policy") {
		return nil, loader.Invocation("signing_policy must be specified if ca_server is.")
	}
	if !kwargs.Has("public_key") && !kwargs.Has("signing_private_key") && !kwargs.Has("csr") {
		return nil, loader.Invocation("public_key, signing_private_key, or csr must be specified.")
	}
	a.Kwargs = kwargs
	reason, current, err := m.judge(ctx, a)
	if err != nil {
		return nil, err
	}
	ret := change.New(a.Name, false, nil, "")
	file, _ := split(a.Name, kwargs)
	switch {
	case reason == "":
		return ret, m.placeCertificate(ctx, ret, file, nil)
	case change.Test(ctx):
		if err := m.placeCertificate(ctx, ret, file, ""); err != nil {
			return nil, err
		}
		return wouldMake(ret, reason), nil
	}
	return m.makeCertificate(ctx, a, ret, reason, current)
}

func wouldMake(ret *data.Map, reason string) *data.Map {
	ret.Set("result", nil)
	ret.Set("comment", "Certificate "+data.Str(ret.Value("name"))+" will be created")
	changes := ret.Value("changes").(*data.Map)
	changes.Set("Status", data.NewMap("Old", reason, "New",
		"Certificate will be valid and up to date"))
	return ret
}

// placeCertificate writes a certificate with the state file, and merges the result.
func (m *module) placeCertificate(ctx context.Context, ret, file *data.Map, content any) error {
	done, err := m.place(ctx, file, content)
	if err != nil {
		return err
	}
	ret.Set("result", done.Value("result"))
	ret.Set("comment", done.Value("comment"))
	if data.Truth(done.Value("result")) {
		ret.Set("comment", "Certificate "+data.Str(ret.Value("name"))+" is valid and up to date")
	}
	if changed(done) {
		ret.Set("changes", data.NewMap("File", done.Value("changes")))
	}
	return nil
}

func (m *module) makeCertificate(
	ctx context.Context, a certificateArgs, ret *data.Map, reason string, current *data.Map,
) (any, error) {
	args := a.Kwargs.Clone()
	args.Set("text", true)
	v, err := m.call(ctx, "create_certificate", args)
	if err != nil {
		return nil, err
	}
	content := text(v)
	if _, err := m.dict(ctx, "read_certificate", data.NewMap("certificate", content)); err != nil {
		if loader.KindOf(err) != loader.KindInvocation {
			return nil, err
		}
		return change.Failed(a.Name, "An error occurred creating the certificate "+a.Name+
			". The result returned from x509.create_certificate "+
			"is not a valid PEM file:\n"+err.Error()), nil
	}
	for _, one := range items(a.AppendCerts) {
		more, err := m.call(ctx, "get_pem_entry",
			data.NewMap("text", one, "pem_type", "CERTIFICATE"))
		if err != nil {
			return change.Failed(a.Name, fmt.Sprintf("%s is not a valid certificate file, cannot append it to the certificate %s.\n"+
				"The error returned by the x509 module was:\n%v", data.Str(one), a.Name, err)), nil
		}
		content += text(more)
	}
	file, _ := split(a.Name, a.Kwargs)
	if err := m.placeCertificate(ctx, ret, file, content); err != nil ||
		!data.Truth(ret.Value("result")) {
		return ret, err
	}
	made, err := m.dict(ctx, "read_certificate", data.NewMap("certificate", a.Name))
	if err != nil {
		return nil, err
	}
	changes := ret.Value("changes").(*data.Map)
	changes.Set("Certificate", data.NewMap("Old", current, "New", made))
	changes.Set("Status", data.NewMap("Old", reason, "New", "Certificate is valid and up to date"))
	return ret, nil
}

func items(v any) []any {
	if list, ok := v.([]any); ok || v == nil {
		return list
	}
	return []any{v}
}

// judge returns the reason to create a certificate, "" if none. It also returns the contents of the
// existing certificate.
func (m *module) judge(
	ctx context.Context, a certificateArgs,
) (reason string, current *data.Map, err error) {
	current = data.NewMap()
	there, err := m.exists(a.Name)
	if err != nil {
		return "", nil, loader.Execution("%w", err)
	}
	if !there {
		return a.Name + " does not exist", current, nil
	}
	invalid := func(err error) (string, *data.Map, error) {
		if loader.KindOf(err) != loader.KindInvocation {
			return "", nil, err
		}
		return fmt.Sprintf("%s is not a valid certificate: %v", a.Name, err), data.NewMap(), nil
	}
	now, err := m.dict(ctx, "read_certificate", data.NewMap("certificate", a.Name))
	if err != nil {
		return invalid(err)
	}
	args := a.Kwargs.Clone()
	args.Set("testrun", true)
	wanted, err := m.dict(ctx, "create_certificate", args)
	if err != nil {
		return invalid(err)
	}
	if !wanted.Has("Issuer Public Key") {
		return "New certificate does not include signing information", now, nil
	}
	signed, err := m.call(ctx, "verify_signature",
		data.NewMap("certificate", a.Name, "signing_pub_key", wanted.Value("Issuer Public Key")))
	if err != nil {
		return invalid(err)
	}
	if !data.Truth(signed) {
		if a.Kwargs.Has("signing_private_key") {
			return "Certificate is not signed by private_signing_key", now, nil
		}
		return "Certificate is not signed by the requested issuer", now, nil
	}
	if diff := differences(now, wanted, a.Kwargs.Has("serial_number")); len(diff) > 0 {
		return "Certificate properties are different: " + strings.Join(diff, ", "), now, nil
	}
	return renewal(now.Text("Not After"), a.DaysRemaining), now, nil
}

// renewal returns a message if a certificate expires too soon, "" otherwise.
func renewal(end string, days any) string {
	if !data.Truth(days) {
		return ""
	}
	left := daysLeft(end)
	var least int
	if _, err := fmt.Sscan(data.Str(days), &least); err != nil || left >= least {
		return ""
	}
	return fmt.Sprintf("Certificate needs renewal: %d days remaining but it needs to be at least %d", left, least)
}

// daysLeft returns the whole days until a time. An unknown time counts as now.
func daysLeft(end string) int {
	at, err := time.Parse("2006-01-02 15:04:05", end)
	if err != nil {
		return 0
	}
	left := time.Until(at)
	days := int(left / (24 * time.Hour))
	if left < 0 && left%(24*time.Hour) != 0 {
		days--
	}
	return days
}

var serialPart = regexp.MustCompile(`serial:([0-9A-F]{2}:)*[0-9A-F]{2}`)
var namePart = regexp.MustCompile(`DirName:[^\n]+`)

// differences returns the properties of a certificate that differ from the desired ones. Times,
// fingerprints and, unless serial is true, serial numbers are ignored.
func differences(now, wanted *data.Map, serial bool) []string {
	free := []string{"Not Before", "Not After", "SHA1 Finger Print", "SHA-256 Finger Print",
		"MD5 Finger Print", "Issuer Public Key",
		"Subject Hash", "Issuer Hash"} // the hashes follow from the names
	if !serial {
		free = append(free, "Serial Number")
	}
	var diff []string
	for k, v := range wanted.All() {
		key := data.Str(k)
		if slices.Contains(free, key) {
			continue
		}
		is := now.Value(key)
		if key == "X509v3 Extensions" {
			v, is = comparable(v, serial), comparable(is, serial)
		}
		if b, ok := is.([]byte); ok {
			is = string(b)
		}
		if b, ok := v.([]byte); ok {
			v = string(b)
		}
		if !data.Equal(v, is) {
			diff = append(diff, key)
		}
	}
	return diff
}

// comparable returns extensions without the variable parts of the authority key identifier.
func comparable(v any, serial bool) any {
	m, ok := v.(*data.Map)
	if !ok || !m.Has("authorityKeyIdentifier") {
		return v
	}
	text := namePart.ReplaceAllString(m.Text("authorityKeyIdentifier"), "DirName:--")
	if !serial {
		text = serialPart.ReplaceAllString(text, "serial:--")
	}
	m = m.Clone()
	m.Set("authorityKeyIdentifier", text)
	return m
}
