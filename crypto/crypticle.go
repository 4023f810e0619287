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

// KeyStringSize is the length of the key strings made by NewKeyString.
const KeyStringSize = 76

// prefix marks an object inside a Crypticle (salt/crypt.py: Crypticle.PICKLE_PAD).
var prefix = []byte("pickle::")

var (
	// ErrAuthentication is returned if a blob was not made with the key, or is damaged.
	ErrAuthentication = errors.New("message authentication failed")
	// ErrNonce is returned if a reply does not contain the nonce of the request.
	ErrNonce = errors.New("nonce verification error")
	// ErrNotObject is returned if a blob does not contain an object; Salt decodes it as an empty
	// map.
	ErrNotObject = errors.New("message holds no object")
	// ErrKeyString is wrapped for an invalid key string.
	ErrKeyString = errors.New("invalid key")
)

// A Crypticle seals and opens messages with one symmetric key: AES-192-CBC, then HMAC-SHA256 over
// IV and ciphertext (salt/crypt.py: Crypticle). It is safe for concurrent use. It does not track
// serials; see Serial.
type Crypticle struct {
	key    string
	random io.Reader
	states *sync.Pool // of *states; nil to create new ones for each message
}

// states is the reusable cipher state for one message.
type states struct {
	mac      hash.Hash
	enc, dec cbc
	sum      [macSize]byte
}

// cbc is the interface of crypto/cipher's CBC mode for AES, besides BlockMode.
type cbc interface {
	cipher.BlockMode
	SetIV([]byte)
}

// NewKeyString returns a new random key: 56 random bytes in base64. This string is sent to peers
// and hashed.
func NewKeyString() string {
	var raw [aesKeySize + hmacKeySize]byte
	rand.Read(raw[:]) // never fails
	return base64.StdEncoding.EncodeToString(raw[:])
}

// NewCrypticle returns a Crypticle for a key string. Like Salt, it ignores characters in the string
// that are not base64. Errors wrap ErrKeyString and do not reveal the key.
func NewCrypticle(key string) (*Crypticle, error) {
	return newCrypticle(key, rand.Reader)
}

// NewCompactCrypticle is NewCrypticle for one of many rarely used keys. It keeps only the key
// between messages, which takes a tenth of the memory and costs some more work per message.
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
	return &Crypticle{key: key, random: random,
		states: &sync.Pool{New: func() any { return newStates(raw) }}}, nil
}

// borrow returns states for one message. They are returned with giveBack.
func (c *Crypticle) borrow() *states {
	if c.states != nil {
		return c.states.Get().(*states)
	}
	raw, _ := decodeKeyString(c.key) // validated when c was created
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
		panic("crypto: " + err.Error()) // the size is valid
	}
	iv, hmacKey := make([]byte, ivSize), raw[aesKeySize:]
	return &states{
		mac: hmac.New(sha256.New, hmacKey),
		enc: cipher.NewCBCEncrypter(block, iv).(cbc),
		dec: cipher.NewCBCDecrypter(block, iv).(cbc),
	}
}

// decodeKeyString decodes base64 like Python's binascii.a2b_base64, for possible keys.
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
	return b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '+' ||
		b == '/' || b == '='
}

// Key returns the key string. It is a secret.
func (c *Crypticle) Key() string { return c.key }

// String does not reveal the key.
func (c *Crypticle) String() string { return "crypticle" }

// GoString does not reveal the key with any verb of fmt.
func (c *Crypticle) GoString() string { return c.String() }

// Encrypt returns the blob of plain: IV, ciphertext, HMAC. It is 49 to 64 bytes longer than plain.
func (c *Crypticle) Encrypt(plain []byte) []byte {
	return c.seal(nil, "", plain)
}

// Seal returns the blob of an object, given in MessagePack. nonce is that of the request if the
// blob is a reply; requests and publications have none.
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

// AppendSeal appends the result of Seal to dst. encode appends the MessagePack bytes, so that a
// long message need not be copied. The error is that of encode.
func (c *Crypticle) AppendSeal(
	dst []byte, nonce string, encode func(dst []byte) ([]byte, error),
) ([]byte, error) {
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

// lock pads and encrypts the data after the IV at start, and appends the HMAC of both.
func (c *Crypticle) lock(out []byte, start int) []byte {
	pad := aes.BlockSize - (len(out)-start)%aes.BlockSize // an IV is one block
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

// Decrypt reverses Encrypt or returns ErrAuthentication. As in Salt, only the last padding byte is
// used: the HMAC has already authenticated the rest.
func (c *Crypticle) Decrypt(blob []byte) ([]byte, error) {
	return c.decrypt(blob, func(n int) []byte { return make([]byte, n) })
}

// decrypt writes the plaintext of blob to the memory returned by room, which is called only for an
// authentic blob.
func (c *Crypticle) decrypt(blob []byte, room func(n int) []byte) ([]byte, error) {
	signed := len(blob) - macSize
	if signed < 2*aes.BlockSize {
		return nil, ErrAuthentication
	}
	s := c.borrow()
	defer c.giveBack(s)
	s.mac.Reset()
	s.mac.Write(blob[:signed])
	if subtle.ConstantTimeCompare(s.mac.Sum(s.sum[:0]), blob[signed:]) != 1 ||
		signed%aes.BlockSize != 0 {
		return nil, ErrAuthentication
	}
	plain := room(signed - ivSize)
	s.dec.SetIV(blob[:ivSize])
	s.dec.CryptBlocks(plain, blob[ivSize:signed])
	return unpad(plain), nil
}

// unpad truncates plain like Python's plain[:-plain[-1]].
func unpad(plain []byte) []byte {
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > len(plain) {
		return plain[:0]
	}
	return plain[:len(plain)-pad]
}

// Open returns the MessagePack bytes of an object sealed by Seal. If nonce is not empty, the object
// must contain it. Errors are ErrAuthentication, ErrNotObject and ErrNonce. The bytes may be
// invalid MessagePack.
func (c *Crypticle) Open(blob []byte, nonce string) ([]byte, error) {
	plain, err := c.Decrypt(blob)
	if err != nil {
		return nil, err
	}
	return object(plain, nonce)
}

// OpenInPlace is like Open, but reuses the memory of blob for the result. A blob that is not
// authentic is not modified.
func (c *Crypticle) OpenInPlace(blob []byte, nonce string) ([]byte, error) {
	plain, err := c.decrypt(blob, func(n int) []byte { return blob[ivSize : ivSize+n] })
	if err != nil {
		return nil, err
	}
	return object(plain, nonce)
}

// object removes the marks that Seal puts before an object.
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
