package certificate

import (
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
)

// The structures of RFC 2986.
type (
	// A Request is a certificate request.
	Request struct {
		Raw       asn1.RawContent
		Info      RequestInfo
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}
	// A RequestInfo is the signed part of a request.
	RequestInfo struct {
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

// extensionRequest is the attribute with a request's extensions (RFC 2985, 5.4.2).
const extensionRequest = "1.2.840.113549.1.9.14"

// ParseRequest parses a request in DER.
func ParseRequest(der []byte) (*Request, error) {
	var r Request
	if err := Whole(der, &r); err != nil {
		return nil, fmt.Errorf("read a certificate request: %w", err)
	}
	return &r, nil
}

// PublicKey returns the public key of the requested certificate.
func (r *Request) PublicKey() (crypto.PublicKey, error) {
	return x509.ParsePKIXPublicKey(r.Info.PublicKey.FullBytes)
}

// PEM returns the request as PEM.
func (r *Request) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: r.Raw})
}

// Extensions returns the requested extensions.
func (r *Request) Extensions() ([]pkix.Extension, error) {
	var list []pkix.Extension
	for _, raw := range r.Info.Attributes {
		var a requestAttribute
		if err := Whole(raw.FullBytes, &a); err != nil {
			return nil, fmt.Errorf("read an attribute of a certificate request: %w", err)
		}
		if a.ID.String() != extensionRequest || len(a.Values) == 0 {
			continue
		}
		if err := Whole(a.Values[0].FullBytes, &list); err != nil {
			return nil, fmt.Errorf("read the extensions of a certificate request: %w", err)
		}
	}
	return list, nil
}

// Ask adds extensions to a request.
func (r *Request) Ask(list []pkix.Extension) error {
	r.Info.Attributes = []asn1.RawValue{}
	if len(list) == 0 {
		return nil
	}
	der, err := asn1.Marshal(extensionAttribute{known(extensionRequest), [][]pkix.Extension{list}})
	r.Info.Attributes = append(r.Info.Attributes, asn1.RawValue{FullBytes: der})
	return err
}

// Sign signs the request, which completes it.
func (r *Request) Sign(s *Signer) error {
	r.Algorithm = s.Identifier()
	info, err := asn1.Marshal(r.Info)
	if err != nil {
		return fmt.Errorf("encode a certificate request: %w", err)
	}
	r.Info.Raw = info
	if r.Signature, err = s.Sign(info); err != nil {
		return fmt.Errorf("sign a certificate request: %w", err)
	}
	if r.Raw, err = asn1.Marshal(*r); err != nil {
		return fmt.Errorf("encode a certificate request: %w", err)
	}
	return nil
}
