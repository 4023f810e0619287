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
	states *sync.Pool // of *states; nil where each message has its own
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

// NewCompactCrypticle is NewCrypticle for one of many keys that are seldom used: it keeps nothing between two messages but the key,
// which takes a tenth of the memory and some more work for each message.
func NewCompactCrypticle(key string) (*Crypticle, error) {
	c, err := NewCrypticle(key)
	if err != nil {
		return nil, err
	}
	return &Crypticle{key: c.key, random: c.random}, nil
}

func newCrypticle(key string, random io.Reader) (*Crypticle, error) {
	raw, err := decodeKeyString(key)
	if err != nil {
		return nil, fmt.Errorf("crypticle: %w", err)
	}
	return &Crypticle{key: key, random: random, states: &sync.Pool{New: func() any { return newStates(raw) }}}, nil
}

// borrow returns states for one message, which go back by giveBack.
func (c *Crypticle) borrow() *states {
	if c.states != nil {
		return c.states.Get().(*states)
	}
	raw, _ := decodeKeyString(c.key) // it was good when c was made
	return newStates(raw)
}

func (c *Crypticle) giveBack(s *states) {
	if c.states != nil {
		c.states.Put(s)
	}
}

// newStates returns states for a decoded key.
func newStates(raw []byte) *states {
	block, err := aes.NewCipher(raw[:aesKeySize])
	if err != nil {
		panic("crypto: " + err.Error()) // the size is a valid one
	}
	iv, hmacKey := make([]byte, ivSize), raw[aesKeySize:]
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
	out := make([]byte, ivSize, ivSize+size+aes.BlockSize+macSize)
	c.newIV(out)
	out = append(append(append(out, prefix...), nonce...), body...)
	return c.lock(out, 0)
}

// AppendSeal appends to dst what Seal returns. encode appends the MessagePack bytes, so that a long message is written
// where it is sealed and not copied. The error is that of encode.
func (c *Crypticle) AppendSeal(dst []byte, nonce string, encode func(dst []byte) ([]byte, error)) ([]byte, error) {
	start := len(dst)
	dst = append(dst, make([]byte, ivSize)...)
	c.newIV(dst[start:])
	dst, err := encode(append(append(dst, prefix...), nonce...))
	if err != nil {
		return nil, err
	}
	return c.lock(dst, start), nil
}

func (c *Crypticle) newIV(iv []byte) {
	if _, err := io.ReadFull(c.random, iv); err != nil {
		panic("crypto: random source: " + err.Error()) // crypto/rand never fails
	}
}

// lock pads and encrypts what follows the vector at start, and appends the HMAC of both.
func (c *Crypticle) lock(out []byte, start int) []byte {
	pad := aes.BlockSize - (len(out)-start)%aes.BlockSize // a vector is one block
	for range pad {
		out = append(out, byte(pad))
	}
	s := c.borrow()
	defer c.giveBack(s)
	blob := out[start:]
	s.enc.SetIV(blob[:ivSize])
	s.enc.CryptBlocks(blob[ivSize:], blob[ivSize:])
	s.mac.Reset()
	s.mac.Write(blob)
	return s.mac.Sum(out)
}

// Decrypt returns what Encrypt was given, or ErrAuthentication. As in Salt, the last byte says how many to drop and the
// others of the padding are not looked at: the HMAC has proved them.
func (c *Crypticle) Decrypt(blob []byte) ([]byte, error) {
	return c.decrypt(blob, func(n int) []byte { return make([]byte, n) })
}

// decrypt writes what blob holds to the memory that room gives, which is asked only for a blob that is genuine.
func (c *Crypticle) decrypt(blob []byte, room func(n int) []byte) ([]byte, error) {
	signed := len(blob) - macSize
	if signed < 2*aes.BlockSize {
		return nil, ErrAuthentication
	}
	s := c.borrow()
	defer c.giveBack(s)
	s.mac.Reset()
	s.mac.Write(blob[:signed])
	if subtle.ConstantTimeCompare(s.mac.Sum(s.sum[:0]), blob[signed:]) != 1 || signed%aes.BlockSize != 0 {
		return nil, ErrAuthentication
	}
	plain := room(signed - ivSize)
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
	return object(plain, nonce)
}

// OpenInPlace is Open for who does not need the blob any more: the bytes that it returns lie in the memory of blob.
// A blob that is not genuine stays as it is.
func (c *Crypticle) OpenInPlace(blob []byte, nonce string) ([]byte, error) {
	plain, err := c.decrypt(blob, func(n int) []byte { return blob[ivSize : ivSize+n] })
	if err != nil {
		return nil, err
	}
	return object(plain, nonce)
}

// object takes the marks off that Seal puts before an object.
func object(plain []byte, nonce string) ([]byte, error) {
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
