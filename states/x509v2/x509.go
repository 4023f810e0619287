// Package x509v2 is Salt's state x509_v2, which replaces x509 if the option features has x509_v2:
// keys, certificates, requests and revocation lists in files (salt/states/x509_v2.py of 3006). The
// module x509 creates them, the state file writes them.
//
// Differences from Salt: copypath and prepend_cn take effect if this minion signs. A policy of this
// minion may name the signing key. Test mode does not change links. A revocation list gets an
// extension for a certificate that was revoked without one, and a number with cRLNumber: auto if it
// had none. Binary files have the mode set by file.managed from the first byte on. A new PKCS#12
// container, which contains the private key, is only readable by its owner unless mode is given.
package x509v2

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate/draft"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the provider x509_v2 of the state x509.
func Plugin() loader.Plugin { return loader.Plugin{Name: "x509", File: "x509_v2", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	features, _ := env.Option("features").(*data.Map)
	if !data.Truth(features.Value("x509_v2")) {
		return nil, errors.New("x509_v2 needs to be explicitly enabled by setting `x509_v2: true` in the minion configuration value `features` " + //nolint:staticcheck // Salt's text
			"until Salt 3008 (Argon).")
	}
	m := &module{env}
	secrets := []string{"passphrase", "signing_private_key", "signing_private_key_passphrase",
		"private_key", "private_key_passphrase", "pkcs12_passphrase", "text"}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("certificate_managed", m.certificateManaged).Secret(secrets...),
		loader.F("crl_managed", m.crlManaged).Secret(secrets...),
		loader.F("csr_managed", m.csrManaged).Secret(secrets...),
		loader.F("pem_managed", m.pemManaged).Secret(secrets...),
		loader.F("private_key_managed", m.privateKeyManaged).Secret(secrets...),
	}}, nil
}

// reader returns the reader for arguments.
func (m *module) reader() draft.Reader { return draft.Reader{Root: m.env.Root} }

// bytes calls a function of the module x509 that returns bytes.
func (m *module) bytes(
	ctx context.Context, fun string, args []any, kwargs *data.Map,
) ([]byte, error) {
	kwargs.Set("raw", true)
	v, err := m.env.Call(ctx, "x509."+fun, args, kwargs)
	if err != nil {
		return nil, err
	}
	b, ok := v.([]byte)
	if !ok {
		return nil, loader.Execution("x509.%s returned %s", fun, loader.TypeName(v))
	}
	return b, nil
}
