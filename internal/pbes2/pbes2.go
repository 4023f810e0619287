// Package pbes2 decrypts by PBES2 with PBKDF2 and a cipher in CBC mode (RFC 8018, section 6.2 and appendix A), which is how OpenSSL and
// the cryptography library of Python encrypt keys.
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

// MaxRounds bounds the work that one key derivation may ask for; OpenSSL writes 2048, careful people up to a million.
const MaxRounds = 2_000_000

// Params are the parameters of an encryption by PBES2.
type Params struct {
	KDF, Cipher pkix.AlgorithmIdentifier
}

// KDFParams are those of a key derivation by PBKDF2.
type KDFParams struct {
	Salt   []byte
	Rounds int
	Length int                      `asn1:"optional"`
	PRF    pkix.AlgorithmIdentifier `asn1:"optional"`
}

// ErrPadding is wrapped when what was decrypted does not end as it must, most often since the passphrase is wrong.
var ErrPadding = errors.New("the padding is wrong")

// Decrypter returns what decrypts, by the parameters of the encryption in DER. take is asked for the rounds of key derivation before
// they are done, and may refuse them by an error.
func Decrypter(params []byte, passphrase string, take func(rounds int) error) (cipher.BlockMode, error) {
	var p Params
	var kdf KDFParams
	var iv []byte
	if err := errors.Join(whole(params, &p), whole(p.KDF.Parameters.FullBytes, &kdf), whole(p.Cipher.Parameters.FullBytes, &iv)); err != nil {
		return nil, fmt.Errorf("parameters of PBES2: %w", err)
	}
	newHash := hashOf(kdf.PRF.Algorithm.String())
	newBlock, length := cipherOf(p.Cipher.Algorithm.String())
	if oid := p.KDF.Algorithm.String(); oid != OIDPBKDF2 || newHash == nil || newBlock == nil {
		return nil, fmt.Errorf("key derivation %s by %s for cipher %s is not known", oid, kdf.PRF.Algorithm, p.Cipher.Algorithm)
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

// Take refuses rounds that are fewer than one or more than MaxRounds.
func Take(rounds int) error {
	if rounds < 1 || rounds > MaxRounds {
		return fmt.Errorf("%d rounds of key derivation", rounds)
	}
	return nil
}

// Open decrypts data and takes the padding off (RFC 8018, section 6.1.1). The error wraps ErrPadding where that is wrong.
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

// hashOf returns the hash of a pseudo-random function; none named means HMAC-SHA-1.
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
