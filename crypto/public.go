package crypto

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"strings"
)

// maxPEM bounds the text of a key; one of 16384 bits has 12 KiB as a private key.
const maxPEM = 16 << 10

// A PublicKey is an RSA public key. Several goroutines may use it.
type PublicKey struct {
	rsa rsa.PublicKey
}

// ParsePublicKey reads a public key that came from a peer or a file: exactly one PEM block, labelled PUBLIC KEY or
// RSA PUBLIC KEY, that holds a SubjectPublicKeyInfo or a PKCS#1 key and satisfies the zero Policy. Only white space may
// follow, and nothing may come before. Texts over 16 KiB are refused.
// Errors wrap ErrBadKey or ErrWeakKey.
func ParsePublicKey(text []byte) (*PublicKey, error) {
	return Policy{}.ParsePublicKey(text)
}

// ParsePublicKey is the function of that name under another policy.
func (p Policy) ParsePublicKey(text []byte) (*PublicKey, error) {
	der, err := publicBlock(text)
	if err != nil {
		return nil, err
	}
	key, err := parsePublicDER(der)
	if err != nil {
		return nil, fmt.Errorf("public key: %w: %v", ErrBadKey, err) //nolint:errorlint // it says what is wrong; the cause is ours alone
	}
	if err := p.check(key); err != nil {
		return nil, fmt.Errorf("public key: %w", err)
	}
	return &PublicKey{rsa: *key}, nil
}

func publicBlock(text []byte) ([]byte, error) {
	block, err := onlyBlock(text)
	if err != nil {
		return nil, fmt.Errorf("public key: %w", err)
	}
	if block.Type != "PUBLIC KEY" && block.Type != "RSA PUBLIC KEY" {
		return nil, fmt.Errorf("public key: %w: the text is a %q", ErrBadKey, block.Type)
	}
	if len(block.Headers) > 0 {
		return nil, fmt.Errorf("public key: %w: unexpected headers", ErrBadKey)
	}
	return block.Bytes, nil
}

// parsePublicDER goes by the bytes, since some programs put the label of one form around the other.
func parsePublicDER(der []byte) (*rsa.PublicKey, error) {
	if key, err := x509.ParsePKCS1PublicKey(der); err == nil {
		return key, nil
	}
	return parsePublicInfo(der)
}

// onlyBlock returns the PEM block that text consists of.
func onlyBlock(text []byte) (*pem.Block, error) {
	if len(text) > maxPEM {
		return nil, fmt.Errorf("%w: %d bytes of text", ErrBadKey, len(text))
	}
	if !bytes.HasPrefix(text, []byte("-----BEGIN ")) {
		return nil, fmt.Errorf("%w: no PEM header", ErrBadKey)
	}
	block, rest := pem.Decode(text)
	// Decode skips a broken block and takes the next: the header must stand once.
	if block == nil || bytes.Count(text, []byte("-----BEGIN ")) != 1 {
		return nil, fmt.Errorf("%w: not one whole PEM block", ErrBadKey)
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("%w: text after the PEM block", ErrBadKey)
	}
	return block, nil
}

// PEM returns the key as SubjectPublicKeyInfo in PEM, without a newline at the end: what goes over the wire and what
// Salt 3006 writes to disk. It is the one canonical text of the key.
func (k *PublicKey) PEM() string {
	der, err := marshalPublicInfo(&k.rsa)
	if err != nil {
		panic("crypto: encode public key: " + err.Error()) // an *rsa.PublicKey always encodes
	}
	return encodePEM(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func encodePEM(b *pem.Block) string {
	return strings.TrimSuffix(string(pem.EncodeToMemory(b)), "\n")
}

// Equal reports whether both are the same key.
func (k *PublicKey) Equal(other *PublicKey) bool {
	return k != nil && other != nil && k.rsa.Equal(&other.rsa)
}

// Bits returns the length of the modulus in bits.
func (k *PublicKey) Bits() int { return k.rsa.N.BitLen() }

// Verify returns nil when sig is the signature of msg with this key, ErrVerification when it is not, and an error that
// wraps ErrUnknownAlgorithm when alg has no meaning.
func (k *PublicKey) Verify(msg, sig []byte, alg string) error {
	h, err := signHash(alg)
	if err != nil {
		return err
	}
	if rsa.VerifyPKCS1v15(&k.rsa, h, digest(h, msg), sig) != nil {
		return ErrVerification
	}
	return nil
}

// Encrypt returns msg encrypted for the owner of the key. It returns ErrTooLong for more than the size of the modulus
// less 42 (OAEPSHA1) or 58 (OAEPSHA224) bytes.
func (k *PublicKey) Encrypt(msg []byte, alg string) ([]byte, error) {
	return k.encrypt(rand.Reader, msg, alg)
}

func (k *PublicKey) encrypt(random io.Reader, msg []byte, alg string) ([]byte, error) {
	h, err := oaepHash(alg)
	if err != nil {
		return nil, err
	}
	if len(msg) > k.rsa.Size()-2*h.Size()-2 {
		return nil, ErrTooLong
	}
	return rsa.EncryptOAEP(h, random, &k.rsa, msg, nil)
}
