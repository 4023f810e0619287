package crypto

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"math/big"
	"testing"

	stdcrypto "crypto"
)

var benchSizes = []int{128, 1 << 10, 64 << 10, 1 << 20}

func benchCrypticle(b *testing.B) *Crypticle {
	b.Helper()
	c, err := NewCrypticle(NewKeyString())
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func sizes(b *testing.B, fn func(b *testing.B, body []byte)) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			fn(b, make([]byte, size))
		})
	}
}

func BenchmarkSeal(b *testing.B) {
	c := benchCrypticle(b)
	sizes(b, func(b *testing.B, body []byte) {
		for b.Loop() {
			c.Seal(body, "")
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	c := benchCrypticle(b)
	sizes(b, func(b *testing.B, body []byte) {
		blob := c.Seal(body, "")
		for b.Loop() {
			if _, err := c.Open(blob, ""); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The bare work: the cipher and the HMAC over the same number of bytes, with nothing made or
// copied.
func BenchmarkBareSeal(b *testing.B) { bareCipher(b, cipher.NewCBCEncrypter) }
func BenchmarkBareOpen(b *testing.B) { bareCipher(b, cipher.NewCBCDecrypter) }

func bareCipher(b *testing.B, mode func(cipher.Block, []byte) cipher.BlockMode) {
	block, err := aes.NewCipher(make([]byte, aesKeySize))
	if err != nil {
		b.Fatal(err)
	}
	cbc, mac := mode(block, make([]byte, ivSize)), hmac.New(sha256.New, make([]byte, hmacKeySize))
	sizes(b, func(b *testing.B, body []byte) {
		buf, sum := make([]byte, len(body)+ivSize), make([]byte, 0, macSize)
		for b.Loop() {
			cbc.CryptBlocks(buf, buf)
			mac.Reset()
			mac.Write(buf)
			mac.Sum(sum)
		}
	})
}

func BenchmarkRSA(b *testing.B) {
	for _, bits := range []int{2048, 4096} {
		k, err := GenerateKey(bits)
		if err != nil {
			b.Fatal(err)
		}
		benchRSA(b, fmt.Sprint(bits), k)
	}
}

func benchRSA(b *testing.B, name string, k *PrivateKey) {
	msg, pub := []byte(NewKeyString()), k.Public()
	sum := sha1.Sum(msg)
	ct, errCT := pub.Encrypt(msg, OAEPSHA1)
	sig, errSig := k.Sign(msg, SHA1Sign)
	tok, errTok := k.EncryptX931([]byte("salt"))
	if errCT != nil || errSig != nil || errTok != nil {
		b.Fatal(errCT, errSig, errTok)
	}
	for _, op := range []struct {
		name string
		do   func() error
	}{
		{"sign", func() error { _, err := k.Sign(msg, SHA1Sign); return err }},
		{"bare private", func() error { _, err := rsa.SignPKCS1v15(nil, k.rsa, stdcrypto.SHA1, sum[:]); return err }},
		{"decrypt", func() error { _, err := k.Decrypt(ct, OAEPSHA1); return err }},
		{"x931 encrypt", func() error { _, err := k.EncryptX931([]byte("salt")); return err }},
		{"x931 recover", func() error { _, err := pub.RecoverX931(tok); return err }},
		{"verify", func() error { return pub.Verify(msg, sig, SHA1Sign) }},
		{"bare public", func() error { return rsa.VerifyPKCS1v15(&pub.rsa, stdcrypto.SHA1, sum[:], sig) }},
		{"encrypt", func() error { _, err := pub.Encrypt(msg, OAEPSHA1); return err }},
		{"bare modexp e", func() error {
			new(big.Int).Exp(new(big.Int).SetBytes(tok), big.NewInt(65537), pub.rsa.N)
			return nil
		}},
	} {
		b.Run(name+"/"+op.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := op.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParsePublicKey(b *testing.B) {
	text := []byte(testKey().Public().PEM())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParsePublicKey(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParsePrivateKey(b *testing.B) {
	for _, passphrase := range []string{"", "secret"} {
		text := testKey().PEM(passphrase)
		b.Run(fmt.Sprintf("passphrase %q", passphrase), func(b *testing.B) {
			for b.Loop() {
				if _, err := ParsePrivateKey(text, passphrase); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
