package tls

import (
	"context"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type existsArgs struct {
	CaName     string
	CacertPath any `default:"None"`
	CaFilename any `default:"None"`
}

// caExists returns whether there is an authority.
//
// cacert_path
//
//	The directory of authorities. Default: that of the option ca.cert_base_path, or /etc/pki.
//
// ca_filename
//
//	The name of its files. Default: that of the authority with _ca_cert.
//
// CLI Example:
//
//	salt '*' tls.ca_exists test_ca /etc/certs
func (m *module) caExists(ctx context.Context, a existsArgs) (any, error) {
	where, err := m.authority(ctx, a.CaName, a.CacertPath, a.CaFilename)
	if err != nil || !m.exists(where.cert) {
		return false, err
	}
	_, err = m.maybeFixSslVersion(ctx, a)
	return err == nil, err
}

// maybeFixSslVersion creates the certificate of an authority again if it has a version that early
// releases of Salt wrote.
//
// CLI Example:
//
//	salt '*' tls.maybe_fix_ssl_version test_ca /etc/certs
func (m *module) maybeFixSslVersion(ctx context.Context, a existsArgs) (any, error) {
	where, err := m.authority(ctx, a.CaName, a.CacertPath, a.CaFilename)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(m.reader.Path(where.cert))
	if err != nil {
		return nil, loader.OSError(err)
	}
	c, err := m.reader.Certificate(string(text))
	if err != nil || c.TBS.Version != 3 {
		return nil, err
	}
	n, err := certificate.ParseName(c.TBS.Subject.FullBytes)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	part := func(oid string) any {
		text, _ := n.First(oid)
		return text
	}
	left := int64(time.Until(c.TBS.Validity.NotAfter) / (24 * time.Hour))
	_, err = m.createCa(ctx, caArgs{CaName: a.CaName, Bits: 2048, Days: left, Fixmode: true, Digest: "sha256",
		CaFilename: a.CaFilename, subjectOf: subjectOf{CN: part("2.5.4.3"), C: part("2.5.4.6"), ST: part("2.5.4.8"),
			L: part("2.5.4.7"), O: part("2.5.4.10"), OU: part("2.5.4.11"),
			EmailAddress: part("1.2.840.113549.1.9.1")}})
	return nil, err
}

type caArgs struct {
	CaName string
	Bits   int64 `default:"2048"`
	Days   any   `default:"365"`
	subjectOf
	Fixmode    any `default:"False"`
	CacertPath any `default:"None"`
	CaFilename any `default:"None"`
	Digest     any `default:"'sha256'"`
	Onlyif     any `default:"None"`
	Unless     any `default:"None"`
	Replace    any `default:"False"`
}

// createCa creates an authority: a private key and a self-signed certificate. An existing key is used
// again.
//
// ca_name
//
//	The name of its directory.
//
// bits
//
//	The size of the RSA key.
//
// days
//
//	How long the certificate is valid.
//
// CN, C, ST, L, O, OU, emailAddress
//
//	The name in the certificate.
//
// cacert_path
//
//	The directory of authorities. Default: that of the option ca.cert_base_path, or /etc/pki.
//
// ca_filename
//
//	The name of its files. Default: that of the authority with _ca_cert.
//
// digest
//
//	The hash of the signature.
//
// onlyif, unless
//
//	A command, or a truth: without it, or with it, nothing is done.
//
// replace
//
//	True: also if there is one.
//
// CLI Example:
//
//	salt '*' tls.create_ca test_ca
func (m *module) createCa(ctx context.Context, a caArgs) (any, error) {
	if wanted, err := m.wanted(ctx, a.Onlyif, a.Unless); err != nil || !wanted {
		return nil, err
	}
	where, err := m.authority(ctx, a.CaName, a.CacertPath, a.CaFilename)
	if err != nil {
		return nil, err
	}
	fix := data.Truth(a.Fixmode)
	if !data.Truth(a.Replace) && !fix {
		there, err := m.caExists(ctx, existsArgs{CaName: a.CaName, CaFilename: a.CaFilename})
		if err != nil {
			return nil, err
		}
		if there == true {
			return "Certificate for CA named \"" + a.CaName + "\" already exists", nil
		}
	}
	if fix && !m.exists(where.cert) {
		return nil, loader.Exception("ValueError", "%s does not exists, can't fix", where.cert)
	}
	if err := m.mkdir(where.dir()); err != nil {
		return nil, err
	}
	key, err := m.caKey(where, a.Bits)
	if err != nil {
		return nil, err
	}
	if err := m.writeCa(where, a, key); err != nil {
		return nil, err
	}
	stem := strings.TrimSuffix(where.cert, ".crt")
	return "Created Private Key: \"" + stem + ".key\" Created CA \"" + a.CaName + "\": \"" + stem + ".crt\"", nil
}

// wanted decides by the conditions of create_ca.
func (m *module) wanted(ctx context.Context, onlyif, unless any) (bool, error) {
	holds := func(v any) (bool, error) {
		if line, ok := v.(string); ok {
			return calls.Succeeds(ctx, m.env, calls.Run{Line: line, Shell: calls.CmdDecides})
		}
		return data.Truth(v), nil
	}
	if onlyif != nil {
		if ok, err := holds(onlyif); err != nil || !ok {
			return false, err
		}
	}
	if unless != nil {
		if ok, err := holds(unless); err != nil || ok {
			return false, err
		}
	}
	return true, nil
}

// caKey returns the text of the key of an authority: the existing one, or a new one. An existing one
// that cannot be read is kept under another name.
func (m *module) caKey(where authority, bits int64) (string, error) {
	text, err := os.ReadFile(m.reader.Path(where.key))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", loader.OSError(err)
	default:
		key, _, err := m.reader.Key(string(text), nil)
		if err == nil {
			return keyText(key)
		}
		m.env.Log.WithError(err).Warnf("read the private key %s; a new one is made", where.key)
		if err := os.Rename(m.reader.Path(where.key), m.reader.Path(where.key)+".unloadable."+now()); err != nil {
			return "", loader.OSError(err)
		}
	}
	_, fresh, err := newKey(bits)
	return fresh, err
}

