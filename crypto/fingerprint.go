package crypto

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Fingerprint returns the fingerprint of the contents of a PEM file (salt/utils/crypt.py:
// pem_finger): the hash of the lines between the first and last non-blank ones, as hex pairs joined
// by colons. hash is the option hash_type. The error wraps ErrUnknownAlgorithm.
func Fingerprint(pem []byte, hash string) (string, error) {
	return hashed(pemBody(pem), hash)
}

// FingerprintText returns the fingerprint of the exact bytes, which Salt shows for a key that is
// not from a file. The fingerprint of an empty text is "".
func FingerprintText(text []byte, hash string) (string, error) {
	if len(text) == 0 {
		return "", nil
	}
	return hashed(text, hash)
}

func hashed(text []byte, hash string) (string, error) {
	h, err := NewHash(hash)
	if err != nil {
		return "", fmt.Errorf("fingerprint: %w", err)
	}
	h.Write(text)
	return colons(h.Sum(nil)), nil
}

// FingerprintFile returns the fingerprint of a PEM file, or "" if it does not exist. It reads at
// most a megabyte.
func FingerprintFile(path, hash string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("fingerprint: %w", err)
	}
	defer f.Close()
	pem, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return "", fmt.Errorf("fingerprint of %s: %w", path, err)
	}
	return Fingerprint(pem, hash)
}

// pemBody returns the lines inside a PEM text with their newlines.
func pemBody(pem []byte) []byte {
	var lines [][]byte
	for line := range bytes.Lines(bytes.ReplaceAll(pem, []byte("\r\n"), []byte("\n"))) {
		if len(bytes.TrimSpace(line)) > 0 {
			lines = append(lines, line)
		}
	}
	if len(lines) < 3 {
		return nil
	}
	return bytes.Join(lines[1:len(lines)-1], nil)
}

func colons(sum []byte) string {
	pairs := make([]string, len(sum))
	for i, b := range sum {
		pairs[i] = hex.EncodeToString([]byte{b})
	}
	return strings.Join(pairs, ":")
}

// SignatureText encodes a signature for the file master_pubkey_signature and the field pub_sig: one
// line of base64 and a newline.
func SignatureText(sig []byte) string {
	return base64.StdEncoding.EncodeToString(sig) + "\n"
}

// ParseSignatureText decodes the result of SignatureText and ignores white space.
func ParseSignatureText(text string) ([]byte, error) {
	if len(text) > maxPEM {
		return nil, fmt.Errorf("signature text of %d bytes: %w", len(text), ErrVerification)
	}
	sig, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return nil, fmt.Errorf("signature text: %w", err)
	}
	return sig, nil
}
