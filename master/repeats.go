package master

import (
	"hash/maphash"
	"sync"
)

// mostNoted is how many returns are noted before the oldest ones are dropped, of which there are as many.
const mostNoted = 1 << 15

// announced remembers the returns that no job cache keeps, so that one that the stream has twice is announced
// once. It keeps the last ones by number, not by time: while the cluster is lost there are no new ones, and what
// waits on disk comes first after that.
type announced struct {
	mu        sync.Mutex
	last, old map[string]place // by what the return is about
}

// A place tells a return in the stream: its entry, and the nonce by which it differs from others there.
type place struct {
	sequence uint64
	nonce    string
}

// repeated reports whether something was noted for another place, and notes it otherwise.
func (n *announced) repeated(subject string, at place) bool {
	if subject == "" {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, known := range []map[string]place{n.last, n.old} {
		if before, ok := known[subject]; ok {
			return before != at
		}
	}
	if n.last == nil || len(n.last) >= mostNoted {
		n.last, n.old = map[string]place{}, n.last
	}
	n.last[subject] = at
	return false
}

// recent remembers what the last returns that were kept are about. It may say so of others, too, once in 2^64
// times.
type recent struct {
	mu        sync.Mutex
	seed      maphash.Seed
	last, old map[uint64]struct{}
}

// note remembers a return.
func (n *recent) note(subject string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil {
		n.seed = maphash.MakeSeed()
	}
	if n.last == nil || len(n.last) >= mostNoted {
		n.last, n.old = map[uint64]struct{}{}, n.last
	}
	n.last[maphash.String(n.seed, subject)] = struct{}{}
}

// has reports whether a return was noted.
func (n *recent) has(subject string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil {
		return false
	}
	sum := maphash.String(n.seed, subject)
	_, last := n.last[sum]
	_, old := n.old[sum]
	return last || old
}
