package crypto

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"io"
)

// A PrivateKey is an RSA private key. Several goroutines may use it.
type PrivateKey struct {
	rsa *rsa.PrivateKey
}

// GenerateKey returns a new key of 2048 to 16384 bits with exponent 65537.
func GenerateKey(bits int) (*PrivateKey, error) {
	if bits < minBits || bits > maxBits {
		return nil, fmt.Errorf("generate key: %w: %d bits, allowed are %d to %d", ErrWeakKey, bits, minBits, maxBits)
	}
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	return &PrivateKey{rsa: key}, nil
}

// Public returns the public half.
func (k *PrivateKey) Public() *PublicKey {
	return &PublicKey{rsa: k.rsa.PublicKey}
}

// Bits returns the length of the modulus in bits.
func (k *PrivateKey) Bits() int { return k.rsa.N.BitLen() }

// String says which key it is without telling the key.
func (k *PrivateKey) String() string {
	return fmt.Sprintf("RSA private key of %d bits", k.Bits())
}

// GoString is String, so that no verb of fmt prints the key.
func (k *PrivateKey) GoString() string { return k.String() }

// Sign returns the signature of msg, as long as the modulus. Signing is deterministic.
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

// Decrypt opens what Encrypt of the public half made with the same algorithm. It returns ErrDecryption for everything
// else, whatever is wrong with it.
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

// DecryptPassword opens a password that a cloud provider encrypted for the key with PKCS#1 v1.5 (salt/crypt.py:
// pwdata_decrypt). The padding leaks to whoever can ask often, so never use it on what comes over the network.
func (k *PrivateKey) DecryptPassword(ciphertext []byte) ([]byte, error) {
	plain, err := rsa.DecryptPKCS1v15(nil, k.rsa, ciphertext)
	if err != nil {
		return nil, ErrDecryption
	}
	return plain, nil
}

// EncryptX931 returns msg in X9.31 padding, raised to the private exponent, as long as the modulus: Salt's "private
// encrypt" (salt/utils/rsax931.py). It is a signature with message recovery, not encryption. It returns ErrTooLong for
// more than the size of the modulus less two bytes. A message that is empty or one byte shorter than that limit is
// signed, as OpenSSL does, though no reader takes it. It takes the time of a private operation; the result for the
// same message is always the same.
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
