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

// A memory holds what SLS gave, as long as there is room for it. Several goroutines may use it.
type memory struct {
	mu    sync.Mutex
	room  int // bytes
	known map[question]*list.Element
	order *list.List                 // of *answer, the one used last in front
	under map[question]chan struct{} // closed when the compilation that is under way has ended
}

// A question is the hash of all that a compilation depends on, but options and files.
type question [sha256.Size]byte

// An answer is a pillar with the files that it was made of.
type answer struct {
	question question
	pillar   *data.Map
	tree     *tree
	seen     []sight
	size     int
}

// overhead is about what a value of a pillar takes in memory, for each byte of its MessagePack.
const overhead = 4

func newMemory(room int) *memory {
	return &memory{room: room, known: map[question]*list.Element{}, order: list.New(), under: map[question]chan struct{}{}}
}

// enter waits until no compilation of a question is under way but the caller's, who calls leave in the end.
func (m *memory) enter(ctx context.Context, q question) (leave func(), err error) {
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

func (m *memory) leave(q question, done chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.under, q)
	close(done)
}

// get returns the answer to a question, if the files are still those that it was made of.
func (m *memory) get(q question, files *watched) (*data.Map, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.known[q]
	if e == nil {
		return nil, false
	}
	a := e.Value.(*answer)
	if !files.same(a.tree, a.seen) {
		m.drop(e)
		return nil, false
	}
	m.order.MoveToFront(e)
	return a.pillar, true
}

func (m *memory) drop(e *list.Element) {
	a := m.order.Remove(e).(*answer)
	delete(m.known, a.question)
	m.room += a.size
}

// put keeps an answer, and drops those that were not asked for longest where there is no room.
func (m *memory) put(a *answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.known[a.question]; e != nil {
		m.drop(e)
	}
	for m.room < a.size && m.order.Len() > 0 {
		m.drop(m.order.Back())
	}
	if m.room < a.size {
		return
	}
	m.room -= a.size
	m.known[a.question] = m.order.PushFront(a)
}

// remembered returns what compile gives, or gave when the minion, its grains, the files and all else were the same. An answer is
// kept only when it has no errors, when nothing came from elsewhere (see render.Watch), and when the versions of its files are sure.
func (w *compilation) remembered(ctx context.Context, compile func(context.Context) *data.Map) *data.Map {
	files, ok := w.files.(*watched)
	if w.memory == nil || !ok || w.Known != nil || depth(ctx) > 1 { // within another, it would wait for what waits for it
		return compile(ctx)
	}
	q, err := w.question()
	if err != nil {
		return compile(ctx)
	}
	leave, err := w.memory.enter(ctx, q)
	if err != nil {
		return data.NewMap() // who waits is told of ctx
	}
	defer leave()
	if pillar, ok := w.memory.get(q, files); ok {
		w.Log.Debugf("Pillar of %s: no SLS has changed", w.ID)
		return pillar
	}
	var elsewhere atomic.Pointer[string]
	pillar := compile(render.Watch(ctx, func(what string) { elsewhere.CompareAndSwap(nil, &what) }))
	if what := elsewhere.Load(); what != nil {
		w.Log.Debugf("Pillar of %s: not kept, as it comes from %s too", w.ID, *what)
		return pillar
	}
	seen, sure := files.seen()
	if sure && len(w.errors)+len(w.topErrors) == 0 && ctx.Err() == nil {
		w.keep(&answer{question: q, pillar: pillar, tree: files.tree, seen: seen})
	}
	return pillar
}

// keep keeps an answer whose size can be told.
func (w *compilation) keep(a *answer) {
	raw, err := payload.Marshal(a.pillar)
	if err != nil {
		return
	}
	a.size = overhead*len(raw) + 256 + 128*len(a.seen)
	w.memory.put(a)
}

// question hashes what the minion asks and tells.
func (w *compilation) question() (question, error) {
	raw, err := payload.Marshal([]any{w.ID, w.saltenv, w.pillarenv, w.Override, w.Grains})
	return sha256.Sum256(raw), err
}
