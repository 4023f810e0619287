package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	_ "crypto/md5" // hashes by name
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha1"
	_ "crypto/sha256"
	_ "crypto/sha3"
	_ "crypto/sha512"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
)

// An Algorithm is a signature algorithm: the kind of key, the hash and its identifier.
type Algorithm struct {
	Key  string // rsa, ec or ed25519
	OID  string
	Hash crypto.Hash // 0 if the key uses none
}

// algorithms returns the algorithms for signing and verifying (RFC 8017, RFC 5758, RFC 8410, and
// NIST's arc for SHA-3).
func algorithms() []Algorithm {
	const rsaOID, ecOID, nist = "1.2.840.113549.1.1.", "1.2.840.10045.4.", "2.16.840.1.101.3.4.3."
	return []Algorithm{
		{"rsa", rsaOID + "4", crypto.MD5}, {"rsa", rsaOID + "5", crypto.SHA1}, {"rsa", rsaOID +
			"14", crypto.SHA224},
		{"rsa", rsaOID + "11", crypto.SHA256}, {"rsa", rsaOID + "12", crypto.SHA384},
		{"rsa", rsaOID + "13", crypto.SHA512},
		{"rsa", nist + "13", crypto.SHA3_224}, {"rsa", nist + "14", crypto.SHA3_256}, {"rsa", nist +
			"15", crypto.SHA3_384},
		{"rsa", nist + "16", crypto.SHA3_512},
		{"ec", ecOID + "1", crypto.SHA1}, {"ec", ecOID + "3.1", crypto.SHA224}, {"ec", ecOID +
			"3.2", crypto.SHA256},
		{"ec", ecOID + "3.3", crypto.SHA384}, {"ec", ecOID + "3.4", crypto.SHA512},
		{"ec", nist + "9", crypto.SHA3_224}, {"ec", nist + "10", crypto.SHA3_256}, {"ec", nist +
			"11", crypto.SHA3_384},
		{"ec", nist + "12", crypto.SHA3_512},
		{"ed25519", "1.3.101.112", 0},
	}
}

// AlgorithmOf returns the algorithm of an identifier, nil if it is unknown.
func AlgorithmOf(oid asn1.ObjectIdentifier) *Algorithm {
	text := oid.String()
	return find(func(a Algorithm) bool { return a.OID == text })
}

func find(fits func(Algorithm) bool) *Algorithm {
	for _, a := range algorithms() {
		if fits(a) {
			return &a
		}
	}
	return nil
}

// KindOf returns the kind of a public key: rsa, ec or ed25519, and "" for another.
func KindOf(key crypto.PublicKey) string {
	switch key.(type) {
	case *rsa.PublicKey:
		return "rsa"
	case *ecdsa.PublicKey:
		return "ec"
	case ed25519.PublicKey:
		return "ed25519"
	}
	return ""
}

// A Signer signs with a key and a hash.
type Signer struct {
	key crypto.Signer
	alg *Algorithm
}

// NewSigner returns a signer; an Ed25519 key ignores the hash. The error reports a key that cannot
// sign with the hash.
func NewSigner(key crypto.Signer, hash crypto.Hash) (*Signer, error) {
	kind := KindOf(key.Public())
	alg := find(func(a Algorithm) bool { return a.Key == kind && (a.Hash == hash || a.Hash == 0) })
	if alg == nil {
		return nil, fmt.Errorf("a key of type %T cannot sign with %v", key, hash)
	}
	return &Signer{key, alg}, nil
}

// Identifier returns the algorithm identifier stored with a signature.
func (s *Signer) Identifier() pkix.AlgorithmIdentifier {
	id := pkix.AlgorithmIdentifier{Algorithm: known(s.alg.OID)}
	if s.alg.Key == "rsa" {
		id.Parameters = asn1.NullRawValue
	}
	return id
}

// Sign returns the signature of a message.
func (s *Signer) Sign(message []byte) (asn1.BitString, error) {
	if s.alg.Hash != 0 {
		h := s.alg.Hash.New()
		h.Write(message)
		message = h.Sum(nil)
	}
	sig, err := s.key.Sign(rand.Reader, message, s.alg.Hash)
	return asn1.BitString{Bytes: sig, BitLength: 8 * len(sig)}, err
}

// ErrSignature is returned by Verify if the signature was not made with the key.
var ErrSignature = errors.New("the signature does not fit")

// Verify returns an error unless the signature of a message was made with the key.
func Verify(
	key crypto.PublicKey, id pkix.AlgorithmIdentifier, message []byte, sig asn1.BitString,
) error {
	if id.Algorithm.String() == pssOID {
		return verifyPSS(key, id, message, sig)
	}
	alg := AlgorithmOf(id.Algorithm)
	if alg == nil || alg.Key != KindOf(key) || alg.Hash != 0 && !alg.Hash.Available() {
		return ErrSignature
	}
	sum := message
	if alg.Hash != 0 {
		h := alg.Hash.New()
		h.Write(message)
		sum = h.Sum(nil)
	}
	good := false
	switch k := key.(type) {
	case *rsa.PublicKey:
		good = rsa.VerifyPKCS1v15(k, alg.Hash, sum, sig.Bytes) == nil
	case *ecdsa.PublicKey:
		good = ecdsa.VerifyASN1(k, sum, sig.Bytes)
	case ed25519.PublicKey:
		good = ed25519.Verify(k, sum, sig.Bytes)
	}
	if !good {
		return ErrSignature
	}
	return nil
}

const pssOID = "1.2.840.113549.1.1.10"

// verifyPSS verifies a signature of RSASSA-PSS. Its parameters name the hash; the default is SHA-1
// (RFC 8017, A.2.3).
func verifyPSS(
	key crypto.PublicKey, id pkix.AlgorithmIdentifier, message []byte, sig asn1.BitString,
) error {
	k, ok := key.(*rsa.PublicKey)
	hash := pssHash(id)
	if !ok || hash == 0 {
		return ErrSignature
	}
	h := hash.New()
	h.Write(message)
	if rsa.VerifyPSS(k, hash, h.Sum(nil), sig.Bytes, nil) != nil {
		return ErrSignature
	}
	return nil
}

// pssHash returns the hash in the parameters of RSASSA-PSS, 0 for an unknown one.
func pssHash(id pkix.AlgorithmIdentifier) crypto.Hash {
	var params struct {
		Hash pkix.AlgorithmIdentifier `asn1:"optional,explicit,tag:0"`
		MGF  pkix.AlgorithmIdentifier `asn1:"optional,explicit,tag:1"`
		Salt int                      `asn1:"optional,explicit,tag:2,default:20"`
		Tail int                      `asn1:"optional,explicit,tag:3,default:1"`
	}
	if Whole(id.Parameters.FullBytes, &params) != nil {
		return 0
	}
	switch params.Hash.Algorithm.String() {
	case "":
		return crypto.SHA1
	case "2.16.840.1.101.3.4.2.1":
		return crypto.SHA256
	case "2.16.840.1.101.3.4.2.2":
		return crypto.SHA384
	case "2.16.840.1.101.3.4.2.3":
		return crypto.SHA512
	}
	return 0
}

// HashOf returns the hash of a signature's algorithm; ok is false if it has none or an unknown one.
func HashOf(id pkix.AlgorithmIdentifier) (hash crypto.Hash, ok bool) {
	if id.Algorithm.String() == pssOID {
		hash = pssHash(id)
		return hash, hash != 0
	}
	alg := AlgorithmOf(id.Algorithm)
	if alg == nil {
		return 0, false
	}
	return alg.Hash, alg.Hash != 0
}
