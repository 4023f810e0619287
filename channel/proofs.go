package channel

import (
	"crypto/sha256"
	"crypto/subtle"
	"sync"

	"github.com/brineproject/brine/crypto"
)

// proofs remembers the token that last proved each minion, which is the same as long as its key is: the RSA operation
// is done once and not for each request. A key that was replaced by another has to be proved anew.
type proofs struct {
	mu    sync.RWMutex
	max   int
	known map[string]proof
}

type proof struct {
	key   *crypto.PublicKey
	token [sha256.Size]byte // its hash, which takes less memory
}

func newProofs(max int) *proofs { return &proofs{max: max, known: map[string]proof{}} }

// prove reports whether token was made with the private half of key, minion id's.
func (p *proofs) prove(id string, key *crypto.PublicKey, token []byte) bool {
	p.mu.RLock()
	known, ok := p.known[id]
	p.mu.RUnlock()
	sum := sha256.Sum256(token)
	if ok && (known.key == key || known.key.Equal(key)) && subtle.ConstantTimeCompare(known.token[:], sum[:]) == 1 {
		return true
	}
	plain, err := key.RecoverX931(token)
	if err != nil || string(plain) != tokenText {
		return false
	}
	p.keep(id, proof{key, sum})
	return true
}

// tokenText is what a token says.
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
