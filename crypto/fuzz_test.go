package crypto

import (
	"bytes"
	"errors"
	"testing"
)

func FuzzParsePublicKey(f *testing.F) {
	f.Add([]byte(testKey().Public().PEM()))
	f.Add(publicPEM(testKey().rsa.N, 65537))
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----"))
	f.Fuzz(func(t *testing.T, text []byte) {
		key, err := ParsePublicKey(text)
		if err != nil {
			if !errors.Is(err, ErrBadKey) && !errors.Is(err, ErrWeakKey) {
				t.Errorf("error of no kind: %v", err)
			}
			return
		}
		again, err := ParsePublicKey([]byte(key.PEM()))
		if err != nil || !again.Equal(key) || !SameKey(key.PEM(), string(text)) {
			t.Errorf("the key does not survive its own text: %v", err)
		}
		key.RecoverX931(bytes.Repeat([]byte{1}, key.rsa.Size()))
	})
}

func FuzzParsePrivateKey(f *testing.F) {
	f.Add(testKey().PEM(""), "")
	f.Add(testKey().PEM("secret"), "secret")
	f.Add([]byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIC\n-----END ENCRYPTED PRIVATE KEY-----"), "x")
	f.Fuzz(func(t *testing.T, text []byte, passphrase string) {
		key, err := ParsePrivateKey(text, passphrase)
		if err != nil {
			return
		}
		if again, err := ParsePrivateKey(key.PEM(""), ""); err != nil || !again.Public().Equal(key.Public()) {
			t.Errorf("the key does not survive its own text: %v", err)
		}
	})
}

func FuzzRecoverX931(f *testing.F) {
	good, err := testKey().EncryptX931([]byte("salt"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[1:])
	f.Fuzz(func(t *testing.T, token []byte) {
		if msg, err := testKey().Public().RecoverX931(token); err == nil && len(msg) == 0 {
			t.Error("an empty message was recovered")
		}
	})
}

func FuzzUnpadX931(f *testing.F) {
	for _, length := range []int{0, 4, 64, 252, 253, 254} {
		block, err := padX931(make([]byte, length), 256)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(block)
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		msg := unpadX931(block)
		if msg == nil {
			return
		}
		again, err := padX931(msg, len(block))
		if err != nil || !bytes.Equal(again, block) {
			t.Errorf("unpadX931(%x) = %x, which pads to %x", block, msg, again)
		}
	})
}

func FuzzOpen(f *testing.F) {
	key := NewKeyString()
	c, err := NewCrypticle(key)
	if err != nil {
		f.Fatal(err)
	}
	good := c.Seal([]byte("\xc0"), "")
	f.Add(good, "", []byte("x"))
	f.Add([]byte(nil), "0123456789abcdef0123456789abcdef", []byte(nil))
	f.Fuzz(func(t *testing.T, blob []byte, nonce string, body []byte) {
		if _, err := c.Open(blob, nonce); err == nil && !bytes.Equal(blob, good) {
			t.Error("a blob opens that was not made with the key")
		}
		if len(nonce) != nonceSize {
			nonce = ""
		}
		if got, err := c.Open(c.Seal(body, nonce), nonce); err != nil || !bytes.Equal(got, body) {
			t.Errorf("Open of Seal = %x, %v, want %x", got, err, body)
		}
		// What an owner of the key may send: any bytes with a good HMAC.
		signed := signedBlob(c, blob)
		if got, err := c.Decrypt(signed); err == nil && len(got) > len(blob) {
			t.Errorf("Decrypt made %d bytes of %d", len(got), len(blob))
		}
		c.Open(signed, nonce)
	})
}

// signedBlob puts the right HMAC behind any bytes.
func signedBlob(c *Crypticle, b []byte) []byte {
	s := c.states.Get().(*states)
	defer c.states.Put(s)
	s.mac.Reset()
	s.mac.Write(b)
	return s.mac.Sum(bytes.Clone(b))
}

func FuzzKeyString(f *testing.F) {
	f.Add(NewKeyString())
	f.Add("=")
	f.Fuzz(func(t *testing.T, key string) {
		if c, err := NewCrypticle(key); err == nil {
			if got, err := c.Decrypt(c.Encrypt([]byte("x"))); err != nil || string(got) != "x" {
				t.Errorf("Decrypt = %q, %v", got, err)
			}
		}
	})
}
