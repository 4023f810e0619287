package swarm

import "sync"

// A register numbers job ids from 0, in the order in which they became known. The zero value is
// empty.
type register struct {
	mu      sync.Mutex
	numbers map[string]int
}

func (r *register) number(jid string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, ok := r.numbers[jid]
	if !ok {
		if r.numbers == nil {
			r.numbers = map[string]int{}
		}
		n = len(r.numbers)
		r.numbers[jid] = n
	}
	return n
}

// known is a minion's memory of jobs: a bit for each, so that a large swarm can keep it for good.
type known struct {
	mu   sync.Mutex
	bits []uint64
}

// add records a job by its number, and reports whether it was new.
func (k *known) add(job int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	word, bit := job/64, uint64(1)<<(job%64)
	for len(k.bits) <= word {
		k.bits = append(k.bits, 0)
	}
	isNew := k.bits[word]&bit == 0
	k.bits[word] |= bit
	return isNew
}