// writeCa writes the key and the certificate of an authority.
func (m *module) writeCa(where authority, a caArgs, key string) error {
	args := a.words()
	args.Update(data.NewMap("signing_private_key", key, "basicConstraints", "critical, CA:TRUE, pathlen:0",
		"keyUsage", "critical, keyCertSign, cRLSign", "subjectKeyIdentifier", "hash"))
	if err := days(args, a.Days); err != nil {
		return err
	}
	c, err := m.reader.Cert(args, false)
	if err != nil {
		return err
	}
	if err := ownAuthority(c.Cert); err != nil {
		return err
	}
	if err := c.Sign(a.Digest); err != nil {
		return err
	}
	old, err := os.ReadFile(m.reader.Path(where.key))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return loader.OSError(err)
	}
	if same := strings.TrimSpace(string(old)) == strings.TrimSpace(key); len(old) > 0 && !same {
		if err := m.write(where.key+"."+now(), old, secret); err != nil {
			return err
		}
	}
	if err := m.write(where.key, []byte(key), secret); err != nil {
		return err
	}
	if err := m.write(where.cert, c.Cert.PEM(), public); err != nil {
		return err
	}
	return m.record(where.dir(), where.name, c.Cert)
}

// ownAuthority adds the extension authorityKeyIdentifier to a self-signed certificate: its own key, name
// and serial number.
func ownAuthority(c *certificate.Certificate) error {
	der, err := asn1.Marshal(certificate.Authority{KeyID: c.KeyID(), Serial: c.TBS.Serial,
		Issuer: []asn1.RawValue{certificate.GeneralDirectory(c.TBS.Subject.FullBytes)}})
	if err != nil {
		return loader.Execution("encode authorityKeyIdentifier: %w", err)
	}
	oid, _ := certificate.ParseOID(certificate.OIDAuthorityKeyID)
	c.TBS.Extensions = append(c.TBS.Extensions, pkix.Extension{Id: oid, Value: der})
	return nil
}

type getCaArgs struct {
	CaName     string
	AsText     any `default:"False"`
	CacertPath any `default:"None"`
}

// getCa returns the path of the certificate of an authority, or its text.
//
// as_text
//
//	True: the text.
//
// CLI Example:
//
//	salt '*' tls.get_ca test_ca as_text=False cacert_path=/etc/certs
func (m *module) getCa(ctx context.Context, a getCaArgs) (any, error) {
	where, err := m.authority(ctx, a.CaName, a.CacertPath, nil)
	if err != nil {
		return nil, err
	}
	return m.get(where.cert, a.AsText, "Certificate does not exist for "+a.CaName)
}

// get returns a path or the text of its file. none is the error if there is no file.
func (m *module) get(path string, asText any, none string) (any, error) {
	if !m.exists(path) {
		return nil, loader.Exception("ValueError", "%s", none)
	}
	if !data.Truth(asText) {
		return path, nil
	}
	text, err := os.ReadFile(m.reader.Path(path))
	return string(text), loader.OSError(err)
}

type getCertArgs struct {
	CaName       string
	CN           string `name:"CN" default:"'localhost'"`
	AsText       any    `default:"False"`
	CacertPath   any    `default:"None"`
	CertFilename any    `default:"None"`
}

// getCaSignedCert returns the path of a certificate of an authority, or its text.
//
// as_text
//
//	True: the text.
//
// cert_filename
//
//	The name of its file. Default: CN.
//
// CLI Example:
//
//	salt '*' tls.get_ca_signed_cert test_ca CN=localhost as_text=False cacert_path=/etc/certs
func (m *module) getCaSignedCert(ctx context.Context, a getCertArgs) (any, error) {
	return m.getSigned(ctx, a, ".crt")
}

func (m *module) getSigned(ctx context.Context, a getCertArgs, ending string) (any, error) {
	where, err := m.authority(ctx, a.CaName, a.CacertPath, nil)
	file := calls.Text(a.CertFilename)
	if file == "" {
		file = a.CN
	}
	if err == nil {
		err = plain(file)
	}
	if err != nil {
		return nil, err
	}
	return m.get(where.certs()+"/"+file+ending, a.AsText, "Certificate does not exists for "+a.CN)
}

type getKeyArgs struct {
	CaName      string
	CN          string `name:"CN" default:"'localhost'"`
	AsText      any    `default:"False"`
	CacertPath  any    `default:"None"`
	KeyFilename any    `default:"None"`
}

// getCaSignedKey returns the path of the private key of a certificate, or its text.
//
// as_text
//
//	True: the text.
//
// key_filename
//
//	The name of its file. Default: CN.
//
// CLI Example:
//
//	salt '*' tls.get_ca_signed_key test_ca CN=localhost as_text=False cacert_path=/etc/certs
func (m *module) getCaSignedKey(ctx context.Context, a getKeyArgs) (any, error) {
	return m.getSigned(ctx, getCertArgs{a.CaName, a.CN, a.AsText, a.CacertPath, a.KeyFilename}, ".key")
}
