package certificate

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
)

const oidSignedData = "1.2.840.113549.1.7.2"

// signedData is that of RFC 2315, section 9.1, used without signatures to carry certificates.
type signedData struct {
	Version int
	Digests []pkix.AlgorithmIdentifier `asn1:"set"`
	Content rawContent
	Certs   asn1.RawValue   `asn1:"optional,tag:0"`
	Lists   asn1.RawValue   `asn1:"optional,tag:1"`
	Signers []asn1.RawValue `asn1:"set"`
}

// ParseBundle parses the certificates of a PKCS#7 container in DER. It is an error if there are
// none.
func ParseBundle(der []byte) ([]*Certificate, error) {
	var outer contentInfo
	if err := Whole(der, &outer); err != nil {
		return nil, fmt.Errorf("read PKCS#7: %w", err)
	}
	if outer.Type.String() != oidSignedData {
		return nil, fmt.Errorf("read PKCS#7: content of type %v", outer.Type)
	}
	certs, err := certsOf(outer.Content.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read PKCS#7: %w", err)
	}
	return certs, nil
}

// certsOf parses signed data step by step, because the part before the certificates varies.
func certsOf(der []byte) ([]*Certificate, error) {
	var seq asn1.RawValue
	if err := Whole(der, &seq); err != nil {
		return nil, err
	}
	for rest := seq.Bytes; len(rest) > 0; {
		var part asn1.RawValue
		var err error
		if rest, err = asn1.Unmarshal(rest, &part); err != nil {
			return nil, err
		}
		if part.Class == asn1.ClassContextSpecific && part.Tag == 0 {
			return certsIn(part.Bytes)
		}
	}
	return nil, errors.New("no certificates")
}

func certsIn(rest []byte) ([]*Certificate, error) {
	var certs []*Certificate
	for len(rest) > 0 {
		var raw asn1.RawValue
		var err error
		if rest, err = asn1.Unmarshal(rest, &raw); err != nil {
			return nil, err
		}
		c, err := Parse(raw.FullBytes)
		if err != nil {
			return nil, err
		}
		certs = append(certs, c)
	}
	if certs == nil {
		return nil, errors.New("no certificates")
	}
	return certs, nil
}

// MarshalBundle returns a PKCS#7 container of certificates. As a set, they are sorted in DER.
func MarshalBundle(certs []*Certificate) ([]byte, error) {
	raw := make([][]byte, len(certs))
	for i, c := range certs {
		raw[i] = c.Raw
	}
	data := signedData{Version: 1, Digests: []pkix.AlgorithmIdentifier{},
		Signers: []asn1.RawValue{}}
	data.Content = rawContent{known(oidData),
		asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true,
			Bytes: []byte{asn1.TagOctetString, 0}}}
	data.Certs = asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true,
		Bytes: slices.Concat(raw...)}
	c, err := content(oidSignedData, data)
	if err != nil {
		return nil, fmt.Errorf("encode PKCS#7: %w", err)
	}
	return asn1.Marshal(rawContent{c.Type, c.Content})
}

// BundlePEM returns the result of MarshalBundle as PEM.
func BundlePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PKCS7",
		Bytes: der})
}
