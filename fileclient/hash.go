package fileclient

import (
	"encoding/hex"
	"io"
	"os"

	"github.com/brineproject/brine/crypto"
)

// typeOf returns the algorithm whose hashes have that many hex digits (salt/utils/files.py,
// HASHES_REVMAP), or "".
func typeOf(digits int) string {
	return map[int]string{128: "sha512", 96: "sha384", 64: "sha256", 56: "sha224", 40: "sha1",
		32: "md5"}[digits]
}

// hashOf returns the hash of a file on the disk.
func hashOf(file, name string) (Sum, error) {
	h, err := crypto.NewHash(name)
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
