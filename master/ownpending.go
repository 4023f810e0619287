package master

import "sync"

// ownPending has the returns that count for a quota while it is open whether this member stores them. Each
// is settled once, however often the stream has it and however often storing it is tried.
type ownPending struct {
	quota *ownQuota

	mu      sync.Mutex
	returns map[string]*pendingReturn // by nonce
	at      map[uint64][]string       // nonces of those that the stream seems to have, by sequence
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
		p.returns, p.at = map[string]*pendingReturn{}, map[uint64][]string{}
	}
	p.returns[nonce] = &pendingReturn{minion, size}
}

// settle ends the wait of a return. It is refunded unless it counts for good.
func (p *ownPending) settle(nonce string, counts bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(nonce, counts)
}

// end does the work of settle. The caller holds mu.
func (p *ownPending) end(nonce string, counts bool) {
	r := p.returns[nonce]
	delete(p.returns, nonce)
	if r != nil && !counts {
		p.quota.refund(r.minion, r.size)
	}
}

// repeats notes that the stream has dropped a return, since it has one of the same job and minion under a
// sequence. That may be the same return, whose acknowledgement was lost: done tells whether this member
// has carried out the entry already.
func (p *ownPending) repeats(nonce string, sequence uint64, done func(uint64) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.returns[nonce] == nil:
	case done(sequence):
		p.end(nonce, false)
	default:
		p.at[sequence] = append(p.at[sequence], nonce)
	}
}

// passed refunds the returns that the stream has dropped because of an entry, which is carried out now and
// was none of them.
func (p *ownPending) passed(sequence uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, nonce := range p.at[sequence] {
		p.end(nonce, false)
	}
	delete(p.at, sequence)
}

// forget drops everything when the stream is a new one: what waits counts for good.
func (p *ownPending) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.returns)
	clear(p.at)
}

// mostNoted is how many nonces a nonces notes before it drops the oldest ones.
const mostNoted = 1 << 16

// nonces remembers the entries of a stream that are announced only, so that one that was added twice is
// announced once. It keeps the last ones by number, not by time: while the cluster is lost there are no new
// ones, and what waits on disk comes first after that.
type nonces struct {
	mu        sync.Mutex
	last, old map[string]uint64 // sequences by nonce
}

// repeated reports whether a nonce was noted for another sequence, and notes it otherwise.
func (n *nonces) repeated(nonce string, sequence uint64) bool {
	if nonce == "" {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, known := range []map[string]uint64{n.last, n.old} {
		if at, ok := known[nonce]; ok {
			return at != sequence
		}
	}
	if n.last == nil || len(n.last) >= mostNoted {
		n.last, n.old = map[string]uint64{}, n.last
	}
	n.last[nonce] = sequence
	return false
}
