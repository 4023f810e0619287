package transport

import "context"

// asideKey is the key of what [WithAside] puts into a context.
type asideKey struct{}

// WithAside returns a context for handlers on a bounded number of workers. leave is called when a handler begins to wait for
// something, and gives its place to another; back is called when it goes on.
func WithAside(ctx context.Context, leave, back func()) context.Context {
	return context.WithValue(ctx, asideKey{}, [2]func(){leave, back})
}

// Aside runs wait, which takes long but no work of this process, such as the answer of another server or a pause that is meant.
// The worker that the handler with ctx runs on does not count as busy meanwhile, so that requests of others are not held up. The
// caller bounds how many wait.
func Aside(ctx context.Context, wait func()) {
	if hooks, ok := ctx.Value(asideKey{}).([2]func()); ok {
		hooks[0]()
		defer hooks[1]()
	}
	wait()
}
