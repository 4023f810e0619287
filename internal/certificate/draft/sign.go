package draft

import (
	"crypto"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// digests returns the hashes that arguments may name.
func digests() []string {
	return []string{"sha1", "sha224", "sha256", "sha384", "sha512", "sha512_224", "sha512_256",
		"sha3_224", "sha3_256", "sha3_384", "sha3_512"}
}

// CheckDigest returns an error for an unknown name of a hash.
func CheckDigest(v any) error {
	if slices.Contains(digests(), strings.ToLower(data.Str(v))) {
		return nil
	}
	return loader.Execution("Invalid value '%s' for digest. Valid: %s", data.Str(v),
		strings.Join(digests(), ", "))
}

// Digest returns the hash of a name.
func Digest(v any) (crypto.Hash, error) {
	switch strings.ToLower(data.Str(v)) {
	case "sha1":
		return crypto.SHA1, nil
	case "sha224":
		return crypto.SHA224, nil
	case "sha256":
		return crypto.SHA256, nil
	case "sha384":
		return crypto.SHA384, nil
	case "sha512":
		return crypto.SHA512, nil
	case "sha512_224":
		return crypto.SHA512_224, nil
	case "sha512_256":
		return crypto.SHA512_256, nil
	case "sha3_224":
		return crypto.SHA3_224, nil
	case "sha3_256":
		return crypto.SHA3_256, nil
	case "sha3_384":
		return crypto.SHA3_384, nil
	case "sha3_512":
		return crypto.SHA3_512, nil
	}
	return 0, loader.Execution("The selected hashing algorithm does not exist in the cryptography python library")
}

func signer(key crypto.Signer, digest any) (*certificate.Signer, error) {
	hash, err := Digest(digest)
	if err != nil {
		return nil, err
	}
	if hash == crypto.SHA512_224 || hash == crypto.SHA512_256 {
		return nil, loader.Exception("ValueError",
			"Hash algorithm \"%s\" not supported for signatures",
			strings.ReplaceAll(strings.ToLower(data.Str(digest)), "_", "-"))
	}
	s, err := certificate.NewSigner(key, hash)
	if err != nil {
		return nil, loader.Execution("Signing with %s: %w", data.Str(digest), err)
	}
	return s, nil
}

// SignRequest signs a request.
func SignRequest(q *certificate.Request, key crypto.Signer, digest any) error {
	s, err := signer(key, digest)
	if err != nil {
		return err
	}
	if err := q.Sign(s); err != nil {
		return loader.Execution("%w", err)
	}
	return nil
}

// SignList signs a revocation list.
func SignList(l *certificate.List, key crypto.Signer, digest any) error {
	s, err := signer(key, digest)
	if err != nil {
		return err
	}
	if err := l.Sign(s); err != nil {
		return loader.Execution("%w", err)
	}
	return nil
}
