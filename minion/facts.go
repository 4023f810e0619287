package minion

import (
	"context"
	"fmt"
	"sync"

	"github.com/brineproject/brine/data"
)

// facts are what the minion knows of itself: the grains of its host and the pillar that its master gave. The maps are
// replaced and never changed, so whoever holds one may read on.
type facts struct {
	collect func(context.Context) (*data.Map, error)

	mu sync.RWMutex
	g  *data.Map
	p  *data.Map
}

func newFacts(ctx context.Context, collect func(context.Context) (*data.Map, error)) (*facts, error) {
	f := &facts{collect: collect, p: data.NewMap()}
	_, err := f.refresh(ctx)
	return f, err
}

// refresh collects the grains anew and reports whether they have changed.
func (f *facts) refresh(ctx context.Context) (changed bool, err error) {
	g, err := f.collect(ctx)
	if err != nil {
		return false, fmt.Errorf("collect grains: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	changed = f.g == nil || !data.Equal(f.g, g)
	f.g = g
	return changed, nil
}

func (f *facts) grains() *data.Map {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.g
}

func (f *facts) pillar() *data.Map {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.p
}

func (f *facts) setPillar(p *data.Map) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.p = p
}
