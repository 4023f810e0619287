// Package x509 is Salt's module x509: keys, certificates, requests and revocation lists (salt/modules/x509.py; extension values as
// OpenSSL's configuration has them).
//
// What differs from Salt: neither M2Crypto nor the program openssl is needed. Keys on elliptic curves, Ed25519 keys and PKCS#8 in
// encryption are read. Text of a subject is UTF-8 once, not twice. Extensions of a request are read whatever release of OpenSSL there
// is, and a request has the version of RFC 2986 unless one is named. The issuer in read_crl has its fields one by one. Serial numbers
// are not cut to 63 bits. A revocation list without a digest is signed with SHA-256, and is of version 2 where it gives reasons.
// get_signing_policy keeps the passphrase of the key to itself as it does the key. Where the option
// features has x509_v2, package x509v2 takes the name. sign_remote_certificate takes from another minion neither paths of keys
// and requests nor a key to sign with.
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
	secrets := []string{"passphrase", "signing_private_key_passphrase", "public_key_passphrase", "private_key_passphrase", "signing_private_key", "private_key"}
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

// getPemEntry returns a PEM block with its lines as they should be. The text may have lost its line ends, or be a path.
//
// pem_type
//
//	Which block to take, such as CERTIFICATE.
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

// getPemEntries returns the first PEM block of each file that a pattern finds.
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

// readCertificate returns what a certificate says: version, names, times, fingerprints, public key and extensions. It is a path or PEM.
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

// readCertificates returns what the certificates say that a pattern finds.
//
// CLI Example:
//
//	salt '*' x509.read_certificates "/etc/pki/*.crt"
func (m *module) readCertificates(_ context.Context, a globArgs) (any, error) {
	return m.each(a.GlobPath, func(path string) (any, error) { return m.read(path) })
}

type csrArgs struct{ Csr any }

// readCsr returns what a certificate request says. It is a path or PEM.
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

// readCrl returns what a revocation list says: who made it, its times, and what is revoked. It is a path or PEM.
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

// getPublicKey returns the public key of a certificate, a request, a private key or a public key, which is a path or PEM.
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

// getPrivateKeySize returns how many bits a private key has.
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

// writePem puts a PEM block into a file. A new file is its owner's alone.
//
// overwrite
//
//	With False, a private key and DH parameters in the file stay beside a certificate.
//
// CLI Example:
//
//	salt '*' x509.write_pem /tmp/www.crt path=/etc/pki/www.crt pem_type=CERTIFICATE
func (m *module) writePem(_ context.Context, a writeArgs) (any, error) {
	return m.writePEM(a.Text, a.Path, a.Overwrite, data.Str(orEmpty(a.PemType)))
}

// target says where a text goes: to a path, or to the caller.
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

// createPrivateKey makes an RSA key and writes it to a path, or returns it.
//
// passphrase, cipher
//
//	To keep it in encryption: des_cbc, des_ede3_cbc, aes_128_cbc, aes_192_cbc or aes_256_cbc.
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

// createCsr makes a certificate request and writes it to a path, or returns it.
//
// private_key, private_key_passphrase, public_key, algorithm
//
//	The key that signs it; the public key, where it is another; the hash: sha256.
//
// The words of subjects and extensions are those of create_certificate.
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

// createCrl makes a revocation list and writes it to a path, or returns it.
//
// revoked
//
//	A list of dictionaries: certificate, or serial_number and not_after; revocation_date; reason. Times are as 2015-03-01 00:00:00.
//
// include_expired
//
//	Keep certificates in the list that have expired.
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

// verifyPrivateKey reports whether a private key is that of a certificate, a request or another key.
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

// verifySignature reports whether a key signed a certificate: its own, where no other is named.
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

// verifyCrl reports whether the owner of a certificate made a revocation list.
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

// expired tells of a certificate in a file whether it has expired. Where there is no file, the answer is empty.
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

// willExpire tells of a certificate in a file whether it will have expired in so many days.
//
// CLI Example:
//
//	salt '*' x509.will_expire /etc/pki/www.crt days=30
func (m *module) willExpire(_ context.Context, a willExpireArgs) (any, error) {
	days, err := toInt(a.Days)
	if err != nil {
		return nil, loader.TypeError("days: %w", err)
	}
	return m.ends(data.Str(a.Certificate), data.NewMap("check_days", int64(days)), "will_expire", time.Now().AddDate(0, 0, days))
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

// createCertificate makes a certificate and writes it to a path, or returns it.
//
// ca_server, signing_policy
//
//	The minion that is to sign it, by x509.sign_remote_certificate, which the option peer of the master must allow; and the policy
//	there, or here where no minion is named. What a policy says counts before the arguments.
//
// signing_private_key, signing_private_key_passphrase, signing_cert
//
//	Who signs it. Without signing_cert it signs itself.
//
// public_key, public_key_passphrase, csr
//
//	Whose it is: a public key, a private key, a certificate or a request; or a request whose subject and extensions count as well.
//
// CN, C, L, ST, O, OU, Email, GN, SN, serialNumber
//
//	The subject.
//
// basicConstraints, keyUsage, extendedKeyUsage, subjectKeyIdentifier, authorityKeyIdentifier, issuerAltName, authorityInfoAccess,
// subjectAltName, crlDistributionPoints, certificatePolicies, policyConstraints, inhibitAnyPolicy, nameConstraints, noCheck,
// nsComment, nsCertType
//
//	Extensions, as OpenSSL's configuration has them, with critical before the value where they are. subjectKeyIdentifier may be hash.
//
// days_valid, not_before, not_after
//
//	How long it is valid: 365 days from now, or from and to times as 2019-05-05 00:00:00.
//
// version, serial_number, serial_bits, algorithm
//
//	Its version, 3; its number, or the size of a random one, 64; the hash: sha256.
//
// copypath, prepend_cn
//
//	A directory for a copy that bears the serial number, with the CN before it.
//
// overwrite
//
//	With False, a private key and DH parameters in the file stay there.
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

// trial shows a certificate that is not to be.
func (m *module) trial(c *certificate.Certificate, k *data.Map) (any, error) {
	ret, err := showCertificate(c, data.Truth(m.env.Option("fips_mode")))
	if err != nil {
		return nil, err
	}
	issuer, err := m.publicKey(k.Value("signing_private_key"), k.Value("signing_private_key_passphrase"))
	if err != nil {
		return nil, err
	}
	public, err := publicPEM(issuer)
	ret.Set("Issuer Public Key", public)
	return ret, err
}

// copy keeps a copy of a certificate where copypath says so.
func (m *module) copy(text string, k *data.Map) error {
	if !k.Has("copypath") {
		return nil
	}
	file := data.Str(k.Value("serial_number")) + ".crt"
	if k.Value("prepend_cn") == true {
		file = data.Str(k.Value("CN")) + "-" + file
	}
	// The name comes from whoever asked for the certificate, and stays in the directory.
	if file != filepath.Base(file) {
		return loader.Invocation("copypath: %s is not the name of a file", file)
	}
	_, err := m.writePEM(text, filepath.Join(data.Str(k.Value("copypath")), file), true, certKind)
	return err
}
