// Package hashutil is Salt's module hashutil: hashes, signatures and base64
// (salt/modules/hashutil.py, salt/utils/hashutils.py).
//
// Strings are hashed and encoded as UTF-8. Decoded data is returned as a string if it is valid
// UTF-8, otherwise as bytes.
//
// Differences from Salt: signatures are compared in constant time; base64_decodefile writes nothing
// if the input is invalid.
package hashutil

import (
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"strings"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module hashutil.
func Plugin() loader.Plugin { return loader.Plugin{Name: "hashutil", New: newModule} }

type module struct{}

func newModule(*loader.Env) (*loader.Module, error) {
	m := &module{}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("base64_b64decode", m.base64B64decode),
		loader.F("base64_b64encode", m.base64B64encode),
		loader.F("base64_decodefile", m.base64Decodefile),
		loader.F("base64_decodestring", m.base64Decodestring),
		loader.F("base64_encodefile", m.base64Encodefile),
		loader.F("base64_encodestring", m.base64Encodestring),
		loader.F("digest", m.digest),
		loader.F("digest_file", m.digestFile),
		loader.F("github_signature", m.githubSignature).Secret("shared_secret"),
		loader.F("hmac_compute", m.hmacCompute).Secret("shared_secret"),
		loader.F("hmac_signature", m.hmacSignature).Secret("shared_secret"),
		loader.F("md5_digest", m.md5Digest),
		loader.F("sha256_digest", m.sha256Digest),
		loader.F("sha512_digest", m.sha512Digest),
	}}, nil
}

type instrArgs struct{ Instr any }

// bytesOf returns the bytes of a string (salt/utils/stringutils.py, to_bytes).
func bytesOf(v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return []byte(v), nil
	case []byte:
		return v, nil
	}
	return nil, loader.TypeError("expected str, bytes, or bytearray not <class '%s'>",
		loader.TypeName(v))
}

// sum returns the hash of a string in hexadecimal digits.
func sum(h hash.Hash, v any) (any, error) {
	b, err := bytesOf(v)
	if err != nil {
		return nil, err
	}
	_, _ = h.Write(b)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// md5Digest returns the MD5 hash of a string.
//
// CLI Example:
//
//	salt '*' hashutil.md5_digest 'get salted'
func (m *module) md5Digest(_ context.Context, a instrArgs) (any, error) {
	return sum(md5.New(), a.Instr)
}

// sha256Digest returns the SHA-256 hash of a string.
//
// CLI Example:
//
//	salt '*' hashutil.sha256_digest 'get salted'
func (m *module) sha256Digest(_ context.Context, a instrArgs) (any, error) {
	return sum(sha256.New(), a.Instr)
}

// sha512Digest returns the SHA-512 hash of a string.
//
// CLI Example:
//
//	salt '*' hashutil.sha512_digest 'get salted'
func (m *module) sha512Digest(_ context.Context, a instrArgs) (any, error) {
	return sum(sha512.New(), a.Instr)
}

type digestArgs struct {
	Instr    any
	Checksum any `default:"'md5'"`
}

// digest returns the hash of a string.
//
// checksum : md5
//
//	The kind of hash: md5, sha256 or sha512.
//
// CLI Example:
//
//	salt '*' hashutil.digest 'get salted'
func (m *module) digest(_ context.Context, a digestArgs) (any, error) {
	h, err := hashOf(a.Checksum)
	if err != nil {
		return nil, err
	}
	return sum(h, a.Instr)
}

func hashOf(name any) (hash.Hash, error) {
	switch name {
	case "md5":
		return md5.New(), nil
	case "sha256":
		return sha256.New(), nil
	case "sha512":
		return sha512.New(), nil
	}
	return nil, loader.Execution("Hash func '%s' is not supported.", data.Str(name))
}

type digestFileArgs struct {
	Infile   string
	Checksum any `default:"'md5'"`
}

// digestFile returns the hash of a file.
//
// checksum : md5
//
//	The kind of hash: md5, sha256 or sha512.
//
// CLI Example:
//
//	salt '*' hashutil.digest_file /path/to/file
func (m *module) digestFile(_ context.Context, a digestFileArgs) (any, error) {
	if info, err := os.Stat(a.Infile); err != nil || !info.Mode().IsRegular() {
		return nil, loader.Execution("File path '%s' not found.", a.Infile)
	}
	h, err := hashOf(a.Checksum)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(a.Infile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

type signatureArgs struct {
	String        any
	SharedSecret  any
	ChallengeHmac any
}

// hmacSignature returns whether a signature, in base64, is the HMAC-SHA-256 of a string with a
// secret.
//
// CLI Example:
//
//	salt '*' hashutil.hmac_signature 'get salted' 'shared secret' 'eBWf9bstXg+NiP5AOwppB5HMvZiYMPzEM9W5YMm/AmQ='
func (m *module) hmacSignature(_ context.Context, a signatureArgs) (any, error) {
	own, err := sign(sha256.New, a.String, a.SharedSecret)
	if err != nil {
		return nil, err
	}
	given, err := bytesOf(a.ChallengeHmac)
	return hmac.Equal([]byte(base64.StdEncoding.EncodeToString(own)), given), err
}

func sign(kind func() hash.Hash, text, secret any) ([]byte, error) {
	msg, err := bytesOf(text)
	if err != nil {
		return nil, err
	}
	key, err := bytesOf(secret)
	if err != nil {
		return nil, err
	}
	h := hmac.New(kind, key)
	_, _ = h.Write(msg)
	return h.Sum(nil), nil
}

type computeArgs struct {
	String       any
	SharedSecret any
}

// hmacCompute returns the HMAC-SHA-256 of a string with a secret, in hexadecimal digits.
//
// CLI Example:
//
//	salt '*' hashutil.hmac_compute 'get salted' 'shared secret'
func (m *module) hmacCompute(_ context.Context, a computeArgs) (any, error) {
	own, err := sign(sha256.New, a.String, a.SharedSecret)
	if err != nil {
		return nil, err
	}
	return hex.EncodeToString(own), nil
}

// githubSignature returns whether a signature of a GitHub webhook, in the form sha1=…, matches the
// body.
//
// CLI Example:
//
//	salt '*' hashutil.github_signature '{"ref":....} ' 'shared secret' 'sha1=bc6550fc290acf5b42283fa8deaf55cea0f8c206'
func (m *module) githubSignature(_ context.Context, a signatureArgs) (any, error) {
	parts := strings.Split(data.Str(a.ChallengeHmac), "=")
	switch {
	case len(parts) > 2:
		return nil, loader.Exception("ValueError", "too many values to unpack (expected 2)")
	case len(parts) < 2:
		return nil, loader.Exception("ValueError",
			"not enough values to unpack (expected 2, got %d)", len(parts))
	}
	if _, err := crypto.NewHash(parts[0]); err != nil {
		return nil, loader.Exception("AttributeError",
			"module 'hashlib' has no attribute '%s'", parts[0])
	}
	kind := func() hash.Hash {
		h, _ := crypto.NewHash(parts[0]) // available, checked above
		return h
	}
	own, err := sign(kind, a.String, a.SharedSecret)
	if err != nil {
		return nil, err
	}
	return hmac.Equal([]byte(hex.EncodeToString(own)), []byte(parts[1])), nil
}
