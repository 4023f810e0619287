package x509

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

func parseRequest(der []byte) (*certificate.Request, error) {
	r, err := certificate.ParseRequest(der)
	if err != nil {
		return nil, x509Error("%w", err)
	}
	return r, nil
}

func (m *module) request(input any) (*certificate.Request, error) {
	der, err := m.der(input, requestKind)
	if err != nil {
		return nil, err
	}
	return parseRequest(der)
}

// showRequest returns a request in the form of read_csr.
func showRequest(r *certificate.Request) (*data.Map, error) {
	key, err := parsePublic(r.Info.PublicKey.FullBytes)
	if err != nil {
		return nil, err
	}
	list, err := r.Extensions()
	if err != nil {
		return nil, x509Error("%w", err)
	}
	ret := data.NewMap("Version", int64(r.Info.Version+1))
	if err := setName(ret, "Subject", r.Info.Subject); err != nil {
		return nil, err
	}
	ret.Set("Public Key Hash", hex.EncodeToString(keyHash(key)))
	ret.Set("X509v3 Extensions", showExtensions(list))
	return ret, nil
}

// newRequest creates a request from arguments.
func (m *module) newRequest(k *data.Map) (*certificate.Request, error) {
	version := k.Value("version")
	defaults(k)
	if err := requestKeys(k, m); err != nil {
		return nil, err
	}
	key, err := m.privateKey(k.Value("private_key"), k.Value("private_key_passphrase"))
	if err != nil {
		return nil, err
	}
	r := &certificate.Request{}
	if version != nil {
		n, err := number(k, "version")
		if err != nil {
			return nil, err
		}
		r.Info.Version = n - 1
	}
	public, err := m.publicKey(k.Value("public_key"), k.Value("public_key_passphrase"))
	if err != nil {
		return nil, err
	}
	der, err := publicDER(public)
	if err != nil {
		return nil, err
	}
	r.Info.PublicKey = asn1.RawValue{FullBytes: der}
	n, refused := name(nil).add(k)
	if len(refused) > 0 {
		m.env.Log.Warnf("Invalid values in a subject are left out: %s", strings.Join(refused, ", "))
	}
	if r.Info.Subject, err = certificate.Name(n).Marshal(); err != nil {
		return nil, err
	}
	var list []pkix.Extension
	for _, e := range extensions() {
		value, ok := e.wanted(k)
		if !ok || e.short == "authorityKeyIdentifier" {
			continue
		}
		x, err := e.newExtension(nil, withHash(&e, value, public))
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	if err := r.Ask(list); err != nil {
		return nil, err
	}
	s, err := newSigner(key, data.Str(k.Value("algorithm")))
	if err != nil {
		return nil, err
	}
	if err := r.Sign(s); err != nil {
		return nil, x509Error("%w", err)
	}
	return r, nil
}

// requestKeys sets missing key arguments of a request.
func requestKeys(k *data.Map, m *module) error {
	if !k.Has("private_key") && k.Has("public_key") {
		k.Set("private_key", k.Value("public_key"))
		m.env.Log.Warn("OpenSSL no longer allows working with non-signed CSRs. A private_key must be specified. " +
			"Attempting to use public_key as private_key")
	}
	if !k.Has("private_key") {
		return loader.Invocation("private_key is required")
	}
	if !k.Has("public_key") {
		k.Set("public_key", k.Value("private_key"))
	}
	private, public := k.Value("private_key_passphrase"), k.Value("public_key_passphrase")
	if !data.Truth(private) {
		k.Set("private_key_passphrase", public)
	}
	if !data.Truth(public) {
		k.Set("public_key_passphrase", private)
	}
	return nil
}
