package crypto

import (
	"crypto/rsa"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
)

// ASN.1 structures around a key that identify its algorithm: SubjectPublicKeyInfo (RFC 5280) and
// PrivateKeyInfo (RFC 5208). Package x509 is not used for the reason at pkcs1Public.
type (
	publicInfo struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	privateInfo struct {
		Version   int
		Algorithm pkix.AlgorithmIdentifier
		Key       []byte
		// Attributes and a public key, which may follow, are ignored.
	}
)

// oidRSA is rsaEncryption of RFC 8017.
var oidRSA = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}

// null is the encoding of rsaEncryption's parameters.
var null = []byte{asn1.TagNull, 0}

var errTrailing = errors.New("bytes after the key")

// checkRSA returns an error unless the algorithm is rsaEncryption.
func checkRSA(a pkix.AlgorithmIdentifier) error {
	switch {
	case !a.Algorithm.Equal(oidRSA):
		return fmt.Errorf("it is not an RSA key but one of algorithm %s", a.Algorithm)
	case string(a.Parameters.FullBytes) != string(null):
		return errors.New("an RSA key with parameters")
	}
	return nil
}

// parsePublicInfo parses a SubjectPublicKeyInfo.
func parsePublicInfo(der []byte) (*rsa.PublicKey, error) {
	var info publicInfo
	rest, err := asn1.Unmarshal(der, &info)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return nil, errTrailing
	case info.Key.BitLength%8 != 0:
		return nil, errors.New("a key of broken bytes")
	}
	if err := checkRSA(info.Algorithm); err != nil {
		return nil, err
	}
	return parsePKCS1Public(info.Key.Bytes)
}

// marshalPublicInfo encodes a SubjectPublicKeyInfo.
func marshalPublicInfo(key *rsa.PublicKey) ([]byte, error) {
	der, err := marshalPKCS1Public(key)
	if err != nil {
		return nil, err
	}
	return asn1.Marshal(publicInfo{
		Algorithm: pkix.AlgorithmIdentifier{Algorithm: oidRSA,
			Parameters: asn1.RawValue{FullBytes: null}},
		Key: asn1.BitString{Bytes: der, BitLength: 8 * len(der)},
	})
}

// parsePrivateInfo parses a PrivateKeyInfo.
func parsePrivateInfo(der []byte) (*rsa.PrivateKey, error) {
	var info privateInfo
	if rest, err := asn1.Unmarshal(der, &info); err != nil {
		return nil, err
	} else if len(rest) > 0 {
		return nil, errTrailing
	}
	if err := checkRSA(info.Algorithm); err != nil {
		return nil, err
	}
	return parsePKCS1Private(info.Key)
}
