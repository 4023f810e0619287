package transport

import (
	"sync"
	"time"
)

// A Crew runs jobs on a bounded number of goroutines, each started when first needed. Repliers use
// it to answer requests. It is safe for concurrent use.
type Crew[J any] struct {
	max   int
	do    func(J)
	queue chan J

	mu      sync.Mutex
	workers int
	surplus int // workers that replaced others which have returned
	all     sync.WaitGroup
}

// NewCrew returns a crew of at most max workers that call do.
func NewCrew[J any](max int, do func(J)) *Crew[J] {
	return &Crew[J]{max: max, do: do, queue: make(chan J)}
}

// Submit passes a job to a free worker or a new one. It returns false if all are busy.
func (c *Crew[J]) Submit(j J) bool {
	select {
	case c.queue <- j:
		return true
	default:
		return c.hire(j)
	}
}

// Queue returns a channel that accepts a job when a worker becomes free.
func (c *Crew[J]) Queue() chan<- J { return c.queue }

func (c *Crew[J]) hire(j J) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.workers >= c.max {
		return false
	}
	c.workers++
	c.all.Go(func() { c.work(j) })
	return true
}

func (c *Crew[J]) work(j J) {
	for ok := true; ok; j, ok = <-c.queue {
		c.do(j)
		if c.goes() {
			return
		}
	}
}

// Dismiss waits until the workers have finished, at most for patience, and reports whether they
// have. No jobs may be submitted afterwards.
func (c *Crew[J]) Dismiss(patience time.Duration) bool {
	close(c.queue)
	gone := make(chan struct{})
	go func() {
		c.all.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return true
	case <-time.After(patience):
		return false
	}
}
