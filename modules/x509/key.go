package x509

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// errPassphrase is the error for an encrypted key and a wrong or missing passphrase.
var errPassphrase = errors.New("bad decrypt")

// rsaError converts an error to the exception that M2Crypto raises.
func rsaError(err error) error { return loader.Exception("M2Crypto.RSA.RSAError", "%w", err) }

// privateKey reads a private key from a text or a file.
func (m *module) privateKey(input, passphrase any) (crypto.Signer, error) {
	text, err := m.entry(input, allKeyKinds)
	if err != nil {
		var e *loader.Error
		if errors.As(err, &e) {
			return nil, loader.Invocation("%s", strings.ReplaceAll(e.Text, allKeyKinds, keyKind))
		}
		return nil, err
	}
	key, err := parseKey(text, passphrase)
	if err != nil {
		return nil, rsaError(err)
	}
	return key, nil
}

func parseKey(text string, passphrase any) (crypto.Signer, error) {
	b, _ := pem.Decode([]byte(text))
	if b == nil {
		return nil, errors.New("no start line")
	}
	secret := ""
	if passphrase != nil {
		secret = data.Str(passphrase)
	}
	if b.Type == "ENCRYPTED PRIVATE KEY" {
		return certificate.ParseKey(b.Bytes, &secret)
	}
	der := b.Bytes
	if b.Headers["DEK-Info"] != "" {
		var err error
		if der, err = x509.DecryptPEMBlock(b, []byte(secret)); err != nil {
			return nil, errPassphrase
		}
	}
	key, err := parseKeyDER(der)
	if err != nil && b.Headers["DEK-Info"] != "" {
		return nil, errPassphrase
	}
	return key, err
}

func parseKeyDER(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	any, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	key, ok := any.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a key of type %T cannot sign", any)
	}
	return key, nil
}

// publicKey returns the public key of a certificate, a request, a private key or a public key.
func (m *module) publicKey(input, passphrase any) (crypto.PublicKey, error) {
	text, err := m.entry(input, "")
	if err != nil {
		return nil, err
	}
	b, _ := pem.Decode([]byte(text))
	if b == nil {
		return nil, loader.Invocation("PEM text not valid:\n%s", certificate.Concealed(text))
	}
	switch b.Type {
	case "PUBLIC KEY":
		return parsePublic(b.Bytes)
	case "CERTIFICATE":
		c, err := parseCertificate(b.Bytes)
		if err != nil {
			return nil, err
		}
		return parsePublic(c.TBS.PublicKey.FullBytes)
	case "CERTIFICATE REQUEST":
		r, err := parseRequest(b.Bytes)
		if err != nil {
			return nil, err
		}
		return parsePublic(r.Info.PublicKey.FullBytes)
	}
	key, err := m.privateKey(text, passphrase)
	if err != nil {
		return nil, err
	}
	return key.Public(), nil
}

func parsePublic(der []byte) (crypto.PublicKey, error) {
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, rsaError(err)
	}
	return key, nil
}

func publicDER(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, rsaError(err)
	}
	return der, nil
}

func publicPEM(key crypto.PublicKey) ([]byte, error) {
	der, err := publicDER(key)
	return []byte(encodePEM("PUBLIC KEY", der)), err
}

// keyBits returns the size of a key in bits.
func keyBits(key crypto.PublicKey) int64 {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return int64(k.Size()) * 8
	case *ecdsa.PublicKey:
		return int64(k.Curve.Params().BitSize)
	case ed25519.PublicKey:
		return 256
	}
	return 0
}

// keyHash returns the SHA-1 hash that Salt uses for a public key: that of its modulus in upper-case
// hexadecimal.
func keyHash(key crypto.PublicKey) []byte {
	var sum [sha1.Size]byte
	if k, ok := key.(*rsa.PublicKey); ok {
		sum = sha1.Sum([]byte(modulusText(k)))
	} else if der, err := x509.MarshalPKIXPublicKey(key); err == nil {
		sum = sha1.Sum(der)
	}
	return sum[:]
}

func modulusText(k *rsa.PublicKey) string { return fmt.Sprintf("%X", k.N.Bytes()) }

// pemCipher returns the cipher for private keys with an OpenSSL name.
func pemCipher(name string) (x509.PEMCipher, bool) {
	switch strings.ReplaceAll(strings.ToLower(name), "-", "_") {
	case "des_cbc":
		return x509.PEMCipherDES, true
	case "des_ede3_cbc", "des3":
		return x509.PEMCipher3DES, true
	case "aes_128_cbc", "aes128":
		return x509.PEMCipherAES128, true
	case "aes_192_cbc", "aes192":
		return x509.PEMCipherAES192, true
	case "aes_256_cbc", "aes256":
		return x509.PEMCipherAES256, true
	}
	return 0, false
}

// newKey returns a new RSA key as text, encrypted if there is a passphrase.
func newKey(bits int, passphrase any, cipher string) (string, error) {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return "", rsaError(err)
	}
	b := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	if passphrase == nil {
		return string(pem.EncodeToMemory(b)), nil
	}
	alg, ok := pemCipher(cipher)
	if !ok {
		return "", loader.Exception("ValueError", "unknown cipher: %s", cipher)
	}
	b, err = x509.EncryptPEMBlock(rand.Reader, b.Type, b.Bytes, []byte(data.Str(passphrase)), alg)
	if err != nil {
		return "", rsaError(err)
	}
	name, iv, _ := strings.Cut(b.Headers["DEK-Info"], ",")
	b.Headers["DEK-Info"] = name + "," + strings.ToUpper(iv)
	return string(pem.EncodeToMemory(b)), nil
}
