// Package crypto holds the cryptography that masters and minions speak: RSA keys and the text forms they lie on disk
// in, signatures, the X9.31 "private encrypt" of tokens, OAEP, and the symmetric envelope that Salt calls Crypticle.
//
// A PrivateKey comes from GenerateKey or ParsePrivateKey, a PublicKey from a PrivateKey or ParsePublicKey. Both may be
// used by several goroutines. The algorithms of signatures and of RSA encryption are chosen by the names that travel in
// messages (SHA1Sign, OAEPSHA1 and so on), because the peer says which one it wants; an unknown name is
// ErrUnknownAlgorithm. SHA-1 is what every release of Salt up to 3008 uses by default, so it cannot be left out.
//
// A Crypticle is made of a key string, 76 characters that stand for an AES-192 key and an HMAC-SHA256 key. It keeps
// the expanded keys and the HMAC states, so a message costs its AES and HMAC work and one allocation. Opening checks the
// HMAC first and in constant time; whatever is wrong with a blob, the answer is ErrAuthentication.
//
// Odd, and so on purpose:
//
//   - Objects in a Crypticle begin with the text "pickle::", though MessagePack follows.
//   - PEM texts end without a newline, as Salt 3006 writes them, and keys are compared as numbers, never as texts.
//   - X9.31 gives the same bytes each time. A token or a signature of the session key may be kept by the caller for as
//     long as the key lives; this package caches no secret.
//   - RSA keys under 2048 bits, or with an exponent that is even or below 65537, are refused (CVE-2013-2228); Policy
//     admits shorter keys of old minions.
package crypto

import (
	"crypto"
	"errors"
	"fmt"
	"hash"

	_ "crypto/sha1"   // the hashes below
	_ "crypto/sha256" // SHA-224 among them
)

// The names of algorithms in messages (salt/crypt.py: the tables VALID_SIGNING_ALGORITHMS and
// VALID_ENCRYPTION_ALGORITHMS).
const (
	SHA1Sign   = "PKCS1v15-SHA1"   // RSASSA-PKCS1-v1_5 with SHA-1; the only one before 3006.9 and 3007.2
	SHA224Sign = "PKCS1v15-SHA224" // RSASSA-PKCS1-v1_5 with SHA-224
	OAEPSHA1   = "OAEP-SHA1"       // RSAES-OAEP with SHA-1 for both hashes; the only one before 3006.9 and 3007.2
	OAEPSHA224 = "OAEP-SHA224"     // RSAES-OAEP with SHA-224 for both hashes
)

var (
	// ErrUnknownAlgorithm is wrapped when a name of an algorithm is none of the constants of this package.
	ErrUnknownAlgorithm = errors.New("unknown algorithm")
	// ErrBadKey is wrapped when a text is not the one RSA key that was expected.
	ErrBadKey = errors.New("not an RSA key")
	// ErrWeakKey is wrapped when an RSA key is refused for its size or its exponent.
	ErrWeakKey = errors.New("RSA key refused")
	// ErrPassphrase is wrapped when a private key is encrypted and the passphrase is missing or wrong.
	ErrPassphrase = errors.New("passphrase missing or wrong")
	// ErrVerification is returned when a signature is not that of the key over the message.
	ErrVerification = errors.New("signature does not verify")
	// ErrDecryption is returned when an RSA ciphertext cannot be opened; it does not say why.
	ErrDecryption = errors.New("RSA decryption failed")
	// ErrTooLong is returned when a message does not fit into one RSA block.
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

// oaepHash returns a new state of the hash of an encryption algorithm.
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
