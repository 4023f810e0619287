package x509v2

import (
	"context"
	"crypto"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
	"github.com/brineproject/brine/loader"
)

// certEncodings returns the encodings of certificates.
func certEncodings() []string { return []string{"der", "pem", "pkcs7_der", "pkcs7_pem", "pkcs12"} }

func checkEncoding(v string, valid ...string) error {
	if slices.Contains(valid, v) {
		return nil
	}
	return loader.Execution("Invalid value '%s' for encoding. Valid: %s", v,
		strings.Join(valid, ", "))
}

// out returns encoded bytes as the result of a function: unchanged, as text, or in base64.
func out(b []byte, encoding string, raw bool) any {
	switch {
	case raw:
		return b
	case encoding == "pem", encoding == "pkcs7_pem":
		return string(b)
	}
	return base64.StdEncoding.EncodeToString(b)
}

type encodeCertArgs struct {
	Certificate            any
	Encoding               string `default:"'pem'"`
	AppendCerts            any    `default:"None"`
	PrivateKey             any    `default:"None"`
	PrivateKeyPassphrase   any    `default:"None"`
	Pkcs12Passphrase       any    `default:"None"`
	Pkcs12EncryptionCompat bool   `default:"False"`
	Pkcs12Friendlyname     any    `default:"None"`
	Raw                    bool   `default:"False"`
}

// encodeCertificate returns a certificate in another encoding, optionally with further certificates
// or its private key.
//
// certificate
//
//	The certificate: a path, PEM, hexadecimal, base64, or bytes, in any encoding.
//
// encoding
//
//	pem, der, pkcs7_pem, pkcs7_der or pkcs12. Binary encodings are returned in base64.
//
// append_certs
//
//	Certificates to append; not with der.
//
// private_key, private_key_passphrase
//
//	The key for pkcs12, which requires one.
//
// pkcs12_passphrase, pkcs12_encryption_compat, pkcs12_friendlyname
//
//	The passphrase that encrypts the container; whether to use Triple DES for old systems; the
//	name of the certificate.
//
// raw
//
//	Return bytes.
//
// CLI Example:
//
//	salt '*' x509.encode_certificate /etc/pki/my.crt pem /etc/pki/ca.crt
func (m *module) encodeCertificate(_ context.Context, a encodeCertArgs) (any, error) {
	if err := checkEncoding(a.Encoding, certEncodings()...); err != nil {
		return nil, err
	}
	if a.Encoding == "der" && data.Truth(a.AppendCerts) {
		return nil, loader.Invocation("Cannot encode a certificate chain in DER")
	}
	if a.Encoding != "pkcs12" && data.Truth(a.PrivateKey) {
		return nil, loader.Invocation("Embedding private keys is only supported for pkcs12 encoding")
	}
	if a.Encoding == "pkcs12" && !data.Truth(a.PrivateKey) {
		return nil, errNoKey()
	}
	cert, err := m.reader().Certificate(a.Certificate)
	if err != nil {
		return nil, err
	}
	p := packing{Encoding: a.Encoding, passphrase: a.Pkcs12Passphrase,
		compat: a.Pkcs12EncryptionCompat, name: a.Pkcs12Friendlyname}
	if p.chain, err = m.chain(a.AppendCerts); err != nil {
		return nil, err
	}
	if a.Encoding == "pkcs12" {
		if p.key, _, err = m.reader().Key(a.PrivateKey, a.PrivateKeyPassphrase); err != nil {
			return nil, err
		}
	}
	b, err := p.pack(cert)
	return out(b, a.Encoding, a.Raw), err
}

func errNoKey() error {
	return loader.Invocation("Creating a PKCS12-encoded certificate without embedded private key is unsupported")
}

