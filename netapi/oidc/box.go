package oidc

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// An attempt is a login that was begun.
type attempt struct {
	State, Nonce, Verifier, Next string
	Until                        int64 // seconds since 1970
}

const (
	mostCookie   = 4096
	mostFinished = 10_000 // finished attempts that are remembered: the oldest are forgotten first
)

// A box makes cookies of attempts, which nobody else can read or change, and remembers which were
// finished.
type box struct {
	now    func() time.Time
	cipher cipher.AEAD

	mu       sync.Mutex
	finished map[string]int64 // states, until when the cookies are valid
	order    []string
}

func newBox(now func() time.Time) (*box, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it does not fail
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &box{now: now, cipher: aead, finished: map[string]int64{}}, err
}

func (b *box) seal(a attempt) (string, error) {
	a.Until = b.now().Add(Valid).Unix()
	raw, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(b.cipher.Seal(nil, nil, raw, nil)), nil
}

var errCookie = errors.New("the cookie is not one of this process, or too old")

func (b *box) open(cookie string) (attempt, error) {
	if len(cookie) > mostCookie {
		return attempt{}, errCookie
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil {
		return attempt{}, errCookie
	}
	raw, err := b.cipher.Open(nil, nil, sealed, nil)
	if err != nil {
		return attempt{}, errCookie
	}
	var a attempt
	if err := json.Unmarshal(raw, &a); err != nil || b.now().Unix() >= a.Until {
		return attempt{}, errCookie
	}
	return a, nil
}

// use notes that an attempt is finished; false if it was already.
func (b *box) use(a attempt) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.finished[a.State]; ok {
		return false
	}
	for len(b.order) > 0 && (len(b.order) >= mostFinished || b.finished[b.order[0]] <= b.now().Unix()) {
		delete(b.finished, b.order[0])
		b.order = b.order[1:]
	}
	b.finished[a.State] = a.Until
	b.order = append(b.order, a.State)
	return true
}

func same(a, b string) bool { return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
