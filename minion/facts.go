package minion

import (
	"context"
	"fmt"
	"sync"

	"github.com/brineproject/brine/data"
)

// facts hold the grains of the host and the pillar of the minion. The maps are replaced, never
// modified, so readers may keep them.
type facts struct {
	collect func(context.Context) (*data.Map, error)

	mu        sync.RWMutex
	current   *data.Map
	pillarMap *data.Map
	address   string // see Minion.useMaster; "" if the option master is one address
}

func newFacts(
	ctx context.Context, collect func(context.Context) (*data.Map, error),
) (*facts, error) {
	f := &facts{collect: collect, pillarMap: data.NewMap()}
	_, err := f.refresh(ctx)
	return f, err
}

// refresh collects the grains and reports whether they have changed.
func (f *facts) refresh(ctx context.Context) (changed bool, err error) {
	g, err := f.collect(ctx)
	if err != nil {
		return false, fmt.Errorf("collect grains: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	g = withMaster(g, f.address)
	changed = f.current == nil || !data.Equal(f.current, g)
	f.current = g
	return changed, nil
}

// withMaster returns grains in which master is the address, unless that is empty.
func withMaster(g *data.Map, address string) *data.Map {
	if address == "" || !g.Has("master") {
		return g
	}
	g = g.Clone()
	g.Set("master", address)
	return g
}

// setMaster makes an address the grain master.
func (f *facts) setMaster(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.address = address
	f.current = withMaster(f.current, address)
}

// master returns the address that setMaster was given last, or "".
func (f *facts) master() string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.address
}

func (f *facts) grains() *data.Map {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.current
}

func (f *facts) pillar() *data.Map {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.pillarMap
}

func (f *facts) setPillar(p *data.Map) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pillarMap = p
}