// chain reads the certificates to append. A single one need not be in a list.
func (m *module) chain(v any) ([]*certificate.Certificate, error) {
	if !data.Truth(v) {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var chain []*certificate.Certificate
	for _, one := range list {
		c, err := m.reader().Certificate(one)
		if err != nil {
			return nil, err
		}
		chain = append(chain, c)
	}
	return chain, nil
}

// packing holds the settings for the encoding of a certificate.
type packing struct {
	Encoding   string
	chain      []*certificate.Certificate
	key        crypto.Signer
	passphrase any
	compat     bool
	name       any
}

func (p packing) pack(c *certificate.Certificate) ([]byte, error) {
	switch p.Encoding {
	case "der":
		return c.Raw, nil
	case "pem":
		b := c.PEM()
		for _, one := range p.chain {
			b = append(append(b, '\n'), one.PEM()...)
		}
		return b, nil
	case "pkcs12":
		name, _ := p.name.(string)
		s := certificate.Store{Key: p.key, Cert: c, FriendlyName: name, Chain: p.chain}
		return wrapped(s.Marshal(draft.Secret(p.passphrase), p.compat))
	}
	der, err := wrapped(certificate.MarshalBundle(append([]*certificate.Certificate{c},
		p.chain...)))
	if err == nil && p.Encoding == "pkcs7_pem" {
		return certificate.BundlePEM(der), nil
	}
	return der, err
}

// wrapped converts an error of a library to Salt's exception.
func wrapped(b []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	return b, nil
}

type encodeCRLArgs struct {
	Crl      any
	Encoding string `default:"'pem'"`
	Raw      bool   `default:"False"`
}

// encodeCrl returns a revocation list in another encoding: pem, or der, which is returned in
// base64.
//
// CLI Example:
//
//	salt '*' x509.encode_crl /etc/pki/my.crl der
func (m *module) encodeCrl(_ context.Context, a encodeCRLArgs) (any, error) {
	if err := checkEncoding(a.Encoding, "der", "pem"); err != nil {
		return nil, err
	}
	l, _, err := m.reader().List(a.Crl)
	if err != nil {
		return nil, err
	}
	return encoded(l.Raw, l.PEM, a.Encoding, a.Raw), nil
}

func encoded(der []byte, text func() []byte, encoding string, raw bool) any {
	if encoding == "pem" {
		der = text()
	}
	return out(der, encoding, raw)
}

type encodeCSRArgs struct {
	Csr      any
	Encoding string `default:"'pem'"`
	Raw      bool   `default:"False"`
}

// encodeCsr returns a certificate request in another encoding: pem, or der, which is returned in
// base64.
//
// CLI Example:
//
//	salt '*' x509.encode_csr /etc/pki/my.csr der
func (m *module) encodeCsr(_ context.Context, a encodeCSRArgs) (any, error) {
	if err := checkEncoding(a.Encoding, "der", "pem"); err != nil {
		return nil, err
	}
	q, _, err := m.reader().Request(a.Csr)
	if err != nil {
		return nil, err
	}
	return encoded(q.Raw, q.PEM, a.Encoding, a.Raw), nil
}

type encodeKeyArgs struct {
	PrivateKey             any
	Encoding               string `default:"'pem'"`
	Passphrase             any    `default:"None"`
	PrivateKeyPassphrase   any    `default:"None"`
	Pkcs12EncryptionCompat bool   `default:"False"`
	Raw                    bool   `default:"False"`
}

// encodePrivateKey returns a private key in another encoding. private_key_passphrase decrypts the
// given key.
//
// encoding
//
//	pem, der or pkcs12. Binary encodings are returned in base64.
//
// passphrase, pkcs12_encryption_compat
//
//	The passphrase that encrypts the result; whether pkcs12 uses Triple DES for old systems.
//
// CLI Example:
//
//	salt '*' x509.encode_private_key /etc/pki/my.key der
func (m *module) encodePrivateKey(_ context.Context, a encodeKeyArgs) (any, error) {
	if err := checkEncoding(a.Encoding, "der", "pem", "pkcs12"); err != nil {
		return nil, err
	}
	key, _, err := m.reader().Key(a.PrivateKey, a.PrivateKeyPassphrase)
	if err != nil {
		return nil, err
	}
	b, err := packKey(key, a.Encoding, draft.Secret(a.Passphrase), a.Pkcs12EncryptionCompat)
	return out(b, a.Encoding, a.Raw), err
}

func packKey(key crypto.Signer, encoding string, passphrase *string, compat bool) ([]byte, error) {
	if encoding == "pkcs12" {
		s := certificate.Store{Key: key}
		return wrapped(s.Marshal(passphrase, compat))
	}
	der, err := wrapped(certificate.MarshalKey(key, passphrase))
	if err == nil && encoding == "pem" {
		return certificate.KeyPEM(der, passphrase != nil), nil
	}
	return der, err
}
