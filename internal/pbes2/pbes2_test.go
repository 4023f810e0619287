package pbes2_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/pbes2"
)

func identifier(t *testing.T, oid asn1.ObjectIdentifier, params any) pkix.AlgorithmIdentifier {
	t.Helper()
	der, err := asn1.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	return pkix.AlgorithmIdentifier{Algorithm: oid, Parameters: asn1.RawValue{FullBytes: der}}
}

var (
	oidPBKDF2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
	oidHMAC256 = asn1.ObjectIdentifier{1, 2, 840, 113549, 2, 9}
	oidAES256  = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 1, 42}
)

func params(t *testing.T, kdf pbes2.KDFParams, cipher asn1.ObjectIdentifier, iv []byte) []byte {
	t.Helper()
	der, err := asn1.Marshal(pbes2.Params{KDF: identifier(t, oidPBKDF2, kdf),
		Cipher: identifier(t, cipher, iv)})
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// TestDecrypter decrypts AES-256 data with the right passphrase and a wrong one.
func TestDecrypter(t *testing.T) {
	salt, iv, plain := []byte("salt of 16 bytes"), make([]byte, aes.BlockSize),
		[]byte("a secret of twenty-five.\x08\x08\x08\x08\x08\x08\x08\x08")
	key, err := pbkdf2.Key(sha256.New, "right", salt, 1000, 32)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	sealed := make([]byte, len(plain))
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(sealed, plain)
	der := params(t, pbes2.KDFParams{Salt: salt, Rounds: 1000,
		PRF: pkix.AlgorithmIdentifier{Algorithm: oidHMAC256}}, oidAES256, iv)
	mode, err := pbes2.Decrypter(der, "right", pbes2.Take)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := pbes2.Open(mode, sealed); err != nil || string(got) != "a secret of twenty-five." {
		t.Errorf("Open = %q, %v", got, err)
	}
	if mode, err = pbes2.Decrypter(der, "wrong", pbes2.Take); err != nil {
		t.Fatal(err)
	}
	if got, err := pbes2.Open(mode, sealed); !errors.Is(err, pbes2.ErrPadding) {
		t.Errorf("Open with a wrong passphrase = %q, %v", got, err)
	}
	if _, err := pbes2.Open(mode, sealed[:20]); err == nil {
		t.Error("Open takes a part of a block")
	}
}

// TestDecrypterRefuses uses parameters that are invalid, or require too much work.
func TestDecrypterRefuses(t *testing.T) {
	iv, salt := make([]byte, aes.BlockSize), []byte("salt")
	unknown := asn1.ObjectIdentifier{1, 2, 3}
	for want, der := range map[string][]byte{
		"parameters of PBES2":        []byte("no DER"),
		"0 rounds of key derivation": params(t, pbes2.KDFParams{Salt: salt}, oidAES256, iv),
		"2000001 rounds of key derivation": params(t,
			pbes2.KDFParams{Salt: salt, Rounds: pbes2.MaxRounds + 1}, oidAES256, iv),
		"for cipher 1.2.3 is not known": params(t, pbes2.KDFParams{Salt: salt, Rounds: 1}, unknown, iv),
		"initial vector of 3 bytes": params(t, pbes2.KDFParams{Salt: salt, Rounds: 1},
			oidAES256, iv[:3]),
	} {
		if _, err := pbes2.Decrypter(der, "x", pbes2.Take); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("Decrypter = %v, want %q", err, want)
		}
	}
}
