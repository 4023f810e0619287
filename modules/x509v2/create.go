package x509v2

import (
	"context"
	"crypto"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
	"github.com/brineproject/brine/loader"
)

type createCertArgs struct {
	CaServer               any       `default:"None"`
	SigningPolicy          any       `default:"None"`
	Encoding               string    `default:"'pem'"`
	AppendCerts            any       `default:"None"`
	Pkcs12Passphrase       any       `default:"None"`
	Pkcs12EncryptionCompat bool      `default:"False"`
	Pkcs12Friendlyname     any       `default:"None"`
	Path                   any       `default:"None"`
	Overwrite              bool      `default:"True"`
	Raw                    bool      `default:"False"`
	Kwargs                 *data.Map `kwargs:"kwargs"`
}

// createCertificate creates a certificate and returns it, or writes it to a path. Keys,
// certificates and requests in the arguments are paths, PEM, hexadecimal, base64, or bytes.
//
// ca_server, signing_policy
//
//	ca_server is the minion that signs the certificate with x509.sign_remote_certificate, which
//	the master's option peer must allow. signing_policy is a policy of that minion, or of this
//	one without ca_server. The policy overrides the arguments.
//
// encoding, append_certs, pkcs12_passphrase, pkcs12_encryption_compat, pkcs12_friendlyname, raw
//
//	As in encode_certificate. pkcs12 contains the key private_key.
//
// path, overwrite
//
//	The file to write; overwrite=False keeps an existing file.
//
// signing_private_key, signing_private_key_passphrase, signing_cert
//
//	The signer. Without signing_cert the certificate is self-signed.
//
// private_key, private_key_passphrase, public_key, csr
//
//	The owner's key, unless the certificate is self-signed. Extensions of a request are used if
//	the arguments do not set them.
//
// subject, C, ST, L, STREET, O, OU, CN, MAIL, SN, GN, UID, SERIALNUMBER
//
//	The subject: a text or a list in the form of RFC 4514, a dictionary, or single attributes.
//
// basicConstraints, keyUsage, extendedKeyUsage, subjectKeyIdentifier, authorityKeyIdentifier,
// issuerAltName, authorityInfoAccess, subjectAltName, crlDistributionPoints, certificatePolicies,
// policyConstraints, inhibitAnyPolicy, nameConstraints, noCheck, tlsfeature
//
//	Extensions, as texts in the syntax of OpenSSL's configuration, as lists or as dictionaries.
//	For a critical one put critical first, as an item, or as a key with the value true.
//
// days_valid, not_before, not_after
//
//	The validity: 365 days from now by default, or UTC times in the form 2019-05-05 00:00:00.
//
// serial_number, digest
//
//	The serial number, an integer or hexadecimal; the hash algorithm, by default sha256.
//
// copypath, prepend_cn
//
//	A directory for a copy named by the serial number, with the CN before it.
//
// CLI Example:
//
//	salt '*' x509.create_certificate signing_private_key='/etc/pki/myca.key' csr='/etc/pki/my.csr'
func (m *module) createCertificate(ctx context.Context, a createCertArgs) (any, error) {
	k, err := certArguments(a)
	if err != nil {
		return nil, err
	}
	if path := data.Str(a.Path); data.Truth(a.Path) && !a.Overwrite && m.reader().IsFile(path) {
		return "The file at " + path + " exists and overwrite was set to false", nil
	}
	p := packing{Encoding: a.Encoding, passphrase: a.Pkcs12Passphrase,
		compat: a.Pkcs12EncryptionCompat, name: a.Pkcs12Friendlyname}
	cert, key, err := m.newCertificate(ctx, a, k)
	if err != nil {
		return nil, err
	}
	if p.key = key; a.Encoding == "pkcs12" && key == nil {
		return nil, errNoKey()
	}
	if p.chain, err = m.chain(a.AppendCerts); err != nil {
		return nil, err
	}
	b, err := p.pack(cert)
	if err != nil || !data.Truth(a.Path) {
		return out(b, a.Encoding, a.Raw), err
	}
	if a.Encoding == "pem" {
		return m.write(string(b), data.Str(a.Path), a.Overwrite, "CERTIFICATE")
	}
	mode := fs.FileMode(0o644)
	if a.Encoding == "pkcs12" { // it contains the key
		mode = 0o600
	}
	return "Certificate written to " + data.Str(a.Path), m.place(data.Str(a.Path), b, mode)
}

