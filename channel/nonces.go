package channel

import (
	"crypto/sha256"
	"sync"

	"github.com/brineproject/brine/crypto"
)

// nonces remembers the last requests that changed something, so that the same bytes sent again change nothing.
// It is bounded: when it is full the older half is forgotten, and outdate is told how far the clock of each minion had
// come in that half. Requests from before that time must be refused, as nobody knows whether they were done.
type nonces struct {
	outdate   func(map[string]mark) // by minion; nil is not told
	max       int
	mu        sync.Mutex
	now, past half
}

// A half is what nonces remembers of so many requests.
type half struct {
	known map[nonceKey]struct{}
	marks map[string]mark // by minion
}

// A mark is the time of a minion's newest request under a session key, by the clock of the minion.
type mark struct {
	key *crypto.Crypticle
	at  int64 // Unix seconds
}

// nonceKey stands for a nonce of a minion: a hash, so that no nonce takes more memory than another.
type nonceKey [16]byte

func newNonces(max int, outdate func(map[string]mark)) *nonces {
	return &nonces{outdate: outdate, max: max / 2, now: newHalf()}
}

func newHalf() half { return half{known: map[nonceKey]struct{}{}, marks: map[string]mark{}} }

// add reports whether nonce of id is new, and remembers it. Where the request came under a session key of the minion, m has that
// key and the time of the request.
func (n *nonces) add(id, nonce string, m mark) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	sum := sha256.Sum256([]byte(id + "\x00" + nonce))
	k := nonceKey(sum[:])
	if _, ok := n.now.known[k]; ok {
		return false
	}
	if _, ok := n.past.known[k]; ok {
		return false
	}
	if len(n.now.known) >= n.max {
		if n.outdate != nil {
			n.outdate(n.past.marks)
		}
		n.past, n.now = n.now, newHalf()
	}
	n.now.add(id, k, m)
	return true
}

// add remembers a request, and its time where that is the newest under the key.
func (h half) add(id string, k nonceKey, m mark) {
	h.known[k] = struct{}{}
	if m.key == nil {
		return
	}
	if last, ok := h.marks[id]; !ok || last.key != m.key || last.at < m.at {
		h.marks[id] = m
	}
}
