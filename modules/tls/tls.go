// Package tls is Salt's module tls: a certificate authority in a directory, its certificates and
// revocation lists, and self-signed certificates (salt/modules/tls.py).
//
// tls.go has the paths, authority.go creates authorities, request.go requests and certificates,
// revoke.go revokes and validates, and info.go reads certificates.
//
// Differences from Salt: the lines of index.txt are those of openssl ca; revoking also finds the lines
// that Salt wrote. A certificate that is revoked but not in the list comes into it. PKCS#12 files are
// for their owner alone. The serial numbers of certificates have 159 random bits. Names with line ends,
// or that lead out of the directory, are refused. Extensions are copied from requests as they are.
package tls

import (
	"context"
	"crypto"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module tls.
func Plugin() loader.Plugin { return loader.Plugin{Name: "tls", New: newModule} }

type module struct {
	env    *loader.Env
	reader draft.Reader
}

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env, draft.Reader{Root: env.Root}}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("ca_exists", m.caExists),
		loader.F("cert_base_path", m.certBasePath),
		loader.F("cert_info", m.certInfo),
		loader.F("create_ca", m.createCa),
		loader.F("create_ca_signed_cert", m.createCaSignedCert),
		loader.F("create_csr", m.createCsr),
		loader.F("create_empty_crl", m.createEmptyCrl),
		loader.F("create_pkcs12", m.createPkcs12).Secret("passphrase"),
		loader.F("create_self_signed_cert", m.createSelfSignedCert),
		loader.F("get_ca", m.getCa),
		loader.F("get_ca_signed_cert", m.getCaSignedCert),
		loader.F("get_ca_signed_key", m.getCaSignedKey),
		loader.F("get_expiration_date", m.getExpirationDate),
		loader.F("get_extensions", m.getExtensions),
		loader.F("maybe_fix_ssl_version", m.maybeFixSslVersion),
		loader.F("revoke_cert", m.revokeCert),
		loader.F("set_ca_path", m.setCaPath),
		loader.F("validate", m.validate),
	}}, nil
}

// contextKey is the key under which a job keeps the directory that it chose.
const contextKey = "ca.contextual_cert_base_path"

type basePathArgs struct {
	CacertPath any `default:"None"`
}

// base returns the directory of authorities: the one that a caller names, which the job keeps, or
// that of the option ca.cert_base_path.
func (m *module) base(ctx context.Context, named any) (string, error) {
	if path := calls.Text(named); path != "" {
		loader.ContextOf(ctx).Set(contextKey, path)
	}
	if v, ok := loader.ContextOf(ctx).Get(contextKey); ok {
		return calls.Text(v), nil
	}
	path, err := calls.OptionText(ctx, m.env, "ca.cert_base_path")
	if err == nil && path == "" {
		err = loader.Execution("the option ca.cert_base_path names no directory")
	}
	return path, err
}

// certBasePath returns the directory of authorities.
//
// CLI Example:
//
//	salt '*' tls.cert_base_path
func (m *module) certBasePath(ctx context.Context, a basePathArgs) (any, error) {
	if path := calls.Text(a.CacertPath); path != "" {
		return path, nil
	}
	return m.base(ctx, nil)
}

type setPathArgs struct{ CacertPath any }

// setCaPath makes another directory that of authorities for the rest of the job, and returns it.
//
// CLI Example:
//
//	salt '*' tls.set_ca_path /etc/certs
func (m *module) setCaPath(ctx context.Context, a setPathArgs) (any, error) {
	return m.base(ctx, a.CacertPath)
}

// plain refuses names that are no names of one file.
func plain(names ...string) error {
	for _, name := range names {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\n\r\t\x00") {
			return loader.Invocation("%s is no name of a file", data.Repr(name))
		}
	}
	return nil
}

// An authority is where one lies.
type authority struct {
	base, name string
	cert, key  string // paths as the operator knows them
}

// authority returns the paths of an authority. file is the name of its files without their endings.
func (m *module) authority(ctx context.Context, name string, path, file any) (authority, error) {
	base, err := m.base(ctx, path)
	if err != nil {
		return authority{}, err
	}
	stem := calls.Text(file)
	if stem == "" {
		stem = name + "_ca_cert"
	}
	if err := plain(name, stem); err != nil {
		return authority{}, err
	}
	dir := base + "/" + name + "/" + stem
	return authority{base: base, name: name, cert: dir + ".crt", key: dir + ".key"}, nil
}

func (a authority) dir() string   { return a.base + "/" + a.name }
func (a authority) certs() string { return a.dir() + "/certs" }

// read returns the certificate and the key. ok is false if one of them is not there.
func (m *module) read(a authority) (cert, key string, ok bool, err error) {
	for _, part := range []struct {
		path string
		to   *string
	}{{a.cert, &cert}, {a.key, &key}} {
		text, err := os.ReadFile(m.reader.Path(part.path))
		if errors.Is(err, fs.ErrNotExist) {
			return "", "", false, nil
		}
		if err != nil {
			return "", "", false, loader.OSError(err)
		}
		*part.to = string(text)
	}
	return cert, key, true, nil
}

// missing is what functions return if something is not there.
func missing(comment string) *data.Map { return data.NewMap("retcode", int64(1), "comment", comment) }

// newKey returns a new private key, with its text.
func newKey(bits int64) (crypto.Signer, string, error) {
	if bits < 1024 || bits > 16384 {
		return nil, "", loader.Execution("an RSA key has 1024 to 16384 bits, not %d", bits)
	}
	key, err := certificate.NewRSA(int(bits))
	if err != nil {
		return nil, "", loader.Execution("make an RSA key: %w", err)
	}
	text, err := keyText(key)
	return key, text, err
}

