package certificate

import (
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// The structures of RFC 5280, section 4.1.
type (
	// A Certificate is a certificate as read, or one being built.
	Certificate struct {
		Raw       asn1.RawContent
		TBS       TBSCertificate
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}
	// A TBSCertificate is the signed part of a certificate.
	TBSCertificate struct {
		Raw        asn1.RawContent
		Version    int `asn1:"optional,explicit,default:0,tag:0"`
		Serial     *big.Int
		Algorithm  pkix.AlgorithmIdentifier
		Issuer     asn1.RawValue
		Validity   Validity
		Subject    asn1.RawValue
		PublicKey  asn1.RawValue
		IssuerID   asn1.BitString   `asn1:"optional,tag:1"`
		SubjectID  asn1.BitString   `asn1:"optional,tag:2"`
		Extensions []pkix.Extension `asn1:"omitempty,optional,explicit,tag:3"`
	}
	// Validity is the period in which a certificate is valid.
	Validity struct{ NotBefore, NotAfter time.Time }
)

// Parse parses a certificate in DER.
func Parse(der []byte) (*Certificate, error) {
	var c Certificate
	if err := Whole(der, &c); err != nil {
		return nil, fmt.Errorf("read a certificate: %w", err)
	}
	return &c, nil
}

// PublicKey returns the public key of the subject.
func (c *Certificate) PublicKey() (crypto.PublicKey, error) {
	return x509.ParsePKIXPublicKey(c.TBS.PublicKey.FullBytes)
}

// KeyID returns the subject key identifier, nil if there is none.
func (c *Certificate) KeyID() []byte {
	var id []byte
	if x := ExtensionOf(c.TBS.Extensions, known(OIDSubjectKeyID)); x != nil &&
		Whole(x.Value, &id) == nil {
		return id
	}
	return nil
}

// SignedBy reports whether the certificate was signed with the private key of a public key.
func (c *Certificate) SignedBy(key crypto.PublicKey) bool {
	return Verify(key, c.Algorithm, c.TBS.Raw, c.Signature) == nil
}

// PEM returns the certificate as PEM.
func (c *Certificate) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// Sign signs the certificate, which completes it.
func (c *Certificate) Sign(s *Signer) error {
	c.TBS.Algorithm, c.Algorithm = s.Identifier(), s.Identifier()
	tbs, err := asn1.Marshal(c.TBS)
	if err != nil {
		return fmt.Errorf("encode a certificate: %w", err)
	}
	c.TBS.Raw = tbs
	if c.Signature, err = s.Sign(tbs); err != nil {
		return fmt.Errorf("sign a certificate: %w", err)
	}
	der, err := asn1.Marshal(*c)
	if err != nil {
		return fmt.Errorf("encode a certificate: %w", err)
	}
	whole, err := Parse(der)
	if err == nil {
		*c = *whole
	}
	return err
}
