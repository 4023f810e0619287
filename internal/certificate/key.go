package certificate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
)

var (
	// ErrPassphrase is wrapped if a passphrase is wrong.
	ErrPassphrase = errors.New("bad decrypt")
	// ErrEncrypted is returned if a key is encrypted and no passphrase is given.
	ErrEncrypted = errors.New("the private key is encrypted")
	// ErrPlain is returned if a passphrase is given for a key that is not encrypted.
	ErrPlain = errors.New("the private key is not encrypted")
	// ErrEd448 is returned for keys on that curve.
	ErrEd448 = errors.New("keys of the algorithm ed448 are not supported")
)

// encryptedKey is EncryptedPrivateKeyInfo of RFC 5958.
type encryptedKey struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

// ParseKeyPEM parses the first PEM block of a text as a private key: PKCS#1, SEC 1 or PKCS#8. The
// first two may be encrypted as by OpenSSL, the last by PKCS#5 or PKCS#12. passphrase is nil if
// there is none.
func ParseKeyPEM(text []byte, passphrase *string) (crypto.Signer, error) {
	b, _ := pem.Decode(text)
	switch {
	case b == nil:
		return nil, errors.New("no PEM block")
	case b.Headers["DEK-Info"] == "":
		return ParseKey(b.Bytes, passphrase)
	case passphrase == nil:
		return nil, ErrEncrypted
	}
	der, err := x509.DecryptPEMBlock(b, []byte(*passphrase))
	if err != nil {
		return nil, ErrPassphrase
	}
	key, err := parsePlain(der)
	if err != nil {
		return nil, ErrPassphrase
	}
	return key, nil
}

// ParseKey parses a private key in DER, encrypted or not.
func ParseKey(der []byte, passphrase *string) (crypto.Signer, error) {
	if passphrase == nil {
		return parseKey(der, nil)
	}
	return parseKey(der, newOpener(*passphrase))
}

// parseKey is ParseKey with an opener for encrypted keys, or nil.
func parseKey(der []byte, o *opener) (crypto.Signer, error) {
	var sealed encryptedKey
	if Whole(der, &sealed) != nil {
		key, err := parsePlain(der)
		if err == nil && o != nil {
			return nil, ErrPlain
		}
		return key, err
	}
	if o == nil {
		return nil, ErrEncrypted
	}
	plain, err := o.open(sealed.Algorithm, sealed.Data)
	if err != nil {
		return nil, err
	}
	key, err := parsePlain(plain)
	if err != nil && !errors.Is(err, ErrEd448) {
		return nil, ErrPassphrase
	}
	return key, err
}

func parsePlain(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	v, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		if isEd448(der) {
			return nil, ErrEd448
		}
		return nil, fmt.Errorf("read a private key: %w", err)
	}
	key, ok := v.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a key of type %T cannot sign", v)
	}
	return key, nil
}

// isEd448 reports whether a PKCS#8 key is an Ed448 key, which Go does not support.
func isEd448(der []byte) bool {
	var info struct {
		Version   int
		Algorithm pkix.AlgorithmIdentifier
		Key       []byte
	}
	_, err := asn1.Unmarshal(der, &info)
	return err == nil && info.Algorithm.Algorithm.String() == "1.3.101.113"
}

// MarshalKey returns a private key as PKCS#8. If there is a passphrase it is encrypted with
// AES-256, as Python's cryptography library does.
func MarshalKey(key crypto.Signer, passphrase *string) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil || passphrase == nil {
		return der, err
	}
	alg, data, err := seal(*passphrase, der)
	if err != nil {
		return nil, err
	}
	return asn1.Marshal(encryptedKey{alg, data})
}

// KeyPEM returns the result of MarshalKey as PEM.
func KeyPEM(der []byte, encrypted bool) []byte {
	kind := "PRIVATE KEY"
	if encrypted {
		kind = "ENCRYPTED PRIVATE KEY"
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// NewRSA returns a new RSA key with this number of bits.
func NewRSA(bits int) (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, bits) }

// NewEC returns a new key on the NIST curve with this number of bits: 256, 384 or 521.
func NewEC(bits int) (crypto.Signer, error) {
	for _, c := range []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		if c.Params().BitSize == bits {
			return ecdsa.GenerateKey(c, rand.Reader)
		}
	}
	return nil, fmt.Errorf("unknown curve of %d bits", bits)
}

// NewEd25519 returns a new Ed25519 key.
func NewEd25519() (crypto.Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return key, err
}

// Size returns the number of bits of an RSA key or a curve; 0 for a key without a choice of sizes.
func Size(key crypto.PublicKey) int {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen()
	case *ecdsa.PublicKey:
		return k.Curve.Params().BitSize
	}
	return 0
}

// Same reports whether two public keys are equal.
func Same(a, b crypto.PublicKey) bool {
	one, err := x509.MarshalPKIXPublicKey(a)
	if err != nil {
		return false
	}
	other, err := x509.MarshalPKIXPublicKey(b)
	return err == nil && bytes.Equal(one, other)
}

// PublicPEM returns a public key as PEM.
func PublicPEM(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// PublicID returns the SHA-1 of a public key's bits, which identifies keys in certificates (RFC
// 5280, 4.2.1.2).
func PublicID(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a public key: %w", err)
	}
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if err := Whole(der, &info); err != nil {
		return nil, fmt.Errorf("read a public key: %w", err)
	}
	sum := sha1.Sum(info.Key.Bytes)
	return sum[:], nil
}
