package crypto

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"io"
	"strings"
)

// maxPEM is the maximum size of a key's text; a private key of 16384 bits takes 12 KiB.
const maxPEM = 16 << 10

// A PublicKey is an RSA public key. It is safe for concurrent use.
type PublicKey struct {
	rsa rsa.PublicKey
}

// ParsePublicKey parses a public key from a peer or a file: exactly one PEM block, labeled PUBLIC
// KEY or RSA PUBLIC KEY, with a SubjectPublicKeyInfo or a PKCS#1 key that satisfies the zero
// Policy. Nothing may precede it, and only white space may follow. Texts over 16 KiB are rejected.
// Errors wrap ErrBadKey or ErrWeakKey.
func ParsePublicKey(text []byte) (*PublicKey, error) {
	return Policy{}.ParsePublicKey(text)
}

// ParsePublicKey is the function ParsePublicKey with another policy.
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

// parsePublicDER detects the format from the bytes, since some programs use the wrong PEM label.
func parsePublicDER(der []byte) (*rsa.PublicKey, error) {
	if key, err := parsePKCS1Public(der); err == nil {
		return key, nil
	}
	return parsePublicInfo(der)
}

// onlyBlock returns the single PEM block of a text.
func onlyBlock(text []byte) (*pem.Block, error) {
	if len(text) > maxPEM {
		return nil, fmt.Errorf("%w: %d bytes of text", ErrBadKey, len(text))
	}
	if !bytes.HasPrefix(text, []byte("-----BEGIN ")) {
		return nil, fmt.Errorf("%w: no PEM header", ErrBadKey)
	}
	block, rest := pem.Decode(text)
	// Decode skips a broken block and takes the next, so check that the header occurs once.
	if block == nil || bytes.Count(text, []byte("-----BEGIN ")) != 1 {
		return nil, fmt.Errorf("%w: not one whole PEM block", ErrBadKey)
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("%w: text after the PEM block", ErrBadKey)
	}
	return block, nil
}

// PEM returns the key as SubjectPublicKeyInfo in PEM without a final newline, as sent over the
// network and as written to disk by Salt 3006. It is the canonical text of the key.
func (k *PublicKey) PEM() string {
	der, err := marshalPublicInfo(&k.rsa)
	if err != nil {
		// an *rsa.PublicKey can always be encoded
		panic("crypto: encode public key: " + err.Error())
	}
	return encodePEM(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func encodePEM(b *pem.Block) string {
	return strings.TrimSuffix(string(pem.EncodeToMemory(b)), "\n")
}

// Equal reports whether both keys are equal.
func (k *PublicKey) Equal(other *PublicKey) bool {
	return k != nil && other != nil && k.rsa.Equal(&other.rsa)
}

// Bits returns the size of the modulus in bits.
func (k *PublicKey) Bits() int { return k.rsa.N.BitLen() }

// Verify returns nil if sig is the key's signature of msg, else ErrVerification. For an unknown alg
// the error wraps ErrUnknownAlgorithm.
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

// Encrypt returns msg encrypted for the owner of the key. It returns ErrTooLong if msg is longer
// than the size of the modulus less 42 (OAEPSHA1) or 58 (OAEPSHA224) bytes.
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
