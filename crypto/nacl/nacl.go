// Package nacl encrypts texts as libsodium does: crypto_box_seal and crypto_secretbox. It is not part
// of package crypto because its library links the elliptic curves, which are large.
package nacl

import (
	"crypto/rand"
	"errors"

	"golang.org/x/crypto/curve25519"
	"golang.org/x/crypto/nacl/box"
	"golang.org/x/crypto/nacl/secretbox"
)

// boxNonce is the length of the nonce before the text in a secret box.
const boxNonce = 24

// ErrBox is returned for a box that was not made for the key.
var ErrBox = errors.New("the box was not made for this key")

// Public returns the public key for a NaCl secret key (crypto_box).
func Public(secret *[32]byte) (*[32]byte, error) {
	public, err := curve25519.X25519(secret[:], curve25519.Basepoint)
	if err != nil {
		return nil, err
	}
	return (*[32]byte)(public), nil
}

// NewKey generates a NaCl key pair (crypto_box).
func NewKey() (public, secret *[32]byte, err error) { return box.GenerateKey(rand.Reader) }

// Seal encrypts a text for a public key (crypto_box_seal; PyNaCl's SealedBox).
func Seal(text []byte, public *[32]byte) ([]byte, error) {
	return box.SealAnonymous(nil, text, public, rand.Reader)
}

// OpenSealed decrypts the result of Seal. It returns ErrBox if that was not made for the key.
func OpenSealed(sealed []byte, secret *[32]byte) ([]byte, error) {
	public, err := Public(secret)
	if err != nil {
		return nil, err
	}
	text, ok := box.OpenAnonymous(nil, sealed, public, secret)
	if !ok {
		return nil, ErrBox
	}
	return text, nil
}

// SecretBox encrypts a text with a key (crypto_secretbox; PyNaCl's SecretBox). The result begins
// with a random nonce.
func SecretBox(text []byte, key *[32]byte) ([]byte, error) {
	nonce := [boxNonce]byte{}
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, err
	}
	return secretbox.Seal(nonce[:], text, &nonce, key), nil
}

// OpenSecretBox decrypts the result of SecretBox. It returns ErrBox if that was not made with the
// key.
func OpenSecretBox(made []byte, key *[32]byte) ([]byte, error) {
	if len(made) < boxNonce {
		return nil, ErrBox
	}
	text, ok := secretbox.Open(nil, made[boxNonce:], (*[boxNonce]byte)(made), key)
	if !ok {
		return nil, ErrBox
	}
	return text, nil
}
