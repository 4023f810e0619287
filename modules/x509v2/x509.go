// Package x509v2 is Salt's module x509_v2: keys, certificates, requests and revocation lists in
// PEM, DER, PKCS#7 and PKCS#12 (salt/modules/x509_v2.py of 3006). It provides the module x509 if
// the option features contains x509_v2.
//
// Differences from Salt: Ed448 keys are rejected, because Go does not support them. The hashes
// sha512_224 and sha512_256 cannot sign, because X.509 has no identifiers for them. A minion that
// signs for another reads none of its own files for it, and only its policy sets the place of
// copies. get_signing_policy does not return the passphrase of a key, nor a key that the policy
// contains as text. encode_private_key accepts a key in any form. A copy below copypath is
// identical to the returned certificate, even if the signature is random. A key that is written to
// a path in PEM may be encrypted. A new PKCS#12 container is accessible only to its owner. See
// package draft for further differences.
package x509v2

import (
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate/draft"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the provider x509_v2 of the module x509.
func Plugin() loader.Plugin { return loader.Plugin{Name: "x509", File: "x509_v2", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	features, _ := env.Option("features").(*data.Map)
	if !data.Truth(features.Value("x509_v2")) {
		return nil, errors.New("x509_v2 needs to be explicitly enabled by setting `x509_v2: true` in the minion configuration value `features` " + //nolint:staticcheck // Salt's text
			"until Salt 3008 (Argon).")
	}
	m := &module{env}
	secrets := []string{"passphrase", "signing_private_key_passphrase", "private_key_passphrase",
		"signing_pub_key_passphrase", "pkcs12_passphrase", "signing_private_key",
		"private_key", "key"}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("create_certificate", m.createCertificate).Secret(secrets...),
		loader.F("create_crl", m.createCrl).Secret(secrets...),
		loader.F("create_csr", m.createCsr).Secret(secrets...),
		loader.F("create_private_key", m.createPrivateKey).Secret(secrets...),
		loader.F("encode_certificate", m.encodeCertificate).Secret(secrets...),
		loader.F("encode_crl", m.encodeCrl),
		loader.F("encode_csr", m.encodeCsr),
		loader.F("encode_private_key", m.encodePrivateKey).Secret(secrets...),
		loader.F("expired", m.expired),
		loader.F("expires", m.expires),
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
		loader.F("verify_signature", m.verifySignature).Secret(secrets...),
		loader.F("will_expire", m.willExpire),
		loader.F("write_pem", m.writePem).Secret("text"),
	}}, nil
}

// reader returns the reader of arguments.
func (m *module) reader() draft.Reader { return draft.Reader{Root: m.env.Root} }
