package loader

import (
	"context"
	"slices"
	"sync"

	"github.com/brineproject/brine/data"
)

// A Context is Salt's __context__ of one job: what functions of the job leave for one another, the retcode above all.
// Functions called by name share it with their caller. Several goroutines may use it.
type Context struct {
	mu     sync.Mutex
	values data.Map
}

type contextKey struct{}

// WithContext returns a context that carries c.
func WithContext(ctx context.Context, c *Context) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// ContextOf returns the Context of the job that ctx belongs to, or a new one that nobody else sees.
func ContextOf(ctx context.Context) *Context {
	if c, ok := ctx.Value(contextKey{}).(*Context); ok {
		return c
	}
	return &Context{}
}

// Get returns the value of key and whether it is there.
func (c *Context) Get(key string) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.values.Get(key)
}

// Set gives key a value.
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

// noticesKey is where a job keeps its notices.
const noticesKey = "loader._notices"

// maxNotices is how many notices of a job are kept.
const maxNotices = 20

// Notice keeps a text for whoever ordered the job, who is told beside the result. The first 20 of a job are kept, each once.
func (c *Context) Notice(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, _ := c.values.Value(noticesKey).([]string)
	if len(kept) < maxNotices && !slices.Contains(kept, text) {
		c.values.Set(noticesKey, append(slices.Clip(kept), text))
	}
}

// Notices returns the texts of Notice in their order.
func (c *Context) Notices() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, _ := c.values.Value(noticesKey).([]string)
	return kept
}

type jobKey struct{}

// WithJob returns a context of the job that a publication with these fields ordered.
func WithJob(ctx context.Context, pub *data.Map) context.Context {
	return context.WithValue(ctx, jobKey{}, pub)
}

// JobOf returns the fields of the publication that ordered the job; nil, which is an empty map, when there is none. They must
// not be changed.
func JobOf(ctx context.Context) *data.Map {
	pub, _ := ctx.Value(jobKey{}).(*data.Map)
	return pub
}
