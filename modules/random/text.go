package random

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type hashArgs struct {
	Value     any
	Algorithm string `default:"'sha512'"`
}

// hash returns the hash of a text in hexadecimal.
//
// algorithm : sha512
//
//	The hash algorithm: md5, sha1, sha224, sha256, sha384, sha512, or sha3_ with one of these
//	lengths.
//
// CLI Example:
//
//	salt '*' random.hash 'I am a string' md5
func (m *module) hash(_ context.Context, a hashArgs) (any, error) {
	return hashed(a.Value, a.Algorithm)
}

func hashed(v any, algorithm string) (string, error) {
	h, err := crypto.NewHash(algorithm)
	if err != nil {
		return "", loader.Exception("salt.exceptions.SaltException",
			"You must specify a valid algorithm.")
	}
	switch v := v.(type) {
	case string:
		_, _ = h.Write([]byte(v))
	case []byte:
		_, _ = h.Write(v)
	default:
		return "", loader.TypeError("object supporting the buffer API required")
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

type strEncodeArgs struct {
	Value   any
	Encoder string `default:"'base64'"`
}

// strEncode encodes a text in base64. As in Salt, no other encoder works.
//
// CLI Example:
//
//	salt '*' random.str_encode 'I am a new string' base64
func (m *module) strEncode(_ context.Context, a strEncodeArgs) (any, error) {
	b, isBytes := a.Value.([]byte)
	if text, ok := a.Value.(string); ok {
		b, isBytes = []byte(text), true
	}
	if a.Encoder == "base64" && isBytes {
		return base64.StdEncoding.EncodeToString(b), nil
	}
	return nil, loader.Invocation("Value must be an encode-able string")
}

type getStrArgs struct {
	Length      any  `default:"20"`
	Chars       any  `default:"None"`
	Lowercase   bool `default:"True"`
	Uppercase   bool `default:"True"`
	Digits      bool `default:"True"`
	Punctuation bool `default:"True"`
	Whitespace  bool `default:"False"`
	Printable   bool `default:"False"`
}

// These are Python's character classes (module string).
const (
	lowercase   = "abcdefghijklmnopqrstuvwxyz"
	uppercase   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits      = "0123456789"
	punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	whitespace  = " \t\n\r\v\f"
)

// mostText is the longest random text, in characters.
const mostText = 10 << 20

// getStr returns a random text, fit for a secret.
//
// length : 20
//
//	How many characters it has.
//
// chars : None
//
//	The characters it is of. Without, the other arguments say so.
//
// lowercase, uppercase, digits, punctuation, whitespace, printable
//
//	Which classes of characters it is of: all but white space; printable is all of them.
//
// CLI Example:
//
//	salt '*' random.get_str 128
//	salt '*' random.get_str 128 chars='abc123.!()'
//	salt '*' random.get_str 128 lowercase=False whitespace=True
func (m *module) getStr(_ context.Context, a getStrArgs) (any, error) {
	n, err := loader.Int(a.Length)
	if err != nil {
		return nil, loader.Execution("%s", err.Error())
	}
	from := []rune(a.set())
	switch {
	case n <= 0:
		return "", nil
	case n > mostText:
		return nil, loader.Execution("a random text has at most %d characters", mostText)
	case len(from) == 0:
		return nil, loader.Execution("unterminated character set at position 0")
	}
	return pick(from, int(n)), nil
}

// set returns the characters to pick from.
func (a getStrArgs) set() string {
	if a.Printable {
		return digits + lowercase + uppercase + punctuation + whitespace
	}
	if data.Truth(a.Chars) {
		return data.Str(a.Chars)
	}
	set := ""
	for _, class := range []struct {
		on    bool
		chars string
	}{{a.Lowercase, lowercase}, {a.Uppercase, uppercase}, {a.Digits, digits},
		{a.Punctuation, punctuation}, {a.Whitespace, whitespace}} {
		if class.on {
			set += class.chars
		}
	}
	return set
}

func pick(from []rune, n int) string {
	var b strings.Builder
	for range n {
		b.WriteRune(from[system(uint64(len(from)))])
	}
	return b.String()
}
