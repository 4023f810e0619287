package channel

import (
	"crypto/sha256"
	"sync"
	"time"
)

// nonces remembers the last requests that changed something, so that the same bytes sent again change nothing.
// It is bounded: when it is full the older half is forgotten.
type nonces struct {
	mu        sync.Mutex
	max       int
	now, past map[nonceKey]struct{}
}

// nonceKey stands for a nonce of a minion: a hash, so that no nonce takes more memory than another.
type nonceKey [16]byte

func newNonces(max int) *nonces {
	return &nonces{max: max / 2, now: map[nonceKey]struct{}{}}
}

// add reports whether nonce of id is new, and remembers it.
func (n *nonces) add(id, nonce string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	sum := sha256.Sum256([]byte(id + "\x00" + nonce))
	k := nonceKey(sum[:])
	if _, ok := n.now[k]; ok {
		return false
	}
	if _, ok := n.past[k]; ok {
		return false
	}
	if len(n.now) >= n.max {
		n.past, n.now = n.now, map[nonceKey]struct{}{}
	}
	n.now[k] = struct{}{}
	return true
}

// tallySize bounds how many peers a tally remembers.
const tallySize = 4096

// tally tells the first occurrence of a name within a time, for log lines that must not repeat.
type tally struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func newTally() *tally { return &tally{last: map[string]time.Time{}} }

// first reports whether name was not seen for the given time.
func (t *tally) first(name string, within time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.last[name]; ok && time.Since(at) < within {
		return false
	}
	if len(t.last) >= tallySize {
		clear(t.last)
	}
	t.last[name] = time.Now()
	return true
}
