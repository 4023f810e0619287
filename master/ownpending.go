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
