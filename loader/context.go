package loader

import (
	"context"
	"slices"
	"sync"

	"github.com/brineproject/brine/data"
)

// A Context is Salt's __context__ of one job: values that functions of the job share, above all the
// retcode. Nested calls share the Context of their caller. It is safe for concurrent use.
type Context struct {
	mu     sync.Mutex
	values data.Map
}

type contextKey struct{}

// WithContext returns a context that carries c.
func WithContext(ctx context.Context, c *Context) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// ContextOf returns the Context of the job that ctx belongs to, or a new private one.
func ContextOf(ctx context.Context) *Context {
	if c, ok := ctx.Value(contextKey{}).(*Context); ok {
		return c
	}
	return &Context{}
}

// Get returns the value of key and whether it is set.
func (c *Context) Get(key string) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.values.Get(key)
}

// Set sets the value of key.
func (c *Context) Set(key string, v any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values.Set(key, v)
}

// Delete removes key.
func (c *Context) Delete(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values.Delete(key)
}

// SetRetcode sets the return code of the job.
func (c *Context) SetRetcode(code int) { c.Set("retcode", int64(code)) }

// noticesKey is the key under which a Context keeps its notices.
const noticesKey = "loader._notices"

// maxNotices is the number of notices kept per job.
const maxNotices = 20

// Notice adds a message that is shown to the user who submitted the job, beside its result.
// Duplicates are dropped, as are messages after the first 20.
func (c *Context) Notice(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, _ := c.values.Value(noticesKey).([]string)
	if len(kept) < maxNotices && !slices.Contains(kept, text) {
		c.values.Set(noticesKey, append(slices.Clip(kept), text))
	}
}

// Notices returns the messages added by Notice, in order.
func (c *Context) Notices() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, _ := c.values.Value(noticesKey).([]string)
	return kept
}

type jobKey struct{}

// WithJob returns a context for a job whose publication has the fields pub.
func WithJob(ctx context.Context, pub *data.Map) context.Context {
	return context.WithValue(ctx, jobKey{}, pub)
}

// JobOf returns the fields of the publication that started the job, or nil, which is an empty map.
// Do not modify them.
func JobOf(ctx context.Context) *data.Map {
	pub, _ := ctx.Value(jobKey{}).(*data.Map)
	return pub
}
