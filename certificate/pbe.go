package certificate

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"hash"
)

const (
	oidPBES2   = "1.2.840.113549.1.5.13"
	oidPBKDF2  = "1.2.840.113549.1.5.12"
	oidPBE3DES = "1.2.840.113549.1.12.1.3" // RFC 7292, appendix C
	oidAES256  = "2.16.840.1.101.3.4.1.42"
	oidHMAC256 = "1.2.840.113549.2.9"

	// rounds are those of the cryptography library of Python; maxRounds bounds the work that a file can ask for.
	rounds    = 20000
	maxRounds = 2_000_000
)

// The structures of RFC 8018, appendix A.
type (
	pbes2Params struct {
		KDF, Cipher pkix.AlgorithmIdentifier
	}
	pbkdf2Params struct {
		Salt   []byte
		Rounds int
		Length int                      `asn1:"optional"`
		PRF    pkix.AlgorithmIdentifier `asn1:"optional"`
	}
	pbeParams struct {
		Salt   []byte
		Rounds int
	}
)

func pbeHash(oid string) func() hash.Hash {
	switch oid {
	case "", "1.2.840.113549.2.7":
		return sha1.New
	case "1.2.840.113549.2.8":
		return sha256.New224
	case oidHMAC256:
		return sha256.New
	case "1.2.840.113549.2.10":
		return sha512.New384
	case "1.2.840.113549.2.11":
		return sha512.New
	}
	return nil
}

func pbeCipher(oid string) (make func([]byte) (cipher.Block, error), keyLen int) {
	switch oid {
	case "1.2.840.113549.3.7":
		return des.NewTripleDESCipher, 24
	case "2.16.840.1.101.3.4.1.2":
		return aes.NewCipher, 16
	case "2.16.840.1.101.3.4.1.22":
		return aes.NewCipher, 24
	case oidAES256:
		return aes.NewCipher, 32
	}
	return nil, 0
}

// open decrypts by PBES2 with PBKDF2, or by the Triple DES of PKCS#12. What a wrong passphrase gives is an error or garbage.
func open(alg pkix.AlgorithmIdentifier, passphrase string, data []byte) ([]byte, error) {
	var mode cipher.BlockMode
	var err error
	switch oid := alg.Algorithm.String(); oid {
	case oidPBES2:
		mode, err = modeOfPBES2(alg, passphrase)
	case oidPBE3DES:
		var params pbeParams
		if err = Whole(alg.Parameters.FullBytes, &params); err == nil {
			mode, err = modeOf3DES(params, passphrase, cipher.NewCBCDecrypter)
		}
	default:
		return nil, fmt.Errorf("encryption %s is not known", oid)
	}
	if err != nil {
		return nil, err
	}
	size := mode.BlockSize()
	if len(data) == 0 || len(data)%size != 0 {
		return nil, fmt.Errorf("%d bytes of ciphertext", len(data))
	}
	plain := make([]byte, len(data))
	mode.CryptBlocks(plain, data)
	pad := int(plain[len(plain)-1])
	if pad < 1 || pad > size {
		return nil, ErrPassphrase
	}
	return plain[:len(plain)-pad], nil
}

func modeOfPBES2(alg pkix.AlgorithmIdentifier, passphrase string) (cipher.BlockMode, error) {
	var params pbes2Params
	var kdf pbkdf2Params
	var iv []byte
	if err := errors.Join(Whole(alg.Parameters.FullBytes, &params), Whole(params.KDF.Parameters.FullBytes, &kdf),
		Whole(params.Cipher.Parameters.FullBytes, &iv)); err != nil {
		return nil, fmt.Errorf("parameters of PBES2: %w", err)
	}
	newHash := pbeHash(kdf.PRF.Algorithm.String())
	newBlock, keyLen := pbeCipher(params.Cipher.Algorithm.String())
	if oid := params.KDF.Algorithm.String(); oid != oidPBKDF2 || newHash == nil || newBlock == nil {
		return nil, fmt.Errorf("key derivation %s by %s for cipher %s is not known", oid, kdf.PRF.Algorithm, params.Cipher.Algorithm)
	}
	if kdf.Rounds < 1 || kdf.Rounds > maxRounds {
		return nil, fmt.Errorf("%d rounds of PBKDF2", kdf.Rounds)
	}
	key, err := pbkdf2.Key(newHash, passphrase, kdf.Salt, kdf.Rounds, keyLen)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := newBlock(key)
	if err != nil || len(iv) != block.BlockSize() {
		return nil, errors.Join(err, fmt.Errorf("initial vector of %d bytes", len(iv)))
	}
	return cipher.NewCBCDecrypter(block, iv), nil
}

func modeOf3DES(p pbeParams, passphrase string, mode func(cipher.Block, []byte) cipher.BlockMode) (cipher.BlockMode, error) {
	if p.Rounds < 1 || p.Rounds > maxRounds {
		return nil, fmt.Errorf("%d rounds of key derivation", p.Rounds)
	}
	secret := bmp(passphrase)
	block, err := des.NewTripleDESCipher(derive(sha1.New, secret, p.Salt, 1, p.Rounds, 24))
	if err != nil {
		return nil, err
	}
	return mode(block, derive(sha1.New, secret, p.Salt, 2, p.Rounds, 8)), nil
}

// seal encrypts by PBES2: PBKDF2 with HMAC-SHA-256, and AES-256 in CBC mode.
func seal(passphrase string, plain []byte) (alg pkix.AlgorithmIdentifier, data []byte, err error) {
	salt, iv := random(16), random(aes.BlockSize)
	key, err := pbkdf2.Key(sha256.New, passphrase, salt, rounds, 32)
	if err != nil {
		return alg, nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return alg, nil, err
	}
	kdf, err := identifier(oidPBKDF2, pbkdf2Params{Salt: salt, Rounds: rounds, PRF: pkix.AlgorithmIdentifier{Algorithm: known(oidHMAC256), Parameters: asn1.NullRawValue}})
	if err != nil {
		return alg, nil, err
	}
	aes256, err := identifier(oidAES256, iv)
	if err != nil {
		return alg, nil, err
	}
	alg, err = identifier(oidPBES2, pbes2Params{kdf, aes256})
	return alg, encrypt(cipher.NewCBCEncrypter(block, iv), plain), err
}

// seal3DES encrypts by the Triple DES of PKCS#12, which old systems read.
func seal3DES(passphrase string, plain []byte) (alg pkix.AlgorithmIdentifier, data []byte, err error) {
	params := pbeParams{random(8), compatRounds}
	mode, err := modeOf3DES(params, passphrase, cipher.NewCBCEncrypter)
	if err != nil {
		return alg, nil, err
	}
	alg, err = identifier(oidPBE3DES, params)
	return alg, encrypt(mode, plain), err
}

func encrypt(mode cipher.BlockMode, plain []byte) []byte {
	pad := mode.BlockSize() - len(plain)%mode.BlockSize()
	data := append([]byte{}, plain...)
	for range pad {
		data = append(data, byte(pad))
	}
	mode.CryptBlocks(data, data)
	return data
}

func identifier(oid string, params any) (pkix.AlgorithmIdentifier, error) {
	der, err := asn1.Marshal(params)
	return pkix.AlgorithmIdentifier{Algorithm: known(oid), Parameters: asn1.RawValue{FullBytes: der}}, err
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails, as its documentation says
	return b
}
