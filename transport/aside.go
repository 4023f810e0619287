package transport

import "context"

// asideKey is the context key of [WithAside].
type asideKey struct{}

// WithAside returns a context for the handlers run by a crew, with which they can call [Aside].
func WithAside[J any](ctx context.Context, c *Crew[J]) context.Context {
	return context.WithValue(ctx, asideKey{}, c.Aside)
}

// Aside calls wait, which may take long without using this process: it waits for another server or
// pauses deliberately. Another worker replaces that of the handler meanwhile, so other requests are
// not delayed. The caller must limit concurrent calls.
func Aside(ctx context.Context, wait func()) {
	if aside, ok := ctx.Value(asideKey{}).(func(func())); ok {
		aside(wait)
		return
	}
	wait()
}

// Aside calls wait within a job while another worker replaces this one. Of the two, the first to
// finish its job afterwards exits.
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

// goes reports whether a worker is surplus and must exit.
func (c *Crew[J]) goes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.surplus == 0 {
		return false
	}
	c.surplus--
	return true
}
