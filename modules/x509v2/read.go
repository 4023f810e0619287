package x509v2

import (
	"context"
	"crypto"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509/pkix"
	"encoding/asn1"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
	"github.com/brineproject/brine/loader"
)

const commonName = "2.5.4.3"

type certificateArgs struct{ Certificate any }

// readCertificate returns the contents of a certificate: version, names, times, fingerprints,
// public key and extensions.
//
// CLI Example:
//
//	salt '*' x509.read_certificate /etc/pki/mycert.crt
func (m *module) readCertificate(_ context.Context, a certificateArgs) (any, error) {
	return m.read(a.Certificate)
}

func (m *module) read(v any) (any, error) {
	c, err := m.reader().Certificate(v)
	if err != nil {
		return nil, err
	}
	key, err := c.PublicKey()
	if err != nil {
		return nil, loader.Execution("read a public key: %w", err)
	}
	public, err := certificate.PublicPEM(key)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	sum1, sum2 := sha1.Sum(c.Raw), sha256.Sum256(c.Raw)
	prints := data.NewMap("sha1", certificate.Hex(sum1[:]), "sha256", certificate.Hex(sum2[:]))
	if m.env.Option("fips_mode") != true {
		sum := md5.Sum(c.Raw)
		prints.Set("md5", certificate.Hex(sum[:]))
	}
	ret := data.NewMap("version", int64(c.TBS.Version+1), "key_size", sizeOf(key),
		"key_type", certificate.KindOf(key), "serial_number", draft.SerialText(c.TBS.Serial),
		"fingerprints", prints)
	if err := setName(ret, "subject", c.TBS.Subject); err != nil {
		return nil, err
	}
	if err := setName(ret, "issuer", c.TBS.Issuer); err != nil {
		return nil, err
	}
	ret.Update(data.NewMap("not_before", c.TBS.Validity.NotBefore.UTC().Format(draft.Layout),
		"not_after", c.TBS.Validity.NotAfter.UTC().Format(draft.Layout),
		"public_key", string(public), "extensions", showAll(c.TBS.Extensions, certKind),
		"signature_algorithm", word(c.Algorithm.Algorithm)))
	return ret, nil
}

// sizeOf returns the size of a key in bits, None for key types with a fixed size.
func sizeOf(key crypto.PublicKey) any {
	if n := certificate.Size(key); n > 0 {
		return int64(n)
	}
	return nil
}

// word returns the name of an object identifier, or its numbers if it has none.
func word(oid asn1.ObjectIdentifier) string {
	if w := certificate.Word(oid.String()); w != "" {
		return w
	}
	return oid.String()
}

// setName adds a name, its hash and its text to a result.
func setName(ret *data.Map, title string, raw asn1.RawValue) error {
	n, err := certificate.ParseName(raw.FullBytes)
	if err != nil {
		return loader.Execution("%w", err)
	}
	ret.Set(title, draft.Words(n))
	sum := sha1.Sum(raw.FullBytes)
	ret.Set(title+"_hash", certificate.Hex([]byte{sum[3], sum[2], sum[1], sum[0]}))
	ret.Set(title+"_str", n.String())
	return nil
}

// readCertificates returns the contents of the certificates whose files match a pattern.
//
// CLI Example:
//
//	salt '*' x509.read_certificates "/etc/pki/*.crt"
func (m *module) readCertificates(_ context.Context, a globArgs) (any, error) {
	return m.each(a.GlobPath, func(path string) (any, error) { return m.read(path) })
}

type crlArgs struct{ Crl any }

// readCrl returns the contents of a revocation list: the issuer, the times, the revoked
// certificates, and the extensions.
//
// CLI Example:
//
//	salt '*' x509.read_crl /etc/pki/my.crl
func (m *module) readCrl(_ context.Context, a crlArgs) (any, error) {
	l, _, err := m.reader().List(a.Crl)
	if err != nil {
		return nil, err
	}
	issuer, err := certificate.ParseName(l.TBS.Issuer.FullBytes)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	ret := data.NewMap("issuer", draft.Words(issuer),
		"last_update", l.TBS.ThisUpdate.UTC().Format(draft.Layout), "next_update", nil)
	if !l.TBS.NextUpdate.IsZero() {
		ret.Set("next_update", l.TBS.NextUpdate.UTC().Format(draft.Layout))
	}
	revoked := data.NewMap()
	for _, r := range l.TBS.Revoked {
		revoked.Set(strings.ReplaceAll(draft.SerialText(r.Serial), ":", ""),
			data.NewMap("revocation_date", r.Time.UTC().Format(draft.Layout),
				"extensions", showAll(r.Extensions, entryKind)))
	}
	ret.Set("revoked_certificates", revoked)
	ret.Set("extensions", showAll(l.TBS.Extensions, certKind))
	ret.Set("signature_algorithm", word(l.Algorithm.Algorithm))
	return ret, nil
}

type csrArgs struct{ Csr any }

// readCsr returns the contents of a certificate request.
//
// CLI Example:
//
//	salt '*' x509.read_csr /etc/pki/mycert.csr
func (m *module) readCsr(_ context.Context, a csrArgs) (any, error) {
	q, _, err := m.reader().Request(a.Csr)
	if err != nil {
		return nil, err
	}
	key, err := q.PublicKey()
	if err != nil {
		return nil, loader.Execution("read a public key: %w", err)
	}
	id, err := certificate.PublicID(key)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	var list []pkix.Extension
	if list, err = q.Extensions(); err != nil {
		return nil, loader.Execution("%w", err)
	}
	ret := data.NewMap("key_size", sizeOf(key), "key_type", certificate.KindOf(key))
	if err := setName(ret, "subject", q.Info.Subject); err != nil {
		return nil, err
	}
	ret.Set("public_key_hash", certificate.Hex(id))
	ret.Set("extensions", showAll(list, certKind))
	return ret, nil
}

