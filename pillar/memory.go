package pillar

import (
	"container/list"
	"context"
	"crypto/sha256"
	"sync"
	"sync/atomic"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/render"
)

// A memory caches results of SLS up to a size limit. Several goroutines may use it.
type memory struct {
	mu    sync.Mutex
	room  int // free bytes
	known map[cacheKey]*list.Element
	order *list.List                 // of *answer, the most recently used first
	under map[cacheKey]chan struct{} // closed when the running compilation ends
}

// A cacheKey is the hash of everything that a compilation depends on, except options and files.
type cacheKey [sha256.Size]byte

// An cacheEntry is a pillar with the files that it depends on.
type cacheEntry struct {
	cacheKey cacheKey
	pillar   *data.Map
	tree     *tree
	seen     []fileVersion
	size     int
}

// overhead is the approximate memory of a pillar's value per byte of its MessagePack.
const overhead = 4

func newMemory(room int) *memory {
	return &memory{room: room, known: map[cacheKey]*list.Element{}, order: list.New(),
		under: map[cacheKey]chan struct{}{}}
}

// enter waits until no other compilation of a question is running. The caller must call leave at
// the end.
func (m *memory) enter(ctx context.Context, q cacheKey) (leave func(), err error) {
	for {
		m.mu.Lock()
		done, busy := m.under[q]
		if !busy {
			done = make(chan struct{})
			m.under[q] = done
			m.mu.Unlock()
			return func() { m.leave(q, done) }, nil
		}
		m.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (m *memory) leave(q cacheKey, done chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.under, q)
	close(done)
}

// get returns the answer to a question if its files are unchanged.
func (m *memory) get(q cacheKey, files *watched) (*data.Map, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.known[q]
	if e == nil {
		return nil, false
	}
	a := e.Value.(*cacheEntry)
	if !files.same(a.tree, a.seen) {
		m.drop(e)
		return nil, false
	}
	m.order.MoveToFront(e)
	return a.pillar, true
}

func (m *memory) drop(e *list.Element) {
	a := m.order.Remove(e).(*cacheEntry)
	delete(m.known, a.cacheKey)
	m.room += a.size
}

// put stores an answer, and drops the least recently used ones if there is no room.
func (m *memory) put(a *cacheEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.known[a.cacheKey]; e != nil {
		m.drop(e)
	}
	for m.room < a.size && m.order.Len() > 0 {
		m.drop(m.order.Back())
	}
	if m.room < a.size {
		return
	}
	m.room -= a.size
	m.known[a.cacheKey] = m.order.PushFront(a)
}

// cachedResult returns the result of compile, or a cached one if the minion, its grains, the files
// and all else are unchanged. A result is only cached if it has no errors, depends on nothing
// outside (see render.Watch), and the versions of its files are certain.
func (w *compilation) cachedResult(
	ctx context.Context, compile func(context.Context) *data.Map,
) *data.Map {
	files, ok := w.files.(*watched)
	// a nested compilation could wait for one that waits for it
	if w.memory == nil || !ok || w.Known != nil || depth(ctx) > 1 {
		return compile(ctx)
	}
	q, err := w.cacheKey()
	if err != nil {
		return compile(ctx)
	}
	leave, err := w.memory.enter(ctx, q)
	if err != nil {
		return data.NewMap() // the caller reports the error of ctx
	}
	defer leave()
	if pillar, ok := w.memory.get(q, files); ok {
		w.Log.Debugf("Pillar of %s: no SLS has changed", w.ID)
		return pillar
	}
	var outsideSource atomic.Pointer[string]
	pillar := compile(render.Watch(ctx,
		func(what string) { outsideSource.CompareAndSwap(nil, &what) }))
	if what := outsideSource.Load(); what != nil {
		w.Log.Debugf("Pillar of %s: not kept, as it comes from %s too", w.ID, *what)
		return pillar
	}
	seen, sure := files.seen()
	if sure && len(w.errors)+len(w.topErrors) == 0 && ctx.Err() == nil {
		w.keep(&cacheEntry{cacheKey: q, pillar: pillar, tree: files.tree, seen: seen})
	}
	return pillar
}

// keep stores an answer if its size is known.
func (w *compilation) keep(a *cacheEntry) {
	raw, err := payload.Marshal(a.pillar)
	if err != nil {
		return
	}
	a.size = overhead*len(raw) + 256 + 128*len(a.seen)
	w.memory.put(a)
}

// cacheKey hashes the minion's request.
func (w *compilation) cacheKey() (cacheKey, error) {
	raw, err := payload.Marshal([]any{w.ID, w.saltenv, w.pillarenv, w.Override, w.Grains})
	return sha256.Sum256(raw), err
}
