package crypto

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"sync"
)

const (
	aesKeySize  = 24
	hmacKeySize = 32
	ivSize      = aes.BlockSize
	macSize     = sha256.Size
	nonceSize   = 32
)

// KeyStringSize is the length of a key string as NewKeyString makes it.
const KeyStringSize = 76

// prefix marks an object inside a Crypticle (salt/crypt.py: Crypticle.PICKLE_PAD).
var prefix = []byte("pickle::")

var (
	// ErrAuthentication is returned when a blob was not made with the key, or is damaged in any way.
	ErrAuthentication = errors.New("message authentication failed")
	// ErrNonce is returned when a reply does not carry the nonce of the request.
	ErrNonce = errors.New("nonce verification error")
	// ErrNotObject is returned when a blob holds something else than an object; Salt reads it as an empty map.
	ErrNotObject = errors.New("message holds no object")
	// ErrKeyString is wrapped when a text is not a key string.
	ErrKeyString = errors.New("invalid key")
)

// A Crypticle seals and opens messages with one symmetric key: AES-192-CBC, then HMAC-SHA256 over vector and
// ciphertext (salt/crypt.py: Crypticle). Several goroutines may use it. It keeps no serial; see Serial.
type Crypticle struct {
	key    string
	random io.Reader
	states sync.Pool // of *states
}

// states is what one message needs and the next can use again.
type states struct {
	mac      hash.Hash
	enc, dec cbc
	sum      [macSize]byte
}

// cbc is what crypto/cipher returns for AES beside BlockMode.
type cbc interface {
	cipher.BlockMode
	SetIV([]byte)
}

// NewKeyString returns a new random key: 56 random bytes in base64. The string is what travels and what is hashed.
func NewKeyString() string {
	var raw [aesKeySize + hmacKeySize]byte
	rand.Read(raw[:]) // never fails
	return base64.StdEncoding.EncodeToString(raw[:])
}

// NewCrypticle returns a Crypticle for a key string. As Salt does, it overlooks characters in the string that are not
// base64. Errors wrap ErrKeyString and do not tell the key.
func NewCrypticle(key string) (*Crypticle, error) {
	return newCrypticle(key, rand.Reader)
}

func newCrypticle(key string, random io.Reader) (*Crypticle, error) {
	raw, err := decodeKeyString(key)
	if err != nil {
		return nil, fmt.Errorf("crypticle: %w", err)
	}
	block, err := aes.NewCipher(raw[:aesKeySize])
	if err != nil {
		return nil, fmt.Errorf("crypticle: %w", err)
	}
	c := &Crypticle{key: key, random: random}
	c.states.New = func() any { return newStates(block, raw[aesKeySize:]) }
	return c, nil
}

func newStates(block cipher.Block, hmacKey []byte) *states {
	iv := make([]byte, ivSize)
	return &states{
		mac: hmac.New(sha256.New, hmacKey),
		enc: cipher.NewCBCEncrypter(block, iv).(cbc),
		dec: cipher.NewCBCDecrypter(block, iv).(cbc),
	}
}

// decodeKeyString decodes base64 as Python's binascii.a2b_base64 does, for what can be a key.
func decodeKeyString(key string) ([]byte, error) {
	if len(key) > 16*KeyStringSize {
		return nil, ErrKeyString
	}
	kept := make([]byte, 0, len(key))
	for _, b := range []byte(key) {
		if isBase64(b) {
			kept = append(kept, b)
		}
	}
	raw, err := base64.StdEncoding.DecodeString(string(kept))
	if err != nil || len(raw) != aesKeySize+hmacKeySize {
		return nil, ErrKeyString
	}
	return raw, nil
}

func isBase64(b byte) bool {
	return b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '+' || b == '/' || b == '='
}

// Key returns the key string. It is a secret.
func (c *Crypticle) Key() string { return c.key }

// String does not tell the key.
func (c *Crypticle) String() string { return "crypticle" }

// GoString is String, so that no verb of fmt prints the key.
func (c *Crypticle) GoString() string { return c.String() }

// Encrypt returns a blob of plain: vector, ciphertext, HMAC; 49 to 64 bytes longer than plain.
func (c *Crypticle) Encrypt(plain []byte) []byte {
	return c.seal(nil, "", plain)
}

// Seal returns a blob of an object, given as its MessagePack bytes. A nonce is that of the request that the blob
// answers; requests and publications have none.
func (c *Crypticle) Seal(msgpack []byte, nonce string) []byte {
	return c.seal(prefix, nonce, msgpack)
}

func (c *Crypticle) seal(prefix []byte, nonce string, body []byte) []byte {
	size := len(prefix) + len(nonce) + len(body)
	pad := aes.BlockSize - size%aes.BlockSize
	out := make([]byte, ivSize, ivSize+size+pad+macSize)
	if _, err := io.ReadFull(c.random, out); err != nil {
		panic("crypto: random source: " + err.Error()) // crypto/rand never fails
	}
	out = append(append(append(out, prefix...), nonce...), body...)
	for range pad {
		out = append(out, byte(pad))
	}
	s := c.states.Get().(*states)
	s.enc.SetIV(out[:ivSize])
	s.enc.CryptBlocks(out[ivSize:], out[ivSize:])
	s.mac.Reset()
	s.mac.Write(out)
	out = s.mac.Sum(out)
	c.states.Put(s)
	return out
}

// Decrypt returns what Encrypt was given, or ErrAuthentication. As in Salt, the last byte says how many to drop and the
// others of the padding are not looked at: the HMAC has proved them.
func (c *Crypticle) Decrypt(blob []byte) ([]byte, error) {
	signed := len(blob) - macSize
	if signed < 2*aes.BlockSize {
		return nil, ErrAuthentication
	}
	s := c.states.Get().(*states)
	defer c.states.Put(s)
	s.mac.Reset()
	s.mac.Write(blob[:signed])
	if subtle.ConstantTimeCompare(s.mac.Sum(s.sum[:0]), blob[signed:]) != 1 || signed%aes.BlockSize != 0 {
		return nil, ErrAuthentication
	}
	plain := make([]byte, signed-ivSize)
	s.dec.SetIV(blob[:ivSize])
	s.dec.CryptBlocks(plain, blob[ivSize:signed])
	return unpad(plain), nil
}

// unpad cuts plain as Python's plain[:-plain[-1]] does.
func unpad(plain []byte) []byte {
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > len(plain) {
		return plain[:0]
	}
	return plain[:len(plain)-pad]
}

// Open returns the MessagePack bytes of an object that Seal was given. When nonce is not empty the object must carry
// it. Errors are ErrAuthentication, ErrNotObject and ErrNonce. The bytes need not be valid MessagePack.
func (c *Crypticle) Open(blob []byte, nonce string) ([]byte, error) {
	plain, err := c.Decrypt(blob)
	if err != nil {
		return nil, err
	}
	body, ok := bytes.CutPrefix(plain, prefix)
	if !ok {
		return nil, ErrNotObject
	}
	if nonce == "" {
		return body, nil
	}
	got := body[:min(nonceSize, len(body))]
	if len(nonce) != nonceSize || !slices.Equal(got, []byte(nonce)) {
		return nil, ErrNonce
	}
	return body[nonceSize:], nil
}
