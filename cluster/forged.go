package cluster

import (
	"errors"
	"sync"
)

// forgeries counts, by stream, the entries that somebody without the cluster key has written or put back.
// Whoever may write to NATS can write any number of them. It is safe for concurrent use.
type forgeries struct {
	mu  sync.Mutex
	all map[string]uint64
}

// forged reports whether an error says that an entry is of somebody without the cluster key, or an older
// one that was put back. It counts such entries, and logs the first of a stream, and then each time that
// their number has doubled.
func (c *Cluster) forged(stream string, sequence uint64, err error) bool {
	if !errors.Is(err, ErrSealed) && !errors.Is(err, ErrOutdated) {
		return false
	}
	if n := c.forgeries.count(stream); n&(n-1) == 0 {
		c.o.Log.WithError(err).Errorf("entry %d of stream %s is ignored, as are all that no member has "+
			"written, %d since the start of this one: a stranger writes to NATS", sequence, stream, n)
	}
	return true
}

// count counts an entry, and returns how many the stream had.
func (f *forgeries) count(stream string) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[string]uint64{}
	}
	f.all[stream]++
	return f.all[stream]
}

// Forged returns how many entries this member has ignored since its start that somebody without the
// cluster key has written, or that were older than what they replaced.
func (c *Cluster) Forged() (n uint64) {
	c.forgeries.mu.Lock()
	defer c.forgeries.mu.Unlock()
	for _, of := range c.forgeries.all {
		n += of
	}
	return n
}
