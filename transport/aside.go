package transport

import "context"

// asideKey is the key of what [WithAside] puts into a context.
type asideKey struct{}

// WithAside returns a context for the handlers that a crew runs, with which they can call [Aside].
func WithAside[J any](ctx context.Context, c *Crew[J]) context.Context {
	return context.WithValue(ctx, asideKey{}, c.Aside)
}

// Aside runs wait, which takes long but no work of this process: the answer of another server, or a pause that is meant. The
// worker that the handler with ctx runs on is replaced meanwhile, so that requests of others are not held up. The caller bounds
// how many wait.
func Aside(ctx context.Context, wait func()) {
	if aside, ok := ctx.Value(asideKey{}).(func(func())); ok {
		aside(wait)
		return
	}
	wait()
}

// Aside runs wait within a job, with another worker in place of this one. Whichever ends its job first after that goes.
func (c *Crew[J]) Aside(wait func()) {
	c.all.Go(func() {
		if j, ok := <-c.queue; ok {
			c.work(j)
		}
	})
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.surplus++
	}()
	wait()
}

// goes reports whether there is a worker too many.
func (c *Crew[J]) goes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.surplus == 0 {
		return false
	}
	c.surplus--
	return true
}
