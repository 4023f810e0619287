package x509

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// The structures of RFC 2986.
type (
	request struct {
		Raw       asn1.RawContent
		Info      requestInfo
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}
	requestInfo struct {
		Raw        asn1.RawContent
		Version    int
		Subject    asn1.RawValue
		PublicKey  asn1.RawValue
		Attributes []asn1.RawValue `asn1:"tag:0"`
	}
	requestAttribute struct {
		ID     asn1.ObjectIdentifier
		Values []asn1.RawValue `asn1:"set"`
	}
	extensionAttribute struct {
		ID     asn1.ObjectIdentifier
		Values [][]pkix.Extension `asn1:"set"`
	}
)

const extensionRequest = "1.2.840.113549.1.9.14"

func parseRequest(der []byte) (*request, error) {
	var r request
	if err := whole(der, &r); err != nil {
		return nil, x509Error("read a certificate request: %w", err)
	}
	return &r, nil
}

func (m *module) request(input any) (*request, error) {
	der, err := m.der(input, requestKind)
	if err != nil {
		return nil, err
	}
	return parseRequest(der)
}

// extensions returns the extensions that a request asks for.
func (r *request) extensions() ([]pkix.Extension, error) {
	var list []pkix.Extension
	for _, raw := range r.Info.Attributes {
		var a requestAttribute
		if err := whole(raw.FullBytes, &a); err != nil {
			return nil, x509Error("read an attribute of a certificate request: %w", err)
		}
		if a.ID.String() != extensionRequest || len(a.Values) == 0 {
			continue
		}
		if err := whole(a.Values[0].FullBytes, &list); err != nil {
			return nil, x509Error("read the extensions of a certificate request: %w", err)
		}
	}
	return list, nil
}

// details returns what read_csr shows.
func (r *request) details() (*data.Map, error) {
	key, err := parsePublic(r.Info.PublicKey.FullBytes)
	if err != nil {
		return nil, err
	}
	list, err := r.extensions()
	if err != nil {
		return nil, err
	}
	ret := data.NewMap("Version", int64(r.Info.Version+1))
	if err := setName(ret, "Subject", r.Info.Subject); err != nil {
		return nil, err
	}
	ret.Set("Public Key Hash", hex.EncodeToString(keyHash(key)))
	ret.Set("X509v3 Extensions", showExtensions(list))
	return ret, nil
}

// newRequest makes a request of arguments.
func (m *module) newRequest(k *data.Map) (*request, error) {
	version := k.Value("version")
	defaults(k)
	if err := requestKeys(k, m); err != nil {
		return nil, err
	}
	key, err := m.privateKey(k.Value("private_key"), k.Value("private_key_passphrase"))
	if err != nil {
		return nil, err
	}
	r := &request{}
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
		m.env.Log.Warnf("A subject cannot have these values, which are left out: %s", strings.Join(refused, ", "))
	}
	if r.Info.Subject, err = n.marshal(); err != nil {
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
	if err := r.ask(list); err != nil {
		return nil, err
	}
	s, err := newSigner(key, data.Str(k.Value("algorithm")))
	if err != nil {
		return nil, err
	}
	return r, r.sign(s)
}

// requestKeys fills in which keys a request is made of.
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

// ask puts extensions into a request.
func (r *request) ask(list []pkix.Extension) error {
	r.Info.Attributes = []asn1.RawValue{}
	if len(list) == 0 {
		return nil
	}
	oid, _ := parseOID(extensionRequest)
	der, err := asn1.Marshal(extensionAttribute{oid, [][]pkix.Extension{list}})
	r.Info.Attributes = append(r.Info.Attributes, asn1.RawValue{FullBytes: der})
	return err
}

func (r *request) sign(s *signer) error {
	r.Algorithm = s.identifier()
	info, err := asn1.Marshal(r.Info)
	if err != nil {
		return x509Error("encode a certificate request: %w", err)
	}
	r.Info.Raw = info
	if r.Signature, err = s.sign(info); err != nil {
		return x509Error("sign a certificate request: %w", err)
	}
	if r.Raw, err = asn1.Marshal(*r); err != nil {
		return x509Error("encode a certificate request: %w", err)
	}
	return nil
}