// certArguments checks the arguments of a new certificate. It returns those of **kwargs under their
// current names.
func certArguments(a createCertArgs) (*data.Map, error) {
	k := userArgs(a.Kwargs)
	if v, ok := k.Get("algorithm"); ok {
		k.Delete("algorithm")
		k.Set("digest", v)
	}
	draft.Modern(k)
	if !k.Has("days_valid") && !k.Has("not_after") {
		k.Set("days_valid", int64(365))
	}
	if !k.Has("digest") {
		k.Set("digest", "sha256")
	}
	if err := checkEncoding(a.Encoding, certEncodings()...); err != nil {
		return nil, err
	}
	if err := draft.CheckDigest(k.Value("digest")); err != nil {
		return nil, err
	}
	switch {
	case a.Encoding == "der" && data.Truth(a.AppendCerts):
		return nil, loader.Invocation("Cannot encode a certificate chain in DER")
	case a.Encoding == "pkcs12" && !k.Has("private_key"):
		return nil, errNoKey()
	case !k.Has("signing_private_key") && !data.Truth(a.CaServer) && !data.Truth(a.SigningPolicy):
		return nil, loader.Invocation("Creating a certificate locally at least requires a signing private key.")
	case data.Truth(a.CaServer) && a.SigningPolicy == nil:
		return nil, loader.Invocation("signing_policy must be specified to request a certificate from a remote ca_server")
	}
	return k, nil
}

// userArgs returns a copy of **kwargs without the arguments that the engine adds.
func userArgs(kwargs *data.Map) *data.Map {
	k := data.NewMap()
	for word, v := range kwargs.All() {
		if !strings.HasPrefix(data.Str(word), "__") {
			k.Set(word, v)
		}
	}
	return k
}

// newCertificate creates a certificate here or on another minion. It returns the certificate and,
// if private_key is set, that key.
func (m *module) newCertificate(
	ctx context.Context, a createCertArgs, k *data.Map,
) (*certificate.Certificate, crypto.Signer, error) {
	if data.Truth(a.CaServer) {
		return m.askServer(ctx, data.Str(a.CaServer), a.SigningPolicy, k)
	}
	policy, err := draft.SigningPolicy(ctx, m.env, a.SigningPolicy)
	if err != nil {
		return nil, nil, err
	}
	draft.Merge(policy, k)
	return m.signHere(k)
}

func (m *module) signHere(k *data.Map) (*certificate.Certificate, crypto.Signer, error) {
	c, err := m.reader().Cert(k, false)
	if err != nil {
		return nil, nil, err
	}
	digest := k.Value("digest")
	if digest == nil {
		digest = "sha256"
	}
	if err := c.Sign(digest); err != nil {
		return nil, nil, err
	}
	return c.Cert, c.Key, m.copy(c.Cert, k)
}

// copy writes a copy of a certificate to copypath.
func (m *module) copy(c *certificate.Certificate, k *data.Map) error {
	if !data.Truth(k.Value("copypath")) {
		return nil
	}
	file := c.TBS.Serial.Text(16) + ".crt"
	if data.Truth(k.Value("prepend_cn")) {
		name, err := certificate.ParseName(c.TBS.Subject.FullBytes)
		if err != nil {
			return loader.Execution("%w", err)
		}
		if cn, ok := name.First(commonName); ok {
			file = cn + "-" + file
		}
	}
	// The requester chose the name. It must not lead out of the directory.
	if file != filepath.Base(file) {
		return loader.Invocation("copypath: %s is not a file name", file)
	}
	_, err := m.write(string(c.PEM()), filepath.Join(data.Str(k.Value("copypath")), file), true,
		"CERTIFICATE")
	return err
}