func keyText(key crypto.Signer) (string, error) {
	der, err := certificate.MarshalKey(key, nil)
	if err != nil {
		return "", loader.Execution("encode a private key: %w", err)
	}
	return string(certificate.KeyPEM(der, false)), nil
}

// write writes a file. Symbolic links are followed, and the owner of an existing file stays. Files with
// secrets are for their owner alone, also if others could read the old one.
func (m *module) write(path string, text []byte, mode fs.FileMode) error {
	o := atomicfile.Options{Follow: true, Mode: mode, Keep: true}
	if mode == secret {
		o.Own = func(f *os.File) error { return f.Chmod(secret) }
	}
	return loader.OSError(atomicfile.Write(m.reader.Path(path), text, o))
}

const (
	secret = 0o600
	public = 0o644
)

func (m *module) mkdir(path string) error {
	return loader.OSError(os.MkdirAll(m.reader.Path(path), 0o755))
}

func (m *module) exists(path string) bool { return paths.Exists(m.reader.Path(path)) }

// appendTo appends a text to a file.
func (m *module) appendTo(path, text string) error {
	f, err := os.OpenFile(m.reader.Path(path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, public)
	if err != nil {
		return loader.OSError(err)
	}
	_, err = f.WriteString(text)
	return loader.OSError(errors.Join(err, f.Close()))
}

// The forms of times in index.txt: years before 1950 and from 2050 on have four digits, as in ASN.1.
const (
	twoDigits  = "060102150405Z"
	fourDigits = "20060102150405Z"
)

// timeText returns a time in the form of index.txt.
func timeText(t time.Time) string {
	t = t.UTC()
	if year := t.Year(); year < 1950 || year >= 2050 {
		return t.Format(fourDigits)
	}
	return t.Format(twoDigits)
}

// timeOf reads a time of index.txt. A reason of revocation behind it is ignored.
func timeOf(text string) (time.Time, error) {
	text, _, _ = strings.Cut(text, ",")
	if len(text) == len(fourDigits) {
		return time.Parse(fourDigits, text)
	}
	t, err := time.Parse(twoDigits, text)
	if err == nil && t.Year() >= 2050 {
		t = t.AddDate(-100, 0, 0)
	}
	return t, err
}

// entry returns the fields of a certificate in index.txt behind the date of revocation.
func entry(c *certificate.Certificate) (expires, serial, subject string, err error) {
	n, err := certificate.ParseName(c.TBS.Subject.FullBytes)
	if err != nil {
		return "", "", "", loader.Execution("%w", err)
	}
	var b strings.Builder
	for _, set := range n {
		for _, a := range set {
			b.WriteString("/" + certificate.AttributeWord(a.Type.String()) + "=" + a.Text())
		}
	}
	return timeText(c.TBS.Validity.NotAfter), serialText(c.TBS.Serial),
		strings.NewReplacer("\n", " ", "\t", " ").Replace(b.String()), nil
}

// serialText returns a serial number in the form of index.txt: pairs of hexadecimal digits.
func serialText(n *big.Int) string {
	text := strings.ToUpper(new(big.Int).Abs(n).Text(16))
	if len(text)%2 == 1 {
		text = "0" + text
	}
	if n.Sign() < 0 {
		text = "-" + text
	}
	return text
}

// record adds a certificate to the database of an authority, and its serial number to the cache.
func (m *module) record(dir, name string, c *certificate.Certificate) error {
	expires, serial, subject, err := entry(c)
	if err != nil {
		return err
	}
	line := "V\t" + expires + "\t\t" + serial + "\tunknown\t" + subject + "\n"
	if err := m.appendTo(dir+"/index.txt", line); err != nil {
		return err
	}
	cache := m.env.Opts.Text("cachedir")
	if cache == "" {
		return nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return loader.OSError(err)
	}
	f, err := os.OpenFile(filepath.Join(cache, name+".serial"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, public)
	if err != nil {
		return loader.OSError(err)
	}
	_, err = f.WriteString(c.TBS.Serial.String())
	return loader.OSError(errors.Join(err, f.Close()))
}

// A subjectOf is the name in a certificate. Parts that are None or empty are left out.
type subjectOf struct {
	CN           any `name:"CN" default:"'localhost'"`
	C            any `name:"C" default:"'US'"`
	ST           any `name:"ST" default:"'Utah'"`
	L            any `name:"L" default:"'Salt Lake City'"`
	O            any `name:"O" default:"'SaltStack'"`
	OU           any `name:"OU" default:"None"`
	EmailAddress any `name:"emailAddress" default:"None"`
}

// words returns the name as arguments of package draft.
func (s subjectOf) words() *data.Map {
	m := &data.Map{}
	for _, part := range []struct {
		word  string
		value any
	}{{"C", s.C}, {"ST", s.ST}, {"L", s.L}, {"O", s.O}, {"OU", s.OU}, {"CN", s.CN}, {"MAIL", s.EmailAddress}} {
		if text := calls.Text(part.value); text != "" {
			m.Set(part.word, text)
		}
	}
	return m
}

// days adds the period of validity.
func days(args *data.Map, v any) error {
	n, err := draft.Days(v, 365)
	args.Set("days_valid", int64(n))
	return err
}

// now returns the time that names backups.
func now() string { return time.Now().UTC().Format("20060102150405") }
