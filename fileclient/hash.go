package fileclient

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
)

// newHash returns the algorithm of a hash_type.
func newHash(name string) (hash.Hash, error) {
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
	return nil, fmt.Errorf("hash algorithm %q is not known", name)
}

// typeOf returns the algorithm whose hashes have as many digits (salt/utils/files.py, HASHES_REVMAP), or "".
func typeOf(digits int) string {
	return map[int]string{128: "sha512", 96: "sha384", 64: "sha256", 56: "sha224", 40: "sha1", 32: "md5"}[digits]
}

// hashOf returns the hash of a file on the disk.
func hashOf(file, name string) (Sum, error) {
	h, err := newHash(name)
	if err != nil {
		return Sum{}, err
	}
	f, err := os.Open(file)
	if err != nil {
		return Sum{}, err
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return Sum{}, err
	}
	return Sum{Type: name, Hex: hex.EncodeToString(h.Sum(nil))}, nil
}