type expiresArgs struct {
	Certificate any
	Days        any `default:"0"`
}

// expires reports whether a certificate will have expired after the given number of days.
//
// CLI Example:
//
//	salt '*' x509.expires /etc/pki/my.crt days=7
func (m *module) expires(_ context.Context, a expiresArgs) (any, error) {
	c, err := m.reader().Certificate(a.Certificate)
	if err != nil {
		return nil, err
	}
	return ends(c, a.Days)
}

func ends(c *certificate.Certificate, days any) (bool, error) {
	n, err := draft.Days(days, 0)
	return !c.TBS.Validity.NotAfter.After(time.Now().AddDate(0, 0, n)), err
}

// expired reports whether a certificate has expired. The result also has its CN, and its path if it
// has one.
//
// CLI Example:
//
//	salt '*' x509.expired /etc/pki/mycert.crt
func (m *module) expired(_ context.Context, a certificateArgs) (any, error) {
	return m.ending(a.Certificate, data.NewMap(), "expired", int64(0))
}

type willExpireArgs struct {
	Certificate any
	Days        any
}

// willExpire reports whether a certificate will have expired after the given number of days. The
// result also has its CN, and its path if it has one.
//
// CLI Example:
//
//	salt '*' x509.will_expire "/etc/pki/mycert.crt" days=30
func (m *module) willExpire(_ context.Context, a willExpireArgs) (any, error) {
	return m.ending(a.Certificate, data.NewMap("check_days", a.Days), "will_expire", a.Days)
}

func (m *module) ending(v any, ret *data.Map, title string, days any) (any, error) {
	if m.reader().IsFile(v) {
		ret.Set("path", v)
	}
	c, err := m.reader().Certificate(v)
	if err != nil {
		return nil, err
	}
	subject, err := certificate.ParseName(c.TBS.Subject.FullBytes)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	if cn, ok := subject.First(commonName); ok {
		ret.Set("cn", cn)
	}
	gone, err := ends(c, days)
	ret.Set(title, gone)
	return ret, err
}

type keySizeArgs struct {
	PrivateKey any
	Passphrase any `default:"None"`
}

// getPrivateKeySize returns the size of an RSA key, or of the curve of another key, in bits. It
// returns None for Ed25519.
//
// CLI Example:
//
//	salt '*' x509.get_private_key_size /etc/pki/my.key
func (m *module) getPrivateKeySize(_ context.Context, a keySizeArgs) (any, error) {
	key, _, err := m.reader().Key(a.PrivateKey, a.Passphrase)
	if err != nil {
		return nil, err
	}
	return sizeOf(key.Public()), nil
}

type publicKeyArgs struct {
	Key        any
	Passphrase any `default:"None"`
	AsObj      any `name:"asObj" default:"None"`
}

// getPublicKey returns the public key of a public key, a certificate, a private key or a request,
// as PEM.
//
// CLI Example:
//
//	salt '*' x509.get_public_key /etc/pki/my.key
func (m *module) getPublicKey(_ context.Context, a publicKeyArgs) (any, error) {
	key, err := m.reader().PublicKeyOf(a.Key, a.Passphrase)
	if err != nil {
		return nil, err
	}
	b, err := wrapped(certificate.PublicPEM(key))
	return string(b), err
}

type verifyCRLArgs struct{ Crl, Cert any }

// verifyCrl reports whether the owner of a certificate signed a revocation list. Instead of the
// certificate it accepts whatever get_public_key does.
//
// CLI Example:
//
//	salt '*' x509.verify_crl /etc/pki/my.crl /etc/pki/my.crt
func (m *module) verifyCrl(_ context.Context, a verifyCRLArgs) (any, error) {
	l, _, err := m.reader().List(a.Crl)
	if err != nil {
		return nil, err
	}
	key, err := m.reader().PublicKeyOf(a.Cert, nil)
	return err == nil && l.SignedBy(key), err
}

type verifyKeyArgs struct {
	PrivateKey any
	PublicKey  any
	Passphrase any `default:"None"`
}

// verifyPrivateKey reports whether a private key belongs to a certificate. Instead of the
// certificate it accepts whatever get_public_key does.
//
// CLI Example:
//
//	salt '*' x509.verify_private_key /etc/pki/my.key /etc/pki/my.crt
func (m *module) verifyPrivateKey(_ context.Context, a verifyKeyArgs) (any, error) {
	private, _, err := m.reader().Key(a.PrivateKey, a.Passphrase)
	if err != nil {
		return nil, err
	}
	public, err := m.reader().PublicKeyOf(a.PublicKey, nil)
	return err == nil && certificate.Same(private.Public(), public), err
}

type verifySignatureArgs struct {
	Certificate             any
	SigningPubKey           any `default:"None"`
	SigningPubKeyPassphrase any `default:"None"`
}

// verifySignature reports whether a key signed a certificate. Default: the certificate's own key.
//
// CLI Example:
//
//	salt '*' x509.verify_signature /etc/pki/my.key /etc/pki/my.crt
func (m *module) verifySignature(_ context.Context, a verifySignatureArgs) (any, error) {
	c, err := m.reader().Certificate(a.Certificate)
	if err != nil {
		return nil, err
	}
	signing := a.SigningPubKey
	if !data.Truth(signing) {
		signing = a.Certificate
	}
	key, err := m.reader().PublicKeyOf(signing, a.SigningPubKeyPassphrase)
	return err == nil && c.SignedBy(key), err
}
