package crypto

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"io"
)

// A PrivateKey is an RSA private key. It is safe for concurrent use.
type PrivateKey struct {
	rsa *rsa.PrivateKey
}

// GenerateKey generates a key of 2048 to 16384 bits with exponent 65537.
func GenerateKey(bits int) (*PrivateKey, error) {
	if bits < minBits || bits > maxBits {
		return nil, fmt.Errorf("generate key: %w: %d bits, allowed are %d to %d", ErrWeakKey, bits,
			minBits, maxBits)
	}
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	return &PrivateKey{rsa: key}, nil
}

// Public returns the public key.
func (k *PrivateKey) Public() *PublicKey {
	return &PublicKey{rsa: k.rsa.PublicKey}
}

// Bits returns the size of the modulus in bits.
func (k *PrivateKey) Bits() int { return k.rsa.N.BitLen() }

// String identifies the key without revealing it.
func (k *PrivateKey) String() string {
	return fmt.Sprintf("RSA private key of %d bits", k.Bits())
}

// GoString does not reveal the key with any verb of fmt.
func (k *PrivateKey) GoString() string { return k.String() }

// Sign returns the signature of msg, which has the size of the modulus. Signing is deterministic.
func (k *PrivateKey) Sign(msg []byte, alg string) ([]byte, error) {
	h, err := signHash(alg)
	if err != nil {
		return nil, err
	}
	sig, err := rsa.SignPKCS1v15(nil, k.rsa, h, digest(h, msg))
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return sig, nil
}

// Decrypt decrypts the result of PublicKey.Encrypt with the same algorithm. Any failure is
// ErrDecryption.
func (k *PrivateKey) Decrypt(ciphertext []byte, alg string) ([]byte, error) {
	h, err := oaepHash(alg)
	if err != nil {
		return nil, err
	}
	plain, err := rsa.DecryptOAEP(h, nil, k.rsa, ciphertext, nil)
	if err != nil {
		return nil, ErrDecryption
	}
	return plain, nil
}

// DecryptPassword decrypts a password that a cloud provider encrypted for the key with PKCS#1 v1.5
// (salt/crypt.py: pwdata_decrypt). Its padding check leaks information to a caller who can try
// often, so never use it on data from the network.
func (k *PrivateKey) DecryptPassword(ciphertext []byte) ([]byte, error) {
	plain, err := rsa.DecryptPKCS1v15(nil, k.rsa, ciphertext)
	if err != nil {
		return nil, ErrDecryption
	}
	return plain, nil
}

// EncryptX931 returns msg in X9.31 padding, raised to the private exponent: Salt's "private
// encrypt" (salt/utils/rsax931.py). The result has the size of the modulus. It is a signature with
// message recovery, not encryption. It returns ErrTooLong if msg is longer than the size of the
// modulus less two bytes. As in OpenSSL, a message that is empty or one byte shorter than that
// limit is signed, although no reader accepts it. It costs a private key operation and is
// deterministic.
func (k *PrivateKey) EncryptX931(msg []byte) ([]byte, error) {
	return k.encryptX931(rand.Reader, msg)
}

func (k *PrivateKey) encryptX931(random io.Reader, msg []byte) ([]byte, error) {
	block, err := padX931(msg, k.rsa.Size())
	if err != nil {
		return nil, err
	}
	sig, err := k.power(random, block)
	if err != nil {
		return nil, fmt.Errorf("X9.31 signature: %w", err)
	}
	return smallerX931(sig, k.rsa.N).FillBytes(block), nil
}
