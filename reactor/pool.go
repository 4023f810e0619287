package reactor

import (
	"context"
	"sync"
)

// A task is the work for one event. Tasks with the same key run in order, tasks without a key in
// any order.
type task struct {
	key  string
	size int // memory used, in bytes
	do   func(ctx context.Context)
}

// A pool is a bounded queue for workers. It is safe for concurrent use.
type pool struct {
	maxTasks, maxBytes int

	mu     sync.Mutex
	more   sync.Cond
	ready  []*line          // lines whose next task may start, in order
	lines  map[string]*line // by key; lines with waiting or running tasks
	tasks  int              // waiting
	bytes  int              // memory of waiting tasks
	closed bool
}

// A line holds the tasks of one key.
type line struct {
	key   string
	tasks []task
}

func newPool(maxTasks, maxBytes int) *pool {
	p := &pool{maxTasks: maxTasks, maxBytes: maxBytes, lines: map[string]*line{}}
	p.more.L = &p.mu
	return p
}

// offer adds a task, and returns false if there is no room.
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

// next waits for a task that may start. It returns nil if the pool is closed.
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

// done allows the next task of a line to start.
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

// work runs tasks until the pool is closed.
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

// close ends the workers. Waiting tasks are dropped.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.more.Broadcast()
}
