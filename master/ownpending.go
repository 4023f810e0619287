package master

import "sync"

// ownPending has the returns that count for a quota while it is open whether this member stores them. Each
// is settled once, however often the stream has it and however often storing it is tried.
type ownPending struct {
	quota *ownQuota

	mu      sync.Mutex
	returns map[string]*pendingReturn // by nonce
}

type pendingReturn struct {
	minion string
	size   int
}

// add notes a return that counts.
func (p *ownPending) add(nonce, minion string, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.returns == nil {
		p.returns = map[string]*pendingReturn{}
	}
	p.returns[nonce] = &pendingReturn{minion, size}
}

// settle ends the wait of a return. It is refunded unless it counts for good.
func (p *ownPending) settle(nonce string, counts bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.returns[nonce]
	delete(p.returns, nonce)
	if r != nil && !counts {
		p.quota.refund(r.minion, r.size)
	}
}

// forget drops everything when the stream is a new one: what waits counts for good.
func (p *ownPending) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.returns)
}

// mostNoted is how many returns an announced notes before it drops the oldest ones.
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
