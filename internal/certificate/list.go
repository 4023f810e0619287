package certificate

import (
	"bytes"
	"crypto"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// The structures of RFC 5280, section 5.1.
type (
	// A List is a revocation list.
	List struct {
		Raw       asn1.RawContent
		TBS       TBSList
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}
	// A TBSList is the signed part of a revocation list.
	TBSList struct {
		Raw        asn1.RawContent
		Version    int `asn1:"optional,default:0"`
		Algorithm  pkix.AlgorithmIdentifier
		Issuer     asn1.RawValue
		ThisUpdate time.Time
		NextUpdate time.Time        `asn1:"optional"`
		Revoked    []Revoked        `asn1:"optional,omitempty"`
		Extensions []pkix.Extension `asn1:"optional,omitempty,explicit,tag:0"`
	}
	// A Revoked is an entry for a revoked certificate.
	Revoked struct {
		Serial     *big.Int
		Time       time.Time
		Extensions []pkix.Extension `asn1:"optional,omitempty"`
	}
)

// ParseList parses a revocation list in DER.
func ParseList(der []byte) (*List, error) {
	var l List
	if err := Whole(der, &l); err != nil {
		return nil, fmt.Errorf("read a revocation list: %w", err)
	}
	return &l, nil
}

// PEM returns the list as PEM.
func (l *List) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "X509 CRL",
		Bytes: l.Raw})
}

// SignedBy reports whether the list was signed with the private key of a public key.
func (l *List) SignedBy(key crypto.PublicKey) bool {
	return l.Algorithm.Algorithm.Equal(l.TBS.Algorithm.Algorithm) &&
		bytes.Equal(l.Algorithm.Parameters.FullBytes, l.TBS.Algorithm.Parameters.FullBytes) &&
		Verify(key, l.Algorithm, l.TBS.Raw, l.Signature) == nil
}

// Find returns the entry of a serial number, nil if there is none.
func (l *List) Find(serial *big.Int) *Revoked {
	for i := range l.TBS.Revoked {
		if l.TBS.Revoked[i].Serial.Cmp(serial) == 0 {
			return &l.TBS.Revoked[i]
		}
	}
	return nil
}

// Sign signs the list, which completes it.
func (l *List) Sign(s *Signer) error {
	l.TBS.Algorithm, l.Algorithm = s.Identifier(), s.Identifier()
	tbs, err := asn1.Marshal(l.TBS)
	if err != nil {
		return fmt.Errorf("encode a revocation list: %w", err)
	}
	l.TBS.Raw = tbs
	if l.Signature, err = s.Sign(tbs); err != nil {
		return fmt.Errorf("sign a revocation list: %w", err)
	}
	if l.Raw, err = asn1.Marshal(*l); err != nil {
		return fmt.Errorf("encode a revocation list: %w", err)
	}
	return nil
}
