package crypto

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/md5"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"strings"
)

// OpenSSL's traditional encryption of PEM blocks, with a header DEK-Info (RFC 1423). It has no
// integrity check, but such files exist and come from the operator's own disk.

// A dekCipher is a block cipher in CBC mode by its name in DEK-Info.
type dekCipher struct {
	name string
	make func(key []byte) (cipher.Block, error)
	key  int // length in bytes
	size int // of a block, in bytes
}

func dekCiphers() []dekCipher {
	return []dekCipher{
		{"DES-CBC", des.NewCipher, 8, des.BlockSize},
		{"DES-EDE3-CBC", des.NewTripleDESCipher, 24, des.BlockSize},
		{"AES-128-CBC", aes.NewCipher, 16, aes.BlockSize},
		{"AES-192-CBC", aes.NewCipher, 24, aes.BlockSize},
		{"AES-256-CBC", aes.NewCipher, 32, aes.BlockSize},
	}
}

func dekCipherOf(name string) (dekCipher, error) {
	for _, c := range dekCiphers() {
		if c.name == name {
			return c, nil
		}
	}
	return dekCipher{}, fmt.Errorf("unknown encryption %.40q", name)
}

// block returns the cipher for a passphrase. As in OpenSSL, the key is an MD5 of the passphrase and
// the first 8 bytes of the initialization vector, repeated.
func (c dekCipher) block(passphrase string, iv []byte) (cipher.Block, error) {
	var key, digest []byte
	for len(key) < c.key {
		sum := md5.Sum(append(append(digest, passphrase...), iv[:8]...))
		digest = sum[:]
		key = append(key, digest...)
	}
	return c.make(key[:c.key])
}

var errPadding = errors.New("the padding is wrong")

// openDEK decrypts a block. A wrong passphrase is usually, but not always, an error.
func openDEK(b *pem.Block, passphrase string) ([]byte, error) {
	name, text, ok := strings.Cut(b.Headers["DEK-Info"], ",")
	if !ok {
		return nil, errors.New("malformed header DEK-Info")
	}
	c, err := dekCipherOf(name)
	if err != nil {
		return nil, err
	}
	iv, err := hex.DecodeString(text)
	if err != nil {
		return nil, err
	}
	if len(iv) != c.size {
		return nil, errors.New("the initialization vector has the wrong length")
	}
	n := len(b.Bytes)
	if n == 0 || n%c.size != 0 {
		return nil, errors.New("the encrypted key does not consist of whole blocks")
	}
	block, err := c.block(passphrase, iv)
	if err != nil {
		return nil, err
	}
	plain := make([]byte, n)
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, b.Bytes)
	pad := int(plain[n-1])
	if pad == 0 || pad > c.size || !bytes.Equal(plain[n-pad:], padding(pad)) {
		return nil, errPadding
	}
	return plain[:n-pad], nil
}

// sealDEK encrypts a block by the cipher of that name.
func sealDEK(random io.Reader, b *pem.Block, passphrase, name string) (*pem.Block, error) {
	c, err := dekCipherOf(name)
	if err != nil {
		return nil, err
	}
	iv := make([]byte, c.size)
	if _, err := io.ReadFull(random, iv); err != nil {
		return nil, err
	}
	block, err := c.block(passphrase, iv)
	if err != nil {
		return nil, err
	}
	sealed := append(bytes.Clone(b.Bytes), padding(c.size-len(b.Bytes)%c.size)...)
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(sealed, sealed)
	return &pem.Block{Type: b.Type, Bytes: sealed, Headers: map[string]string{
		"Proc-Type": "4,ENCRYPTED", "DEK-Info": fmt.Sprintf("%s,%X", name, iv)}}, nil
}

func padding(n int) []byte { return bytes.Repeat([]byte{byte(n)}, n) }
