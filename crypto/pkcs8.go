package crypto

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"

	"github.com/brineproject/brine/internal/pbes2"
)

// An encryptedKey is an EncryptedPrivateKeyInfo (RFC 5958, section 3).
type encryptedKey struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

// openPKCS8 decrypts an EncryptedPrivateKeyInfo of PBES2, PBKDF2 and a cipher in CBC mode, as
// written by OpenSSL and Python's cryptography library.
func openPKCS8(der []byte, passphrase string) ([]byte, error) {
	if passphrase == "" {
		return nil, ErrPassphrase
	}
	var sealed encryptedKey
	if rest, err := asn1.Unmarshal(der, &sealed); err != nil || len(rest) > 0 {
		return nil, fmt.Errorf("%w: bad encoding of the encrypted key", ErrBadKey)
	}
	if oid := sealed.Algorithm.Algorithm.String(); oid != pbes2.OID {
		return nil, fmt.Errorf("%w: encryption %s is not PBES2", ErrBadKey, oid)
	}
	mode, err := pbes2.Decrypter(sealed.Algorithm.Parameters.FullBytes, passphrase, pbes2.Take)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	plain, err := pbes2.Open(mode, sealed.Data)
	if errors.Is(err, pbes2.ErrPadding) {
		return nil, ErrPassphrase
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	if _, err := parsePrivateDER(plain); err != nil {
		return nil, ErrPassphrase
	}
	return plain, nil
}
