package crypto

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
	"fmt"
	"hash"
)

// maxRounds bounds the work that a key file can ask for; OpenSSL writes 2048, careful people up to a million.
const maxRounds = 2_000_000

// The structures of RFC 5958 and RFC 8018.
type (
	encryptedKey struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	pbes2Params struct {
		KDF, Cipher pkix.AlgorithmIdentifier
	}
	pbkdf2Params struct {
		Salt   []byte
		Rounds int
		Length int                      `asn1:"optional"`
		PRF    pkix.AlgorithmIdentifier `asn1:"optional"`
	}
)

const (
	oidPBES2  = "1.2.840.113549.1.5.13"
	oidPBKDF2 = "1.2.840.113549.1.5.12"
)

// pbeHash returns the hash of a PBKDF2 pseudo-random function; none named means HMAC-SHA-1.
func pbeHash(oid string) func() hash.Hash {
	switch oid {
	case "", "1.2.840.113549.2.7":
		return sha1.New
	case "1.2.840.113549.2.8":
		return sha256.New224
	case "1.2.840.113549.2.9":
		return sha256.New
	case "1.2.840.113549.2.10":
		return sha512.New384
	case "1.2.840.113549.2.11":
		return sha512.New
	}
	return nil
}

// pbeCipher returns a block cipher for CBC and the length of its key.
func pbeCipher(oid string) (make func([]byte) (cipher.Block, error), keyLen int) {
	switch oid {
	case "1.2.840.113549.3.7":
		return des.NewTripleDESCipher, 24
	case "2.16.840.1.101.3.4.1.2":
		return aes.NewCipher, 16
	case "2.16.840.1.101.3.4.1.22":
		return aes.NewCipher, 24
	case "2.16.840.1.101.3.4.1.42":
		return aes.NewCipher, 32
	}
	return nil, 0
}

// openPKCS8 decrypts an EncryptedPrivateKeyInfo of PBES2, PBKDF2 and a cipher in CBC mode: what OpenSSL and the
// cryptography library of Python write.
func openPKCS8(der []byte, passphrase string) ([]byte, error) {
	if passphrase == "" {
		return nil, ErrPassphrase
	}
	var sealed encryptedKey
	if err := unmarshalWhole(der, &sealed); err != nil {
		return nil, err
	}
	params, kdf, err := pbes2(&sealed)
	if err != nil {
		return nil, err
	}
	mode, err := pbeMode(params, kdf, passphrase)
	if err != nil {
		return nil, err
	}
	return pbeOpen(mode, sealed.Data)
}

func pbes2(sealed *encryptedKey) (*pbes2Params, *pbkdf2Params, error) {
	if oid := sealed.Algorithm.Algorithm.String(); oid != oidPBES2 {
		return nil, nil, fmt.Errorf("%w: encryption %s is not PBES2", ErrBadKey, oid)
	}
	params, kdf := &pbes2Params{}, &pbkdf2Params{}
	if err := unmarshalWhole(sealed.Algorithm.Parameters.FullBytes, params); err != nil {
		return nil, nil, err
	}
	if oid := params.KDF.Algorithm.String(); oid != oidPBKDF2 {
		return nil, nil, fmt.Errorf("%w: key derivation %s is not PBKDF2", ErrBadKey, oid)
	}
	if err := unmarshalWhole(params.KDF.Parameters.FullBytes, kdf); err != nil {
		return nil, nil, err
	}
	if kdf.Rounds < 1 || kdf.Rounds > maxRounds {
		return nil, nil, fmt.Errorf("%w: %d rounds of PBKDF2", ErrBadKey, kdf.Rounds)
	}
	return params, kdf, nil
}

func pbeMode(p *pbes2Params, kdf *pbkdf2Params, passphrase string) (cipher.BlockMode, error) {
	newHash := pbeHash(kdf.PRF.Algorithm.String())
	newBlock, keyLen := pbeCipher(p.Cipher.Algorithm.String())
	if newHash == nil || newBlock == nil {
		return nil, fmt.Errorf("%w: unknown cipher or hash", ErrBadKey)
	}
	var iv []byte
	if err := unmarshalWhole(p.Cipher.Parameters.FullBytes, &iv); err != nil {
		return nil, err
	}
	key, err := pbkdf2.Key(newHash, passphrase, kdf.Salt, kdf.Rounds, keyLen)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	block, err := newBlock(key)
	if err != nil {
		return nil, fmt.Errorf("cipher: %w", err)
	}
	if len(iv) != block.BlockSize() {
		return nil, fmt.Errorf("%w: initial vector of %d bytes", ErrBadKey, len(iv))
	}
	return cipher.NewCBCDecrypter(block, iv), nil
}

func pbeOpen(mode cipher.BlockMode, data []byte) ([]byte, error) {
	size := mode.BlockSize()
	if len(data) == 0 || len(data)%size != 0 {
		return nil, fmt.Errorf("%w: %d bytes of ciphertext", ErrBadKey, len(data))
	}
	plain := make([]byte, len(data))
	mode.CryptBlocks(plain, data)
	pad := int(plain[len(plain)-1])
	if pad < 1 || pad > size {
		return nil, ErrPassphrase
	}
	plain = plain[:len(plain)-pad]
	if _, err := parsePrivateDER(plain); err != nil {
		return nil, ErrPassphrase
	}
	return plain, nil
}

func unmarshalWhole(der []byte, v any) error {
	rest, err := asn1.Unmarshal(der, v)
	if err != nil || len(rest) > 0 {
		return fmt.Errorf("%w: bad encoding of the encrypted key", ErrBadKey)
	}
	return nil
}
