package channel

import (
	"crypto/sha256"
	"crypto/subtle"
	"sync"

	"github.com/brineproject/brine/crypto"
)

// proofs caches the token that last proved each minion. A token stays the same as long as the
// minion's key, so the RSA operation is not repeated for each request. A replaced key has to be
// proved anew.
type proofs struct {
	mu    sync.RWMutex
	max   int
	known map[string]proof
}

type proof struct {
	key   *crypto.PublicKey
	token [sha256.Size]byte // its hash, to save memory
}

func newProofs(max int) *proofs { return &proofs{max: max, known: map[string]proof{}} }

// prove reports whether token was made with the private half of key, which belongs to minion id.
func (p *proofs) prove(id string, key *crypto.PublicKey, token []byte) bool {
	p.mu.RLock()
	known, ok := p.known[id]
	p.mu.RUnlock()
	sum := sha256.Sum256(token)
	if ok && (known.key == key || known.key.Equal(key)) &&
		subtle.ConstantTimeCompare(known.token[:], sum[:]) == 1 {
		return true
	}
	plain, err := key.RecoverX931(token)
	if err != nil || string(plain) != tokenText {
		return false
	}
	p.keep(id, proof{key, sum})
	return true
}

// tokenText is the plain text of a token.
const tokenText = "salt"

func (p *proofs) keep(id string, known proof) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.known[id]; !ok && len(p.known) >= p.max {
		for other := range p.known {
			delete(p.known, other)
			break
		}
	}
	p.known[id] = known
}
