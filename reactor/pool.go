package reactor

import (
	"context"
	"sync"
)

// A task is what is done for one event. Tasks of one key are done in order, those without a key in any.
type task struct {
	key  string
	size int // bytes that it holds
	do   func(ctx context.Context)
}

// A pool is a queue with a bound, and what workers need to work it off. Several goroutines may use it.
type pool struct {
	maxTasks, maxBytes int

	mu     sync.Mutex
	more   sync.Cond
	ready  []*line          // whose next task may begin, in order
	lines  map[string]*line // those of a key that have tasks, or one under way
	tasks  int              // that wait
	bytes  int              // of these
	closed bool
}

// A line is the tasks of one key.
type line struct {
	key   string
	tasks []task
}

func newPool(maxTasks, maxBytes int) *pool {
	p := &pool{maxTasks: maxTasks, maxBytes: maxBytes, lines: map[string]*line{}}
	p.more.L = &p.mu
	return p
}

// offer adds a task, and reports false when there is no room.
func (p *pool) offer(t task) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.tasks >= p.maxTasks || p.tasks > 0 && p.bytes+t.size > p.maxBytes {
		return false
	}
	p.tasks++
	p.bytes += t.size
	if l := p.lines[t.key]; l != nil && t.key != "" {
		l.tasks = append(l.tasks, t) // it is ready, or will be when the one before is done
		return true
	}
	l := &line{t.key, []task{t}}
	if t.key != "" {
		p.lines[t.key] = l
	}
	p.ready = append(p.ready, l)
	p.more.Signal()
	return true
}

func (p *pool) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tasks
}

// next waits for a task that may begin; it returns nil when the pool is closed.
func (p *pool) next() (*line, task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.ready) == 0 && !p.closed {
		p.more.Wait()
	}
	if p.closed {
		return nil, task{}
	}
	l := p.ready[0]
	p.ready[0] = nil
	p.ready = p.ready[1:]
	t := l.tasks[0]
	l.tasks[0] = task{}
	l.tasks = l.tasks[1:]
	p.tasks--
	p.bytes -= t.size
	return l, t
}

// done lets the next task of a line begin.
func (p *pool) done(l *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(l.tasks) == 0 {
		delete(p.lines, l.key)
		return
	}
	p.ready = append(p.ready, l)
	p.more.Signal()
}

// work does tasks until the pool is closed.
func (p *pool) work(ctx context.Context) {
	for {
		l, t := p.next()
		if l == nil {
			return
		}
		t.do(ctx)
		p.done(l)
	}
}

// close ends the workers; what waits is not done.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.more.Broadcast()
}
