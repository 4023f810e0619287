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
	oidRC2128  = "1.2.840.113549.1.12.1.5"
	oidRC240   = "1.2.840.113549.1.12.1.6"
	oidAES256  = "2.16.840.1.101.3.4.1.42"
	oidHMAC256 = "1.2.840.113549.2.9"

	// rounds are those of the cryptography library of Python.
	rounds = 20000
	// maxRounds bounds the work that a file can ask for: that of each key derivation, and maxWork that of all.
	maxRounds = 2_000_000
	maxWork   = 3 * maxRounds
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

// An opener decrypts by a passphrase, and does no more than so many rounds of key derivation in all.
type opener struct {
	passphrase string
	left       int
}

func newOpener(passphrase string) *opener { return &opener{passphrase, maxWork} }

// take counts the rounds of a key derivation.
func (o *opener) take(rounds int) error {
	if rounds < 1 || rounds > maxRounds || rounds > o.left {
		return fmt.Errorf("%d rounds of key derivation", rounds)
	}
	o.left -= rounds
	return nil
}

// open decrypts by PBES2 with PBKDF2, or by the Triple DES or the RC2 of PKCS#12. What a wrong passphrase gives is an error or garbage.
func (o *opener) open(alg pkix.AlgorithmIdentifier, data []byte) ([]byte, error) {
	var mode cipher.BlockMode
	var err error
	switch oid := alg.Algorithm.String(); oid {
	case oidPBES2:
		mode, err = o.modeOfPBES2(alg)
	case oidPBE3DES, oidRC2128, oidRC240:
		mode, err = o.modeOfPBE(oid, alg)
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

func (o *opener) modeOfPBES2(alg pkix.AlgorithmIdentifier) (cipher.BlockMode, error) {
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
	if err := o.take(kdf.Rounds); err != nil {
		return nil, err
	}
	key, err := pbkdf2.Key(newHash, o.passphrase, kdf.Salt, kdf.Rounds, keyLen)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := newBlock(key)
	if err != nil || len(iv) != block.BlockSize() {
		return nil, errors.Join(err, fmt.Errorf("initial vector of %d bytes", len(iv)))
	}
	return cipher.NewCBCDecrypter(block, iv), nil
}

// modeOfPBE is for the encryptions of PKCS#12 itself.
func (o *opener) modeOfPBE(oid string, alg pkix.AlgorithmIdentifier) (cipher.BlockMode, error) {
	var p pbeParams
	if err := Whole(alg.Parameters.FullBytes, &p); err != nil {
		return nil, fmt.Errorf("parameters of the encryption: %w", err)
	}
	if err := o.take(p.Rounds); err != nil {
		return nil, err
	}
	size := 16
	switch oid {
	case oidPBE3DES:
		return modeOf3DES(p, o.passphrase, cipher.NewCBCDecrypter)
	case oidRC240:
		size = 5
	}
	secret := bmp(o.passphrase)
	block := newRC2(derive(sha1.New, secret, p.Salt, 1, p.Rounds, size))
	return cipher.NewCBCDecrypter(block, derive(sha1.New, secret, p.Salt, 2, p.Rounds, block.BlockSize())), nil
}

func modeOf3DES(p pbeParams, passphrase string, mode func(cipher.Block, []byte) cipher.BlockMode) (cipher.BlockMode, error) {
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
