package transport

import (
	"sync"
	"time"
)

// A Crew does jobs on a bounded number of goroutines, each hired when it is needed first. Repliers answer requests
// with it. Several goroutines may give it jobs.
type Crew[J any] struct {
	max   int
	do    func(J)
	queue chan J

	mu      sync.Mutex
	workers int
	surplus int // workers that came in place of others who are back
	all     sync.WaitGroup
}

// NewCrew returns a crew of at most max workers, who call do.
func NewCrew[J any](max int, do func(J)) *Crew[J] {
	return &Crew[J]{max: max, do: do, queue: make(chan J)}
}

// Submit gives a job to a worker that is free, else to a new one; false means that all are busy.
func (c *Crew[J]) Submit(j J) bool {
	select {
	case c.queue <- j:
		return true
	default:
		return c.hire(j)
	}
}

// Queue takes a job when a worker becomes free.
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

// Dismiss waits until the workers have done their jobs, for at most so long, and reports whether they have. Nobody may
// submit jobs any more.
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
