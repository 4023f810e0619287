package channel

import (
	"crypto/sha256"
	"sync"

	"github.com/brineproject/brine/crypto"
)

// nonces remembers recent requests that changed something, so that a replay changes nothing. It is
// bounded: when it is full, the older half is forgotten, and outdate gets the time that the clock
// of each minion had reached in that half. Requests from before that time must be refused, since it
// is unknown whether they were executed.
type nonces struct {
	outdate   func(map[string]mark) // called with marks by minion; may be nil
	max       int
	mu        sync.Mutex
	now, past half
}

// A half is one of the two generations of remembered requests.
type half struct {
	known map[RequestID]struct{}
	marks map[string]mark // by minion
}

// A mark is the time of a minion's newest request under a session key, by the minion's clock.
type mark struct {
	key *crypto.Crypticle
	at  int64 // Unix seconds
}

// A RequestID stands for a request: a hash of the minion and its nonce, so that all take the same memory.
type RequestID [16]byte

func requestID(minion, nonce string) RequestID {
	sum := sha256.Sum256([]byte(minion + "\x00" + nonce))
	return RequestID(sum[:])
}

func newNonces(max int, outdate func(map[string]mark)) *nonces {
	return &nonces{outdate: outdate, max: max / 2, now: newHalf()}
}

func newHalf() half { return half{known: map[RequestID]struct{}{}, marks: map[string]mark{}} }

// add remembers a nonce of minion id, and reports whether it is new. For a request under a session
// key of the minion, m has that key and the time of the request.
func (n *nonces) add(id, nonce string, m mark) bool {
	return n.remember(id, requestID(id, nonce), m)
}

// remember is add for a request whose hash is known.
func (n *nonces) remember(id string, k RequestID, m mark) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
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

// add remembers a request, and its time if that is the newest under the key.
func (h half) add(id string, k RequestID, m mark) {
	h.known[k] = struct{}{}
	if m.key == nil {
		return
	}
	if last, ok := h.marks[id]; !ok || last.key != m.key || last.at < m.at {
		h.marks[id] = m
	}
}
