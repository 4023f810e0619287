// Package crypto implements the cryptography of masters and minions: RSA keys and their file
// formats, signatures, the X9.31 "private encrypt" of tokens, OAEP, and the symmetric envelope that
// Salt calls Crypticle.
//
// A PrivateKey comes from GenerateKey or ParsePrivateKey, a PublicKey from a PrivateKey or
// ParsePublicKey. Both are safe for concurrent use. Algorithms of signatures and RSA encryption are
// selected by their names in messages (SHA1Sign, OAEPSHA1 and so on), because the peer chooses
// them. An unknown name is ErrUnknownAlgorithm. SHA-1 is supported because all releases of Salt up
// to 3008 use it by default.
//
// A Crypticle is created from a key string: 76 characters that encode an AES-192 key and an
// HMAC-SHA256 key. It keeps the expanded keys and HMAC states, so a message costs only its AES and
// HMAC work and one allocation. Opening first checks the HMAC in constant time. Every kind of
// failure returns ErrAuthentication.
//
// Required by compatibility:
//
//   - Objects in a Crypticle begin with the text "pickle::", though MessagePack follows.
//   - PEM texts end without a newline, as Salt 3006 writes them, and keys are compared as numbers,
//     never as texts.
//   - X9.31 gives the same bytes each time. A token or a signature of the session key may be kept
//     by the caller for as long as the key lives; this package caches no secret.
//   - RSA keys under 2048 bits, or with an exponent that is even or below 65537, are refused
//     (CVE-2013-2228); Policy admits shorter keys of old minions.
package crypto

import (
	"crypto"
	"errors"
	"fmt"
	"hash"

	_ "crypto/sha1"   // the hashes below
	_ "crypto/sha256" // SHA-224 among them
)

// Names of algorithms in messages (salt/crypt.py: the tables VALID_SIGNING_ALGORITHMS and
// VALID_ENCRYPTION_ALGORITHMS).
const (
	// RSASSA-PKCS1-v1_5 with SHA-1; the only one before 3006.9 and 3007.2
	SHA1Sign   = "PKCS1v15-SHA1"
	SHA224Sign = "PKCS1v15-SHA224" // RSASSA-PKCS1-v1_5 with SHA-224
	// RSAES-OAEP with SHA-1 for both hashes; the only one before 3006.9 and 3007.2
	OAEPSHA1   = "OAEP-SHA1"
	OAEPSHA224 = "OAEP-SHA224" // RSAES-OAEP with SHA-224 for both hashes
)

var (
	// ErrUnknownAlgorithm is wrapped if an algorithm name is not one of the constants of this
	// package.
	ErrUnknownAlgorithm = errors.New("unknown algorithm")
	// ErrBadKey is wrapped if a text is not exactly one RSA key of the expected kind.
	ErrBadKey = errors.New("not an RSA key")
	// ErrWeakKey is wrapped if an RSA key is rejected because of its size or exponent.
	ErrWeakKey = errors.New("RSA key refused")
	// ErrPassphrase is wrapped if a private key is encrypted and the passphrase is missing or
	// wrong.
	ErrPassphrase = errors.New("passphrase missing or wrong")
	// ErrVerification is returned if a signature is not valid for the key and message.
	ErrVerification = errors.New("signature does not verify")
	// ErrDecryption is returned if an RSA ciphertext cannot be decrypted, without the reason.
	ErrDecryption = errors.New("RSA decryption failed")
	// ErrTooLong is returned if a message does not fit into one RSA block.
	ErrTooLong = errors.New("message too long for the RSA key")
)

// signHash returns the hash of a signature algorithm.
func signHash(alg string) (crypto.Hash, error) {
	switch alg {
	case SHA1Sign:
		return crypto.SHA1, nil
	case SHA224Sign:
		return crypto.SHA224, nil
	}
	return 0, fmt.Errorf("sign with %q: %w", alg, ErrUnknownAlgorithm)
}

// oaepHash returns a new hash for an encryption algorithm.
func oaepHash(alg string) (hash.Hash, error) {
	switch alg {
	case OAEPSHA1:
		return crypto.SHA1.New(), nil
	case OAEPSHA224:
		return crypto.SHA224.New(), nil
	}
	return nil, fmt.Errorf("encrypt with %q: %w", alg, ErrUnknownAlgorithm)
}

// digest hashes msg.
func digest(h crypto.Hash, msg []byte) []byte {
	state := h.New()
	state.Write(msg)
	return state.Sum(nil)
}
