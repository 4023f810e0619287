package runner

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A parallel is a state that runs concurrently with the others.
type parallel struct {
	done chan struct{} // closed when ret is set
	ret  *data.Map
}

// start runs a state in parallel and returns a placeholder for its result.
func (w *walk) start(ctx context.Context, t *task) *data.Map {
	p := &parallel{done: make(chan struct{})}
	release := w.r.acquire(ctx)
	w.parallel[t.low.Tag()] = p
	t.low = t.low.Clone() // the walk continues and marks its own chunks
	t.call.Low = t.low.Map
	chunks := w.copies()
	t.call.Chunks = func() []*data.Map { return chunks }
	go func() {
		defer close(p.done)
		defer release()
		p.ret = w.r.runParallel(ctx, t)
	}()
	return data.NewMap("name", t.low.Name(), "result", nil, "changes", &data.Map{},
		"comment", "Started in a separate process")
}

// acquire waits until another parallel state may run. state_max_parallel is the limit, 0 means no
// limit. The caller must call release when the state is done.
func (r *Runner) acquire(ctx context.Context) (release func()) {
	if r.limit == nil {
		return func() {}
	}
	select {
	case r.limit <- struct{}{}:
		return func() { <-r.limit }
	case <-ctx.Done():
		return func() {}
	}
}

// newLimit returns a semaphore for the number of parallel states, or nil if there is no limit.
func newLimit(limit any) chan struct{} {
	n, err := loader.Int(limit)
	if err != nil || n <= 0 {
		return nil
	}
	return make(chan struct{}, n)
}

// copies returns copies of the chunks for parallel states. Nobody modifies them.
func (w *walk) copies() []*data.Map {
	if w.copied == nil {
		for _, chunk := range w.maps {
			w.copied = append(w.copied, chunk.Clone())
		}
	}
	return w.copied
}

// runParallel runs a state, with retries according to its argument retry (salt/state.py,
// _call_parallel_target).
func (r *Runner) runParallel(ctx context.Context, t *task) *data.Map {
	ret := r.once(ctx, t)
	ret.Set("__parallel__", true)
	v, ok := t.low.Get("retry")
	if !ok {
		return ret
	}
	p := r.parsePlan(v)
	if r.test() {
		p.describe(ret)
		return ret
	}
	// one run more than in sequence, as in Salt; if the run ends, the last result stays
	ret, _ = r.repeat(ctx, p, p.attempts, ret,
		func(n int, last *data.Map) (*data.Map, bool, error) {
			next := r.once(ctx, t)
			next.Set("__parallel__", true)
			next.Set("comment", data.Str(last.Value("comment"))+"\n"+attemptOrNone(n, next))
			return next, false, nil
		})
	return ret
}

func attemptOrNone(n int, ret *data.Map) string {
	if !data.Truth(ret.Value("comment")) {
		return ""
	}
	return attemptText(n, ret)
}

func (r *Runner) once(ctx context.Context, t *task) *data.Map {
	began := time.Now()
	v, err := r.invoke(ctx, t)
	if err != nil {
		v = r.exceptionResult(t, err)
	}
	ret := normalizeResult(v)
	timed(ret, began, time.Since(began))
	return ret
}

// reconcile waits for the parallel state with this tag, if there is one, and stores its result.
func (w *walk) reconcile(ctx context.Context, tag string) error {
	p := w.parallel[tag]
	if p == nil {
		return nil
	}
	<-p.done // ends when ctx does
	delete(w.parallel, tag)
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	if ret := w.result(tag); ret != nil {
		ret.Update(p.ret)
	}
	return ctx.Err()
}

// reconcileAll waits for all parallel states.
func (w *walk) reconcileAll(ctx context.Context) error {
	var first error
	for tag := range w.parallel {
		if err := w.reconcile(ctx, tag); err != nil {
			first = err
		}
	}
	return first
}
