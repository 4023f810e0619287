// Package x509 is Salt's module x509: keys, certificates, requests and revocation lists
// (salt/modules/x509.py). Extension values have the syntax of OpenSSL's configuration.
//
// Differences from Salt: neither M2Crypto nor the program openssl is needed. Elliptic curve keys,
// Ed25519 keys and encrypted PKCS#8 keys can be read. Texts in a subject are encoded in UTF-8 once,
// not twice. Extensions of a request are read regardless of the OpenSSL release, and a request has
// the version of RFC 2986 unless one is given. The issuer in read_crl is split into its fields.
// Serial numbers are not cut to 63 bits. A revocation list without a digest is signed with SHA-256,
// and has version 2 if it contains reasons. get_signing_policy returns neither the key nor its
// passphrase. If the option features contains x509_v2, package x509v2 provides the module.
// sign_remote_certificate accepts from another minion neither paths of keys and requests nor a
// signing key.
package x509

import (
	"context"
	"crypto"
	"errors"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module x509.
func Plugin() loader.Plugin { return loader.Plugin{Name: "x509", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	features, _ := env.Option("features").(*data.Map)
	if data.Truth(features.Value("x509_v2")) {
		return nil, errors.New("Superseded, using x509_v2") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	secrets := []string{"passphrase", "signing_private_key_passphrase", "public_key_passphrase",
		"private_key_passphrase", "signing_private_key", "private_key"}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("create_certificate", m.createCertificate).Secret(secrets...),
		loader.F("create_crl", m.createCrl).Secret(secrets...),
		loader.F("create_csr", m.createCsr).Secret(secrets...),
		loader.F("create_private_key", m.createPrivateKey).Secret(secrets...),
		loader.F("expired", m.expired),
		loader.F("get_pem_entries", m.getPemEntries),
		loader.F("get_pem_entry", m.getPemEntry),
		loader.F("get_private_key_size", m.getPrivateKeySize).Secret(secrets...),
		loader.F("get_public_key", m.getPublicKey).Secret(secrets...),
		loader.F("get_signing_policy", m.getSigningPolicy),
		loader.F("read_certificate", m.readCertificate),
		loader.F("read_certificates", m.readCertificates),
		loader.F("read_crl", m.readCrl),
		loader.F("read_csr", m.readCsr),
		loader.F("sign_remote_certificate", m.signRemoteCertificate),
		loader.F("verify_crl", m.verifyCrl),
		loader.F("verify_private_key", m.verifyPrivateKey).Secret(secrets...),
		loader.F("verify_signature", m.verifySignature).Secret("signing_pub_key_passphrase"),
		loader.F("will_expire", m.willExpire),
		loader.F("write_pem", m.writePem),
	}}, nil
}

type entryArgs struct {
	Text    any
	PemType any `default:"None"`
}

// getPemEntry returns a PEM block with normalized lines. The argument is a path or a text, which
// may have lost its line ends.
//
// pem_type
//
//	The type of the block to return, such as CERTIFICATE.
//
// CLI Example:
//
//	salt '*' x509.get_pem_entry /etc/pki/www.pem pem_type=CERTIFICATE
func (m *module) getPemEntry(_ context.Context, a entryArgs) (any, error) {
	text, err := m.entry(a.Text, data.Str(orEmpty(a.PemType)))
	if err != nil {
		return nil, err
	}
	return []byte(text), nil
}

type globArgs struct{ GlobPath string }

// getPemEntries returns the first PEM block of each file that matches a pattern.
//
// CLI Example:
//
//	salt '*' x509.get_pem_entries "/etc/pki/*.crt"
func (m *module) getPemEntries(_ context.Context, a globArgs) (any, error) {
	return m.each(a.GlobPath, func(path string) (any, error) {
		text, err := m.entry(path, "")
		return []byte(text), err
	})
}

func (m *module) each(pattern string, read func(path string) (any, error)) (any, error) {
	paths, err := m.glob(pattern)
	if err != nil {
		return nil, err
	}
	ret := data.NewMap()
	for _, path := range paths {
		v, err := read(path)
		if err != nil {
			return nil, err
		}
		ret.Set(path, v)
	}
	return ret, nil
}

type certificateArgs struct{ Certificate any }

// readCertificate returns the contents of a certificate: version, names, times, fingerprints,
// public key and extensions. The argument is a path or PEM text.
//
// CLI Example:
//
//	salt '*' x509.read_certificate /etc/pki/www.crt
func (m *module) readCertificate(_ context.Context, a certificateArgs) (any, error) {
	return m.read(a.Certificate)
}

func (m *module) read(certificate any) (any, error) {
	c, err := m.certificate(certificate)
	if err != nil {
		return nil, err
	}
	return showCertificate(c, data.Truth(m.env.Option("fips_mode")))
}

// readCertificates returns the contents of the certificates whose files match a pattern.
//
// CLI Example:
//
//	salt '*' x509.read_certificates "/etc/pki/*.crt"
func (m *module) readCertificates(_ context.Context, a globArgs) (any, error) {
	return m.each(a.GlobPath, func(path string) (any, error) { return m.read(path) })
}

type csrArgs struct{ Csr any }

// readCsr returns the contents of a certificate request. The argument is a path or PEM text.
//
// CLI Example:
//
//	salt '*' x509.read_csr /etc/pki/www.csr
func (m *module) readCsr(_ context.Context, a csrArgs) (any, error) {
	r, err := m.request(a.Csr)
	if err != nil {
		return nil, err
	}
	return showRequest(r)
}

type crlArgs struct{ Crl any }

// readCrl returns the contents of a revocation list: the issuer, the times, and the revoked
// certificates. The argument is a path or PEM text.
//
// CLI Example:
//
//	salt '*' x509.read_crl /etc/pki/ca.crl
func (m *module) readCrl(_ context.Context, a crlArgs) (any, error) {
	l, err := m.list(a.Crl)
	if err != nil {
		return nil, err
	}
	return showList(l)
}

type publicKeyArgs struct {
	Key        any
	Passphrase any `default:"None"`
	AsObj      any `name:"asObj" default:"False"`
}

// getPublicKey returns the public key of a certificate, a request, a private key or a public key.
// The argument is a path or PEM text.
//
// CLI Example:
//
//	salt '*' x509.get_public_key /etc/pki/www.crt
func (m *module) getPublicKey(_ context.Context, a publicKeyArgs) (any, error) {
	key, err := m.publicKey(a.Key, a.Passphrase)
	if err != nil {
		return nil, err
	}
	return publicPEM(key)
}

type keySizeArgs struct {
	PrivateKey any
	Passphrase any `default:"None"`
}

// getPrivateKeySize returns the size of a private key in bits.
//
// CLI Example:
//
//	salt '*' x509.get_private_key_size /etc/pki/www.key
func (m *module) getPrivateKeySize(_ context.Context, a keySizeArgs) (any, error) {
	key, err := m.privateKey(a.PrivateKey, a.Passphrase)
	if err != nil {
		return nil, err
	}
	return keyBits(key.Public()), nil
}

type writeArgs struct {
	Text      any
	Path      string
	Overwrite bool `default:"True"`
	PemType   any  `default:"None"`
}

// writePem writes a PEM block to a file. A new file is accessible only to its owner.
//
// overwrite
//
//	False keeps a private key and DH parameters in the file beside a certificate.
//
// CLI Example:
//
//	salt '*' x509.write_pem /tmp/www.crt path=/etc/pki/www.crt pem_type=CERTIFICATE
func (m *module) writePem(_ context.Context, a writeArgs) (any, error) {
	return m.writePEM(a.Text, a.Path, a.Overwrite, data.Str(orEmpty(a.PemType)))
}

// target checks that a result has exactly one destination: a path or the caller.
func target(path any, text bool) error {
	switch {
	case !data.Truth(path) && !text:
		return loader.Invocation("Either path or text must be specified.")
	case data.Truth(path) && text:
		return loader.Invocation("Either path or text must be specified, not both.")
	}
	return nil
}

type createKeyArgs struct {
	Path       any    `default:"None"`
	Text       bool   `default:"False"`
	Bits       any    `default:"2048"`
	Passphrase any    `default:"None"`
	Cipher     string `default:"'aes_128_cbc'"`
	Verbose    any    `default:"True"`
}

// createPrivateKey creates an RSA key and writes it to a path, or returns it.
//
// passphrase, cipher
//
//	To encrypt the key: des_cbc, des_ede3_cbc, aes_128_cbc, aes_192_cbc or aes_256_cbc.
//
// CLI Example:
//
//	salt '*' x509.create_private_key path=/etc/pki/www.key bits=4096
func (m *module) createPrivateKey(_ context.Context, a createKeyArgs) (any, error) {
	if err := target(a.Path, a.Text); err != nil {
		return nil, err
	}
	size, err := toInt(a.Bits)
	if err != nil {
		return nil, loader.TypeError("bits: %w", err)
	}
	if size > 16384 {
		return nil, loader.Invocation("A key of %d bits is larger than 16384 bits", size)
	}
	text, err := newKey(size, a.Passphrase, a.Cipher)
	if err != nil || a.Text {
		return text, err
	}
	return m.writePEM(text, data.Str(a.Path), true, keyKind)
}

type createCSRArgs struct {
	Path   any       `default:"None"`
	Text   bool      `default:"False"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// createCsr creates a certificate request and writes it to a path, or returns it.
//
// private_key, private_key_passphrase, public_key, algorithm
//
//	The signing key; the public key, if it is another one; the hash algorithm, by default
//	sha256.
//
// The arguments for subjects and extensions are those of create_certificate.
//
// CLI Example:
//
//	salt '*' x509.create_csr path=/etc/pki/www.csr private_key=/etc/pki/www.key CN=www.example.com
func (m *module) createCsr(_ context.Context, a createCSRArgs) (any, error) {
	if err := target(a.Path, a.Text); err != nil {
		return nil, err
	}
	r, err := m.newRequest(a.Kwargs.Clone())
	if err != nil {
		return nil, err
	}
	text := encodePEM(requestKind, r.Raw)
	if a.Text {
		return []byte(text), nil
	}
	return m.writePEM(text, data.Str(a.Path), true, requestKind)
}

type createCRLArgs struct {
	Path                        any    `default:"None"`
	Text                        bool   `default:"False"`
	SigningPrivateKey           any    `default:"None"`
	SigningPrivateKeyPassphrase any    `default:"None"`
	SigningCert                 any    `default:"None"`
	Revoked                     any    `default:"None"`
	IncludeExpired              bool   `default:"False"`
	DaysValid                   any    `default:"100"`
	Digest                      string `default:"''"`
}

// createCrl creates a revocation list and writes it to a path, or returns it.
//
// revoked
//
//	A list of dictionaries: certificate, or serial_number and not_after; revocation_date;
//	reason. Times have the form 2015-03-01 00:00:00.
//
// include_expired
//
//	Also list certificates that have expired.
//
// CLI Example:
//
//	salt '*' x509.create_crl path=/etc/pki/ca.crl signing_private_key=/etc/pki/ca.key signing_cert=/etc/pki/ca.crt \
//	    revoked="[{'certificate': '/etc/pki/www.crt'}]"
func (m *module) createCrl(_ context.Context, a createCRLArgs) (any, error) {
	if err := target(a.Path, a.Text); err != nil {
		return nil, err
	}
	l, err := m.newList(a)
	if err != nil {
		return nil, err
	}
	text := encodePEM(crlKind, l.Raw)
	if a.Text {
		return []byte(text), nil
	}
	return m.writePEM(text, data.Str(a.Path), true, crlKind)
}

type verifyKeyArgs struct {
	PrivateKey any
	PublicKey  any
	Passphrase any `default:"None"`
}

// verifyPrivateKey reports whether a private key belongs to a certificate, a request or another
// key.
//
// CLI Example:
//
//	salt '*' x509.verify_private_key private_key=/etc/pki/ca.key public_key=/etc/pki/ca.crt
func (m *module) verifyPrivateKey(_ context.Context, a verifyKeyArgs) (any, error) {
	private, err := m.publicKey(a.PrivateKey, a.Passphrase)
	if err != nil {
		return nil, err
	}
	public, err := m.publicKey(a.PublicKey, nil)
	return err == nil && certificate.Same(private, public), err
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
//	salt '*' x509.verify_signature /etc/pki/www.crt signing_pub_key=/etc/pki/ca.crt
func (m *module) verifySignature(_ context.Context, a verifySignatureArgs) (any, error) {
	c, err := m.certificate(a.Certificate)
	if err != nil {
		return nil, err
	}
	var key crypto.PublicKey
	if data.Truth(a.SigningPubKey) {
		key, err = m.publicKey(a.SigningPubKey, a.SigningPubKeyPassphrase)
	} else {
		key, err = parsePublic(c.TBS.PublicKey.FullBytes)
	}
	return err == nil && c.SignedBy(key), err
}

type verifyCRLArgs struct{ Crl, Cert any }

// verifyCrl reports whether the owner of a certificate signed a revocation list.
//
// CLI Example:
//
//	salt '*' x509.verify_crl crl=/etc/pki/ca.crl cert=/etc/pki/ca.crt
func (m *module) verifyCrl(_ context.Context, a verifyCRLArgs) (any, error) {
	l, err := m.list(a.Crl)
	if err != nil {
		return nil, err
	}
	c, err := m.certificate(a.Cert)
	if err != nil {
		return nil, err
	}
	return listOf(l, c), nil
}

// expired reports whether a certificate in a file has expired. If the file does not exist, the
// result is empty.
//
// CLI Example:
//
//	salt '*' x509.expired /etc/pki/www.crt
func (m *module) expired(_ context.Context, a certificateArgs) (any, error) {
	return m.ends(data.Str(a.Certificate), data.NewMap(), "expired", time.Now())
}

type willExpireArgs struct {
	Certificate any
	Days        any
}

// willExpire reports whether a certificate in a file will have expired after the given number of
// days.
//
// CLI Example:
//
//	salt '*' x509.will_expire /etc/pki/www.crt days=30
func (m *module) willExpire(_ context.Context, a willExpireArgs) (any, error) {
	days, err := toInt(a.Days)
	if err != nil {
		return nil, loader.TypeError("days: %w", err)
	}
	return m.ends(data.Str(a.Certificate), data.NewMap("check_days", int64(days)),
		"will_expire", time.Now().AddDate(0, 0, days))
}

func (m *module) ends(path string, more *data.Map, word string, at time.Time) (any, error) {
	ret := data.NewMap()
	if !paths.IsFile(m.path(path)) {
		return ret, nil
	}
	c, err := m.certificate(path)
	if err != nil {
		return nil, err
	}
	subject, err := parseName(c.TBS.Subject.FullBytes)
	if err != nil {
		return nil, x509Error("%w", err)
	}
	ret.Set("path", path)
	ret.Update(more)
	if cn, ok := subject.dict().Get("CN"); ok {
		ret.Set("cn", cn)
	}
	ret.Set(word, !c.TBS.Validity.NotAfter.After(at))
	return ret, nil
}

type createCertificateArgs struct {
	Path      any       `default:"None"`
	Text      bool      `default:"False"`
	Overwrite bool      `default:"True"`
	CaServer  any       `default:"None"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// createCertificate creates a certificate and writes it to a path, or returns it.
//
// ca_server, signing_policy
//
//	ca_server is the minion that signs the certificate with x509.sign_remote_certificate, which
//	the master's option peer must allow. signing_policy is a policy of that minion, or of this
//	one without ca_server. The policy overrides the arguments.
//
// signing_private_key, signing_private_key_passphrase, signing_cert
//
//	The signer. Without signing_cert the certificate is self-signed.
//
// public_key, public_key_passphrase, csr
//
//	The owner's key: a public key, a private key, a certificate or a request. Of a csr, the
//	subject and the extensions are used too.
//
// CN, C, L, ST, O, OU, Email, GN, SN, serialNumber
//
//	The subject.
//
// basicConstraints, keyUsage, extendedKeyUsage, subjectKeyIdentifier, authorityKeyIdentifier,
// issuerAltName, authorityInfoAccess, subjectAltName, crlDistributionPoints, certificatePolicies,
// policyConstraints, inhibitAnyPolicy, nameConstraints, noCheck, nsComment, nsCertType
//
//	Extensions in the syntax of OpenSSL's configuration, with critical before the value for
//	critical ones. subjectKeyIdentifier may be hash.
//
// days_valid, not_before, not_after
//
//	The validity: 365 days from now by default, or times in the form 2019-05-05 00:00:00.
//
// version, serial_number, serial_bits, algorithm
//
//	The version, by default 3; the serial number, or the size of a random one, by default 64;
//	the hash algorithm, by default sha256.
//
// copypath, prepend_cn
//
//	A directory for a copy named by the serial number, with the CN before it.
//
// overwrite
//
//	False keeps a private key and DH parameters in the file.
//
// CLI Example:
//
//	salt '*' x509.create_certificate path=/etc/pki/ca.crt signing_private_key=/etc/pki/ca.key CN=ca.example.com
func (m *module) createCertificate(ctx context.Context, a createCertificateArgs) (any, error) {
	k := a.Kwargs.Clone()
	trial := k.Value("testrun") == true
	if err := target(a.Path, a.Text); err != nil && !(trial && !data.Truth(a.Path)) {
		return nil, err
	}
	if data.Truth(a.CaServer) {
		return m.askServer(ctx, a, k)
	}
	if err := m.applyPolicy(ctx, k); err != nil {
		return nil, err
	}
	c, err := m.newCertificate(k)
	if err != nil {
		return nil, err
	}
	if trial {
		return m.trial(c, k)
	}
	text := encodePEM(certKind, c.Raw)
	if err := m.copy(text, k); err != nil {
		return nil, err
	}
	if data.Truth(a.Path) {
		return m.writePEM(text, data.Str(a.Path), a.Overwrite, certKind)
	}
	return text, nil
}

// trial returns the contents of a certificate without creating it.
func (m *module) trial(c *certificate.Certificate, k *data.Map) (any, error) {
	ret, err := showCertificate(c, data.Truth(m.env.Option("fips_mode")))
	if err != nil {
		return nil, err
	}
	issuer, err := m.publicKey(k.Value("signing_private_key"),
		k.Value("signing_private_key_passphrase"))
	if err != nil {
		return nil, err
	}
	public, err := publicPEM(issuer)
	ret.Set("Issuer Public Key", public)
	return ret, err
}

// copy writes a copy of a certificate to copypath.
func (m *module) copy(text string, k *data.Map) error {
	if !k.Has("copypath") {
		return nil
	}
	file := data.Str(k.Value("serial_number")) + ".crt"
	if k.Value("prepend_cn") == true {
		file = data.Str(k.Value("CN")) + "-" + file
	}
	// The requester chose the name. It must not lead out of the directory.
	if file != filepath.Base(file) {
		return loader.Invocation("copypath: %s is not a file name", file)
	}
	_, err := m.writePEM(text, filepath.Join(data.Str(k.Value("copypath")), file), true, certKind)
	return err
}
