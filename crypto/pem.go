package crypto

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"io"
	"strings"
)

// ParsePrivateKey parses a private key file: one PEM block with a PKCS#1 key, plain or in OpenSSL's
// traditional encryption (DES-EDE3-CBC, AES-256-CBC and the like), or with a PKCS#8 key, plain or
// encrypted by PBES2. White space around it is ignored, as is the passphrase for a plain key. Keys
// of 1024 to 16384 bits are accepted. Errors wrap ErrBadKey, ErrWeakKey or ErrPassphrase.
func ParsePrivateKey(text []byte, passphrase string) (*PrivateKey, error) {
	block, err := onlyBlock([]byte(strings.TrimSpace(string(text))))
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	key, err := parsePrivateBlock(block, passphrase)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	if err := (Policy{MinBits: lowestBits}).check(&key.PublicKey); err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	return &PrivateKey{rsa: key}, nil
}

func parsePrivateBlock(block *pem.Block, passphrase string) (*rsa.PrivateKey, error) {
	der := block.Bytes
	var err error
	switch {
	case block.Type == "ENCRYPTED PRIVATE KEY":
		der, err = openPKCS8(der, passphrase)
	case block.Headers["DEK-Info"] != "":
		der, err = openTraditional(block, passphrase)
	case block.Type != "RSA PRIVATE KEY" && block.Type != "PRIVATE KEY":
		err = fmt.Errorf("%w: the text is a %q", ErrBadKey, block.Type)
	}
	if err != nil {
		return nil, err
	}
	return parsePrivateDER(der)
}

func parsePrivateDER(der []byte) (*rsa.PrivateKey, error) {
	key, err := parsePKCS1Private(der)
	if err == nil {
		return key, nil
	}
	key, err = parsePrivateInfo(der)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrBadKey, err) //nolint:errorlint // it says what is wrong; the cause is ours alone
	}
	return key, nil
}

// openTraditional decrypts OpenSSL's traditional format.
func openTraditional(block *pem.Block, passphrase string) ([]byte, error) {
	if passphrase == "" {
		return nil, ErrPassphrase
	}
	der, err := openDEK(block, passphrase)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrPassphrase, err) //nolint:errorlint // it says what is wrong; the cause is ours alone
	}
	// A wrong passphrase survives the padding check once in 256 times.
	if _, err := parsePrivateDER(der); err != nil {
		return nil, ErrPassphrase
	}
	return der, nil
}

// PEM returns the key in the format of Salt's key files: PKCS#1 without a final newline. With a
// passphrase it uses traditional encryption by AES-256-CBC, which every release of Salt supports.
func (k *PrivateKey) PEM(passphrase string) []byte {
	return k.encode(rand.Reader, passphrase, "AES-256-CBC")
}

func (k *PrivateKey) encode(random io.Reader, passphrase, alg string) []byte {
	der, err := marshalPKCS1Private(k.rsa)
	if err != nil {
		// an *rsa.PrivateKey can always be encoded
		panic("crypto: encode private key: " + err.Error())
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: der}
	if passphrase != "" {
		block = sealTraditional(random, block, passphrase, alg)
	}
	return []byte(encodePEM(block))
}

func sealTraditional(random io.Reader, block *pem.Block, passphrase, alg string) *pem.Block {
	sealed, err := sealDEK(random, block, passphrase, alg)
	if err != nil {
		// only an unknown cipher or a broken random source
		panic("crypto: encrypt private key: " + err.Error())
	}
	return sealed
}

// CleanPEM returns the text of a key in the form sent by Salt 3006.9 and later (salt/crypt.py:
// clean_key): without surrounding white space, with single newlines between lines and none at the
// end.
func CleanPEM(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n")
	return strings.ReplaceAll(text, "\r", "\n")
}

// SameKey reports whether two texts are the same public key. Valid keys are compared as keys, so
// line ends, blank lines and the PEM format are irrelevant; other texts are compared after
// CleanPEM.
func SameKey(a, b string) bool {
	a, b = CleanPEM(a), CleanPEM(b)
	if a == b {
		return true
	}
	lenient := Policy{MinBits: lowestBits}
	first, err := lenient.ParsePublicKey([]byte(a))
	if err != nil {
		return false
	}
	second, err := lenient.ParsePublicKey([]byte(b))
	return err == nil && first.Equal(second)
}
