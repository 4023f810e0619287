package nacl

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	sodium "github.com/brineproject/brine/crypto/nacl"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// config returns the effective keys and type of box: arguments take precedence over the option
// nacl.config (salt/utils/nacl.py, _get_config).
func (m *module) config(words *data.Map) *data.Map {
	pki := m.env.Opts.Text("pki_dir")
	c := data.NewMap("box_type", "sealedbox", "sk", nil,
		"sk_file", filepath.Join(pki, "master", "nacl"), "pk", nil,
		"pk_file", filepath.Join(pki, "master", "nacl.pub"))
	if from, ok := m.env.Option("nacl.config").(*data.Map); ok {
		c.Update(from)
	}
	for _, key := range []string{"box_type", "sk", "sk_file", "pk", "pk_file"} {
		if v, ok := words.Get(key); ok {
			c.Set(key, v)
		}
	}
	return c
}

// key returns the bytes of a key from an option, or from the file named by another.
func (m *module) key(words *data.Map, option, none string) ([]byte, error) {
	c := m.config(words)
	text := ""
	if v := c.Value(option); data.Truth(v) {
		text = bytesText(v)
	} else {
		src, err := os.ReadFile(data.Str(c.Value(option + "_file")))
		if err != nil {
			return nil, loader.Exception("Exception", "%s", none)
		}
		text = strings.TrimRight(string(src), "\n")
	}
	return decoded(text)
}

func (m *module) publicKey(words *data.Map) (*[32]byte, error) {
	b, err := m.key(words, "pk", "no pubkey or pk_file found")
	if err != nil {
		return nil, err
	}
	if len(b) != 32 {
		return nil, loader.Exception("nacl.exceptions.ValueError",
			"The public key must be exactly 32 bytes long")
	}
	return (*[32]byte)(b), nil
}

func (m *module) secretKey(words *data.Map) ([]byte, error) {
	return m.key(words, "sk", "no key or sk_file found")
}

func (m *module) sealedEncrypt(text any, words *data.Map) (any, error) {
	b, err := bytesOf(text)
	if err != nil {
		return nil, err
	}
	public, err := m.publicKey(words)
	if err != nil {
		return nil, err
	}
	sealed, err := sodium.Seal(b, public)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString(sealed), nil
}

func (m *module) secretEncrypt(text any, words *data.Map) (any, error) {
	b, err := bytesOf(text)
	if err != nil {
		return nil, err
	}
	key, err := m.boxKey(words)
	if err != nil {
		return nil, err
	}
	made, err := sodium.SecretBox(b, key)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString(made), nil
}

// boxKey returns the secret key for a secretbox.
func (m *module) boxKey(words *data.Map) (*[32]byte, error) {
	b, err := m.secretKey(words)
	if err != nil {
		return nil, err
	}
	if len(b) != 32 {
		return nil, loader.Exception("nacl.exceptions.ValueError",
			"The key must be exactly 32 bytes long")
	}
	return (*[32]byte)(b), nil
}

func (m *module) sealedDecrypt(text any, words *data.Map) (any, error) {
	return openBox(text, "An error occurred trying to decrypt the message",
		func(b []byte) ([]byte, error) {
			secret, err := m.secretKey(words)
			if err != nil {
				return nil, err
			}
			k, err := pair(secret)
			if err != nil {
				return nil, err
			}
			return sodium.OpenSealed(b, k)
		})
}

// pair returns the secret key of a key pair.
func pair(b []byte) (*[32]byte, error) {
	if len(b) != 32 {
		return nil, loader.TypeError("PrivateKey must be created from a 32 bytes long raw secret key")
	}
	return (*[32]byte)(b), nil
}

func (m *module) secretDecrypt(text any, words *data.Map) (any, error) {
	return openBox(text, "Decryption failed. Ciphertext failed verification",
		func(b []byte) ([]byte, error) {
			key, err := m.boxKey(words)
			if err != nil {
				return nil, err
			}
			return sodium.OpenSecretBox(b, key)
		})
}

// openBox decrypts a box in base64; None stays None.
func openBox(text any, fails string, open func([]byte) ([]byte, error)) (any, error) {
	if text == nil {
		return nil, nil
	}
	b, err := bytesOf(text)
	if err != nil {
		return nil, err
	}
	if b, err = decoded(string(b)); err != nil {
		return nil, err
	}
	plain, err := open(b)
	switch {
	case errors.Is(err, sodium.ErrBox):
		return nil, loader.Exception("nacl.exceptions.CryptoError", "%s", fails)
	case err != nil:
		return nil, err
	case utf8.Valid(plain):
		return string(plain), nil
	}
	return plain, nil
}

// bytesOf is to_bytes of salt/utils/stringutils.py.
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

func bytesText(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return data.Str(v)
}

// decoded is Python's b64decode, which skips characters outside the alphabet.
func decoded(text string) ([]byte, error) {
	kept := strings.Map(func(r rune) rune {
		if r == '+' || r == '/' || r == '=' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' ||
			'a' <= r && r <= 'z' {
			return r
		}
		return -1
	}, text)
	b, err := base64.StdEncoding.DecodeString(kept)
	if err != nil {
		return nil, loader.Exception("binascii.Error", "Incorrect padding")
	}
	return b, nil
}