type createCRLArgs struct {
	SigningPrivateKey           any
	Revoked                     any
	SigningCert                 any       `default:"None"`
	SigningPrivateKeyPassphrase any       `default:"None"`
	IncludeExpired              bool      `default:"False"`
	DaysValid                   any       `default:"None"`
	Digest                      any       `default:"'sha256'"`
	Encoding                    string    `default:"'pem'"`
	Extensions                  any       `default:"None"`
	Path                        any       `default:"None"`
	Raw                         bool      `default:"False"`
	Kwargs                      *data.Map `kwargs:"kwargs"`
}

// createCrl creates a revocation list and returns it, or writes it to a path.
//
// signing_private_key, signing_private_key_passphrase, signing_cert, digest
//
//	The signer and the hash algorithm.
//
// revoked
//
//	A list of dictionaries: certificate, or serial_number and not_after; revocation_date;
//	extensions, which are certificateIssuer, CRLReason and invalidityDate. Times are in UTC, in
//	the form 2015-03-01 00:00:00.
//
// include_expired
//
//	Also list certificates that have expired.
//
// days_valid : 100
//
//	After how many days the next list is due.
//
// extensions
//
//	authorityKeyIdentifier, authorityInfoAccess, cRLNumber, deltaCRLIndicator, freshestCRL,
//	issuerAltName, issuingDistributionPoint.
//
// encoding
//
//	pem, or der, which is returned in base64 unless raw is set.
//
// CLI Example:
//
//	salt '*' x509.create_crl signing_cert=/etc/pki/ca.crt signing_private_key=/etc/pki/ca.key \
//	    revoked="[{'certificate': '/etc/pki/certs/www1.crt', 'revocation_date': '2015-03-01 00:00:00'}]"
func (m *module) createCrl(_ context.Context, a createCRLArgs) (any, error) {
	if err := m.rejectUnknown(userArgs(a.Kwargs), "text"); err != nil {
		return nil, err
	}
	if err := checkEncoding(a.Encoding, "der", "pem"); err != nil {
		return nil, err
	}
	if err := draft.CheckDigest(a.Digest); err != nil {
		return nil, err
	}
	l, key, err := m.reader().NewList(data.NewMap("signing_private_key", a.SigningPrivateKey,
		"signing_private_key_passphrase", a.SigningPrivateKeyPassphrase,
		"signing_cert", a.SigningCert, "revoked", a.Revoked, "include_expired", a.IncludeExpired,
		"days_valid", a.DaysValid, "extensions", a.Extensions), m.env.Log)
	if err != nil {
		return nil, err
	}
	if l.TBS.Issuer.FullBytes == nil {
		return nil, loader.Exception("ValueError", "A CRL must have an issuer name")
	}
	if err := draft.SignList(l, key, a.Digest); err != nil {
		return nil, err
	}
	switch path := data.Str(a.Path); {
	case !data.Truth(a.Path):
		return encoded(l.Raw, l.PEM, a.Encoding, a.Raw), nil
	case a.Encoding == "pem":
		return m.write(string(l.PEM()), path, true, "X509 CRL")
	default:
		return "CRL written to " + path, m.place(path, l.Raw, 0o644)
	}
}

// rejectUnknown rejects unknown arguments. It ignores those in older, which only the previous
// module had.
func (m *module) rejectUnknown(k *data.Map, older ...string) error {
	for _, word := range older {
		k.Delete(word)
	}
	if k.Len() == 0 {
		return nil
	}
	return loader.Invocation("Unrecognized keyword arguments: %s", data.Repr(k.Keys()))
}

type createCSRArgs struct {
	PrivateKey           any
	PrivateKeyPassphrase any       `default:"None"`
	Digest               any       `default:"'sha256'"`
	Encoding             string    `default:"'pem'"`
	Path                 any       `default:"None"`
	Raw                  bool      `default:"False"`
	Kwargs               *data.Map `kwargs:"kwargs"`
}

