package crypto

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"fmt"
	"hash"

	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/blake2s"
)

// NewHash returns a new hash for the option hash_type: md5, sha1, sha224, sha256, sha384, sha512,
// and the other hashes of Python's hashlib with a fixed size. The error wraps ErrUnknownAlgorithm.
func NewHash(name string) (hash.Hash, error) {
	switch name {
	case "md5":
		return md5.New(), nil
	case "sha1":
		return sha1.New(), nil
	case "sha224":
		return sha256.New224(), nil
	case "sha256":
		return sha256.New(), nil
	case "sha384":
		return sha512.New384(), nil
	case "sha512":
		return sha512.New(), nil
	}
	return newerHash(name)
}

func newerHash(name string) (hash.Hash, error) {
	switch name {
	case "sha3_224":
		return sha3.New224(), nil
	case "sha3_256":
		return sha3.New256(), nil
	case "sha3_384":
		return sha3.New384(), nil
	case "sha3_512":
		return sha3.New512(), nil
	case "blake2b":
		return blake2b.New512(nil)
	case "blake2s":
		return blake2s.New256(nil)
	}
	return nil, fmt.Errorf("hash %q: %w", name, ErrUnknownAlgorithm)
}
