package saltjinja

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"math/big"
	"os"
	"unicode/utf8"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/jinja"
)

// hashFilters returns the filters of salt/utils/hashutils.py, and uuid.
func hashFilters() map[string]jinja.Func {
	return map[string]jinja.Func{
		"md5": digest("md5_digest", "md5"), "sha1": digest("sha1_digest", "sha1"),
		"sha256": digest("sha256_digest", "sha256"), "sha512": digest("sha512_digest", "sha512"),
		"base64_encode": base64Encode, "base64_decode": base64Decode,
		"hmac": checkHMAC, "hmac_compute": computeHMAC, "rand_str": randomHash,
		"random_hash": randomHash, "file_hashsum": fileHash,
		"uuid": nameUUID,
	}
}

func digest(function, name string) jinja.Func {
	return func(c *jinja.Call) (any, error) {
		p := bind(c, function, "instr")
		b := bytesOf(p, 0)
		h, err := crypto.NewHash(name)
		if err != nil {
			return nil, err
		}
		h.Write(b)
		return hex.EncodeToString(h.Sum(nil)), p.err
	}
}

func base64Encode(c *jinja.Call) (any, error) {
	p := bind(c, "base64_b64encode", "instr")
	b := bytesOf(p, 0)
	return base64.StdEncoding.EncodeToString(b), p.err
}

// base64Decode ignores characters outside of the alphabet, as Python does.
func base64Decode(c *jinja.Call) (any, error) {
	p := bind(c, "base64_b64decode", "instr")
	b := bytesOf(p, 0)
	if p.err != nil {
		return nil, p.err
	}
	kept := bytes.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '+' ||
			r == '/' || r == '=' {
			return r
		}
		return -1
	}, b)
	out, err := base64.StdEncoding.DecodeString(string(kept))
	if err != nil {
		return nil, jinja.Raise("Error", "Incorrect padding")
	}
	if utf8.Valid(out) {
		return string(out), nil
	}
	return out, nil
}

func sign(p *params) []byte {
	text, key := bytesOf(p, 0), bytesOf(p, 1)
	h := hmac.New(sha256.New, key)
	h.Write(text)
	return h.Sum(nil)
}

func checkHMAC(c *jinja.Call) (any, error) {
	p := bind(c, "hmac_signature", "string", "shared_secret", "challenge_hmac")
	sum, want := sign(p), bytesOf(p, 2)
	return hmac.Equal([]byte(base64.StdEncoding.EncodeToString(sum)), want), p.err
}

func computeHMAC(c *jinja.Call) (any, error) {
	p := bind(c, "hmac_compute", "string", "shared_secret")
	return hex.EncodeToString(sign(p)), p.err
}

// randomHash returns the hash of a random number up to its value.
func randomHash(c *jinja.Call) (any, error) {
	p := bind(c, "random_hash", "size=", "hash_type=")
	size := p.number(0, 9999999999)
	name, _ := textOf(p.or(1, "md5"))
	h, err := crypto.NewHash(name)
	if err != nil {
		p.note(jinja.Raise(jinja.AttributeError, "module 'hashlib' has no attribute '%s'", name))
	}
	if size < 0 {
		p.note(jinja.Raise(jinja.ValueError, "empty range for randrange() (0, %d, %d)",
			size+1, size+1))
	}
	if p.err != nil {
		return nil, p.err
	}
	n, err := rand.Int(rand.Reader, big.NewInt(size+1))
	if err != nil {
		return nil, err
	}
	h.Write([]byte(n.String()))
	return hex.EncodeToString(h.Sum(nil)), nil
}

func fileHash(c *jinja.Call) (any, error) {
	p := bind(c, "get_hash", "path", "form=", "chunk_size=")
	path := p.text(0)
	form, _ := textOf(p.or(1, "sha256"))
	h, err := crypto.NewHash(form)
	if err != nil {
		p.note(jinja.Raise(jinja.ValueError, "Invalid hash type: %s", form))
	}
	if p.err != nil {
		return nil, p.err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, osError(err, path)
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return nil, osError(err, path)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// saltSpace is Salt's name space of UUIDs.
func saltSpace() []byte {
	return []byte{0x91, 0x63, 0x3e, 0xbf, 0x1c, 0x86, 0x5e, 0x33, 0x93, 0x5a, 0x28, 0x06, 0x1f,
		0x4b, 0x48, 0x0e}
}

// nameUUID returns the version 5 UUID of a text.
func nameUUID(c *jinja.Call) (any, error) {
	p := bind(c, "uuid_", "val")
	b := bytesOf(p, 0)
	h := sha1.New()
	h.Write(saltSpace())
	h.Write(b)
	u := h.Sum(nil)[:16]
	u[6], u[8] = u[6]&0x0f|0x50, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), p.err
}
