package certificate

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"

	"github.com/brineproject/brine/internal/pbes2"
)

const (
	oidPBE3DES = "1.2.840.113549.1.12.1.3" // RFC 7292, appendix C
	oidRC2128  = "1.2.840.113549.1.12.1.5"
	oidRC240   = "1.2.840.113549.1.12.1.6"

	// rounds is the number that Python's cryptography library uses.
	rounds = 20000
	// maxWork is the limit of rounds of all key derivations for one file; pbes2.MaxRounds is that
	// of each.
	maxWork = 3 * pbes2.MaxRounds
)

// pbeParams are the parameters of PKCS#12's own encryptions (RFC 7292, appendix C).
type pbeParams struct {
	Salt   []byte
	Rounds int
}

// An opener decrypts with a passphrase, within a total limit of rounds of key derivation.
type opener struct {
	passphrase string
	left       int
}

func newOpener(passphrase string) *opener { return &opener{passphrase, maxWork} }

// take counts the rounds of a key derivation against the limit.
func (o *opener) take(rounds int) error {
	if err := pbes2.Take(rounds); err != nil {
		return err
	}
	if rounds > o.left {
		return fmt.Errorf("%d rounds of key derivation", rounds)
	}
	o.left -= rounds
	return nil
}

// open decrypts PBES2 with PBKDF2, or the Triple DES or the RC2 of PKCS#12. A wrong passphrase
// yields an error or garbage.
func (o *opener) open(alg pkix.AlgorithmIdentifier, data []byte) ([]byte, error) {
	var mode cipher.BlockMode
	var err error
	switch oid := alg.Algorithm.String(); oid {
	case pbes2.OID:
		mode, err = pbes2.Decrypter(alg.Parameters.FullBytes, o.passphrase, o.take)
	case oidPBE3DES, oidRC2128, oidRC240:
		mode, err = o.modeOfPBE(oid, alg)
	default:
		return nil, fmt.Errorf("encryption %s is not known", oid)
	}
	if err != nil {
		return nil, err
	}
	plain, err := pbes2.Open(mode, data)
	if errors.Is(err, pbes2.ErrPadding) {
		return nil, ErrPassphrase
	}
	return plain, err
}

// modeOfPBE returns the cipher mode of PKCS#12's own encryptions.
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
	return cipher.NewCBCDecrypter(block,
		derive(sha1.New, secret, p.Salt, 2, p.Rounds, block.BlockSize())), nil
}

func modeOf3DES(
	p pbeParams, passphrase string, mode func(cipher.Block, []byte) cipher.BlockMode,
) (cipher.BlockMode, error) {
	secret := bmp(passphrase)
	block, err := des.NewTripleDESCipher(derive(sha1.New, secret, p.Salt, 1, p.Rounds, 24))
	if err != nil {
		return nil, err
	}
	return mode(block, derive(sha1.New, secret, p.Salt, 2, p.Rounds, 8)), nil
}

// seal encrypts with PBES2: PBKDF2 with HMAC-SHA-256, and AES-256 in CBC mode.
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
	hmac := pkix.AlgorithmIdentifier{Algorithm: known(pbes2.OIDHMAC256),
		Parameters: asn1.NullRawValue}
	kdf, err := identifier(pbes2.OIDPBKDF2, pbes2.KDFParams{Salt: salt, Rounds: rounds, PRF: hmac})
	if err != nil {
		return alg, nil, err
	}
	aes256, err := identifier(pbes2.OIDAES256, iv)
	if err != nil {
		return alg, nil, err
	}
	alg, err = identifier(pbes2.OID, pbes2.Params{KDF: kdf, Cipher: aes256})
	return alg, encrypt(cipher.NewCBCEncrypter(block, iv), plain), err
}

// seal3DES encrypts with the Triple DES of PKCS#12, which old systems can read.
func seal3DES(
	passphrase string, plain []byte,
) (alg pkix.AlgorithmIdentifier, data []byte, err error) {
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
	return pkix.AlgorithmIdentifier{Algorithm: known(oid),
		Parameters: asn1.RawValue{FullBytes: der}}, err
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails, according to its documentation
	return b
}
