// Package pbes2 decrypts PBES2 with PBKDF2 and a cipher in CBC mode (RFC 8018, section 6.2 and
// appendix A), with which OpenSSL and Python's cryptography library encrypt keys.
package pbes2

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"hash"
)

// Object identifiers.
const (
	OID        = "1.2.840.113549.1.5.13"
	OIDPBKDF2  = "1.2.840.113549.1.5.12"
	OIDHMAC256 = "1.2.840.113549.2.9"      // HMAC-SHA-256
	OIDAES256  = "2.16.840.1.101.3.4.1.42" // AES-256 in CBC mode
)

// MaxRounds is the limit of rounds of one key derivation; OpenSSL uses 2048, cautious users up to a
// million.
const MaxRounds = 2_000_000

// Params are the parameters of an encryption by PBES2.
type Params struct {
	KDF, Cipher pkix.AlgorithmIdentifier
}

// KDFParams are the parameters of a key derivation by PBKDF2.
type KDFParams struct {
	Salt   []byte
	Rounds int
	Length int                      `asn1:"optional"`
	PRF    pkix.AlgorithmIdentifier `asn1:"optional"`
}

// ErrPadding is wrapped if the padding of decrypted data is wrong, usually because the passphrase
// is.
var ErrPadding = errors.New("the padding is wrong")

// Decrypter returns the cipher mode for decryption, by the DER-encoded parameters. It calls take
// with the number of rounds before deriving the key; take may reject them with an error.
func Decrypter(
	params []byte, passphrase string, take func(rounds int) error,
) (cipher.BlockMode, error) {
	var p Params
	var kdf KDFParams
	var iv []byte
	if err := errors.Join(whole(params, &p), whole(p.KDF.Parameters.FullBytes, &kdf),
		whole(p.Cipher.Parameters.FullBytes, &iv)); err != nil {
		return nil, fmt.Errorf("parameters of PBES2: %w", err)
	}
	newHash := hashOf(kdf.PRF.Algorithm.String())
	newBlock, length := cipherOf(p.Cipher.Algorithm.String())
	if oid := p.KDF.Algorithm.String(); oid != OIDPBKDF2 || newHash == nil || newBlock == nil {
		return nil, fmt.Errorf("key derivation %s by %s for cipher %s is not known", oid,
			kdf.PRF.Algorithm, p.Cipher.Algorithm)
	}
	if err := take(kdf.Rounds); err != nil {
		return nil, err
	}
	key, err := pbkdf2.Key(newHash, passphrase, kdf.Salt, kdf.Rounds, length)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := newBlock(key)
	if err != nil {
		return nil, fmt.Errorf("cipher: %w", err)
	}
	if len(iv) != block.BlockSize() {
		return nil, fmt.Errorf("initial vector of %d bytes", len(iv))
	}
	return cipher.NewCBCDecrypter(block, iv), nil
}

// Take rejects numbers of rounds below one or above MaxRounds.
func Take(rounds int) error {
	if rounds < 1 || rounds > MaxRounds {
		return fmt.Errorf("%d rounds of key derivation", rounds)
	}
	return nil
}

// Open decrypts data and removes the padding (RFC 8018, section 6.1.1). The error wraps ErrPadding
// if that is wrong.
func Open(mode cipher.BlockMode, data []byte) ([]byte, error) {
	size := mode.BlockSize()
	if len(data) == 0 || len(data)%size != 0 {
		return nil, fmt.Errorf("%d bytes of ciphertext", len(data))
	}
	plain := make([]byte, len(data))
	mode.CryptBlocks(plain, data)
	pad := int(plain[len(plain)-1])
	if pad < 1 || pad > size {
		return nil, ErrPadding
	}
	return plain[:len(plain)-pad], nil
}

// hashOf returns the hash of a pseudo-random function; the default is HMAC-SHA-1.
func hashOf(oid string) func() hash.Hash {
	switch oid {
	case "", "1.2.840.113549.2.7":
		return sha1.New
	case "1.2.840.113549.2.8":
		return sha256.New224
	case OIDHMAC256:
		return sha256.New
	case "1.2.840.113549.2.10":
		return sha512.New384
	case "1.2.840.113549.2.11":
		return sha512.New
	}
	return nil
}

// cipherOf returns a block cipher and the length of its key in bytes.
func cipherOf(oid string) (make func([]byte) (cipher.Block, error), length int) {
	switch oid {
	case "1.2.840.113549.3.7":
		return des.NewTripleDESCipher, 24
	case "2.16.840.1.101.3.4.1.2":
		return aes.NewCipher, 16
	case "2.16.840.1.101.3.4.1.22":
		return aes.NewCipher, 24
	case OIDAES256:
		return aes.NewCipher, 32
	}
	return nil, 0
}

func whole(der []byte, v any) error {
	rest, err := asn1.Unmarshal(der, v)
	if err == nil && len(rest) > 0 {
		err = errors.New("more follows")
	}
	return err
}