// createCsr creates a certificate request and returns it, or writes it to a path.
//
// private_key, private_key_passphrase, digest
//
//	The key to certify, and the hash algorithm.
//
// encoding
//
//	pem, or der, which is returned in base64 unless raw is set.
//
// The arguments for subjects and extensions are those of create_certificate. authorityInfoAccess,
// authorityKeyIdentifier, issuerAltName and crlDistributionPoints are not allowed in requests.
//
// CLI Example:
//
//	salt '*' x509.create_csr private_key='/etc/pki/myca.key' CN='My Cert'
func (m *module) createCsr(_ context.Context, a createCSRArgs) (any, error) {
	k := userArgs(a.Kwargs)
	if v, ok := k.Get("algorithm"); ok {
		a.Digest = v
	}
	draft.Modern(k)
	if err := checkEncoding(a.Encoding, "der", "pem"); err != nil {
		return nil, err
	}
	if err := draft.CheckDigest(a.Digest); err != nil {
		return nil, err
	}
	k.Set("private_key", a.PrivateKey)
	k.Set("private_key_passphrase", a.PrivateKeyPassphrase)
	q, key, err := m.reader().NewRequest(k)
	if err != nil {
		return nil, err
	}
	if err := draft.SignRequest(q, key, a.Digest); err != nil {
		return nil, err
	}
	switch path := data.Str(a.Path); {
	case !data.Truth(a.Path):
		return encoded(q.Raw, q.PEM, a.Encoding, a.Raw), nil
	case a.Encoding == "pem":
		return m.write(string(q.PEM()), path, true, "CERTIFICATE REQUEST")
	default:
		return "CSR written to " + path, m.place(path, q.Raw, 0o644)
	}
}

type createKeyArgs struct {
	Algo                   string    `default:"'rsa'"`
	Keysize                any       `default:"None"`
	Passphrase             any       `default:"None"`
	Encoding               string    `default:"'pem'"`
	Pkcs12EncryptionCompat bool      `default:"False"`
	Path                   any       `default:"None"`
	Raw                    bool      `default:"False"`
	Kwargs                 *data.Map `kwargs:"kwargs"`
}

// createPrivateKey creates a private key and returns it, or writes it to a path.
//
// algo, keysize
//
//	rsa with 2048, 3072 or 4096 bits, ec with 256, 384 or 521 bits, or ed25519.
//
// encoding, passphrase, pkcs12_encryption_compat, raw
//
//	As in encode_private_key.
//
// CLI Example:
//
//	salt '*' x509.create_private_key algo=ec keysize=384
func (m *module) createPrivateKey(_ context.Context, a createKeyArgs) (any, error) {
	k := userArgs(a.Kwargs)
	if v, ok := k.Get("bits"); ok {
		a.Keysize = v
		k.Delete("bits")
	}
	if err := m.rejectUnknown(k, "cipher", "verbose", "text"); err != nil {
		return nil, err
	}
	if err := checkEncoding(a.Encoding, "der", "pem", "pkcs12"); err != nil {
		return nil, err
	}
	key, err := newKey(a.Algo, a.Keysize)
	if err != nil {
		return nil, err
	}
	b, err := packKey(key, a.Encoding, draft.Secret(a.Passphrase), a.Pkcs12EncryptionCompat)
	if err != nil || !data.Truth(a.Path) {
		return out(b, a.Encoding, a.Raw), err
	}
	if a.Encoding == "pem" {
		return m.write(string(b), data.Str(a.Path), true, "(?:RSA |ENCRYPTED )?PRIVATE KEY")
	}
	return nil, m.place(data.Str(a.Path), b, 0o600)
}

func newKey(algo string, size any) (crypto.Signer, error) {
	has := func(standard int64, sizes ...int64) (int, bool) {
		n, ok := size.(int64)
		if !data.Truth(size) {
			n, ok = standard, true
		}
		for _, one := range sizes {
			if ok && n == one {
				return int(n), true
			}
		}
		return 0, false
	}
	switch algo {
	case "rsa":
		n, ok := has(2048, 2048, 3072, 4096)
		if !ok {
			return nil, loader.Invocation("RSA key size must be either 2048, 3072 or 4096 bits.")
		}
		return certificate.NewRSA(n)
	case "ec":
		n, ok := has(256, 256, 384, 521)
		if !ok {
			return nil, loader.Invocation("EC key size must be either 256, 384, 521 bits.")
		}
		return certificate.NewEC(n)
	case "ed25519":
		return certificate.NewEd25519()
	case "ed448":
		return nil, loader.Execution("%w", certificate.ErrEd448)
	}
	return nil, loader.Invocation("Invalid algorithm specified for generating private key: %s. Valid: rsa, ec, ed25519, ed448", algo)
}
