package swarm

import (
	"context"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/job"
)

// busy holds the jobs that take a minion some time. The zero value is empty.
type busy struct {
	mu   sync.Mutex
	jobs map[string]*job.Publication
}

// sleep is test.sleep: it waits for a number of seconds, or until ctx ends.
func (b *busy) sleep(ctx context.Context, pub *job.Publication, arg []any) bool {
	var seconds float64
	if len(arg) > 0 {
		switch n := arg[0].(type) {
		case int64:
			seconds = float64(n)
		case float64:
			seconds = n
		}
	}
	b.mu.Lock()
	if b.jobs == nil {
		b.jobs = map[string]*job.Publication{}
	}
	b.jobs[string(pub.JID)] = pub
	b.mu.Unlock()
	err := clock.Sleep(ctx, time.Duration(seconds*float64(time.Second)))
	b.mu.Lock()
	delete(b.jobs, string(pub.JID))
	b.mu.Unlock()
	return err == nil
}

// find is saltutil.find_job: it returns the job with an id, or an empty mapping.
func (b *busy) find(arg []any) *data.Map {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(arg) > 0 {
		if pub := b.jobs[data.Str(arg[0])]; pub != nil {
			found := pub.Map()
			found.Set("pid", int64(1))
			return found
		}
	}
	return data.NewMap()
}
