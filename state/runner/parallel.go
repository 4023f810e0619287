package runner

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A parallel is a state that runs aside of the others.
type parallel struct {
	done chan struct{} // closed when ret is there
	ret  *data.Map
}

// start runs a state aside and returns what stands for its result until it is done.
func (w *walk) start(ctx context.Context, t *task) *data.Map {
	p := &parallel{done: make(chan struct{})}
	free := w.r.enter(ctx)
	w.parallel[tagOf(t.low)] = p
	t.low = t.low.Clone() // the walk goes on and marks its chunks
	t.call.Low = t.low
	chunks := w.copies()
	t.call.Chunks = func() []*data.Map { return chunks }
	go func() {
		defer close(p.done)
		defer free()
		p.ret = w.r.aside(ctx, t)
	}()
	return data.NewMap("name", t.low.Value("name"), "result", nil, "changes", &data.Map{}, "comment", "Started in a separate process")
}

// enter waits until another state may run aside: state_max_parallel says how many may at once, 0 any number. It returns what makes
// room again.
func (r *Runner) enter(ctx context.Context) (leave func()) {
	if r.places == nil {
		return func() {}
	}
	select {
	case r.places <- struct{}{}:
		return func() { <-r.places }
	case <-ctx.Done():
		return func() {}
	}
}

// places returns room for as many states as may run aside at once, nil where there is no bound.
func places(most any) chan struct{} {
	n, err := loader.Int(most)
	if err != nil || n <= 0 {
		return nil
	}
	return make(chan struct{}, n)
}

// copies returns copies of the chunks, which nobody changes, for states that run aside of the walk.
func (w *walk) copies() []*data.Map {
	if w.copied == nil {
		for _, chunk := range w.chunks {
			w.copied = append(w.copied, chunk.Clone())
		}
	}
	return w.copied
}

// aside runs a state, and again as its argument retry says (salt/state.py, _call_parallel_target).
func (r *Runner) aside(ctx context.Context, t *task) *data.Map {
	ret := r.once(ctx, t)
	ret.Set("__parallel__", true)
	v, ok := t.low.Get("retry")
	if !ok {
		return ret
	}
	p := r.plan(v)
	if r.test() {
		p.foretell(ret)
		return ret
	}
	for n := 1; int64(n) <= p.attempts && !data.Equal(p.until, ret.Value("result")); n++ {
		waited, err := r.wait(ctx, p)
		if err != nil {
			return ret
		}
		next := r.once(ctx, t)
		next.Set("__parallel__", true)
		next.Set("comment", data.Str(ret.Value("comment"))+"\n"+attemptOrNone(n, next))
		next.Set("duration", number(next)+number(ret)+milliseconds(waited))
		next.Set("start_time", ret.Value("start_time"))
		ret = next
	}
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
		v = r.raised(t, err)
	}
	ret := unify(v)
	timed(ret, began, time.Since(began))
	return ret
}

// reconcile waits for a state that runs aside, if the tag is of one, and puts its result in place.
func (w *walk) reconcile(ctx context.Context, tag string) error {
	p := w.parallel[tag]
	if p == nil {
		return nil
	}
	<-p.done // it ends when ctx does
	delete(w.parallel, tag)
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	if ret := w.result(tag); ret != nil {
		ret.Update(p.ret)
	}
	return ctx.Err()
}

// reconcileAll waits for all states that run aside.
func (w *walk) reconcileAll(ctx context.Context) error {
	var first error
	for tag := range w.parallel {
		if err := w.reconcile(ctx, tag); err != nil {
			first = err
		}
	}
	return first
}
